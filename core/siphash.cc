#include "core/siphash.h"

#include <cstring>

namespace fence {
namespace {

constexpr uint64_t rotate_left(uint64_t word, int bits) noexcept {
  return (word << bits) | (word >> (64 - bits));
}

// Reads and writes least significant byte first; compilers make one move of it.
uint64_t load_little_endian(const unsigned char* bytes) noexcept {
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= uint64_t{bytes[i]} << (8 * i);
  return word;
}

void store_little_endian(uint64_t word, unsigned char* bytes) noexcept {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(word >> (8 * i));
}

// One SipRound (figure 2.1 of the paper).
void sip_round(uint64_t (&v)[4]) noexcept {
  v[0] += v[1];
  v[1] = rotate_left(v[1], 13) ^ v[0];
  v[0] = rotate_left(v[0], 32);
  v[2] += v[3];
  v[3] = rotate_left(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotate_left(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotate_left(v[1], 17) ^ v[2];
  v[2] = rotate_left(v[2], 32);
}

// Mixes in 8 bytes of the message: the 2 of SipHash-2-4.
void absorb(uint64_t (&v)[4], uint64_t word) noexcept {
  v[3] ^= word;
  for (int i = 0; i < 2; ++i) sip_round(v);
  v[0] ^= word;
}

// Half of the result: the 4 of SipHash-2-4.
uint64_t squeeze(uint64_t (&v)[4]) noexcept {
  for (int i = 0; i < 4; ++i) sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

}  // namespace

bool operator==(const Seal& left, const Seal& right) noexcept {
  return memcmp(left.bytes, right.bytes, sizeof left.bytes) == 0;
}

bool operator!=(const Seal& left, const Seal& right) noexcept { return !(left == right); }

// The constants are the ASCII text "somepseudorandomlygeneratedbytes", most significant byte first;
// 0xee tells the 128-bit variant from the 64-bit one.
SipHash128::SipHash128(const unsigned char key[16]) noexcept {
  const uint64_t k0 = load_little_endian(key);
  const uint64_t k1 = load_little_endian(key + 8);
  v_[0] = k0 ^ 0x736f6d6570736575;
  v_[1] = k1 ^ 0x646f72616e646f6d ^ 0xee;
  v_[2] = k0 ^ 0x6c7967656e657261;
  v_[3] = k1 ^ 0x7465646279746573;
}

void SipHash128::add(const void* data, size_t size) noexcept {
  const auto* next = static_cast<const unsigned char*>(data);
  unsigned pending = static_cast<unsigned>(size_ % 8);
  size_ += size;

  // First completes the word that an earlier piece began; without one, goes on at once.
  for (; pending != 0 && size != 0; --size) {
    word_ |= uint64_t{*next++} << (8 * pending);
    pending = (pending + 1) % 8;
    if (pending == 0) {
      absorb(v_, word_);
      word_ = 0;
    }
  }
  for (; size >= 8; size -= 8, next += 8) absorb(v_, load_little_endian(next));
  for (unsigned i = 0; i < size; ++i) word_ |= uint64_t{next[i]} << (8 * i);
}

void SipHash128::add_u64(uint64_t number) noexcept {
  unsigned char bytes[8];
  store_little_endian(number, bytes);
  add(bytes, sizeof bytes);
}

void SipHash128::add_text(std::string_view text) noexcept {
  add_u64(text.size());
  add(text.data(), text.size());
}

Seal SipHash128::finish() const noexcept {
  uint64_t v[4];
  memcpy(v, v_, sizeof v);
  // The last word is what is pending, with the length modulo 256 on top.
  absorb(v, word_ | size_ << 56);

  Seal seal;
  v[2] ^= 0xee;
  store_little_endian(squeeze(v), seal.bytes);
  v[1] ^= 0xdd;
  store_little_endian(squeeze(v), seal.bytes + 8);
  return seal;
}

}  // namespace fence
