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

RemovedContent remove_content(const RecordName& name, const StoredRecord& record) {
  RemovedContent removed;
  const int64_t trimmed = find_trimmed(name, record);
  removed.removal.add(remove_entries(name, record, -1, trimmed).removal);
  const RemovedEntries entries = remove_entries(name, record, trimmed, greatest_number);
  removed.removal.add(entries.removal);
  removed.removal.add(remove_trim_marks(name, record));
  removed.removal.add(remove_values(name, record));
  removed.entries = record.lives ? entries.counted : 0;
  return removed;
}

bool has_no_content(const RecordName& name) {
  return is_empty(relations().entry, name) && is_empty(relations().trim_mark, name) &&
         is_empty(relations().value, name);
}

Removal remove_leftovers(const RecordName& name, const StoredRecord& record) {
  Removal removal;
  const int64_t trimmed = find_trimmed(name, record);
  Relation table = open_table(relations().entry, RowExclusiveLock);
  scan_entries(name, 0, greatest_number, SnapshotSelf, [&](const IndexScan& scan) {
    const bool used = record.lives && record.counts(epoch_of_entry(scan.row())) &&
                      idx_of_entry(scan.row()) > trimmed;
    if (!used) {
      removal.note(remove_row(table, scan.row()->tts_tid), false);
    }
    return true;
  });
  CommandCounterIncrement();
  table_close(table, NoLock);
  removal.add(remove_trim_marks(name, record));
  removal.add(remove_old_values(name, record));
  return removal;
}

}  // namespace fence
