// Time for bounded waits: whatever happens to the wall clock, it goes on evenly.
#ifndef FENCE_PG_EXT_CLOCK_H
#define FENCE_PG_EXT_CLOCK_H

#include <time.h>

#include <cstdint>

namespace fence {

// Milliseconds since some moment in the past.
inline int64_t monotonic_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

}  // namespace fence

#endif
