// The identity of a process incarnation. It is a capability: Fence keeps and shows only hashes.
#ifndef FENCE_CORE_WRITER_H
#define FENCE_CORE_WRITER_H

#include <string_view>

namespace fence {

// What is stored of a writer: the first 16 bytes of the SHA-256 of the 16 bytes of its UUID.
// Going back would mean guessing the 122 random bits of the UUID.
struct WriterHash {
  unsigned char bytes[16];
};

bool operator==(const WriterHash& left, const WriterHash& right) noexcept;
bool operator!=(const WriterHash& left, const WriterHash& right) noexcept;

// What is shown of a writer: 8 lower-case hex digits and a NUL.
struct Fingerprint {
  char text[9];
};

// Hashes a UUID, given in any spelling that PostgreSQL's uuid input takes: 32 hex digits of either
// case, a hyphen or none after each group of four but the last, braces round the whole or none.
// Anything else is refused (false, *hash untouched): ZF010.
bool parse_writer(std::string_view text, WriterHash* hash) noexcept;

// The first 4 bytes of the hash.
Fingerprint fingerprint(const WriterHash& hash) noexcept;

}  // namespace fence

#endif
