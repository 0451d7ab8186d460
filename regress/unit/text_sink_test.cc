#include "core/text_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace fence::test {
namespace {

std::string number_text(int64_t value) {
  char buffer[64];
  TextSink sink(buffer, sizeof buffer);
  sink.put_number(value);
  EXPECT_TRUE(sink.whole());
  return buffer;
}

std::string json_text(std::string_view text) {
  char buffer[4096];
  TextSink sink(buffer, sizeof buffer);
  sink.put_json(text);
  EXPECT_TRUE(sink.whole());
  return {buffer, sink.size()};
}

TEST(TextSink, appends_one_text_after_the_other) {
  char buffer[64];
  TextSink sink(buffer, sizeof buffer);
  EXPECT_STREQ(buffer, "") << "terminated from the start";
  EXPECT_EQ(sink.size(), 0U);
  sink.put("abc");
  sink.put(' ');
  sink.put(std::string_view("defg", 2));
  sink.put("");
  sink.put_number(-5);
  sink.put_json("x");
  EXPECT_STREQ(buffer, "abc de-5\"x\"");
  EXPECT_EQ(sink.size(), std::strlen(buffer));
  EXPECT_TRUE(sink.whole());
}

TEST(TextSink, writes_numbers_of_the_whole_range) {
  const struct {
    int64_t value;
    const char* text;
  } cases[] = {
      {0, "0"},
      {1, "1"},
      {9, "9"},
      {10, "10"},
      {-1, "-1"},
      {-10, "-10"},
      {1000000, "1000000"},
      {9007199254740993, "9007199254740993"},
      {INT64_MAX, "9223372036854775807"},
      {INT64_MIN + 1, "-9223372036854775807"},
      {INT64_MIN, "-9223372036854775808"},
  };
  for (const auto& c : cases) EXPECT_EQ(number_text(c.value), c.text);
}

TEST(TextSink, writes_every_number_of_digits) {
  int64_t power = 1;
  std::string digits = "1";
  for (int i = 0; i < 19; ++i) {
    EXPECT_EQ(number_text(power), digits);
    EXPECT_EQ(number_text(-power), "-" + digits);
    EXPECT_EQ(number_text(power - 1), i == 0 ? "0" : std::string(static_cast<size_t>(i), '9'));
    if (i < 18) power *= 10;
    digits += "0";
  }
}

TEST(TextSink, escapes_exactly_what_json_demands) {
  const struct {
    std::string text;
    const char* json;
  } cases[] = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {"a\"b", R"("a\"b")"},
      {"a\\b", R"("a\\b")"},
      {"\\\"", R"("\\\"")"},
      {"/'%{}[]", R"("/'%{}[]")"},
      {"\x01", R"("\u0001")"},
      {"\t\n\r", R"("\u0009\u000a\u000d")"},
      {"\x1f ", R"("\u001f ")"},
      {"\x7f", "\"\x7f\""},
      {std::string("a\0b", 3), R"("a\u0000b")"},
      {"sch\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x94\x92",
       "\"sch\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x94\x92\""},
  };
  for (const auto& c : cases) EXPECT_EQ(json_text(c.text), c.json);
}

TEST(TextSink, leaves_no_control_character_bare) {
  for (int byte = 0; byte < 0x20; ++byte) {
    const std::string json = json_text(std::string(1, static_cast<char>(byte)));
    ASSERT_EQ(json.size(), 8U) << byte;
    EXPECT_EQ(json.substr(0, 5), "\"\\u00") << byte;
    EXPECT_EQ(std::stoi(json.substr(3, 4), nullptr, 16), byte);
  }
}

// A sink of every size between bytes that must not change.
template <typename Write>
void expect_cut(const std::string& whole, Write write) {
  for (size_t capacity = 0; capacity <= whole.size() + 2; ++capacity) {
    std::string memory(capacity + 16, '#');
    TextSink sink(memory.data() + 8, capacity);
    write(&sink);
    const size_t kept = capacity == 0 ? 0 : std::min(capacity - 1, whole.size());
    EXPECT_EQ(sink.size(), kept) << capacity;
    EXPECT_EQ(sink.whole(), capacity > whole.size()) << capacity;
    EXPECT_EQ(memory.substr(0, 8), "########") << capacity;
    EXPECT_EQ(memory.substr(8 + capacity), "########") << capacity;
    EXPECT_EQ(memory.substr(8, kept), whole.substr(0, kept)) << capacity;
    if (capacity > 0) {
      EXPECT_EQ(memory[8 + kept], '\0') << capacity;
    }
  }
}

TEST(TextSink, cuts_what_does_not_fit_and_never_writes_past_its_end) {
  expect_cut("abcdef", [](TextSink* sink) { sink->put("abcdef"); });
  expect_cut("x", [](TextSink* sink) { sink->put('x'); });
  expect_cut("-9223372036854775808", [](TextSink* sink) { sink->put_number(INT64_MIN); });
  expect_cut("\"a\\u0001\\\"\"", [](TextSink* sink) { sink->put_json("a\x01\""); });
  expect_cut("ab12\"c\"", [](TextSink* sink) {
    sink->put("ab");
    sink->put_number(12);
    sink->put_json("c");
  });
}

TEST(TextSink, stays_cut) {
  char buffer[4];
  TextSink sink(buffer, sizeof buffer);
  sink.put("abcd");
  sink.put("");
  sink.put('e');
  EXPECT_FALSE(sink.whole());
  EXPECT_STREQ(buffer, "abc");
}

TEST(TextSink, holds_a_text_that_fits_exactly) {
  char buffer[4];
  TextSink sink(buffer, sizeof buffer);
  sink.put("abc");
  EXPECT_TRUE(sink.whole());
  EXPECT_STREQ(buffer, "abc");
}

}  // namespace
}  // namespace fence::test
