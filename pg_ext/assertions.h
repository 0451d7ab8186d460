// The set of keys that a transaction has asserted, with the claimant of each.
#ifndef FENCE_PG_EXT_ASSERTIONS_H
#define FENCE_PG_EXT_ASSERTIONS_H

#include "core/mode.h"
#include "core/ownership.h"
#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

namespace fence {

struct Assertion {
  RecordName name;  // its bytes stand behind the struct
  Claimant claimant;
  int level;                     // nest level of the savepoint it was made under
  Mode mode;                     // under which it was made
  Maybe<int64_t> lowest_stored;  // idx of an entry
  bool trims;
  bool marked;          // holds markers of its own (see assert_owner)
  ItemPointerData row;  // where its record was read last
  int place;            // among all of them
  Assertion* next_of_hash;
};

// Lives in the transaction's memory: forget() at its end drops the pointers only.
class Assertions {
 public:
  bool empty() const { return count_ == 0; }
  int count() const { return count_; }
  Assertion& operator[](int i) const { return *all_[i]; }

  Assertion* find(const RecordName& name) const;
  // The same for who asks for one after another: rows often come in the order in which their
  // keys were asserted, and then nothing is hashed.
  bool contains(std::string_view ns, std::string_view key);
  Assertion* add(const RecordName& name, const Claimant& claimant, int level);
  // A savepoint of that level was released, or rolled back.
  void release_level(int level);
  // gone: called with each assertion that is dropped.
  template <typename Gone>
  void drop_level(int level, Gone gone) {
    while (count_ > 0 && all_[count_ - 1]->level >= level) {
      gone(*all_[count_ - 1]);
      drop_last();
    }
  }
  void forget();

 private:
  bool stands_at(int i, std::string_view ns, std::string_view key) const;
  void drop_last();

  HTAB* by_hash_ = nullptr;
  Assertion** all_ = nullptr;
  int count_ = 0;
  int capacity_ = 0;
  int last_asked_ = 0;
};

}  // namespace fence

#endif
