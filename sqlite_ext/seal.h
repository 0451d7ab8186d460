// The seals: keyed checksums that let fence_verify find what was changed past
// every trigger. The key is random for each file, so that rows of one file do
// not pass in another. A seal finds damage and carelessness; whoever edits the
// file on purpose can read the key in it.
#ifndef FENCE_SQLITE_EXT_SEAL_H
#define FENCE_SQLITE_EXT_SEAL_H

#include <cstdint>
#include <string_view>

#include "core/mode.h"
#include "core/ownership.h"
#include "core/siphash.h"

namespace fence {

struct SealKey {
  unsigned char bytes[16] = {};
};

// An entry without its seal.
struct Entry {
  int64_t idx = 0;
  int64_t epoch = 0;
  WriterHash writer{};
  std::string_view payload;
  // Stored below the then newest entry: outside the chain, summed up in the record.
  bool late = false;
};

// A record without its seal, as fence_meta_v1 has it.
struct StoredRecord {
  int64_t epoch = 0;
  WriterHash writer{};
  Maybe<int64_t> deleted_at;
  int64_t tail = -1;
  Seal tail_seal{};
  int64_t trimmed = -1;
  Seal trim_seal{};
  Seal late_sum{};
  int64_t reset_last = -1;
  Maybe<Seal> published;
};

// A named value without its seal.
struct StoredValue {
  int64_t epoch = 0;
  WriterHash writer{};
  std::string_view value;
};

// previous: the seal of the newest entry before this one; zeros for the first
// entry of a log and for a late one.
Seal seal_entry(const SealKey& seal_key, const Seal& previous, std::string_view ns,
                std::string_view key, const Entry& entry) noexcept;

Seal seal_record(const SealKey& seal_key, std::string_view ns, std::string_view key,
                 const StoredRecord& record) noexcept;

Seal seal_value(const SealKey& seal_key, std::string_view ns, std::string_view key,
                std::string_view name, const StoredValue& value) noexcept;

Seal seal_namespace(const SealKey& seal_key, std::string_view ns,
                    const NamespaceRule& rule) noexcept;

// The sum of two seals modulo 2^128: the same in whatever order late entries are
// met, and invertible when one is trimmed.
Seal add_seals(const Seal& left, const Seal& right) noexcept;
Seal subtract_seals(const Seal& left, const Seal& right) noexcept;

}  // namespace fence

#endif
