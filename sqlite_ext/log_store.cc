#include "sqlite_ext/log_store.h"

#include <cstring>

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"

namespace fence {

namespace reasons {
const Reason corrupt_record = {Code::corrupt, "the stored record has a value that cannot be",
                               "restore the record from a backup"};
const Reason corrupt_entry = {Code::corrupt, "a stored entry has a value that cannot be",
                              "restore the log from a backup"};
const Reason record_seal_broken = {Code::guard_broken,
                                   "the record was changed by somebody else than Fence",
                                   "find out who writes to the file without the extension"};
const Reason tail_gone = {Code::guard_broken,
                          "the newest entries of the log were changed by somebody else than Fence",
                          "find out who writes to the file without the extension"};
const Reason record_gone = {
    Code::guard_broken, "the log has entries and no record: somebody else than Fence removed it",
    "find out who writes to the file without the extension"};
const Reason foreign_entry = {Code::guard_broken,
                              "the newest entry was stored neither by the owner nor through Fence",
                              "find out who writes to the file without the extension"};
}  // namespace reasons

namespace {

// Columns of Sql::read_record.
enum Column : int {
  col_format,
  col_seal_key,
  col_epoch,
  col_writer,
  col_deleted_at,
  col_tail,
  col_tail_seal,
  col_trimmed,
  col_trim_seal,
  col_late_sum,
  col_seal,
  col_last_idx,
  col_last_epoch,
  col_last_seal,
};

bool read_integer(sqlite3_stmt* row, int column, int64_t* value) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_INTEGER) {
    return false;
  }
  *value = sqlite3_column_int64(row, column);
  return true;
}

bool read_16_bytes(sqlite3_stmt* row, int column, unsigned char (&bytes)[16]) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_BLOB || sqlite3_column_bytes(row, column) != 16) {
    return false;
  }
  std::memcpy(bytes, sqlite3_column_blob(row, column), 16);
  return true;
}

bool read_stored_record(sqlite3_stmt* row, StoredRecord* record, Seal* seal) noexcept {
  if (sqlite3_column_type(row, col_deleted_at) != SQLITE_NULL) {
    int64_t deleted_at = 0;
    if (!read_integer(row, col_deleted_at, &deleted_at)) {
      return false;
    }
    record->deleted_at = deleted_at;
  }
  return read_integer(row, col_epoch, &record->epoch) && record->epoch >= 0 &&
         read_16_bytes(row, col_writer, record->writer.bytes) &&
         read_integer(row, col_tail, &record->tail) && record->tail >= -1 &&
         read_16_bytes(row, col_tail_seal, record->tail_seal.bytes) &&
         read_integer(row, col_trimmed, &record->trimmed) && record->trimmed >= -1 &&
         read_16_bytes(row, col_trim_seal, record->trim_seal.bytes) &&
         read_16_bytes(row, col_late_sum, record->late_sum.bytes) &&
         read_16_bytes(row, col_seal, seal->bytes);
}

// The record and its seal, if there is one. Returns the fault, or nullptr.
const Reason* take_record(sqlite3_stmt* row, LogState* log, Seal* seal) noexcept {
  if (sqlite3_column_type(row, col_epoch) == SQLITE_NULL) {
    return nullptr;
  }
  if (!read_stored_record(row, &log->record, seal)) {
    return &reasons::corrupt_record;
  }
  log->state = log->record.deleted_at.known ? RecordState::deleted : RecordState::live;
  log->end.trimmed = log->record.trimmed;
  log->last_seal = log->record.trim_seal;
  return nullptr;
}

// The newest entry, if there is one.
const Reason* take_last_entry(sqlite3_stmt* row, LogState* log, int64_t* epoch) noexcept {
  if (sqlite3_column_type(row, col_last_idx) == SQLITE_NULL) {
    return nullptr;
  }
  const bool sound = read_integer(row, col_last_idx, &log->end.last) && log->end.last >= 0 &&
                     read_integer(row, col_last_epoch, epoch) && *epoch >= -1 &&
                     read_16_bytes(row, col_last_seal, log->last_seal.bytes);
  return sound ? nullptr : &reasons::corrupt_entry;
}

// Does what was read fit together? Only asked of values that can be: ZF019 comes
// before ZF020, but a record that is not Fence's own says nothing about entries.
const Reason* compare_marks(const LogName& name, const LogState& log, const Seal& seal,
                            int64_t last_epoch) noexcept {
  if (log.state == RecordState::none) {
    return log.end.last >= 0 && layer(Layer::tail_seal) ? &reasons::record_gone : nullptr;
  }
  const StoredRecord& record = log.record;
  if (layer(Layer::record_seal) && seal != seal_record(log.seal_key, name.ns, name.key, record)) {
    return &reasons::record_seal_broken;
  }
  if (last_epoch > record.epoch) {
    return &reasons::corrupt_entry;
  }
  // A claim notes the entry that is the newest then: what comes after is its owner's.
  const bool foreign = log.state == RecordState::live && log.end.last > record.tail &&
                       last_epoch != record.epoch && last_epoch != -1;
  if (foreign && layer(Layer::tail_seal)) {
    return &reasons::foreign_entry;
  }
  const bool noted = log.state == RecordState::live && record.tail > record.trimmed;
  const bool changed = log.end.last < record.tail ||
                       (log.end.last == record.tail && log.last_seal != record.tail_seal);
  return noted && changed && layer(Layer::tail_seal) ? &reasons::tail_gone : nullptr;
}

}  // namespace

