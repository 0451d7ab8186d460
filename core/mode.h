// How the writes to a namespace are fenced (spec 2.1, fence_namespace_set).
#ifndef FENCE_CORE_MODE_H
#define FENCE_CORE_MODE_H

#include <cstdint>
#include <string_view>

#include "core/refusal.h"

namespace fence {

enum class Mode : unsigned char {
  required,  // every write states an epoch
  unfenced,  // none does, and nothing is asserted
  optional,  // both: for a rolling introduction
};

// What is set for a namespace; as it stands here where nothing was.
struct NamespaceRule {
  Mode mode = Mode::required;
  // The same bytes at the same idx are a repeat, of whatever epoch they are.
  bool identical_repeat = false;
  // The highest epoch of keys whose records were purged: a key without a record can only
  // be claimed above it.
  int64_t floor = -1;
};

// False, *mode untouched, where no mode has that name.
bool parse_mode(std::string_view name, Mode* mode) noexcept;
const char* mode_name(Mode mode) noexcept;

// Does the mode take a write with, or without, an epoch? nullptr: it does.
const Reason* judge_mode(Mode mode, bool epoch_given) noexcept;

// The same for calls that are about ownership itself: without an epoch they mean nothing.
const Reason* judge_owner_mode(Mode mode, bool epoch_given) noexcept;

// What a call asks of the mode: one of these, or nullptr where the mode does not matter.
using ModeRule = const Reason* (*)(Mode mode, bool epoch_given) noexcept;

// Does the mode take the call? writer_sound: false where the epoch is NULL and the writer is
// none. That is nobody's business where such calls are taken; where they are not it is the
// first thing that is wrong (ZF010 before ZF012).
const Reason* judge_call_mode(ModeRule rule, Mode mode, bool epoch_given,
                              bool writer_sound) noexcept;

// The floor of a namespace after a record with that floor was purged from it.
inline int64_t merged_floor(int64_t floor, int64_t purged) noexcept {
  return purged > floor ? purged : floor;
}

// So many records at most are purged in one call: each is locked by itself, and others
// need room in the lock table as well.
constexpr int64_t most_purged = 1000;

// Keys that were deleted at that time or before have reached the age; all in ms. Of age 0 are
// all, also those that were deleted under a clock that was ahead.
inline int64_t purge_cutoff(int64_t now, int64_t age) noexcept {
  return age == 0 ? INT64_MAX : now - age;
}

namespace reasons {
extern const Reason epoch_missing;        // NULL where one is needed
extern const Reason epoch_unwanted;       // given where the mode is unfenced
extern const Reason owner_epoch_missing;  // NULL in a call about ownership
extern const Reason no_owners;            // such a call where the mode is unfenced
extern const Reason mode_changed;         // while the transaction was open
extern const Reason no_shard_space;
}  // namespace reasons

}  // namespace fence

#endif
