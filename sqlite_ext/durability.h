// A commit that is on the disk when it returns.
#ifndef FENCE_SQLITE_EXT_DURABILITY_H
#define FENCE_SQLITE_EXT_DURABILITY_H

namespace fence {

struct Connection;

// While it exists, commits to main are flushed, whatever PRAGMA synchronous says:
// a claim that a power cut takes back would let the old owner write again. The
// application's setting returns at the end of the scope. Only outside a
// transaction: inside one SQLite does not let the setting change.
class DurableCommit {
 public:
  explicit DurableCommit(Connection* connection) noexcept;
  ~DurableCommit();
  DurableCommit(const DurableCommit&) = delete;
  DurableCommit& operator=(const DurableCommit&) = delete;

 private:
  void set(int level) noexcept;

  Connection* connection_;
  int level_;  // the application's; -1 if it need not be restored
};

}  // namespace fence

#endif
