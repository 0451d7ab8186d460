#include "sqlite_ext/log_store.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

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
const Reason dead_content = {
    Code::guard_broken,
    "the key was deleted and has entries: somebody else than Fence put them there",
    "find out who writes to the file without the extension"};
const Reason foreign_entry = {Code::guard_broken,
                              "the newest entry was stored neither by the owner nor through Fence",
                              "find out who writes to the file without the extension"};
}  // namespace reasons

namespace {

// Columns of Sql::read_record, behind those of the namespace.
enum Column : int {
  col_epoch = namespace_columns,
  col_writer,
  col_deleted_at,
  col_tail,
  col_tail_seal,
  col_trimmed,
  col_trim_seal,
  col_late_sum,
  col_reset_last,
  col_published,
  col_seal,
  col_last_idx,
  col_last_epoch,
  col_last_seal,
};

// A column that may be NULL.
template <typename Value, typename Read>
bool read_maybe(sqlite3_stmt* row, int column, Maybe<Value>* maybe, Read read) noexcept {
  if (sqlite3_column_type(row, column) == SQLITE_NULL) {
    return true;
  }
  Value value{};
  if (!read(&value)) {
    return false;
  }
  *maybe = value;
  return true;
}

bool read_stored_record(sqlite3_stmt* row, StoredRecord* record, Seal* seal) noexcept {
  const auto mark = [&](int column, int64_t* value) {
    return read_integer(row, column, value) && *value >= -1;
  };
  return mark(col_epoch, &record->epoch) && read_16_bytes(row, col_writer, record->writer.bytes) &&
         (record->epoch >= 0 || is_nobody(record->writer)) &&
         read_maybe(row, col_deleted_at, &record->deleted_at,
                    [&](int64_t* at) { return read_integer(row, col_deleted_at, at); }) &&
         mark(col_tail, &record->tail) &&
         read_16_bytes(row, col_tail_seal, record->tail_seal.bytes) &&
         mark(col_trimmed, &record->trimmed) &&
         read_16_bytes(row, col_trim_seal, record->trim_seal.bytes) &&
         read_16_bytes(row, col_late_sum, record->late_sum.bytes) &&
         mark(col_reset_last, &record->reset_last) &&
         read_maybe(row, col_published, &record->published,
                    [&](Seal* sum) { return read_16_bytes(row, col_published, sum->bytes); }) &&
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
  log->stored = true;
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

// What is wrong with the newest entry of a key that lives?
const Reason* compare_tail(const LogState& log, int64_t last_epoch) noexcept {
  const StoredRecord& record = log.record;
  // A claim notes the entry that is the newest then: what comes after is its owner's,
  // or an unfenced one.
  const bool owners = last_epoch == record.epoch && !is_nobody(record.writer);
  if (log.end.last > record.tail && !owners && last_epoch != unfenced_epoch) {
    return &reasons::foreign_entry;
  }
  const bool changed = log.end.last < record.tail ||
                       (log.end.last == record.tail && log.last_seal != record.tail_seal);
  return record.tail > record.trimmed && changed ? &reasons::tail_gone : nullptr;
}

// Does what was read fit together? Only asked of values that can be: ZF019 comes
// before ZF020, but a record that is not Fence's own says nothing about entries.
const Reason* compare_marks(const LogName& name, const LogState& log, const Seal& seal,
                            int64_t last_epoch) noexcept {
  if (!log.stored) {
    return log.end.last >= 0 && layer(Layer::tail_seal) ? &reasons::record_gone : nullptr;
  }
  const StoredRecord& record = log.record;
  if (layer(Layer::record_seal) && seal != seal_record(log.seal_key, name.ns, name.key, record)) {
    return &reasons::record_seal_broken;
  }
  // Where the epoch was lowered, older entries may be of a higher one.
  if (last_epoch > record.epoch && log.end.last > record.reset_last) {
    return &reasons::corrupt_entry;
  }
  if (!layer(Layer::tail_seal)) {
    return nullptr;
  }
  if (!log.lives()) {
    return log.end.last >= 0 ? &reasons::dead_content : nullptr;
  }
  return compare_tail(log, last_epoch);
}

// Decides about the mode between what is read of the namespace and of the key: ZF012
// comes before ZF019 and ZF020.
const Reason* take_log(sqlite3_stmt* row, const OwnerCall& call, ModeRule rule,
                       LogState* log) noexcept {
  const Reason* fault = judge_mode_of(call, rule, log->rule.mode);
  Seal seal{};
  int64_t last_epoch = unfenced_epoch;
  if (fault == nullptr) {
    fault = take_record(row, log, &seal);
  }
  if (fault == nullptr) {
    fault = take_last_entry(row, log, &last_epoch);
  }
  return fault == nullptr ? compare_marks(call.name, *log, seal, last_epoch) : fault;
}

}  // namespace

bool read_log(Connection* connection, const OwnerCall& call, ModeRule rule, LogState* log,
              Failure* failure) noexcept {
  Use use(connection, Sql::read_record);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(call.name.ns));
    bind_field(use.get(), 2, text_field(call.name.key));
  }
  if (!use.step()) {
    refuse_missing_row(connection, use.rc(), failure);
    return false;
  }
  NamespaceState around;
  if (!take_namespace(use.get(), call.name.ns, &around, failure)) {
    return false;
  }
  log->seal_key = around.seal_key;
  log->rule = around.rule;
  const Reason* fault = take_log(use.get(), call, rule, log);
  if (fault != nullptr) {
    failure->refuse(*fault);
    return false;
  }
  return check_generation(connection, around.generation, failure);
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
  std::string_view stored;
  if (!read_integer(use.get(), 0, &place->epoch) || place->epoch < -1 ||
      !read_blob(use.get(), 1, &stored) || !read_16_bytes(use.get(), 2, place->writer.bytes)) {
    failure->refuse(reasons::corrupt_entry);
    return false;
  }
  place->same_bytes = stored == payload;
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

bool store_record(Connection* connection, const LogName& name, LogState* log,
                  Failure* failure) noexcept {
  const StoredRecord& record = log->record;
  const Seal seal = seal_record(log->seal_key, name.ns, name.key, record);
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
  row.add(integer_field(record.reset_last));
  row.add(record.published.known ? blob_field(record.published.value.bytes, sizeof(Seal))
                                 : Field());
  row.add(blob_field(seal.bytes, sizeof seal.bytes));
  if (!write_row(connection, log->stored ? Sql::update_record : Sql::insert_record, row, failure)) {
    return false;
  }
  log->stored = true;
  return true;
}

void begin_life(LogState* log) noexcept {
  const int64_t floor = log->stored ? log->record.epoch : unfenced_epoch;
  log->record = StoredRecord();
  log->record.epoch = floor;
  log->end = LogEnd();
  log->last_seal = Seal{};
}

void note_tail(LogState* log) noexcept {
  if (log->end.last >= 0) {
    log->record.tail = log->end.last;
    log->record.tail_seal = log->last_seal;
  }
}

}  // namespace fence
