#include "pg_ext/key_content.h"

#include "core/number.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/trim_store.h"
#include "pg_ext/value_store.h"

namespace fence {

namespace {

bool is_empty(const OwnTable& own, const RecordName& name) {
  IndexScan scan(own);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(SnapshotSelf);
  const bool empty = !scan.next();
  scan.end();
  return empty;
}

}  // namespace

LogEnd find_log_end(const RecordName& name, const StoredRecord& record) {
  LogEnd end;
  if (record.lives) {
    end.trimmed = find_trimmed(name, record);
    end.last = find_last(name, record, end.trimmed);
  }
  return end;
}

int64_t remove_content(const RecordName& name, const StoredRecord& record) {
  const int64_t trimmed = find_trimmed(name, record);
  remove_entries(name, record, -1, trimmed);
  const int64_t counted = remove_entries(name, record, trimmed, greatest_number).counted;
  remove_trim_marks(name);
  remove_values(name);
  return record.lives ? counted : 0;
}

bool has_no_content(const RecordName& name) {
  return is_empty(relations().entry, name) && is_empty(relations().trim_mark, name) &&
         is_empty(relations().value, name);
}

void remove_leftovers(const RecordName& name, const StoredRecord& record) {
  const int64_t trimmed = find_trimmed(name, record);
  Relation table = open_table(relations().entry, RowExclusiveLock);
  scan_entries(name, 0, greatest_number, SnapshotSelf, [&](const IndexScan& scan) {
    const bool used = record.lives && record.counts(epoch_of_entry(scan.row())) &&
                      idx_of_entry(scan.row()) > trimmed;
    if (!used) {
      remove_row(table, scan.row()->tts_tid);
    }
    return true;
  });
  CommandCounterIncrement();
  table_close(table, NoLock);
  remove_old_values(name, record);
}

}  // namespace fence
