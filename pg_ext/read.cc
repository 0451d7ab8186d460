// Reading logs: oplog_read, and what the views stand on. All of it sees what the
// caller's snapshot sees, but scans without telling the server's serializable
// machinery: a reader would otherwise make good appends and claims fail.
#include "core/argument.h"
#include "core/number.h"
#include "pg_ext/access.h"
#include "pg_ext/arguments.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/rows.h"
#include "pg_ext/trim_store.h"
#include "pg_ext/value_store.h"

namespace fence {

namespace {

// The record as the caller's snapshot has it.
StoredRecord find_visible(const RecordName& name) {
  StoredRecord record;
  IndexScan scan(relations().record);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(SnapshotAny);
  while (!record.exists && scan.next()) {
    if (scan.in_snapshot()) {
      record = record_of(scan.row());
    }
  }
  scan.end();
  return record;
}

// Calls take(row of an entry) for each visible entry of idx from..to, ascending, until
// it answers false. Returns up to where the log is trimmed.
template <typename Take>
int64_t scan_visible(const RecordName& name, int64_t from, int64_t to, Take take) {
  const StoredRecord record = find_visible(name);
  if (!record.lives) {
    return -1;
  }
  const int64_t trimmed = find_trimmed_in_snapshot(name, record);
  if (trimmed == greatest_number) {
    return trimmed;
  }
  const int64_t first = from > trimmed ? from : trimmed + 1;
  scan_entries(name, first, to, SnapshotAny, [&](const IndexScan& scan) {
    const bool seen = scan.in_snapshot() && record.counts(epoch_of_entry(scan.row()));
    return !seen || take(scan.row());
  });
  return trimmed;
}

}  // namespace

// (namespace, key, from_idx, to_idx, max) -> (idx, epoch, payload)
FENCE_FUNCTION(fence_pg_read) {
  Arguments arguments(fcinfo);
  const RecordName name = arguments.record_name();
  const int64_t from = arguments.number_or(2, reasons::bad_range, 0);
  const int64_t to = arguments.number_or(3, reasons::bad_range, greatest_number);
  int64_t left = arguments.number_or(4, reasons::bad_range, 1000);
  check_may_read(name.ns);
  Rows rows(fcinfo);
  if (left > 0) {
    scan_visible(name, from, to, [&](TupleTableSlot* row) {
      Datum values[3];
      bool nulls[3] = {};
      read_entry(row, values, nulls);
      rows.add(values, nulls);
      return --left > 0;
    });
  }
  return 0;
}

// (namespace, key) -> (idx, epoch, payload): all of them, for the view.
FENCE_FUNCTION(fence_pg_entries) {
  const RecordName name = Arguments(fcinfo).record_name();
  Rows rows(fcinfo);
  if (may_read(name.ns)) {
    scan_visible(name, 0, greatest_number, [&](TupleTableSlot* row) {
      Datum values[3];
      bool nulls[3] = {};
      read_entry(row, values, nulls);
      rows.add(values, nulls);
      return true;
    });
  }
  return 0;
}

// (namespace, key) -> (first_idx, last_idx, length), without looking at payloads. The last
// idx counts trimmed entries.
FENCE_FUNCTION(fence_pg_extent) {
  const RecordName name = Arguments(fcinfo).record_name();
  Datum values[3];
  bool nulls[3] = {true, true, false};
  int64_t count = 0;
  Rows rows(fcinfo);
  if (may_read(name.ns)) {
    const int64_t trimmed = scan_visible(name, 0, greatest_number, [&](TupleTableSlot* row) {
      const int64_t idx = idx_of_entry(row);
      if (count++ == 0) {
        values[0] = Int64GetDatum(idx);
      }
      values[1] = Int64GetDatum(idx);
      nulls[0] = nulls[1] = false;
      return true;
    });
    if (count == 0 && trimmed >= 0) {
      values[1] = Int64GetDatum(trimmed);
      nulls[1] = false;
    }
  }
  values[2] = Int64GetDatum(count);
  rows.add(values, nulls);
  return 0;
}

// (namespace, key) -> (name, epoch, value) of the named values.
FENCE_FUNCTION(fence_pg_values) {
  const RecordName name = Arguments(fcinfo).record_name();
  Rows rows(fcinfo);
  const StoredRecord record = find_visible(name);
  if (record.lives && may_read(name.ns)) {
    read_values_in_snapshot(
        name, record,
        [](void* context, Datum value_name, int64_t epoch, Datum value) {
          Datum values[3] = {value_name, Int64GetDatum(epoch), value};
          bool nulls[3] = {false, epoch == unfenced_epoch, false};
          static_cast<Rows*>(context)->add(values, nulls);
        },
        &rows);
  }
  return 0;
}

}  // namespace fence
