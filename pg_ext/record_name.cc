#include "pg_ext/record_name.h"

namespace fence {

namespace {

// Stored hashes depend on it: a change needs a step in migrations/.
constexpr unsigned char hash_key[16] = {'f', 'e', 'n', 'c', 'e', ' ', 'r', 'e',
                                        'c', 'o', 'r', 'd', ' ', 't', 'a', 'g'};

}  // namespace

uint64_t record_hash(std::string_view ns, std::string_view key) noexcept {
  SipHash128 hash(hash_key);
  hash.add_text(ns);
  hash.add_text(key);
  return first_word(hash.finish());
}

uint64_t first_word(const Seal& sum) noexcept {
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) {
    number = number << 8 | sum.bytes[i];
  }
  return number;
}

}  // namespace fence
