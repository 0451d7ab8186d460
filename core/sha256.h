// SHA-256 of one block of memory, as FIPS 180-4 defines it.
#ifndef FENCE_CORE_SHA256_H
#define FENCE_CORE_SHA256_H

#include <cstddef>

namespace fence {

// A digest, in the byte order in which the standard prints it.
struct Sha256Digest {
  unsigned char bytes[32];
};

// The digest of size bytes at data. data may be null when size is 0. Cannot fail.
Sha256Digest sha256(const void* data, size_t size) noexcept;

}  // namespace fence

#endif
