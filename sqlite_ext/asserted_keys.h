// The keys that the current transaction has used, each with its epoch and the
// savepoint level at which it was used first. A stack with an index: what a
// ROLLBACK TO undoes is always what was pushed last.
#ifndef FENCE_SQLITE_EXT_ASSERTED_KEYS_H
#define FENCE_SQLITE_EXT_ASSERTED_KEYS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fence {

class AssertedKeys {
 public:
  AssertedKeys() = default;
  ~AssertedKeys();
  AssertedKeys(const AssertedKeys&) = delete;
  AssertedKeys& operator=(const AssertedKeys&) = delete;

  // The epoch under which the key was used, or nullptr.
  const int64_t* find(std::string_view ns, std::string_view key) const noexcept;
  // Remembers a key; one that is there stays as it is. False: out of memory.
  bool add(std::string_view ns, std::string_view key, int64_t epoch, int level) noexcept;

  // ROLLBACK TO: forgets what was used above level.
  void forget_above(int level) noexcept;
  // RELEASE: what was used above level now belongs to it.
  void lower_to(int level) noexcept;
  void clear() noexcept;

  size_t size() const noexcept { return size_; }

 private:
  struct Entry;

  bool grow() noexcept;
  void pop() noexcept;

  Entry** stack_ = nullptr;    // capacity_ slots, size_ used
  Entry** buckets_ = nullptr;  // capacity_ chains, newest first
  size_t size_ = 0;
  size_t capacity_ = 0;  // a power of two, or 0
};

}  // namespace fence

#endif
