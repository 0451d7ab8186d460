// Epochs, idx and other numbers of a call: whole, 0..2^63-1, never wrapped and never rounded.
#ifndef FENCE_CORE_NUMBER_H
#define FENCE_CORE_NUMBER_H

#include <cstdint>
#include <string_view>

namespace fence {

// 2^63-1, the greatest epoch or idx.
inline constexpr int64_t greatest_number = INT64_MAX;

// 2^53-1, the greatest whole number of which a double still says that it is no neighbour rounded.
inline constexpr int64_t greatest_exact_double = (int64_t{1} << 53) - 1;

// A number, or the answer that what was given is none (ok is false, value is 0): ZF010.
struct ParsedNumber {
  bool ok;
  int64_t value;
};

// A number written as text: "0", or up to 19 digits that do not begin with 0. Sign, blanks, point,
// exponent, hexadecimal and a NUL are refused, so that each number has exactly one spelling.
ParsedNumber parse_decimal(std::string_view text) noexcept;

// A number that arrived as an integer: 0 and up.
ParsedNumber number_from_integer(int64_t integer) noexcept;

// A number that arrived as floating point: integral, 0..2^53-1; minus zero is 0. 2^53 itself is
// refused because 2^53+1 would arrive as the same double. NaN and infinities are refused.
ParsedNumber number_from_double(double real) noexcept;

// The same for a number that may be negative, as a column of a key may: -(2^53-1)..2^53-1.
ParsedNumber integer_from_double(double real) noexcept;

}  // namespace fence

#endif
