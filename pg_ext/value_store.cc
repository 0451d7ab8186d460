#include "pg_ext/value_store.h"

#include <cstring>

#include "core/name.h"
#include "pg_ext/relations.h"

namespace fence {

namespace {

// The columns of fence_internal.value, in its order (sql/pg/20-tables.sql).
enum Column { column_namespace, column_key, column_name, column_epoch, column_value, column_count };
static_assert(column_count == value_columns, "as many as the table has");

// Removes the rows of a scan that has begun, if goes(epoch) wants it; may_stay(epoch): of one
// that another transaction is at.
template <typename Goes, typename MayStay>
Removal remove_rows(IndexScan* scan, Goes goes, MayStay may_stay) {
  Relation table = open_table(relations().value, RowExclusiveLock);
  Removal removal;
  while (scan->next()) {
    const int64_t epoch = number_at(scan->row(), column_epoch);
    if (goes(epoch)) {
      removal.note(remove_row(table, scan->row()->tts_tid), may_stay(epoch));
    }
  }
  CommandCounterIncrement();
  table_close(table, NoLock);
  return removal;
}

bool always(int64_t) { return true; }

// row: of the same name and epoch, to be replaced; nullptr: there is none.
ValueChange store_value(const RecordName& name, int64_t epoch, std::string_view value_name,
                        const std::string_view* value, const ItemPointerData* row) {
  Relation table = open_table(relations().value, RowExclusiveLock);
  Datum values[column_count] = {text_datum(name.ns), text_datum(name.key), text_datum(value_name),
                                Int64GetDatum(epoch)};
  bool nulls[column_count] = {};
  nulls[column_value] = value == nullptr;
  if (value != nullptr) {
    values[column_value] = text_datum(*value);
  }
  bool stored = true;
  if (row != nullptr) {
    stored = replace_row(table, *row, values, nulls);
  } else {
    insert_row(table, values, nulls);
  }
  table_close(table, NoLock);
  return stored ? ValueChange::done : ValueChange::busy;
}

}  // namespace

StoredValue find_value(const RecordName& name, const StoredRecord& record,
                       std::string_view value_name) {
  StoredValue found;
  IndexScan scan(relations().value);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.equal(value_name);
  scan.begin(SnapshotSelf);
  while (scan.next(BackwardScanDirection)) {
    if (!record.counts(number_at(scan.row(), column_epoch))) {
      continue;
    }
    found.exists = !is_null_at(scan.row(), column_value);
    found.epoch = number_at(scan.row(), column_epoch);
    found.row = scan.row()->tts_tid;
    if (found.exists) {
      found.value = bytes_at(scan.row(), column_value);
      const Datum copy = text_datum(found.value);  // the row goes with the scan
      found.value = {VARDATA_ANY(DatumGetPointer(copy)), found.value.size()};
    }
    break;
  }
  scan.end();
  return found;
}

// A row of this epoch is replaced, mostly on its own page: a transaction that puts one name
// many times does not go through all that it has put before. Else whatever stands under the
// name goes, so that a removed value mostly leaves nothing. Where somebody else is at a row,
// this epoch says that the value is gone.
ValueChange write_value(const RecordName& name, int64_t epoch, std::string_view value_name,
                        const StoredValue& stored, const std::string_view* value) {
  if (value != nullptr && stored.epoch == epoch && ItemPointerIsValid(&stored.row)) {
    return store_value(name, epoch, value_name, value, &stored.row);
  }
  IndexScan scan(relations().value);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.equal(value_name);
  scan.begin(SnapshotSelf);
  const Removal removal = remove_rows(&scan, always, [&](int64_t other) { return other < epoch; });
  scan.end();
  if (!removal.safe) {
    return ValueChange::busy;
  }
  if (value == nullptr && removal.all) {
    return ValueChange::done;
  }
  return store_value(name, epoch, value_name, value, nullptr);
}

namespace {

template <typename Goes>
Removal remove_values_that(const RecordName& name, const StoredRecord& record, Goes goes) {
  IndexScan scan(relations().value);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(SnapshotSelf);
  const Removal removal =
      remove_rows(&scan, goes, [&](int64_t epoch) { return record.may_stay(epoch); });
  scan.end();
  return removal;
}

}  // namespace

Removal remove_values(const RecordName& name, const StoredRecord& record) {
  return remove_values_that(name, record, always);
}

Removal remove_old_values(const RecordName& name, const StoredRecord& record) {
  return remove_values_that(name, record,
                            [&](int64_t epoch) { return !record.lives || !record.counts(epoch); });
}

// Backwards: of each name the newest epoch comes first.
void read_values_in_snapshot(const RecordName& name, const StoredRecord& record, TakeValue take,
                             void* context) {
  char decided[longest_name];  // the name whose newest row was met
  size_t decided_size = 0;
  IndexScan scan(relations().value);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(SnapshotAny);
  while (scan.next(BackwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    if (!scan.in_snapshot() || !record.counts(number_at(scan.row(), column_epoch))) {
      continue;
    }
    const std::string_view value_name = bytes_at(scan.row(), column_name);
    if (value_name == std::string_view(decided, decided_size) || value_name.size() > longest_name) {
      continue;
    }
    decided_size = value_name.size();
    std::memcpy(decided, value_name.data(), decided_size);
    if (!is_null_at(scan.row(), column_value)) {
      slot_getallattrs(scan.row());
      take(context, scan.row()->tts_values[column_name], number_at(scan.row(), column_epoch),
           scan.row()->tts_values[column_value]);
    }
  }
  scan.end();
}

}  // namespace fence
