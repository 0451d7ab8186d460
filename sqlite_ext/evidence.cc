#include "sqlite_ext/evidence.h"

#include <cstring>
#include <new>

#include "sqlite_ext/bytes.h"
#include "sqlite_ext/clock.h"
#include "sqlite_ext/sqlite.h"

namespace fence {

namespace {

const char* names_of(const KeptEvidence* evidence) noexcept {
  return reinterpret_cast<const char*>(evidence + 1);
}

KeptEvidence* make_evidence(const Refusal& refusal) noexcept {
  const size_t names = refusal.ns.size() + refusal.key.size();
  void* memory = sqlite3_malloc64(sizeof(KeptEvidence) + names);
  if (memory == nullptr) {
    return nullptr;
  }
  auto* made = new (memory) KeptEvidence();
  made->at = now_ms();
  made->code = refusal.code();
  made->asserted_epoch = refusal.asserted_epoch;
  made->stored_epoch = refusal.stored_epoch;
  made->asserted_writer = refusal.asserted_writer;
  made->stored_writer = refusal.stored_writer;
  made->namespace_size = static_cast<unsigned char>(refusal.ns.size());
  made->key_size = static_cast<unsigned char>(refusal.key.size());
  auto* to = reinterpret_cast<char*>(made + 1);
  copy_bytes(refusal.ns, to);
  copy_bytes(refusal.key, to + refusal.ns.size());
  return made;
}

}  // namespace

std::string_view KeptEvidence::ns() const noexcept { return {names_of(this), namespace_size}; }

std::string_view KeptEvidence::key() const noexcept {
  return {names_of(this) + namespace_size, key_size};
}

Evidence::~Evidence() {
  for (int64_t i = 0; ring_ != nullptr && i < most_kept; ++i) {
    sqlite3_free(ring_[i]);
  }
  sqlite3_free(ring_);
}

void Evidence::keep(const Refusal& refusal) noexcept {
  if (ring_ == nullptr) {
    constexpr size_t size = sizeof(KeptEvidence*) * most_kept;
    ring_ = static_cast<KeptEvidence**>(sqlite3_malloc64(size));
    if (ring_ == nullptr) {
      return;
    }
    std::memset(ring_, 0, size);
  }
  KeptEvidence* made = make_evidence(refusal);
  if (made == nullptr) {
    return;
  }
  KeptEvidence*& place = ring_[end_ % most_kept];
  sqlite3_free(place);
  place = made;
  ++end_;
}

const KeptEvidence* Evidence::find(int64_t number) const noexcept {
  return number < first() || number >= end_ ? nullptr : ring_[number % most_kept];
}

}  // namespace fence
