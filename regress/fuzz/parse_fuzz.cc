// Feeds arbitrary bytes to everything in core that parses, and checks what must hold of any answer.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/batch.h"
#include "core/name.h"
#include "core/number.h"
#include "core/writer.h"

namespace {

// Unlike assert, also there in optimised builds.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void check_decimal(std::string_view input) {
  const fence::ParsedNumber number = fence::parse_decimal(input);
  require(number.ok || number.value == 0, "a refused number has the value 0");
  if (!number.ok) return;
  require(std::to_string(number.value) == input, "an accepted number reprints to itself");
}

void check_a_name(std::string_view input) {
  const fence::NameFault fault = fence::check_name(input);
  require((fault == fence::NameFault::empty) == input.empty(), "empty is empty");
  require((fault == fence::NameFault::too_long) == (input.size() > fence::longest_name),
          "too long is longer than 255 bytes");
  if (fault != fence::NameFault::none) return;
  require(input.find('\0') == std::string_view::npos, "a name has no NUL");
  require(fence::check_name(std::string(input) + "\xff") != fence::NameFault::none,
          "a name with FF behind it is none");
}

void check_writer(std::string_view input) {
  fence::WriterHash hash = {};
  if (!fence::parse_writer(input, &hash)) {
    require(hash == fence::WriterHash{}, "a refused writer leaves the hash alone");
    return;
  }
  require(input.size() >= 32 && input.size() <= 41, "a writer has 32 to 41 characters");
  std::string digits;
  for (const char c : input) {
    if (c != '-' && c != '{' && c != '}') digits += c;
  }
  require(digits.size() == 32, "a writer has 32 digits");
  fence::WriterHash plain = {};
  require(fence::parse_writer(digits, &plain) && plain == hash, "punctuation means nothing");
}

void check_idx_array(std::string_view input) {
  fence::IdxArray array(input);
  std::string reprinted = "[";
  fence::Step step;
  int64_t idx = -1;
  size_t count = 0;
  while ((step = array.next(&idx)) == fence::Step::value) {
    require(idx >= 0, "an idx is not negative");
    reprinted += (count == 0 ? "" : ",") + std::to_string(idx);
    ++count;
    require(2 * count <= input.size(), "each element takes a digit and what ends it");
  }
  require(array.next(&idx) == step, "the last answer stays");
  if (step != fence::Step::end) return;

  reprinted += "]";
  require(reprinted.size() <= input.size(), "the plainest spelling is the shortest");
  fence::IdxArray again(reprinted);
  for (size_t i = 0; i < count; ++i) {
    require(again.next(&idx) == fence::Step::value, "what was read can be read again");
  }
  require(again.next(&idx) == fence::Step::end, "and ends there");
}

void check_frames(std::string_view input) {
  fence::FramedPayloads frames(input);
  fence::Step step;
  std::string_view payload;
  size_t taken = 0;
  while ((step = frames.next(&payload)) == fence::Step::value) {
    require(payload.data() == input.data() + taken + 4, "payloads lie one behind another");
    taken += 4 + payload.size();
    require(taken <= input.size(), "no payload reaches beyond the input");
  }
  require(frames.next(&payload) == step, "the last answer stays");
  require((step == fence::Step::end) == (taken == input.size()),
          "the frames end exactly where the input does, or there is a fault");
}

}  // namespace

// The name is libFuzzer's: NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_decimal(input);
  check_a_name(input);
  check_writer(input);
  check_idx_array(input);
  check_frames(input);
  return 0;
}
