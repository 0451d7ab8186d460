#include "sqlite_ext/seal.h"

namespace fence {

namespace {

// What is sealed, so that a record can never pass for an entry.
constexpr uint64_t entry_kind = 1;
constexpr uint64_t record_kind = 2;
constexpr uint64_t value_kind = 3;
constexpr uint64_t namespace_kind = 4;

void add_number(SipHash128* hash, int64_t number) noexcept {
  hash->add_u64(static_cast<uint64_t>(number));
}

}  // namespace

Seal seal_entry(const SealKey& seal_key, const Seal& previous, std::string_view ns,
                std::string_view key, const Entry& entry) noexcept {
  SipHash128 hash(seal_key.bytes);
  hash.add_u64(entry_kind);
  hash.add(previous.bytes, sizeof previous.bytes);
  hash.add_text(ns);
  hash.add_text(key);
  add_number(&hash, entry.idx);
  add_number(&hash, entry.epoch);
  hash.add(entry.writer.bytes, sizeof entry.writer.bytes);
  hash.add_u64(entry.late ? 1 : 0);
  hash.add_text(entry.payload);
  return hash.finish();
}

Seal seal_record(const SealKey& seal_key, std::string_view ns, std::string_view key,
                 const StoredRecord& record) noexcept {
  SipHash128 hash(seal_key.bytes);
  hash.add_u64(record_kind);
  hash.add_text(ns);
  hash.add_text(key);
  add_number(&hash, record.epoch);
  hash.add(record.writer.bytes, sizeof record.writer.bytes);
  hash.add_u64(record.deleted_at.known ? 1 : 0);
  add_number(&hash, record.deleted_at.value);
  add_number(&hash, record.tail);
  hash.add(record.tail_seal.bytes, sizeof record.tail_seal.bytes);
  add_number(&hash, record.trimmed);
  hash.add(record.trim_seal.bytes, sizeof record.trim_seal.bytes);
  hash.add(record.late_sum.bytes, sizeof record.late_sum.bytes);
  add_number(&hash, record.reset_last);
  hash.add_u64(record.published.known ? 1 : 0);
  hash.add(record.published.value.bytes, sizeof record.published.value.bytes);
  return hash.finish();
}

Seal seal_value(const SealKey& seal_key, std::string_view ns, std::string_view key,
                std::string_view name, const StoredValue& value) noexcept {
  SipHash128 hash(seal_key.bytes);
  hash.add_u64(value_kind);
  hash.add_text(ns);
  hash.add_text(key);
  hash.add_text(name);
  add_number(&hash, value.epoch);
  hash.add(value.writer.bytes, sizeof value.writer.bytes);
  hash.add_text(value.value);
  return hash.finish();
}

Seal seal_namespace(const SealKey& seal_key, std::string_view ns,
                    const NamespaceRule& rule) noexcept {
  SipHash128 hash(seal_key.bytes);
  hash.add_u64(namespace_kind);
  hash.add_text(ns);
  hash.add_text(mode_name(rule.mode));
  hash.add_u64(rule.identical_repeat ? 1 : 0);
  add_number(&hash, rule.floor);
  return hash.finish();
}

Seal add_seals(const Seal& left, const Seal& right) noexcept {
  Seal sum;
  unsigned carry = 0;
  for (int i = 0; i < 16; ++i) {
    const unsigned digit = carry + left.bytes[i] + right.bytes[i];
    sum.bytes[i] = static_cast<unsigned char>(digit & 0xff);
    carry = digit >> 8;
  }
  return sum;
}

Seal subtract_seals(const Seal& left, const Seal& right) noexcept {
  Seal difference;
  int borrow = 0;
  for (int i = 0; i < 16; ++i) {
    const int digit = left.bytes[i] - right.bytes[i] - borrow;
    difference.bytes[i] = static_cast<unsigned char>(digit & 0xff);
    borrow = digit < 0 ? 1 : 0;
  }
  return difference;
}

}  // namespace fence
