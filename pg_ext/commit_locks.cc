#include "pg_ext/commit_locks.h"

#include "pg_ext/clock.h"
#include "pg_ext/key_lock.h"

namespace fence {

CommitLocks::CommitLocks(int capacity)
    : all_(static_cast<Wanted*>(MemoryContextAllocHuge(
          TopTransactionContext, sizeof(Wanted) * static_cast<Size>(capacity)))) {}

void CommitLocks::add(const LOCKTAG& tag, LOCKMODE mode) { all_[count_++] = {tag, mode}; }

bool CommitLocks::try_hold(int i) const { return try_hold_lock(all_[i].tag, all_[i].mode); }

void CommitLocks::let_go(int i) const { fence::let_go(all_[i].tag, all_[i].mode); }

void CommitLocks::wait_for(int i, int64_t deadline) const {
  const LOCKTAG& tag = all_[i].tag;
  if (tag.locktag_field4 == tag_domain && all_[i].mode == ShareLock) {
    hold_domain_until(deadline);
    return;
  }
  const int64_t left = deadline - monotonic_ms();
  hold_lock_for(tag, all_[i].mode, static_cast<int>(left > 1 ? left : 1));
}

void CommitLocks::hold_all(int64_t deadline) {
  int held_out_of_order = -1;  // the one that was waited for
  for (int i = 0; i < count_; ++i) {
    if (i == held_out_of_order || try_hold(i)) {
      continue;
    }
    for (int j = 0; j < count_; ++j) {
      if (j < i || j == held_out_of_order) {
        let_go(j);
      }
    }
    wait_for(i, deadline);
    held_out_of_order = i;
    i = -1;
  }
}

}  // namespace fence
