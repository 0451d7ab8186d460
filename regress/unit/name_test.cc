#include "core/name.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fence::test {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string whole;
  for (int i = 0; i < times; ++i) whole += text;
  return whole;
}

TEST(CheckName, takes_1_to_255_bytes_of_utf8) {
  const struct {
    std::string name;
    const char* what;
  } cases[] = {
      {"a", "one byte"},
      {" ", "a blank"},
      {"\x01\x1f\x7f", "control characters other than NUL"},
      {"a:b/c%_\\'\"{}", "punctuation"},
      {std::string(255, 'k'), "255 bytes"},
      {repeated("\xe2\x82\xac", 85), "255 bytes in 85 characters"},
      {"\xc2\x80", "U+0080, the least of 2 bytes"},
      {"\xdf\xbf", "U+07FF, the greatest of 2 bytes"},
      {"\xe0\xa0\x80", "U+0800, the least of 3 bytes"},
      {"\xed\x9f\xbf", "U+D7FF, before the surrogates"},
      {"\xee\x80\x80", "U+E000, behind the surrogates"},
      {"\xef\xbf\xbf", "U+FFFF, the greatest of 3 bytes"},
      {"\xf0\x90\x80\x80", "U+10000, the least of 4 bytes"},
      {"\xf3\xbf\xbf\xbf", "U+FFFFF"},
      {"\xf4\x8f\xbf\xbf", "U+10FFFF, the greatest of all"},
      {"sch\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x94\x92.", "all lengths"},
  };
  for (const auto& c : cases) EXPECT_EQ(check_name(c.name), NameFault::none) << c.what;
}

TEST(CheckName, refuses_wrong_lengths_and_nul) {
  EXPECT_EQ(check_name(""), NameFault::empty);
  EXPECT_EQ(check_name(std::string_view()), NameFault::empty) << "null pointer";
  EXPECT_EQ(check_name(std::string(256, 'k')), NameFault::too_long);
  EXPECT_EQ(check_name(repeated("\xe2\x82\xac", 86)), NameFault::too_long)
      << "86 characters, 258 bytes: bytes count";
  EXPECT_EQ(check_name(std::string(1 << 20, 'k')), NameFault::too_long);
  EXPECT_EQ(check_name(std::string("\0", 1)), NameFault::nul);
  EXPECT_EQ(check_name(std::string("a\0b", 3)), NameFault::nul);
  EXPECT_EQ(check_name(std::string("ab\0", 3)), NameFault::nul);
}

TEST(CheckName, refuses_what_is_not_well_formed_utf8) {
  const struct {
    std::string name;
    const char* why;
  } cases[] = {
      {"\x80", "a continuation byte alone"},
      {"a\xbf", "a continuation byte after ASCII"},
      {"\xc3\xb6\xb6", "one continuation byte too many"},
      {"\xc3", "2 bytes cut to 1"},
      {"\xe2\x82", "3 bytes cut to 2"},
      {"\xe2", "3 bytes cut to 1"},
      {"\xf0\x9f\x94", "4 bytes cut to 3"},
      {"\xf0\x9f", "4 bytes cut to 2"},
      {"\xc3y", "2 bytes, the second is ASCII"},
      {"\xe2\x82y", "3 bytes, the third is ASCII"},
      {"\xe2y\x82", "3 bytes, the second is ASCII"},
      {"\xf0\x9f\x94y", "4 bytes, the fourth is ASCII"},
      {"\xf0\x9fy\x94", "4 bytes, the third is ASCII"},
      {"\xe2\x82\xc3", "3 bytes, the third begins a character"},
      {"\xc0\x80", "overlong NUL"},
      {"\xc1\xbf", "overlong, 2 bytes for U+007F"},
      {"\xe0\x80\xaf", "overlong, 3 bytes for /"},
      {"\xe0\x9f\xbf", "overlong, 3 bytes for U+07FF"},
      {"\xf0\x80\x80\xaf", "overlong, 4 bytes for /"},
      {"\xf0\x8f\xbf\xbf", "overlong, 4 bytes for U+FFFF"},
      {"\xed\xa0\x80", "U+D800, the first surrogate"},
      {"\xed\xbf\xbf", "U+DFFF, the last surrogate"},
      {"\xed\xa0\xbd\xed\xb4\x92", "a pair of surrogates (CESU-8)"},
      {"\xf4\x90\x80\x80", "U+110000"},
      {"\xf5\x80\x80\x80", "first byte F5"},
      {"\xf8\x88\x80\x80\x80", "5 bytes"},
      {"\xfe", "byte FE"},
      {"\xff", "byte FF"},
      {"sch\xf6n", "Latin-1"},
      {std::string(254, 'k') + "\xc3", "cut at 255 bytes"},
  };
  for (const auto& c : cases) EXPECT_EQ(check_name(c.name), NameFault::not_utf8) << c.why;
}

// In memory of exactly the name's size, so that AddressSanitizer sees a step beyond its end.
TEST(CheckName, refuses_a_name_that_ends_inside_a_character) {
  for (const std::string_view character :
       {"\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x94\x92", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(check_name(character), NameFault::none);
    for (size_t length = 1; length < character.size(); ++length) {
      const std::vector<char> cut(character.data(), character.data() + length);
      EXPECT_EQ(check_name(std::string_view(cut.data(), cut.size())), NameFault::not_utf8)
          << length << " of " << character.size() << " bytes";
    }
  }
}

TEST(CheckName, names_the_first_fault_in_the_order_of_the_list) {
  EXPECT_EQ(check_name(std::string(256, '\0')), NameFault::too_long);
  EXPECT_EQ(check_name(std::string(256, '\xff')), NameFault::too_long);
  EXPECT_EQ(check_name(std::string("\xff\0", 2)), NameFault::nul);
}

TEST(CheckNamePrefix, is_the_rule_of_names_but_may_be_empty) {
  EXPECT_EQ(check_name_prefix(""), NameFault::none);
  EXPECT_EQ(check_name_prefix("a%_\\"), NameFault::none);
  EXPECT_EQ(check_name_prefix(std::string(255, 'x')), NameFault::none);
  EXPECT_EQ(check_name_prefix(std::string(256, 'x')), NameFault::too_long);
  EXPECT_EQ(check_name_prefix(std::string("a\0", 2)), NameFault::nul);
  EXPECT_EQ(check_name_prefix("\xc3"), NameFault::not_utf8);
}

// Messages are followed by a JSON detail, which readers find by its first brace.
TEST(Describe, says_something_else_of_each_fault_and_has_no_brace) {
  std::set<std::string> texts;
  for (const NameFault fault : {NameFault::none, NameFault::empty, NameFault::too_long,
                                NameFault::nul, NameFault::not_utf8}) {
    const std::string text = describe(fault);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

}  // namespace
}  // namespace fence::test
