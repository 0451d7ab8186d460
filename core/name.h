// Which texts can name a record: the rule for namespaces, keys and the names of values.
#ifndef FENCE_CORE_NAME_H
#define FENCE_CORE_NAME_H

#include <cstddef>
#include <string_view>

namespace fence {

// The greatest length of a name, in bytes.
inline constexpr size_t longest_name = 255;

// Why a text is no name (ZF010), in the order in which faults are looked for.
enum class NameFault { none, empty, too_long, nul, not_utf8 };

// The first fault of a text that has to be 1..255 bytes of well-formed UTF-8 (RFC 3629: shortest
// form, no surrogates, at most U+10FFFF) without NUL.
NameFault check_name(std::string_view name) noexcept;

// The same for the beginning of a name, which may be empty.
NameFault check_name_prefix(std::string_view prefix) noexcept;

// The fault as the rest of a sentence that begins with what was named: "is empty". Never null.
const char* describe(NameFault fault) noexcept;

}  // namespace fence

#endif
