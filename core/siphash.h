// Keyed checksums of what Fence stores: SipHash-2-4 with a 128-bit result.
//
// Algorithm and constants: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF",
// and the 128-bit variant of the authors' reference implementation.
#ifndef FENCE_CORE_SIPHASH_H
#define FENCE_CORE_SIPHASH_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fence {

// A checksum, in the byte order of the reference implementation: the form in which it is stored.
struct Seal {
  unsigned char bytes[16];
};

bool operator==(const Seal& left, const Seal& right) noexcept;
bool operator!=(const Seal& left, const Seal& right) noexcept;

// Takes the message in pieces. The result depends on the bytes only, never on where the pieces were
// cut, so whoever adds fields of varying length has to add their lengths too: see add_text.
class SipHash128 {
 public:
  explicit SipHash128(const unsigned char key[16]) noexcept;

  // Appends size bytes to the message. data may be null when size is 0.
  void add(const void* data, size_t size) noexcept;

  // Appends a number as 8 bytes, least significant first, whatever the machine's own order is.
  void add_u64(uint64_t number) noexcept;

  // Appends the length of a text as add_u64, then its bytes: ("a", "bc") and ("ab", "c") differ.
  void add_text(std::string_view text) noexcept;

  // The checksum of everything added so far. Changes nothing: adding may go on afterwards.
  Seal finish() const noexcept;

 private:
  uint64_t v_[4];      // the state, named v0..v3 in the paper
  uint64_t word_ = 0;  // the last size_ % 8 bytes, not yet mixed in, least significant first
  uint64_t size_ = 0;  // bytes added so far
};

}  // namespace fence

#endif
