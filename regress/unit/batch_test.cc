#include "core/batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fence::test {
namespace {

// Everything that a reader gives, and how it ends.
template <class Element>
struct Reading {
  std::vector<Element> elements;
  Step last;
};

template <class Element, class Reader>
Reading<Element> read_all(Reader reader) {
  Reading<Element> reading = {};
  Element element = {};
  while ((reading.last = reader.next(&element)) == Step::value) {
    reading.elements.push_back(element);
  }
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(reader.next(&element), reading.last) << "the last answer has to stay";
  }
  return reading;
}

Reading<int64_t> read_idxs(std::string_view json) { return read_all<int64_t>(IdxArray(json)); }

Reading<std::string_view> read_frames(std::string_view bytes) {
  return read_all<std::string_view>(FramedPayloads(bytes));
}

TEST(IdxArray, reads_integers_bare_and_quoted) {
  const struct {
    const char* json;
    std::vector<int64_t> idxs;
  } cases[] = {
      {"[]", {}},
      {"[ ]", {}},
      {" \t\r\n[\t\r\n ]\n\r\t ", {}},
      {"[0]", {0}},
      {"[\"0\"]", {0}},
      {"[1,2,3]", {1, 2, 3}},
      {"[3,1,3]", {3, 1, 3}},
      {"[\"1\",2,\"3\"]", {1, 2, 3}},
      {" [ 1 ,\t2\n,\r3 ] ", {1, 2, 3}},
      {"[ \"1\" , \"2\" ]", {1, 2}},
      {"[9223372036854775807]", {INT64_MAX}},
      {"[\"9223372036854775807\"]", {INT64_MAX}},
      {"[9007199254740993]", {9007199254740993}},
  };
  for (const auto& c : cases) {
    const Reading<int64_t> reading = read_idxs(c.json);
    EXPECT_EQ(reading.last, Step::end) << c.json;
    EXPECT_EQ(reading.elements, c.idxs) << c.json;
  }
}

struct Fault {
  std::string text;
  const char* why;
};

// Each of them alone in an array, and between two sound elements.
void expect_refused_as_elements(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    const Reading<int64_t> alone = read_idxs("[" + fault.text + "]");
    EXPECT_EQ(alone.last, Step::fault) << fault.why;
    EXPECT_TRUE(alone.elements.empty()) << fault.why << ": given out before it was refused";

    const Reading<int64_t> between = read_idxs("[7," + fault.text + ",8]");
    EXPECT_EQ(between.last, Step::fault) << fault.why;
    EXPECT_EQ(between.elements, std::vector<int64_t>{7}) << fault.why;
  }
}

TEST(IdxArray, refuses_numbers_that_are_no_idx) {
  expect_refused_as_elements({
      {"-1", "minus"},
      {"-0", "minus zero"},
      {"+1", "plus"},
      {"01", "leading zero"},
      {"00", "zero twice"},
      {"1.0", "real"},
      {"1.", "point without a fraction"},
      {".5", "point without a whole"},
      {"1e3", "exponent"},
      {"1E3", "exponent, upper case"},
      {"0x10", "hexadecimal"},
      {"NaN", "NaN"},
      {"Infinity", "infinity"},
      {"9223372036854775808", "2^63"},
      {"18446744073709551617", "2^64+1, which would wrap to 1"},
      {std::string(1000, '9'), "1000 digits"},
      {"\xd9\xa1", "a digit of another script"},
  });
}

TEST(IdxArray, refuses_values_that_are_no_numbers) {
  expect_refused_as_elements({
      {"null", "null"},
      {"true", "true"},
      {"[]", "empty array"},
      {"[1]", "array in the array"},
      {"{}", "empty object"},
      {R"({"a":1})", "object"},
      {"a", "word"},
      {"1a", "digit and letter"},
      {"'1'", "single quotes"},
      {"1 2", "comma missing"},
      {R"(1 "2")", "comma missing before a string"},
      {"1;", "semicolon"},
      {"1:2", "colon"},
      {"/*1*/", "comment"},
      {"\v1", "vertical tab, which is no white space in JSON"},
      {"\f1", "form feed, which is no white space in JSON"},
      {"\u00a01", "no-break space"},
  });
}

