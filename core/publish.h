// Moving a staged log to its final name: for exactly one of many publishers (spec 2.1,
// fenced_publish).
#ifndef FENCE_CORE_PUBLISH_H
#define FENCE_CORE_PUBLISH_H

#include <cstdint>
#include <string_view>

#include "core/append.h"
#include "core/mode.h"
#include "core/ownership.h"
#include "core/siphash.h"

namespace fence {

// Remembered by a staged key that was published: to where, how long its log was, and by whom.
// Keyed with a constant: it tells a repeat from another call, and guards nothing.
Seal publication_mark(std::string_view ns, std::string_view key, int64_t expected_last,
                      const Claimant& publisher) noexcept;

// Is the call the repeat of one that has published? mark: of this call; target: the end of the
// log there now. One of another owner is not, nor one whose target began a new life since.
bool is_repeated_publication(bool staged_lives, const Maybe<Seal>& published, const Seal& mark,
                             const LogEnd& target) noexcept;

// The entries of a staged log, as they stand there.
struct StagedLog {
  int64_t first = -1;
  int64_t last = -1;
  int64_t count = 0;
};

// Is it whole: idx 1..expected_last and nothing else? Returns nullptr when it is.
const Reason* judge_staged_log(const StagedLog& log, int64_t expected_last) noexcept;

// A ModeRule for the namespace of the stage. The epoch that a publisher states is one of the
// final name, so this namespace only matters to one that states none.
const Reason* judge_staged_mode(Mode mode, bool epoch_given) noexcept;

// Another owner's stage is not for this publisher. Who states no epoch asserts nothing.
const Reason* judge_staged_owner(const Record& staged, const Claimant& publisher) noexcept;

// Is the final name free? A log that was trimmed to nothing is not.
inline bool can_be_published_to(const LogEnd& end) noexcept { return end.last_ever() < 0; }

namespace reasons {
extern const Reason not_whole;  // %n: expected_last
extern const Reason no_staged_log;
extern const Reason target_in_use;  // %n: an idx
}  // namespace reasons

}  // namespace fence

#endif
