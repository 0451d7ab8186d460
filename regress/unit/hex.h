// Bytes as the published tables of vectors print them.
#ifndef FENCE_REGRESS_UNIT_HEX_H
#define FENCE_REGRESS_UNIT_HEX_H

#include <cstddef>
#include <string>

namespace fence::test {

inline std::string hex(const unsigned char* bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace fence::test

#endif
