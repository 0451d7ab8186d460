// How a record is named, and the hash of its name that stands in lock tags.
#ifndef FENCE_PG_EXT_RECORD_NAME_H
#define FENCE_PG_EXT_RECORD_NAME_H

#include <cstdint>
#include <string_view>

#include "core/name.h"
#include "core/siphash.h"

namespace fence {

struct RecordName {
  std::string_view ns;
  std::string_view key;
  uint64_t hash = 0;  // of both: see record_hash()
};

// Also stored in the record, so that a lock can be traced back to its key. Keyed with
// a constant: whoever makes two keys collide makes them wait for each other, no more.
uint64_t record_hash(std::string_view ns, std::string_view key) noexcept;

// The first 8 bytes of a checksum as a number.
uint64_t first_word(const Seal& sum) noexcept;

inline bool same_record(const RecordName& left, const RecordName& right) noexcept {
  return left.ns == right.ns && left.key == right.key;
}

}  // namespace fence

#endif
