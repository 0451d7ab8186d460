// What this connection was refused: the newest refusals, and how often each code came. It
// lives in memory, so it stays when the refused transaction is rolled back.
#ifndef FENCE_SQLITE_EXT_EVIDENCE_H
#define FENCE_SQLITE_EXT_EVIDENCE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/refusal.h"

namespace fence {

// One refused claim or write; its names lie behind it in the same memory.
struct KeptEvidence {
  int64_t at = 0;  // milliseconds since 1970
  Code code = Code::none;
  Maybe<int64_t> asserted_epoch;
  Maybe<int64_t> stored_epoch;
  Maybe<WriterHash> asserted_writer;
  Maybe<WriterHash> stored_writer;
  unsigned char namespace_size = 0;  // 0: none
  unsigned char key_size = 0;

  std::string_view ns() const noexcept;
  std::string_view key() const noexcept;
};

class Evidence {
 public:
  static constexpr int64_t most_kept = 512;
  static constexpr int code_count = static_cast<int>(Code::lease_not_found) + 1;

  Evidence() = default;
  ~Evidence();
  Evidence(const Evidence&) = delete;
  Evidence& operator=(const Evidence&) = delete;

  // An error that goes out to the application.
  void count(Code code) noexcept { ++counts_[static_cast<size_t>(code)]; }
  int64_t counted(Code code) const noexcept { return counts_[static_cast<size_t>(code)]; }

  // Where there is no memory it is left out: that must not become another error.
  void keep(const Refusal& refusal) noexcept;

  // Refusals are numbered from 0; those from first() to before end() may be kept still.
  int64_t first() const noexcept { return end_ > most_kept ? end_ - most_kept : 0; }
  int64_t end() const noexcept { return end_; }
  // nullptr: it gave way to a newer one.
  const KeptEvidence* find(int64_t number) const noexcept;

 private:
  KeptEvidence** ring_ = nullptr;  // most_kept places, once there was a refusal
  int64_t end_ = 0;
  int64_t counts_[code_count] = {};
};

}  // namespace fence

#endif
