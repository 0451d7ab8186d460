// The wall clock, for times that are stored and shown.
#ifndef FENCE_SQLITE_EXT_CLOCK_H
#define FENCE_SQLITE_EXT_CLOCK_H

#include <cstdint>
#include <ctime>

namespace fence {

// Milliseconds since 1970.
inline int64_t now_ms() noexcept {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

}  // namespace fence

#endif
