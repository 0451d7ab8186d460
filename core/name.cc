#include "core/name.h"

#include <cstring>

namespace fence {
namespace {

// What may follow a first byte: how many more bytes, and the range of the next of them. All later
// ones are 80..BF.
struct Utf8Lead {
  unsigned char first, last;  // the first bytes to which it applies
  unsigned char more;
  unsigned char next_least, next_most;
};

// Table 3-7 of the Unicode standard, "well-formed UTF-8 byte sequences". The narrowed ranges keep
// out overlong forms (E0, F0), surrogates (ED) and what lies above U+10FFFF (F4).
constexpr Utf8Lead utf8_leads[] = {
    {0x00, 0x7f, 0, 0x00, 0x00}, {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

bool in_range(char byte, unsigned char least, unsigned char most) noexcept {
  const auto value = static_cast<unsigned char>(byte);
  return value >= least && value <= most;
}

// The length of the well-formed character at the beginning of a text that is not empty, or 0.
size_t character_length(std::string_view text) noexcept {
  for (const Utf8Lead& lead : utf8_leads) {
    if (!in_range(text[0], lead.first, lead.last)) continue;
    const size_t length = size_t{lead.more} + 1;
    if (length > text.size()) return 0;
    if (length > 1 && !in_range(text[1], lead.next_least, lead.next_most)) return 0;
    for (size_t i = 2; i < length; ++i) {
      if (!in_range(text[i], 0x80, 0xbf)) return 0;
    }
    return length;
  }
  return 0;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

NameFault check_name(std::string_view name) noexcept {
  if (name.empty()) return NameFault::empty;
  if (name.size() > longest_name) return NameFault::too_long;
  if (memchr(name.data(), '\0', name.size()) != nullptr) return NameFault::nul;
  if (!is_utf8(name)) return NameFault::not_utf8;
  return NameFault::none;
}

NameFault check_name_prefix(std::string_view prefix) noexcept {
  return prefix.empty() ? NameFault::none : check_name(prefix);
}

const char* describe(NameFault fault) noexcept {
  switch (fault) {
    case NameFault::none:
      return "is a valid name";
    case NameFault::empty:
      return "is empty";
    case NameFault::too_long:
      return "is longer than 255 bytes";
    case NameFault::nul:
      return "contains a NUL byte";
    case NameFault::not_utf8:
      return "is not valid UTF-8";
  }
  return "is not a valid name";
}

}  // namespace fence
