// The first four arguments of most calls: (namespace, key, epoch, writer).
#ifndef FENCE_SQLITE_EXT_OWNER_CALL_H
#define FENCE_SQLITE_EXT_OWNER_CALL_H

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
  // judge_call_mode says when that counts.
  bool writer_sound = true;

  bool epoch_given() const noexcept { return !claimant.unfenced(); }
};

inline const Reason* judge_mode_of(const OwnerCall& call, ModeRule rule, Mode mode) noexcept {
  return judge_call_mode(rule, mode, call.epoch_given(), call.writer_sound);
}

}  // namespace fence

#endif
