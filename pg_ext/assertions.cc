#include "pg_ext/assertions.h"

#include <cstring>

namespace fence {

namespace {

struct Bucket {
  uint64_t hash;
  Assertion* first;
};

Assertion* copy(const RecordName& name, const Claimant& claimant, int level) {
  const size_t size = sizeof(Assertion) + name.ns.size() + name.key.size();
  auto* made = static_cast<Assertion*>(MemoryContextAlloc(TopTransactionContext, size));
  char* bytes = reinterpret_cast<char*>(made + 1);
  std::memcpy(bytes, name.ns.data(), name.ns.size());
  std::memcpy(bytes + name.ns.size(), name.key.data(), name.key.size());
  made->name.ns = {bytes, name.ns.size()};
  made->name.key = {bytes + name.ns.size(), name.key.size()};
  made->name.hash = name.hash;
  made->claimant = claimant;
  made->level = level;
  made->mode = Mode::required;
  made->lowest_stored = Maybe<int64_t>();
  made->trims = false;
  made->marked = false;
  ItemPointerSetInvalid(&made->row);
  made->next_of_hash = nullptr;
  return made;
}

HTAB* make_table() {
  HASHCTL layout;
  std::memset(&layout, 0, sizeof layout);
  layout.keysize = sizeof(uint64_t);
  layout.entrysize = sizeof(Bucket);
  layout.hcxt = TopTransactionContext;
  return hash_create("fence assertions", 64, &layout, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

}  // namespace

Assertion* Assertions::find(const RecordName& name) const {
  if (count_ == 0) {
    return nullptr;
  }
  const auto* bucket =
      static_cast<const Bucket*>(hash_search(by_hash_, &name.hash, HASH_FIND, nullptr));
  Assertion* one = bucket == nullptr ? nullptr : bucket->first;
  while (one != nullptr && !same_record(one->name, name)) {
    one = one->next_of_hash;
  }
  return one;
}

bool Assertions::stands_at(int i, std::string_view ns, std::string_view key) const {
  return i < count_ && all_[i]->name.key == key && all_[i]->name.ns == ns;
}

bool Assertions::contains(std::string_view ns, std::string_view key) {
  if (stands_at(last_asked_, ns, key)) {
    return true;
  }
  if (stands_at(last_asked_ + 1, ns, key)) {
    ++last_asked_;
    return true;
  }
  if (count_ == 0) {
    return false;
  }
  const Assertion* found = find({ns, key, record_hash(ns, key)});
  if (found != nullptr) {
    last_asked_ = found->place;
  }
  return found != nullptr;
}

Assertion* Assertions::add(const RecordName& name, const Claimant& claimant, int level) {
  if (by_hash_ == nullptr) {
    by_hash_ = make_table();
  }
  if (count_ == capacity_) {
    const int wanted = capacity_ == 0 ? 16 : capacity_ * 2;
    const Size size = static_cast<Size>(wanted) * sizeof *all_;
    void* grown = all_ == nullptr ? MemoryContextAllocHuge(TopTransactionContext, size)
                                  : repalloc_huge(all_, size);
    all_ = static_cast<Assertion**>(grown);
    capacity_ = wanted;
  }
  Assertion* made = copy(name, claimant, level);
  bool found = false;
  auto* bucket = static_cast<Bucket*>(hash_search(by_hash_, &name.hash, HASH_ENTER, &found));
  made->next_of_hash = found ? bucket->first : nullptr;
  bucket->first = made;
  made->place = count_;
  all_[count_++] = made;
  return made;
}

void Assertions::release_level(int level) {
  // Newest last, and a savepoint's assertions are younger than those below it.
  for (int i = count_ - 1; i >= 0 && all_[i]->level >= level; --i) {
    all_[i]->level = level - 1;
  }
}

void Assertions::drop_last() {
  const Assertion* gone = all_[--count_];
  auto* bucket = static_cast<Bucket*>(hash_search(by_hash_, &gone->name.hash, HASH_FIND, nullptr));
  bucket->first = gone->next_of_hash;  // the newest of a bucket stands first
  pfree(all_[count_]);
}

void Assertions::forget() { *this = Assertions(); }

}  // namespace fence
