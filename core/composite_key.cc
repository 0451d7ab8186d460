#include "core/composite_key.h"

#include "core/text_sink.h"

namespace fence {

void CompositeKey::put(char c) noexcept {
  if (size_ == sizeof text_) {
    fits_ = false;
    return;
  }
  text_[size_++] = c;
}

void CompositeKey::add(std::string_view text) noexcept {
  if (begun_) {
    put('/');
  }
  begun_ = true;
  for (const char c : text) {
    if (c == '/' || c == '\\') {
      put('\\');
    }
    put(c);
  }
}

void CompositeKey::add_integer(int64_t number) noexcept {
  char digits[sizeof "-9223372036854775808"];
  TextSink sink(digits, sizeof digits);
  sink.put_number(number);
  add({digits, sink.size()});
}

void CompositeKey::add_boolean(bool value) noexcept { add(value ? "true" : "false"); }

NameFault CompositeKey::fault() const noexcept {
  if (!fits_) return NameFault::too_long;
  return size_ == 0 ? NameFault::empty : NameFault::none;
}

}  // namespace fence
