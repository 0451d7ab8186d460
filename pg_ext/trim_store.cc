#include "pg_ext/trim_store.h"

namespace fence {

namespace {

// The columns of fence_internal.trim_mark, in its order (sql/pg/20-tables.sql).
enum Column { column_namespace, column_key, column_epoch, column_trimmed, column_count };
static_assert(column_count == trim_mark_columns, "as many as the table has");

// Calls take(row) for each mark of the key.
template <typename Take>
void scan_marks(const RecordName& name, Snapshot snapshot, Take take) {
  IndexScan scan(relations().trim_mark);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(snapshot);
  while (scan.next()) {
    take(scan);
  }
  scan.end();
}

int64_t greatest(const IndexScan& scan, const StoredRecord& record, int64_t so_far) {
  const int64_t mark = number_at(scan.row(), column_trimmed);
  return record.counts(number_at(scan.row(), column_epoch)) && mark > so_far ? mark : so_far;
}

}  // namespace

int64_t find_trimmed(const RecordName& name, const StoredRecord& record) {
  int64_t trimmed = record.trimmed;
  scan_marks(name, SnapshotSelf,
             [&](const IndexScan& scan) { trimmed = greatest(scan, record, trimmed); });
  return trimmed;
}

TrimsOfOthers::TrimsOfOthers() : scan_(relations().trim_mark) {}

int64_t TrimsOfOthers::find(const RecordName& name, const StoredRecord& record) {
  scan_.forget_keys();
  scan_.equal(name.ns);
  scan_.equal(name.key);
  if (begun_) {
    scan_.rescan();
  } else {
    scan_.begin(SnapshotSelf);
    begun_ = true;
  }
  int64_t trimmed = record.trimmed;
  while (scan_.next()) {
    if (!is_own_row(scan_.row())) {
      trimmed = greatest(scan_, record, trimmed);
    }
  }
  return trimmed;
}

int64_t find_trimmed_in_snapshot(const RecordName& name, const StoredRecord& record) {
  int64_t trimmed = record.trimmed;
  scan_marks(name, SnapshotAny, [&](const IndexScan& scan) {
    if (scan.in_snapshot()) {
      trimmed = greatest(scan, record, trimmed);
    }
  });
  return trimmed;
}

bool write_trimmed(const RecordName& name, int64_t epoch, int64_t trimmed) {
  Relation table = open_table(relations().trim_mark, RowExclusiveLock);
  bool mine_removed = true;
  scan_marks(name, SnapshotSelf, [&](const IndexScan& scan) {
    const bool mine = number_at(scan.row(), column_epoch) == epoch;
    const bool removed = remove_row(table, scan.row()->tts_tid);
    mine_removed = mine_removed && (removed || !mine);
  });
  if (mine_removed) {
    Datum values[column_count] = {text_datum(name.ns), text_datum(name.key), Int64GetDatum(epoch),
                                  Int64GetDatum(trimmed)};
    insert_row(table, values, nullptr);
  }
  table_close(table, NoLock);
  return mine_removed;
}

Removal remove_trim_marks(const RecordName& name, const StoredRecord& record) {
  Removal removal;
  Relation table = open_table(relations().trim_mark, RowExclusiveLock);
  scan_marks(name, SnapshotSelf, [&](const IndexScan& scan) {
    removal.note(remove_row(table, scan.row()->tts_tid),
                 record.may_stay(number_at(scan.row(), column_epoch)));
  });
  table_close(table, NoLock);
  return removal;
}

}  // namespace fence
