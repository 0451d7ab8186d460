// Small named values of a key (spec 2.1, fenced_put and fenced_remove).
#ifndef FENCE_CORE_VALUE_H
#define FENCE_CORE_VALUE_H

#include <cstdint>

#include "core/ownership.h"

namespace fence {

// What stands under a name, compared with what a call brings.
struct FoundValue {
  bool exists = false;
  int64_t epoch = unfenced_epoch;
  bool same_bytes = false;
};

// Does a put by that epoch change anything? The same bytes of an earlier epoch are stored
// anew: the value is that of the present owner then.
inline bool put_changes(const FoundValue& found, int64_t epoch) noexcept {
  return !found.exists || !found.same_bytes || found.epoch != epoch;
}

// Does a removal?
inline bool remove_changes(const FoundValue& found) noexcept { return found.exists; }

}  // namespace fence

#endif
