#include "core/append.h"

namespace fence {

namespace reasons {
const Reason other_bytes = {Code::index_conflict, "idx %n is taken by other bytes",
                            "read the entry at this idx: it may be what you meant to store; else "
                            "append behind the log's last idx"};
const Reason other_epoch = {Code::index_conflict, "idx %n is taken by an entry of another epoch",
                            "the entry there has the same bytes: read the log, it may be what you "
                            "meant to store; else append behind the log's last idx"};
const Reason below_trim = {
    Code::index_conflict, "idx %n lies in the trimmed part of the log",
    "if this is a resend, it was stored and trimmed since; else append behind the "
    "log's last idx"};
const Reason not_the_last = {Code::index_conflict, "the log ends at idx %n, not where expected",
                             "read the log from the expected idx on, then decide anew"};
}  // namespace reasons

int64_t trimmed_after(int64_t through, const LogEnd& end) noexcept {
  const int64_t reached = through < end.last_ever() ? through : end.last_ever();
  return reached > end.trimmed ? reached : end.trimmed;
}

EntryVerdict judge_entry(int64_t idx, const LogEnd& end, const Place& place, int64_t epoch,
                         bool identical_repeat) noexcept {
  const auto refuse = [](const Reason& reason) {
    return EntryVerdict{EntryAction::refuse, &reason};
  };
  if (idx <= end.trimmed) {
    return refuse(reasons::below_trim);
  }
  if (!place_matters(idx, end) || !place.taken) {
    return {EntryAction::store, nullptr};
  }
  if (!place.same_bytes) {
    return refuse(reasons::other_bytes);
  }
  if (place.epoch != epoch && !identical_repeat) {
    return refuse(reasons::other_epoch);
  }
  return {EntryAction::repeat, nullptr};
}

const Reason* judge_expected_last(int64_t expected, const LogEnd& end, bool all_repeats) noexcept {
  return all_repeats || expected == end.last_ever() ? nullptr : &reasons::not_the_last;
}

}  // namespace fence
