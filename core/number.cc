#include "core/number.h"

#include <cstddef>

namespace fence {
namespace {

constexpr ParsedNumber refused = {false, 0};

constexpr size_t most_digits = 19;  // of 2^63-1

}  // namespace

ParsedNumber parse_decimal(std::string_view text) noexcept {
  if (text.empty() || text.size() > most_digits) return refused;
  if (text[0] == '0' && text.size() > 1) return refused;

  // 19 digits are less than 10^19 < 2^64, so an unsigned sum cannot wrap.
  uint64_t sum = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return refused;
    sum = sum * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (sum > static_cast<uint64_t>(greatest_number)) return refused;
  return {true, static_cast<int64_t>(sum)};
}

ParsedNumber number_from_integer(int64_t integer) noexcept {
  if (integer < 0) return refused;
  return {true, integer};
}

ParsedNumber number_from_double(double real) noexcept {
  // Written so that NaN, for which every comparison is false, is refused too. Inside the range the
  // conversion is defined; it drops the fraction, so only integral numbers survive the way back.
  if (!(real >= 0 && real <= static_cast<double>(greatest_exact_double))) return refused;
  const auto integer = static_cast<int64_t>(real);
  if (static_cast<double>(integer) < real) return refused;
  return {true, integer};
}

ParsedNumber integer_from_double(double real) noexcept {
  const ParsedNumber size = number_from_double(real < 0 ? -real : real);
  return {size.ok, real < 0 ? -size.value : size.value};
}

}  // namespace fence
