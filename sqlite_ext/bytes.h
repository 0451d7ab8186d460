// Bytes from one place to another. (What std::string_view has for that may throw, and so
// needs the C++ run time.)
#ifndef FENCE_SQLITE_EXT_BYTES_H
#define FENCE_SQLITE_EXT_BYTES_H

#include <cstring>
#include <string_view>

namespace fence {

// The beginning of a text, of at most that size.
inline std::string_view beginning_of(std::string_view text, size_t most) noexcept {
  return {text.data(), text.size() < most ? text.size() : most};
}

// Returns the copy; there must be room for it.
inline std::string_view copy_bytes(std::string_view from, char* to) noexcept {
  if (!from.empty()) {
    std::memcpy(to, from.data(), from.size());
  }
  return {to, from.size()};
}

}  // namespace fence

#endif
