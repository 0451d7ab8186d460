// The two halves of a batch, read in step without copying: a JSON array of idx and framed payloads.
//
// Both readers find a fault only when they come to it. A caller that must not write anything of a
// faulty batch goes through both to the end before it writes the first entry.
#ifndef FENCE_CORE_BATCH_H
#define FENCE_CORE_BATCH_H

#include <cstdint>
#include <string_view>

namespace fence {

// What a reader came to: another element, the end of sound input, or a fault (ZF010). End and fault
// are final: every later call answers the same.
enum class Step { value, end, fault };

// Reads a JSON array of idx. An element is an integer as parse_decimal takes it, bare or between
// double quotes (for languages whose numbers are doubles); JSON white space may stand between
// tokens and around the array. Any other JSON value, and any text that is no JSON, is a fault.
class IdxArray {
 public:
  // The text must outlive the reader.
  explicit IdxArray(std::string_view json) noexcept : rest_(json) {}

  // On Step::value stores the idx, 0..2^63-1; otherwise leaves *value alone.
  Step next(int64_t* value) noexcept;

  // After a fault: whether the text began as an array, so that the fault is in an element or
  // behind it.
  bool opened() const noexcept { return expect_ != Expect::open_bracket; }

 private:
  enum class Expect { open_bracket, element, end_of_text };

  void skip_white_space() noexcept;
  bool take(char token) noexcept;
  bool take_element(int64_t* value) noexcept;
  Step close() noexcept;
  Step fail() noexcept;

  std::string_view rest_;
  Expect expect_ = Expect::open_bracket;
  Step last_ = Step::value;  // once it is end or fault, it stays
};

// Reads payloads that are framed as a 4-byte big-endian length and that many bytes, one after
// another with nothing between or behind them. A frame that is cut short is a fault.
class FramedPayloads {
 public:
  // The bytes must outlive the reader and the payloads that it hands out.
  explicit FramedPayloads(std::string_view bytes) noexcept : rest_(bytes) {}

  // On Step::value lets *payload show the bytes of one frame (possibly none of them); otherwise
  // leaves *payload alone.
  Step next(std::string_view* payload) noexcept;

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace fence

#endif
