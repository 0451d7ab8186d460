// Writes text into a caller's buffer: no allocation, never past its end.
#ifndef FENCE_CORE_TEXT_SINK_H
#define FENCE_CORE_TEXT_SINK_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fence {

class TextSink {
 public:
  // out: capacity bytes; the text is always NUL-terminated within them.
  TextSink(char* out, size_t capacity) noexcept;

  void put(char c) noexcept;
  void put(std::string_view text) noexcept;
  void put_number(int64_t value) noexcept;
  // A JSON string with its quotes. text must be UTF-8 (check_name saw to it).
  void put_json(std::string_view text) noexcept;

  // Bytes written, without the NUL.
  size_t size() const noexcept { return size_; }
  // False when something did not fit; the text is then cut, never overrun.
  bool whole() const noexcept { return whole_; }

 private:
  char* out_;
  size_t capacity_;
  size_t size_ = 0;
  bool whole_ = true;
};

}  // namespace fence

#endif
