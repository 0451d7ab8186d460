#include "core/number.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace fence::test {
namespace {

using Double = std::numeric_limits<double>;

struct TextCase {
  std::string text;
  int64_t value;
};

TEST(ParseDecimal, takes_every_number_in_its_one_spelling) {
  const TextCase cases[] = {
      {"0", 0},
      {"1", 1},
      {"9", 9},
      {"10", 10},
      {"9007199254740992", int64_t{1} << 53},
      {"9007199254740993", (int64_t{1} << 53) + 1},
      {"999999999999999999", 999999999999999999},
      {"1000000000000000000", 1000000000000000000},
      {"9223372036854775806", greatest_number - 1},
      {"9223372036854775807", greatest_number},
  };
  for (const TextCase& c : cases) {
    const ParsedNumber number = parse_decimal(c.text);
    EXPECT_TRUE(number.ok) << c.text;
    EXPECT_EQ(number.value, c.value) << c.text;
  }
}

TEST(ParseDecimal, refuses_what_is_not_a_plain_decimal_integer) {
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "empty"},
      {"007", "leading zeros"},
      {"00", "zero twice"},
      {"01", "leading zero"},
      {" 5", "leading blank"},
      {"5 ", "trailing blank"},
      {"5\n", "trailing line feed"},
      {"+5", "plus"},
      {"-1", "minus"},
      {"-0", "minus zero"},
      {"1.0", "point"},
      {"1e3", "exponent"},
      {"0x10", "hexadecimal"},
      {"1_000", "separator"},
      {"12a", "letter"},
      {"/", "the character before 0"},
      {":", "the character after 9"},
      {std::string("5\0", 2), "trailing NUL"},
      {std::string("1\0002", 3), "embedded NUL"},
      {std::string("\0", 1), "only a NUL"},
      {"\xd9\xa5", "a digit of another script"},
      {"NaN", "no number"},
      {"9223372036854775808", "2^63"},
      {"9999999999999999999", "19 digits, too large"},
      {"10000000000000000000", "20 digits"},
      {"18446744073709551616", "2^64, which would wrap to 0"},
      {"18446744073709551617", "2^64+1, which would wrap to 1"},
      {std::string(1000, '9'), "1000 digits"},
  };
  for (const auto& c : cases) {
    const ParsedNumber number = parse_decimal(c.text);
    EXPECT_FALSE(number.ok) << c.why;
    EXPECT_EQ(number.value, 0) << c.why;
  }
}

TEST(NumberFromInteger, takes_what_is_not_negative_exactly) {
  for (const int64_t integer :
       {int64_t{0}, int64_t{1}, (int64_t{1} << 53) + 1, greatest_number - 1, greatest_number}) {
    const ParsedNumber number = number_from_integer(integer);
    EXPECT_TRUE(number.ok) << integer;
    EXPECT_EQ(number.value, integer);
  }
}

TEST(NumberFromInteger, refuses_negative_numbers) {
  for (const int64_t integer : {int64_t{-1}, int64_t{-2}, std::numeric_limits<int64_t>::min()}) {
    const ParsedNumber number = number_from_integer(integer);
    EXPECT_FALSE(number.ok) << integer;
    EXPECT_EQ(number.value, 0) << integer;
  }
}

TEST(NumberFromDouble, takes_whole_numbers_that_a_double_holds_exactly) {
  const struct {
    double real;
    int64_t value;
  } cases[] = {
      {0.0, 0},
      {-0.0, 0},
      {1.0, 1},
      {5.0, 5},
      {1e3, 1000},
      {2147483648.0, int64_t{1} << 31},
      {9007199254740990.0, (int64_t{1} << 53) - 2},
      {9007199254740991.0, (int64_t{1} << 53) - 1},
  };
  for (const auto& c : cases) {
    const ParsedNumber number = number_from_double(c.real);
    EXPECT_TRUE(number.ok) << c.value;
    EXPECT_EQ(number.value, c.value);
  }
}

TEST(NumberFromDouble, refuses_what_is_not_whole_or_might_have_been_rounded) {
  const struct {
    double real;
    const char* why;
  } cases[] = {
      {0.5, "fraction"},
      {1.0000000000000002, "smallest fraction above 1"},
      {4503599627370495.5, "the largest double with a fraction"},
      {Double::denorm_min(), "smallest number above 0"},
      {-Double::denorm_min(), "smallest number below 0"},
      {-0.5, "between -1 and 0"},
      {-1.0, "negative"},
      {9007199254740992.0, "2^53: 2^53+1 arrives as the same"},
      {9007199254740994.0, "2^53+2"},
      {9223372036854775808.0, "2^63"},
      {18446744073709551616.0, "2^64"},
      {-9223372036854775808.0, "-2^63"},
      {Double::max(), "largest double"},
      {Double::lowest(), "lowest double"},
      {Double::infinity(), "infinity"},
      {-Double::infinity(), "minus infinity"},
      {Double::quiet_NaN(), "NaN"},
      {-Double::quiet_NaN(), "NaN with a sign"},
  };
  for (const auto& c : cases) {
    const ParsedNumber number = number_from_double(c.real);
    EXPECT_FALSE(number.ok) << c.why;
    EXPECT_EQ(number.value, 0) << c.why;
  }
}

TEST(IntegerFromDouble, takes_the_same_numbers_on_both_sides_of_0) {
  for (const double real : {0.0, 1.0, 5.0, 2147483648.0, 9007199254740991.0}) {
    for (const double sign : {1.0, -1.0}) {
      const ParsedNumber number = integer_from_double(sign * real);
      EXPECT_TRUE(number.ok) << sign * real;
      EXPECT_EQ(number.value, static_cast<int64_t>(sign * real));
    }
  }
}

TEST(IntegerFromDouble, refuses_what_is_not_whole_or_might_have_been_rounded) {
  for (const double real :
       {0.5, 1.5, Double::denorm_min(), 9007199254740992.0, 9223372036854775808.0, Double::max(),
        Double::infinity(), Double::quiet_NaN()}) {
    for (const double sign : {1.0, -1.0}) {
      EXPECT_FALSE(integer_from_double(sign * real).ok) << sign * real;
      EXPECT_EQ(integer_from_double(sign * real).value, 0) << sign * real;
    }
  }
}

}  // namespace
}  // namespace fence::test
