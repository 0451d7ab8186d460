#include "core/sha256.h"

#include <cstdint>
#include <cstring>

namespace fence {
namespace {

constexpr size_t block_size = 64;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4,
// 5.3.3).
constexpr uint32_t initial_state[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

// The same of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

constexpr uint32_t rotate_right(uint32_t word, int bits) noexcept {
  return (word >> bits) | (word << (32 - bits));
}

uint32_t load_big_endian(const unsigned char* bytes) noexcept {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

void store_big_endian(uint32_t word, unsigned char* bytes) noexcept {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<unsigned char>(word >> (24 - 8 * i));
}

// The message schedule of one block (FIPS 180-4, 6.2.2, step 1).
void expand(const unsigned char* block, uint32_t (&schedule)[64]) noexcept {
  for (int t = 0; t < 16; ++t) schedule[t] = load_big_endian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t near = schedule[t - 2];
    const uint32_t far = schedule[t - 15];
    const uint32_t sigma1 = rotate_right(near, 17) ^ rotate_right(near, 19) ^ (near >> 10);
    const uint32_t sigma0 = rotate_right(far, 7) ^ rotate_right(far, 18) ^ (far >> 3);
    schedule[t] = sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16];
  }
}

// Mixes one block into the state (FIPS 180-4, 6.2.2, steps 2 to 4; letters as there).
void compress(uint32_t (&state)[8], const unsigned char* block) noexcept {
  uint32_t schedule[64];
  expand(block, schedule);

  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; ++t) {
    const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t t1 = h + sum1 + choice + round_constants[t] + schedule[t];
    const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + sum0 + majority;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

}  // namespace

Sha256Digest sha256(const void* data, size_t size) noexcept {
  uint32_t state[8];
  memcpy(state, initial_state, sizeof state);

  const auto* next = static_cast<const unsigned char*>(data);
  size_t rest = size;
  for (; rest >= block_size; rest -= block_size, next += block_size) compress(state, next);

  // The end of the message, a one bit, zeros, and the length in bits: one block, or two where the
  // 9 bytes that have to follow the message do not fit.
  unsigned char tail[2 * block_size] = {};
  if (rest != 0) memcpy(tail, next, rest);
  tail[rest] = 0x80;
  const size_t tail_size = rest + 9 <= block_size ? block_size : 2 * block_size;
  const uint64_t bits = uint64_t{size} * 8;
  store_big_endian(static_cast<uint32_t>(bits >> 32), tail + tail_size - 8);
  store_big_endian(static_cast<uint32_t>(bits), tail + tail_size - 4);
  for (size_t at = 0; at < tail_size; at += block_size) compress(state, tail + at);

  Sha256Digest digest;
  for (int i = 0; i < 8; ++i) store_big_endian(state[i], digest.bytes + 4 * i);
  return digest;
}

}  // namespace fence