TEST(IdxArray, refuses_strings_that_are_no_idx) {
  expect_refused_as_elements({
      {R"("")", "empty"},
      {R"("a")", "letter"},
      {R"(" 1")", "leading blank"},
      {R"("1 ")", "trailing blank"},
      {R"("01")", "leading zero"},
      {R"("-1")", "minus"},
      {R"("1.0")", "real"},
      {R"("1e3")", "exponent"},
      {R"("null")", "null"},
      {R"("9223372036854775808")", "2^63"},
      {R"("\u0031")", "escape of a digit"},
      {R"("1\n")", "escape behind a digit"},
      {R"(")", "only a quote"},
      {R"("1)", "quote not closed"},
      {R"("1a)", "letter in place of the closing quote"},
      {R"(1")", "quote not opened"},
      {R"("1"2)", "digit behind the string"},
      {R"("1""2")", "string behind the string"},
      {R"("1" 2)", "comma missing"},
  });
}

TEST(IdxArray, refuses_a_text_that_is_not_exactly_one_array) {
  const Fault faults[] = {
      {"", "empty"},
      {" ", "only white space"},
      {"1", "number"},
      {"1,2", "no brackets"},
      {"null", "null"},
      {R"({"0":1})", "object"},
      {"[", "only opened"},
      {"]", "only closed"},
      {"[1", "not closed"},
      {"[1,", "not closed after a comma"},
      {"[1,2", "not closed after an element"},
      {"[,]", "only a comma"},
      {"[,1]", "comma first"},
      {"[1,]", "comma last"},
      {"[1 , ]", "comma last, with blanks"},
      {"[1,,2]", "two commas"},
      {"[1]]", "closed twice"},
      {"[]]", "empty, closed twice"},
      {"[1],", "comma behind"},
      {"[1] 2", "number behind"},
      {"[1][2]", "array behind"},
      {"[] []", "empty array behind"},
      {"([1])", "parentheses"},
      {"[1)", "closed by a parenthesis"},
      {"[1}", "closed by a brace"},
      {"\xef\xbb\xbf[1]", "byte order mark"},
      {"// x\n[1]", "comment"},
      {std::string("[1]\0", 4), "NUL behind"},
      {std::string("\0[1]", 4), "NUL before"},
      {std::string("[1,\0002]", 6), "NUL between"},
      {std::string("[\0]", 3), "NUL inside"},
  };
  for (const Fault& fault : faults) EXPECT_EQ(read_idxs(fault.text).last, Step::fault) << fault.why;
}

TEST(IdxArray, tells_a_faulty_array_from_a_text_that_is_none) {
  const auto opened = [](std::string_view json) {
    IdxArray array(json);
    int64_t value = 0;
    while (array.next(&value) == Step::value) continue;
    return array.opened();
  };
  for (const char* text : {"", " ", "1", "null", "abc", "{}", "]", "\"[1]\"", "([1])"}) {
    EXPECT_FALSE(opened(text)) << text;
  }
  for (const char* text : {"[", " [", "[1", "[x]", "[,1]", "[1,]", "[1] 2", "[]]", "[{}]"}) {
    EXPECT_TRUE(opened(text)) << text;
  }
}

TEST(IdxArray, refuses_every_beginning_of_an_array) {
  const std::string whole = " [ 10 , \"20\" ,30 ]";
  ASSERT_EQ(read_idxs(whole).last, Step::end);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(read_idxs(std::string_view(whole.data(), length)).last, Step::fault)
        << length << " bytes";
  }
}

TEST(IdxArray, reads_a_long_array) {
  std::string json = "[";
  for (int i = 0; i < 100000; ++i) json += (i == 0 ? "" : ",") + std::to_string(i);
  json += "]";
  const Reading<int64_t> reading = read_idxs(json);
  ASSERT_EQ(reading.last, Step::end);
  ASSERT_EQ(reading.elements.size(), 100000U);
  for (size_t i = 0; i < reading.elements.size(); ++i) {
    ASSERT_EQ(reading.elements[i], static_cast<int64_t>(i));
  }
}

