#include "core/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "regress/unit/hex.h"

namespace fence::test {
namespace {

constexpr const char* canonical = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
// The first half of the SHA-256 of its 16 bytes, from Python's hashlib and uuid.
constexpr const char* canonical_hash = "f23b657dd2a0d55a8a293bd5c1a2b387";

std::string text_of(const WriterHash& hash) { return hex(hash.bytes, sizeof hash.bytes); }

TEST(ParseWriter, takes_every_spelling_of_a_uuid_for_the_same_writer) {
  const struct {
    const char* text;
    const char* what;
  } cases[] = {
      {canonical, "canonical"},
      {"6F9619FF-8B86-D011-B42D-00C04FC964FF", "upper case"},
      {"6f9619FF-8b86-D011-b42d-00C04fc964fF", "mixed case"},
      {"6f9619ff8b86d011b42d00c04fc964ff", "no hyphen"},
      {"6f96-19ff-8b86-d011-b42d-00c0-4fc9-64ff", "all 7 hyphens"},
      {"6f96-19ff8b86d011b42d00c04fc964ff", "only the first hyphen"},
      {"6f9619ff8b86d011b42d00c04fc9-64ff", "only the last hyphen"},
      {"6f9619ff8b86d011-b42d00c04fc964ff", "only the middle hyphen"},
      {"{6f9619ff-8b86-d011-b42d-00c04fc964ff}", "braces"},
      {"{6f9619ff8b86d011b42d00c04fc964ff}", "braces, no hyphen"},
      {"{6F96-19FF-8B86-D011-B42D-00C0-4FC9-64FF}", "braces, upper case, all hyphens"},
  };
  for (const auto& c : cases) {
    WriterHash hash = {};
    EXPECT_TRUE(parse_writer(c.text, &hash)) << c.what;
    EXPECT_EQ(text_of(hash), canonical_hash) << c.what;
  }
}

TEST(ParseWriter, takes_the_uuid_of_zeros_for_a_writer) {
  WriterHash hash = {};
  EXPECT_TRUE(parse_writer("00000000-0000-0000-0000-000000000000", &hash));
  EXPECT_EQ(text_of(hash), "374708fff7719dd5979ec875d56cd228");
}

TEST(ParseWriter, tells_writers_apart_by_every_digit) {
  WriterHash original = {};
  ASSERT_TRUE(parse_writer(canonical, &original));
  for (size_t i = 0; canonical[i] != '\0'; ++i) {
    if (canonical[i] == '-') continue;
    std::string text = canonical;
    text[i] = text[i] == '7' ? '8' : '7';
    WriterHash other = {};
    ASSERT_TRUE(parse_writer(text, &other)) << text;
    EXPECT_NE(text_of(other), text_of(original)) << text;
  }
}

TEST(ParseWriter, refuses_anything_else_and_leaves_the_hash_alone) {
  const std::string uuid = canonical;
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "empty"},
      {"writer-1", "no UUID"},
      {" " + uuid, "leading blank"},
      {uuid + " ", "trailing blank"},
      {uuid + "\n", "trailing line feed"},
      {uuid + std::string(1, '\0'), "trailing NUL"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964f", "31 digits"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964", "30 digits"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964ff0", "33 digits"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964ff00", "34 digits"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964fg", "the letter after f"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964f:", "the character after 9"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964f@", "the character before A"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964f`", "the character before a"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964f/", "the character before 0"},
      {"6f9619ff-8b86-d011-b42d-00c04fc964fG", "the letter after F"},
      {"-6f9619ff8b86d011b42d00c04fc964ff", "hyphen in front"},
      {"6f9619ff8b86d011b42d00c04fc964ff-", "hyphen behind"},
      {"{6f9619ff8b86d011b42d00c04fc964ff-}", "hyphen before the closing brace"},
      {"6f9619ff--8b86-d011-b42d-00c04fc964ff", "two hyphens"},
      {"6-f9619ff8b86d011b42d00c04fc964ff", "hyphen inside a byte"},
      {"6f-9619ff8b86d011b42d00c04fc964ff", "hyphen after one byte"},
      {"6f961-9ff8b86d011b42d00c04fc964ff", "hyphen after 5 digits"},
      {"6f9619-ff8b86d011b42d00c04fc964ff", "hyphen after 3 bytes"},
      {"6f9619ff\u20108b86-d011-b42d-00c04fc964ff", "a hyphen that is not ASCII"},
      {"6f9619ff_8b86_d011_b42d_00c04fc964ff", "underscores"},
      {"{" + uuid, "no closing brace"},
      {"{" + uuid + "0", "digit in place of the closing brace"},
      {"{" + uuid + "{", "closed by an opening brace"},
      {uuid + "}", "no opening brace"},
      {"{{" + uuid + "}}", "two pairs of braces"},
      {"(" + uuid + ")", "parentheses"},
      {"{" + uuid + "} ", "blank behind the brace"},
      {"{ " + uuid + "}", "blank inside the braces"},
      {"{", "only a brace"},
      {"{}", "only braces"},
      {"urn:uuid:" + uuid, "URN"},
      {"0x" + uuid, "0x in front"},
      {"+f9619ff-8b86-d011-b42d-00c04fc964ff", "sign in place of a digit"},
      {" f9619ff-8b86-d011-b42d-00c04fc964ff", "blank in place of a digit"},
      {std::string(100000, '6'), "far too long"},
  };
  for (const auto& c : cases) {
    WriterHash hash = {{1, 2, 3}};
    EXPECT_FALSE(parse_writer(c.text, &hash)) << c.why;
    EXPECT_EQ(text_of(hash), "01020300000000000000000000000000") << c.why;
  }
}

TEST(Fingerprint, is_the_first_8_digits_of_the_hash) {
  WriterHash hash = {};
  ASSERT_TRUE(parse_writer(canonical, &hash));
  EXPECT_STREQ(fingerprint(hash).text, "f23b657d");
  EXPECT_STREQ(fingerprint(WriterHash{{0x00, 0x0f, 0xf0, 0xff, 0x11}}).text, "000ff0ff");
}

TEST(WriterHash, is_equal_only_if_all_its_bytes_are) {
  WriterHash hash = {};
  ASSERT_TRUE(parse_writer(canonical, &hash));
  const WriterHash same = hash;
  EXPECT_TRUE(hash == same);
  EXPECT_FALSE(hash != same);
  for (size_t i = 0; i < sizeof hash.bytes; ++i) {
    WriterHash other = hash;
    other.bytes[i] ^= 0x80;
    EXPECT_FALSE(hash == other) << "byte " << i;
    EXPECT_TRUE(hash != other) << "byte " << i;
  }
}

}  // namespace
}  // namespace fence::test
