#include "core/batch.h"

#include <cstddef>

#include "core/number.h"

namespace fence {
namespace {

bool is_white_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr size_t frame_header_size = 4;

}  // namespace

void IdxArray::skip_white_space() noexcept {
  while (!rest_.empty() && is_white_space(rest_.front())) rest_.remove_prefix(1);
}

// Takes the one-character token if it is what comes next.
bool IdxArray::take(char token) noexcept {
  skip_white_space();
  if (rest_.empty() || rest_.front() != token) return false;
  rest_.remove_prefix(1);
  return true;
}

// Takes an integer, bare or quoted. Escapes need no rule: a backslash is no digit.
bool IdxArray::take_element(int64_t* value) noexcept {
  const bool quoted = take('"');
  size_t length = 0;
  while (length < rest_.size() && is_digit(rest_[length])) ++length;
  const ParsedNumber number = parse_decimal(std::string_view(rest_.data(), length));
  if (!number.ok) return false;
  rest_.remove_prefix(length);
  if (quoted) {
    // No white space belongs to the string, so its end is looked for without skipping any.
    if (rest_.empty() || rest_.front() != '"') return false;
    rest_.remove_prefix(1);
  }
  *value = number.value;
  return true;
}

Step IdxArray::fail() noexcept {
  last_ = Step::fault;
  return last_;
}

// After the closing bracket nothing but white space may stand.
Step IdxArray::close() noexcept {
  skip_white_space();
  last_ = rest_.empty() ? Step::end : Step::fault;
  return last_;
}

Step IdxArray::next(int64_t* value) noexcept {
  if (last_ != Step::value) return last_;
  if (expect_ == Expect::open_bracket) {
    if (!take('[')) return fail();
    expect_ = Expect::element;
    if (take(']')) return close();
  } else if (expect_ == Expect::end_of_text) {
    return close();
  }
  int64_t element = 0;
  if (!take_element(&element)) return fail();
  // What follows belongs to the verdict on the element: 1.5 and 1e3 must not pass as 1 first.
  if (take(',')) {
    expect_ = Expect::element;
  } else if (take(']')) {
    expect_ = Expect::end_of_text;
  } else {
    return fail();
  }
  *value = element;
  return Step::value;
}

Step FramedPayloads::next(std::string_view* payload) noexcept {
  if (failed_) return Step::fault;
  if (rest_.empty()) return Step::end;
  if (rest_.size() < frame_header_size) {
    failed_ = true;
    return Step::fault;
  }
  size_t length = 0;
  for (size_t i = 0; i < frame_header_size; ++i) {
    length = length << 8 | static_cast<unsigned char>(rest_[i]);
  }
  // Compared by subtraction: a sum could wrap where size_t has 32 bits.
  if (length > rest_.size() - frame_header_size) {
    failed_ = true;
    return Step::fault;
  }
  *payload = std::string_view(rest_.data() + frame_header_size, length);
  rest_.remove_prefix(frame_header_size + length);
  return Step::value;
}

}  // namespace fence
