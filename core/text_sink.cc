#include "core/text_sink.h"

namespace fence {

TextSink::TextSink(char* out, size_t capacity) noexcept : out_(out), capacity_(capacity) {
  if (capacity_ > 0) {
    out_[0] = '\0';
  }
}

void TextSink::put(char c) noexcept {
  if (size_ + 1 >= capacity_) {
    whole_ = false;
    return;
  }
  out_[size_++] = c;
  out_[size_] = '\0';
}

void TextSink::put(std::string_view text) noexcept {
  for (const char c : text) {
    put(c);
  }
}

void TextSink::put_number(int64_t value) noexcept {
  char digits[20];
  size_t count = 0;
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (value < 0) {
    put('-');
  }
  while (count > 0) {
    put(digits[--count]);
  }
}

void TextSink::put_json(std::string_view text) noexcept {
  static const char hex[] = "0123456789abcdef";
  put('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      put('\\');
      put(c);
    } else if (byte < 0x20) {
      put("\\u00");
      put(hex[byte >> 4]);
      put(hex[byte & 15]);
    } else {
      put(c);
    }
  }
  put('"');
}

}  // namespace fence
