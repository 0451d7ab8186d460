// Named points at which a test build kills its own process (regress/e2e). In a
// normal build the macro is nothing, and nothing of it reaches the library.
#ifndef FENCE_CORE_FAILPOINT_H
#define FENCE_CORE_FAILPOINT_H

#ifdef FENCE_FAILPOINTS

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace fence {

// Environment: FENCE_FAILPOINT names the point; the process dies there by SIGKILL.
inline void reach_failpoint(const char* name) noexcept {
  const char* wanted = std::getenv("FENCE_FAILPOINT");
  if (wanted != nullptr && std::strcmp(wanted, name) == 0) {
    std::raise(SIGKILL);
  }
}

}  // namespace fence

#define FENCE_FAILPOINT(name) ::fence::reach_failpoint(name)
#else
#define FENCE_FAILPOINT(name) static_cast<void>(0)
#endif

#endif