TEST(IdxArray, leaves_the_value_alone_where_there_is_none) {
  int64_t value = 42;
  EXPECT_EQ(IdxArray("[]").next(&value), Step::end);
  EXPECT_EQ(IdxArray("[1.5]").next(&value), Step::fault);
  EXPECT_EQ(IdxArray("[1 2]").next(&value), Step::fault);
  EXPECT_EQ(IdxArray("").next(&value), Step::fault);
  EXPECT_EQ(value, 42);
}

std::string framed(const std::string& payload) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(payload.size() >> shift & 0xff);
  }
  return frame + payload;
}

TEST(FramedPayloads, gives_back_what_was_framed) {
  const size_t four_different_bytes = 0x01020304;
  const std::vector<std::vector<std::string>> cases = {
      {},
      {""},
      {"", "", ""},
      {"a"},
      {"a", "", "bcd"},
      {std::string("\0\xff\0", 3), std::string(4, '\0')},
      {std::string(255, 'x'), std::string(256, 'y'), std::string(257, 'z')},
      {std::string(65535, 'x'), std::string(65536, 'y'),
       std::string().append(four_different_bytes, 'z'), "end"},
  };
  for (const std::vector<std::string>& payloads : cases) {
    std::string bytes;
    for (const std::string& payload : payloads) bytes += framed(payload);
    const Reading<std::string_view> reading = read_frames(bytes);
    EXPECT_EQ(reading.last, Step::end);
    ASSERT_EQ(reading.elements.size(), payloads.size());
    for (size_t i = 0; i < payloads.size(); ++i) {
      EXPECT_TRUE(reading.elements[i] == payloads[i]) << "payload " << i;
    }
  }
}

TEST(FramedPayloads, refuses_a_frame_that_is_cut_anywhere) {
  const std::string first = framed("one");
  const std::string whole = first + framed("three");
  for (size_t length = first.size() + 1; length < whole.size(); ++length) {
    const Reading<std::string_view> reading = read_frames(std::string_view(whole.data(), length));
    EXPECT_EQ(reading.last, Step::fault) << length << " bytes";
    ASSERT_EQ(reading.elements.size(), 1U) << length << " bytes";
    EXPECT_EQ(reading.elements[0], "one");
  }
}

TEST(FramedPayloads, refuses_a_length_beyond_the_end) {
  const Fault faults[] = {
      {std::string("\0", 1), "1 byte of a length"},
      {std::string("\0\0\0", 3), "3 bytes of a length"},
      {std::string("\0\0\0\1", 4), "one byte more than there is"},
      {std::string("\0\0\0\2x", 5), "one byte more than there is, behind one"},
      {std::string("\1\0\0\0x", 5), "a little-endian length"},
      {std::string("\x7f\xff\xff\xffx", 5), "2^31-1"},
      {std::string("\x80\0\0\0x", 5), "2^31"},
      {std::string("\xff\xff\xff\xffx", 5), "2^32-1"},
      {std::string("\xff\xff\xff\xfc", 4), "2^32-4, which with its header is 2^32"},
      {framed("a") + "z", "one byte behind the last frame"},
  };
  for (const Fault& fault : faults) {
    EXPECT_EQ(read_frames(fault.text).last, Step::fault) << fault.why;
  }
}

TEST(FramedPayloads, leaves_the_payload_alone_where_there_is_none) {
  std::string_view payload = "untouched";
  EXPECT_EQ(FramedPayloads("").next(&payload), Step::end);
  EXPECT_EQ(FramedPayloads("abc").next(&payload), Step::fault);
  EXPECT_EQ(FramedPayloads("abcd").next(&payload), Step::fault);
  EXPECT_EQ(payload, "untouched");
}

}  // namespace
}  // namespace fence::test
