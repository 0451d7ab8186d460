// The first four arguments of most calls: (namespace, key, epoch, writer).
#ifndef FENCE_SQLITE_EXT_OWNER_CALL_H
#define FENCE_SQLITE_EXT_OWNER_CALL_H

#include "core/argument.h"
#include "core/layer.h"
#include "core/mode.h"
#include "core/ownership.h"

namespace fence {

// The names of a record; borrowed from the arguments of a call.
struct LogName {
  std::string_view ns;
  std::string_view key;
};

struct OwnerCall {
  LogName name;
  Claimant claimant;  // nobody where the epoch is NULL
  // Only looked at where the epoch is NULL and the mode forbids that.
  bool writer_sound = true;

  bool epoch_given() const noexcept { return !claimant.unfenced(); }
};

// What a call asks of the namespace's mode: judge_mode, judge_owner_mode, or nullptr
// where the mode does not matter.
using ModeRule = const Reason* (*)(Mode mode, bool epoch_given) noexcept;

// Does the mode take the call? A writer that is none is ZF010, so it comes first.
inline const Reason* judge_mode_of(const OwnerCall& call, ModeRule rule, Mode mode) noexcept {
  const Reason* reason =
      rule == nullptr || !layer(Layer::mode_check) ? nullptr : rule(mode, call.epoch_given());
  return reason != nullptr && !call.writer_sound ? &reasons::bad_writer : reason;
}

}  // namespace fence

#endif
