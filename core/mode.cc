#include "core/mode.h"

#include "core/argument.h"
#include "core/layer.h"

namespace fence {

namespace reasons {
const Reason epoch_missing = {Code::configuration, "the epoch is NULL, and this call needs one",
                              "pass the epoch of your claim; writes without one need a namespace "
                              "in mode unfenced or optional"};
const Reason epoch_unwanted = {
    Code::configuration, "an epoch is given, and the namespace is in mode unfenced",
    "pass NULL as epoch, or set the mode to optional or required by fence_namespace_set"};
const Reason owner_epoch_missing = {Code::configuration,
                                    "the epoch is NULL, and this call needs one in every mode",
                                    "pass the epoch of your claim"};
const Reason no_owners = {Code::configuration,
                          "the namespace is in mode unfenced, in which nobody owns a key",
                          "set the mode to required or optional by fence_namespace_set first"};
const Reason mode_changed = {Code::configuration,
                             "the mode of the namespace was changed while the transaction was open",
                             "do the transaction again, as the mode wants it now: with an epoch "
                             "in mode required, without one in mode unfenced"};
const Reason no_shard_space = {Code::configuration, "there is no such shard space",
                               "pass NULL: the namespace is not bound to one"};
}  // namespace reasons

namespace {

constexpr const char* names[] = {"required", "unfenced", "optional"};

}  // namespace

bool parse_mode(std::string_view name, Mode* mode) noexcept {
  for (const Mode one : {Mode::required, Mode::unfenced, Mode::optional}) {
    if (name == mode_name(one)) {
      *mode = one;
      return true;
    }
  }
  return false;
}

const char* mode_name(Mode mode) noexcept { return names[static_cast<size_t>(mode)]; }

const Reason* judge_mode(Mode mode, bool epoch_given) noexcept {
  if (mode == Mode::required && !epoch_given) {
    return &reasons::epoch_missing;
  }
  return mode == Mode::unfenced && epoch_given ? &reasons::epoch_unwanted : nullptr;
}

const Reason* judge_owner_mode(Mode mode, bool epoch_given) noexcept {
  if (!epoch_given) {
    return &reasons::owner_epoch_missing;
  }
  return mode == Mode::unfenced ? &reasons::no_owners : nullptr;
}

const Reason* judge_call_mode(ModeRule rule, Mode mode, bool epoch_given,
                              bool writer_sound) noexcept {
  if (rule == nullptr || !layer(Layer::mode_check)) {
    return nullptr;
  }
  const Reason* reason = rule(mode, epoch_given);
  if (reason == nullptr || writer_sound) {
    return reason;
  }
  // A call about ownership cannot do without them in any mode.
  return rule == judge_owner_mode ? &reasons::bad_writer : &reasons::no_claimant;
}

}  // namespace fence
