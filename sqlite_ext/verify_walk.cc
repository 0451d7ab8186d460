#include "sqlite_ext/verify_walk.h"

#include <cstring>

#include "sqlite_ext/bytes.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/row.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

// i: the row as the index has it, t: as the table has it. %s: the range.
constexpr const char* records_sql =
    "SELECT i.namespace, i.key, i.namespace, i.key, t.namespace, t.key, t.epoch, t.writer,"
    " t.deleted_at, t.tail, t.tail_seal, t.trimmed, t.trim_seal, t.late_sum, t.reset_last,"
    " t.published, t.seal FROM main.fence_meta_v1 i LEFT JOIN main.fence_meta_v1 t"
    " ON t.rowid = i.rowid WHERE %s ORDER BY i.namespace, i.key";
constexpr const char* entries_sql =
    "SELECT i.namespace, i.key, i.namespace, i.key, t.namespace, t.key, t.idx, t.epoch, t.writer,"
    " t.payload, t.late, t.seal, i.idx FROM main.fence_oplog_v1 i LEFT JOIN main.fence_oplog_v1 t"
    " ON t.rowid = i.rowid WHERE %s ORDER BY i.namespace, i.key, i.idx";
constexpr const char* values_sql =
    "SELECT i.namespace, i.key, i.namespace, i.key, t.namespace, t.key, t.name, t.epoch, t.writer,"
    " t.value, t.seal, i.name FROM main.fence_value_v1 i LEFT JOIN main.fence_value_v1 t"
    " ON t.rowid = i.rowid WHERE %s ORDER BY i.namespace, i.key, i.name";

const char* condition_of(const VerifyRange& range) noexcept {
  if (range.ns.empty()) {
    // The plus keeps the order that of the index.
    return range.key.empty() ? "1" : "+i.key = ?2";
  }
  return range.key.empty() ? "i.namespace = ?1" : "i.namespace = ?1 AND i.key = ?2";
}

// Does the error say that the file is damaged, rather than that this was no moment to read?
bool is_damage(int rc) noexcept {
  switch (rc & 0xff) {
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
      return true;
    default:
      return false;
  }
}

// A name's bytes in the encoding of the file: indexes are in their order. (As text they
// would be converted.)
std::string_view raw_bytes(sqlite3_stmt* row, int column) noexcept {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(row, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(row, column));
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}

bool is_number(int type) noexcept { return type == SQLITE_INTEGER || type == SQLITE_FLOAT; }

// SQLite's order of types.
int rank_of(int type) noexcept {
  return type == SQLITE_NULL ? 0 : is_number(type) ? 1 : type == SQLITE_TEXT ? 2 : 3;
}

int compare(sqlite3_stmt* left, sqlite3_stmt* right, int column) noexcept {
  const int left_type = sqlite3_column_type(left, column);
  const int right_type = sqlite3_column_type(right, column);
  const int order = rank_of(left_type) - rank_of(right_type);
  if (order != 0 || left_type == SQLITE_NULL) {
    return order;
  }
  if (is_number(left_type)) {
    const double difference =
        sqlite3_column_double(left, column) - sqlite3_column_double(right, column);
    return difference < 0 ? -1 : difference > 0 ? 1 : 0;
  }
  return raw_bytes(left, column).compare(raw_bytes(right, column));
}

bool comes_before(sqlite3_stmt* left, sqlite3_stmt* right) noexcept {
  const int order = compare(left, right, walk_raw_namespace);
  return order < 0 || (order == 0 && compare(left, right, walk_raw_key) < 0);
}

}  // namespace

bool Walk::start(Connection* connection, const char* sql, const VerifyRange& range,
                 Failure* failure) noexcept {
  stop();
  connection_ = connection;
  readable_ = true;
  char* text = sqlite3_mprintf(sql, condition_of(range));
  if (text == nullptr) {
    failure->out_of_memory();
    return false;
  }
  const bool outer_armed = connection->armed;
  connection->armed = true;
  const int rc = sqlite3_prepare_v2(connection->db, text, -1, &statement_, nullptr);
  connection->armed = outer_armed;
  sqlite3_free(text);
  if (rc != SQLITE_OK) {
    return end(rc, failure);
  }
  // Borrowed: the arguments outlive the walk.
  if (!range.ns.empty()) {
    bind_field(statement_, 1, text_field(range.ns));
  }
  if (!range.key.empty()) {
    bind_field(statement_, 2, text_field(range.key));
  }
  return advance(failure);
}

