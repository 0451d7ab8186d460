// The locks that a commit takes together.
#ifndef FENCE_PG_EXT_COMMIT_LOCKS_H
#define FENCE_PG_EXT_COMMIT_LOCKS_H

#include "pg_ext/server.h"

namespace fence {

// In the transaction's memory.
class CommitLocks {
 public:
  explicit CommitLocks(int capacity);
  void add(const LOCKTAG& tag, LOCKMODE mode);
  // None is held while another is waited for, so that two commits and two claims of the same
  // keys cannot wait for each other in a circle. deadline: see clock.h; then 55P03.
  void hold_all(int64_t deadline);

 private:
  struct Wanted {
    LOCKTAG tag;
    LOCKMODE mode;
  };

  bool try_hold(int i) const;
  void let_go(int i) const;
  void wait_for(int i, int64_t deadline) const;

  Wanted* all_;
  int count_ = 0;
};

}  // namespace fence

#endif
