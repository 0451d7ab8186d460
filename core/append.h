// May this entry be stored, is it there already, or is its place taken
// (spec 2.1, "repeat of an append"). The caller's ownership was judged before.
#ifndef FENCE_CORE_APPEND_H
#define FENCE_CORE_APPEND_H

#include <cstdint>

#include "core/refusal.h"
#include "core/writer.h"

namespace fence {

// Where a log ends; -1: nothing there.
struct LogEnd {
  int64_t last = -1;     // greatest idx stored now
  int64_t trimmed = -1;  // everything up to here was trimmed

  // The greatest idx ever stored.
  int64_t last_ever() const noexcept { return last > trimmed ? last : trimmed; }
};

// Up to where a log is trimmed after a trim through that idx: never further than the log
// went, so that what is appended next is not lost, and never back.
int64_t trimmed_after(int64_t through, const LogEnd& end) noexcept;

// What stands at the idx that a caller wants to store.
struct Place {
  bool taken = false;
  int64_t epoch = -1;  // of the entry there, and who stored it
  WriterHash writer{};
  bool same_bytes = false;  // its payload is the caller's, byte for byte
};

enum class EntryAction : unsigned char { refuse, store, repeat };

struct EntryVerdict {
  EntryAction action = EntryAction::refuse;
  const Reason* refusal = nullptr;  // set when refused
};

// Whether judge_entry needs to know the place: above the end nothing can stand.
inline bool place_matters(int64_t idx, const LogEnd& end) noexcept {
  return idx <= end.last_ever();
}

// idx: 0..2^63-1. epoch: the asserted one. place: what is at idx, if it matters.
// identical_repeat: a mode of the namespace: the same bytes of any epoch are a repeat.
EntryVerdict judge_entry(int64_t idx, const LogEnd& end, const Place& place, int64_t epoch,
                         bool identical_repeat) noexcept;

// Does the log end where the caller believes? expected: the idx, or -1: the log
// is empty. all_repeats: the whole batch is stored already, so the question is
// moot (its first attempt moved the end). Returns nullptr when it does.
const Reason* judge_expected_last(int64_t expected, const LogEnd& end, bool all_repeats) noexcept;

namespace reasons {
extern const Reason other_bytes;
extern const Reason other_epoch;
extern const Reason below_trim;
extern const Reason not_the_last;
}  // namespace reasons

}  // namespace fence

#endif
