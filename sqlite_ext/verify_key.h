// What fence_verify asks of one key: its record, its entries in the order of idx, its
// values. Keeps nothing of an entry but what the next one is compared with.
#ifndef FENCE_SQLITE_EXT_VERIFY_KEY_H
#define FENCE_SQLITE_EXT_VERIFY_KEY_H

#include "sqlite_ext/seal.h"
#include "sqlite_ext/sqlite.h"
#include "sqlite_ext/verify_report.h"

namespace fence {

// What was read of the tables as wholes.
struct VerifyContext {
  SealKey seal_key;
  bool seals_known = false;  // else the seal key cannot be, and no seal is looked at
  bool records_read = true;  // else nothing is said of what has no record
  bool entries_read = true;
};

class KeyCheck {
 public:
  explicit KeyCheck(const VerifyContext& context) noexcept : context_(context) {}

  // The rows that follow belong to one key. The names are those of the tables' indexes.
  void begin(std::string_view ns, std::string_view key, Report* report) noexcept;

  // Rows of the walks in verify_walk.cc, whose first columns are the same: the record
  // first, then the entries, then the values.
  void take_record(sqlite3_stmt* row) noexcept;
  void take_entry(sqlite3_stmt* row) noexcept;
  void take_value(sqlite3_stmt* row) noexcept;

  // After the last row of the key.
  void finish() noexcept;

 private:
  enum class Life : unsigned char { unknown, none, lives, deleted };

  bool take_names(sqlite3_stmt* row, Problem bad_name, Problem index_differs,
                  const Maybe<int64_t>& idx = {}) noexcept;
  bool read_record(sqlite3_stmt* row, StoredRecord* record, Seal* seal) noexcept;
  bool read_entry(sqlite3_stmt* row, Entry* entry, Seal* seal) noexcept;
  void check_entry_seal(const Entry& entry, const Seal& seal) noexcept;
  void check_entry_owner(const Entry& entry) noexcept;
  void check_entry_order(const Entry& entry) noexcept;
  void check_entry_epoch(const Entry& entry) noexcept;

  const VerifyContext& context_;
  Report* report_ = nullptr;

  // As the table, not its index, has them: seals are over these.
  std::string_view ns_;
  std::string_view key_;

  bool record_met_ = false;
  Life life_ = Life::none;
  StoredRecord record_;  // where life_ is lives or deleted

  bool previous_seal_known_ = false;
  Seal previous_seal_{};  // of the newest entry of the chain so far
  Seal late_sum_{};
  bool late_sum_known_ = true;
  bool tail_met_ = false;
  Maybe<int64_t> last_idx_;     // of the entries so far
  Maybe<int64_t> gap_begins_;   // behind what stands or was trimmed
  int64_t highest_epoch_ = -1;  // of the entries so far
  int64_t highest_in_chain_ = -1;
};

}  // namespace fence

#endif