bool Walk::advance(Failure* failure) noexcept {
  const int rc = sqlite3_step(statement_);
  at_row_ = rc == SQLITE_ROW;
  return at_row_ || rc == SQLITE_DONE || end(sqlite3_extended_errcode(connection_->db), failure);
}

bool Walk::end(int rc, Failure* failure) noexcept {
  at_row_ = false;
  readable_ = false;
  if (is_damage(rc)) {
    return true;
  }
  failure->pass_on(connection_->db, rc);
  return false;
}

void Walk::stop() noexcept {
  sqlite3_finalize(statement_);
  statement_ = nullptr;
  at_row_ = false;
}

bool RawName::copy(sqlite3_stmt* row, int column) noexcept {
  type_ = sqlite3_column_type(row, column);
  number_ = is_number(type_) ? sqlite3_column_double(row, column) : 0;
  const std::string_view bytes = rank_of(type_) > 1 ? raw_bytes(row, column) : std::string_view();
  if (bytes.size() > capacity_) {
    void* grown = sqlite3_realloc64(bytes_, bytes.size());
    if (grown == nullptr) {
      return false;
    }
    bytes_ = static_cast<char*>(grown);
    capacity_ = bytes.size();
  }
  size_ = bytes.size();
  copy_bytes(bytes, bytes_);
  return true;
}

bool RawName::is(sqlite3_stmt* row, int column) const noexcept {
  if (sqlite3_column_type(row, column) != type_) {
    return false;
  }
  return rank_of(type_) > 1 ? raw_bytes(row, column) == std::string_view(bytes_, size_)
                            : !is_number(type_) || sqlite3_column_double(row, column) == number_;
}

bool KeyWalk::start(Connection* connection, const VerifyRange& range, Failure* failure) noexcept {
  const bool started = records_.start(connection, records_sql, range, failure) &&
                       entries_.start(connection, entries_sql, range, failure) &&
                       values_.start(connection, values_sql, range, failure);
  context_->records_read = records_.readable();
  context_->entries_read = entries_.readable();
  return started;
}

sqlite3_stmt* KeyWalk::first_row() const noexcept {
  sqlite3_stmt* first = nullptr;
  for (const Walk* walk : {&records_, &entries_, &values_}) {
    if (walk->at_row() && (first == nullptr || comes_before(walk->row(), first))) {
      first = walk->row();
    }
  }
  return first;
}

bool KeyWalk::belongs(const Walk& walk) const noexcept {
  return walk.at_row() && ns_.is(walk.row(), walk_raw_namespace) &&
         key_.is(walk.row(), walk_raw_key);
}

template <typename Take>
bool KeyWalk::take_all(Walk* walk, Take take, Failure* failure) noexcept {
  while (belongs(*walk)) {
    take(walk->row());
    if (!walk->advance(failure)) {
      return false;
    }
  }
  // A walk may come to an early end in a damaged file: what it has not met is not missing.
  context_->records_read = records_.readable();
  context_->entries_read = entries_.readable();
  return true;
}

VerifyStep KeyWalk::next(Report* report, Failure* failure) noexcept {
  sqlite3_stmt* first = first_row();
  if (first == nullptr) {
    return report_unreadable(report);
  }
  if (!ns_.copy(first, walk_raw_namespace) || !key_.copy(first, walk_raw_key)) {
    failure->out_of_memory();
    return VerifyStep::failed;
  }
  std::string_view ns;
  std::string_view key;
  read_text(first, walk_namespace, &ns);
  read_text(first, walk_key, &key);
  check_.begin(ns, key, report);
  const bool done = take_all(
                        &records_, [&](sqlite3_stmt* row) { check_.take_record(row); }, failure) &&
                    take_all(
                        &entries_, [&](sqlite3_stmt* row) { check_.take_entry(row); }, failure) &&
                    take_all(
                        &values_, [&](sqlite3_stmt* row) { check_.take_value(row); }, failure);
  check_.finish();
  return done ? VerifyStep::found : VerifyStep::failed;
}

VerifyStep KeyWalk::report_unreadable(Report* report) noexcept {
  if (unreadable_reported_) {
    return VerifyStep::done;
  }
  unreadable_reported_ = true;
  report->begin({}, {});
  const auto add = [report](const Walk& walk, Problem problem) {
    if (!walk.readable()) {
      report->add(problem);
    }
  };
  add(records_, Problem::records_unreadable);
  add(entries_, Problem::entries_unreadable);
  add(values_, Problem::values_unreadable);
  return VerifyStep::found;
}

}  // namespace fence