bool read_log(Connection* connection, const LogName& name, LogState* log,
              Failure* failure) noexcept {
  Use use(connection, Sql::read_record);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
  }
  if (!use.step()) {
    if (use.rc() == SQLITE_OK) {
      failure->refuse(reasons::partly_installed);
    } else {
      refuse_unreadable(connection, use.rc(), failure);
    }
    return false;
  }
  if (!check_format(sqlite3_column_int64(use.get(), col_format), failure)) {
    return false;
  }
  if (!read_16_bytes(use.get(), col_seal_key, log->seal_key.bytes)) {
    failure->refuse(reasons::corrupt_record);
    return false;
  }
  Seal seal{};
  int64_t last_epoch = -1;
  const Reason* fault = take_record(use.get(), log, &seal);
  if (fault == nullptr) {
    fault = take_last_entry(use.get(), log, &last_epoch);
  }
  if (fault == nullptr) {
    fault = compare_marks(name, *log, seal, last_epoch);
  }
  if (fault != nullptr) {
    failure->refuse(*fault);
    return false;
  }
  return true;
}

bool read_place(Connection* connection, const LogName& name, int64_t idx, std::string_view payload,
                Place* place, Failure* failure) noexcept {
  *place = Place();
  Use use(connection, Sql::read_place);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
    bind_field(use.get(), 3, integer_field(idx));
  }
  if (!use.step()) {
    if (use.rc() != SQLITE_OK) {
      refuse_unreadable(connection, use.rc(), failure);
      return false;
    }
    return true;
  }
  place->taken = true;
  if (!read_integer(use.get(), 0, &place->epoch) || place->epoch < -1 ||
      sqlite3_column_type(use.get(), 1) != SQLITE_BLOB ||
      !read_16_bytes(use.get(), 2, place->writer.bytes)) {
    failure->refuse(reasons::corrupt_entry);
    return false;
  }
  const void* stored = sqlite3_column_blob(use.get(), 1);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(use.get(), 1));
  place->same_bytes =
      size == payload.size() && (size == 0 || std::memcmp(stored, payload.data(), size) == 0);
  return true;
}

bool insert_entry(Connection* connection, const LogName& name, const Claimant& owner, int64_t idx,
                  std::string_view payload, LogState* log, Failure* failure) noexcept {
  Entry entry;
  entry.idx = idx;
  entry.epoch = owner.epoch;
  entry.writer = owner.writer;
  entry.payload = payload;
  entry.late = idx < log->end.last;
  const Seal seal =
      seal_entry(log->seal_key, entry.late ? Seal{} : log->last_seal, name.ns, name.key, entry);
  Row row;
  row.kind = "entry";
  row.add(text_field(name.ns));
  row.add(text_field(name.key));
  row.add(integer_field(entry.idx));
  row.add(integer_field(entry.epoch));
  row.add(blob_field(entry.writer.bytes, sizeof entry.writer.bytes));
  row.add(blob_field(payload.data(), payload.size()));
  row.add(integer_field(entry.late ? 1 : 0));
  row.add(blob_field(seal.bytes, sizeof seal.bytes));
  if (!write_row(connection, Sql::insert_entry, row, failure)) {
    return false;
  }
  if (entry.late) {
    log->record.late_sum = add_seals(log->record.late_sum, seal);
  } else {
    log->end.last = idx;
    log->last_seal = seal;
  }
  return true;
}

bool store_record(Connection* connection, const LogName& name, const LogState& log, bool is_new,
                  Failure* failure) noexcept {
  const StoredRecord& record = log.record;
  const Seal seal = seal_record(log.seal_key, name.ns, name.key, record);
  Row row;
  row.kind = "record";
  row.add(text_field(name.ns));
  row.add(text_field(name.key));
  row.add(integer_field(record.epoch));
  row.add(blob_field(record.writer.bytes, sizeof record.writer.bytes));
  row.add(record.deleted_at.known ? integer_field(record.deleted_at.value) : Field());
  row.add(integer_field(record.tail));
  row.add(blob_field(record.tail_seal.bytes, sizeof record.tail_seal.bytes));
  row.add(integer_field(record.trimmed));
  row.add(blob_field(record.trim_seal.bytes, sizeof record.trim_seal.bytes));
  row.add(blob_field(record.late_sum.bytes, sizeof record.late_sum.bytes));
  row.add(blob_field(seal.bytes, sizeof seal.bytes));
  return write_row(connection, is_new ? Sql::insert_record : Sql::update_record, row, failure);
}

void note_tail(LogState* log) noexcept {
  if (log->end.last >= 0) {
    log->record.tail = log->end.last;
    log->record.tail_seal = log->last_seal;
  }
}

}  // namespace fence
