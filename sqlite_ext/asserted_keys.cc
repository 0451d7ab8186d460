#include "sqlite_ext/asserted_keys.h"

#include <cstring>

#include "core/siphash.h"
#include "sqlite_ext/sqlite.h"

namespace fence {

// The bytes of namespace and key follow the struct.
struct AssertedKeys::Entry {
  Entry* next;
  uint64_t hash;
  int64_t epoch;
  int level;
  uint32_t ns_size;
  uint32_t key_size;

  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }

  bool is(uint64_t wanted, std::string_view ns, std::string_view key) noexcept {
    return hash == wanted && ns == std::string_view(bytes(), ns_size) &&
           key == std::string_view(bytes() + ns_size, key_size);
  }
};

namespace {

uint64_t hash_key(std::string_view ns, std::string_view key) noexcept {
  static const unsigned char seed[16] = {};
  SipHash128 hash(seed);
  hash.add_text(ns);
  hash.add_text(key);
  const Seal seal = hash.finish();
  uint64_t number;
  std::memcpy(&number, seal.bytes, sizeof number);
  return number;
}

}  // namespace

AssertedKeys::~AssertedKeys() { clear(); }

const int64_t* AssertedKeys::find(std::string_view ns, std::string_view key) const noexcept {
  if (size_ == 0) {
    return nullptr;
  }
  const uint64_t hash = hash_key(ns, key);
  for (Entry* entry = buckets_[hash & (capacity_ - 1)]; entry != nullptr; entry = entry->next) {
    if (entry->is(hash, ns, key)) {
      return &entry->epoch;
    }
  }
  return nullptr;
}

bool AssertedKeys::add(std::string_view ns, std::string_view key, int64_t epoch,
                       int level) noexcept {
  if (find(ns, key) != nullptr) {
    return true;
  }
  if (size_ == capacity_ && !grow()) {
    return false;
  }
  auto* entry = static_cast<Entry*>(sqlite3_malloc64(sizeof(Entry) + ns.size() + key.size()));
  if (entry == nullptr) {
    return false;
  }
  const uint64_t hash = hash_key(ns, key);
  *entry = {buckets_[hash & (capacity_ - 1)], hash, epoch, level, static_cast<uint32_t>(ns.size()),
            static_cast<uint32_t>(key.size())};
  std::memcpy(entry->bytes(), ns.data(), ns.size());
  std::memcpy(entry->bytes() + ns.size(), key.data(), key.size());
  buckets_[hash & (capacity_ - 1)] = entry;
  stack_[size_++] = entry;
  return true;
}

void AssertedKeys::forget_above(int level) noexcept {
  while (size_ > 0 && stack_[size_ - 1]->level > level) {
    pop();
  }
}

void AssertedKeys::lower_to(int level) noexcept {
  for (size_t i = size_; i > 0 && stack_[i - 1]->level > level; --i) {
    stack_[i - 1]->level = level;
  }
}

void AssertedKeys::clear() noexcept {
  while (size_ > 0) {
    pop();
  }
  sqlite3_free(stack_);
  sqlite3_free(buckets_);
  stack_ = nullptr;
  buckets_ = nullptr;
  capacity_ = 0;
}

bool AssertedKeys::grow() noexcept {
  const size_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
  const auto allocate = [&] {
    return static_cast<Entry**>(sqlite3_malloc64(capacity * sizeof(Entry*)));
  };
  Entry** stack = allocate();
  Entry** buckets = allocate();
  if (stack == nullptr || buckets == nullptr) {
    sqlite3_free(stack);
    sqlite3_free(buckets);
    return false;
  }
  std::memset(buckets, 0, capacity * sizeof(Entry*));
  // In the order of the stack, so that each chain begins with its newest entry.
  for (size_t i = 0; i < size_; ++i) {
    Entry* entry = stack_[i];
    stack[i] = entry;
    entry->next = buckets[entry->hash & (capacity - 1)];
    buckets[entry->hash & (capacity - 1)] = entry;
  }
  sqlite3_free(stack_);
  sqlite3_free(buckets_);
  stack_ = stack;
  buckets_ = buckets;
  capacity_ = capacity;
  return true;
}

void AssertedKeys::pop() noexcept {
  Entry* entry = stack_[--size_];
  buckets_[entry->hash & (capacity_ - 1)] = entry->next;
  sqlite3_free(entry);
}

}  // namespace fence
