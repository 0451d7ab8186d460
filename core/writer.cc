#include "core/writer.h"

#include <cstddef>
#include <cstring>

#include "core/sha256.h"

namespace fence {
namespace {

constexpr size_t uuid_size = 16;

// The value of a hex digit, or -1.
int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// Takes two hex digits off the text. False: it does not begin with two.
bool take_byte(std::string_view* text, unsigned char* byte) noexcept {
  if (text->size() < 2) return false;
  const int high = hex_value((*text)[0]);
  const int low = hex_value((*text)[1]);
  if (high < 0 || low < 0) return false;
  *byte = static_cast<unsigned char>(high * 16 + low);
  text->remove_prefix(2);
  return true;
}

// Reads what stands between the braces, or the whole text where there are none.
bool parse_uuid(std::string_view text, unsigned char (&uuid)[uuid_size]) noexcept {
  for (size_t i = 0; i < uuid_size; ++i) {
    if (!take_byte(&text, &uuid[i])) return false;
    const bool group_ends = i % 2 == 1 && i + 1 < uuid_size;
    if (group_ends && !text.empty() && text.front() == '-') text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace

bool operator==(const WriterHash& left, const WriterHash& right) noexcept {
  return memcmp(left.bytes, right.bytes, sizeof left.bytes) == 0;
}

bool operator!=(const WriterHash& left, const WriterHash& right) noexcept {
  return !(left == right);
}

bool parse_writer(std::string_view text, WriterHash* hash) noexcept {
  if (!text.empty() && text.front() == '{') {
    if (text.back() != '}') return false;
    text.remove_prefix(1);
    text.remove_suffix(1);
  }
  unsigned char uuid[uuid_size];
  if (!parse_uuid(text, uuid)) return false;
  const Sha256Digest digest = sha256(uuid, sizeof uuid);
  memcpy(hash->bytes, digest.bytes, sizeof hash->bytes);
  return true;
}

Fingerprint fingerprint(const WriterHash& hash) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  Fingerprint shown;
  for (size_t i = 0; i < 4; ++i) {
    shown.text[2 * i] = digits[hash.bytes[i] >> 4];
    shown.text[2 * i + 1] = digits[hash.bytes[i] & 15];
  }
  shown.text[8] = '\0';
  return shown;
}

}  // namespace fence
