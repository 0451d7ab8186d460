// The walks of fence_verify: one over each of Fence's tables, in the order of
// (namespace, key), side by side. The order comes from the tables' indexes, the values
// from the tables themselves, since a damaged file may say two things.
#ifndef FENCE_SQLITE_EXT_VERIFY_WALK_H
#define FENCE_SQLITE_EXT_VERIFY_WALK_H

#include "sqlite_ext/failure.h"
#include "sqlite_ext/verify_key.h"

namespace fence {

struct Connection;

// The columns that every walk over keys begins with; the first two are compared as they
// are stored, whatever their type.
enum WalkColumn : int {
  walk_raw_namespace,
  walk_raw_key,
  walk_namespace,
  walk_key,
  walk_table_namespace,
  walk_table_key,
  walk_columns,
};
enum RecordColumn : int {
  record_epoch_column = walk_columns,
  record_writer_column,
  record_deleted_at_column,
  record_tail_column,
  record_tail_seal_column,
  record_trimmed_column,
  record_trim_seal_column,
  record_late_sum_column,
  record_reset_last_column,
  record_published_column,
  record_seal_column,
};
enum EntryColumn : int {
  entry_idx_column = walk_columns,
  entry_epoch_column,
  entry_writer_column,
  entry_payload_column,
  entry_late_column,
  entry_seal_column,
  entry_indexed_idx_column,
};
enum ValueColumn : int {
  value_name_column = walk_columns,
  value_epoch_column,
  value_writer_column,
  value_value_column,
  value_seal_column,
  value_indexed_name_column,
};

// Which keys are asked about; of a part that is empty: all.
struct VerifyRange {
  std::string_view ns;
  std::string_view key;
};

enum class VerifyStep : unsigned char { found, done, failed };

// The rows of one statement.
class Walk {
 public:
  Walk() = default;
  ~Walk() { stop(); }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Where the table cannot be read, readable() is false and there are no rows. False: an
  // error that says nothing about the file (no memory, cancelled, …).
  bool start(Connection* connection, const char* sql, const VerifyRange& range,
             Failure* failure) noexcept;
  bool advance(Failure* failure) noexcept;
  void stop() noexcept;

  bool at_row() const noexcept { return at_row_; }
  bool readable() const noexcept { return readable_; }
  sqlite3_stmt* row() const noexcept { return statement_; }

 private:
  bool end(int rc, Failure* failure) noexcept;

  Connection* connection_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  bool at_row_ = false;
  bool readable_ = true;
};

// A name as it is stored, which in a damaged file may have any type and length.
class RawName {
 public:
  RawName() = default;
  ~RawName() { sqlite3_free(bytes_); }
  RawName(const RawName&) = delete;
  RawName& operator=(const RawName&) = delete;

  bool copy(sqlite3_stmt* row, int column) noexcept;  // false: out of memory
  bool is(sqlite3_stmt* row, int column) const noexcept;

 private:
  int type_ = SQLITE_NULL;
  double number_ = 0;
  size_t size_ = 0;
  size_t capacity_ = 0;
  char* bytes_ = nullptr;
};

// All keys of the range, one after the other.
class KeyWalk {
 public:
  explicit KeyWalk(VerifyContext* context) noexcept : context_(context), check_(*context) {}

  bool start(Connection* connection, const VerifyRange& range, Failure* failure) noexcept;
  // Looks at the next key; report has its problems then. done: there is none.
  VerifyStep next(Report* report, Failure* failure) noexcept;

 private:
  sqlite3_stmt* first_row() const noexcept;
  bool belongs(const Walk& walk) const noexcept;
  template <typename Take>
  bool take_all(Walk* walk, Take take, Failure* failure) noexcept;
  VerifyStep report_unreadable(Report* report) noexcept;

  VerifyContext* context_;
  KeyCheck check_;
  Walk records_;
  Walk entries_;
  Walk values_;
  RawName ns_;
  RawName key_;
  bool unreadable_reported_ = false;
};

}  // namespace fence

#endif
