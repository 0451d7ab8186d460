// Reading logs: oplog_read, and what the views stand on. All of it sees what the
// caller's snapshot sees, but scans without telling the server's serializable
// machinery: a reader would otherwise make good appends and claims fail.
#include "core/argument.h"
#include "core/number.h"
#include "pg_ext/access.h"
#include "pg_ext/arguments.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"

extern "C" {
#include "funcapi.h"
#include "nodes/execnodes.h"
}

namespace fence {

namespace {

// The part of a log that a reader sees, as the record in its snapshot says.
struct Visible {
  int64_t born = -1;
  int64_t trimmed = -1;
  bool deleted = false;
};

bool in_snapshot(const IndexScan& scan) {
  return table_tuple_satisfies_snapshot(scan.table(), scan.row(), GetActiveSnapshot());
}

Visible find_visible(const RecordName& name) {
  Visible visible;
  IndexScan scan(relations().record);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(SnapshotAny);
  while (scan.next()) {
    if (in_snapshot(scan)) {
      const StoredRecord record = record_of(scan.row());
      visible.born = record.born;
      visible.trimmed = record.trimmed;
      visible.deleted = record.state == RecordState::deleted;
      break;
    }
  }
  scan.end();
  return visible;
}

// Calls take(row of an entry) for each visible entry of idx from..to, ascending, until
// it answers false.
template <typename Take>
void scan_entries(const RecordName& name, int64_t from, int64_t to, Take take) {
  const Visible visible = find_visible(name);
  if (visible.deleted) {
    return;
  }
  const int64_t first = from > visible.trimmed ? from : visible.trimmed + 1;
  IndexScan scan(relations().entry);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.at_least(first);
  scan.at_most(to);
  scan.begin(SnapshotAny);
  bool more = true;
  while (more && scan.next()) {
    CHECK_FOR_INTERRUPTS();
    if (in_snapshot(scan) && epoch_of_entry(scan.row()) >= visible.born) {
      more = take(scan.row());
    }
  }
  scan.end();
}

// The set that a function answers with, filled before it returns.
class Rows {
 public:
  explicit Rows(FunctionCallInfo call) {
    InitMaterializedSRF(call, 0);
    result_ = reinterpret_cast<ReturnSetInfo*>(call->resultinfo);
  }
  void add(Datum* values, bool* nulls) {
    tuplestore_putvalues(result_->setResult, result_->setDesc, values, nulls);
  }

 private:
  ReturnSetInfo* result_;
};

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
    scan_entries(name, from, to, [&](TupleTableSlot* row) {
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
    scan_entries(name, 0, greatest_number, [&](TupleTableSlot* row) {
      Datum values[3];
      bool nulls[3] = {};
      read_entry(row, values, nulls);
      rows.add(values, nulls);
      return true;
    });
  }
  return 0;
}

// (namespace, key) -> (first_idx, last_idx, length), without looking at payloads.
FENCE_FUNCTION(fence_pg_extent) {
  const RecordName name = Arguments(fcinfo).record_name();
  Datum values[3];
  bool nulls[3] = {true, true, false};
  int64_t count = 0;
  Rows rows(fcinfo);
  if (may_read(name.ns)) {
    scan_entries(name, 0, greatest_number, [&](TupleTableSlot* row) {
      const int64_t idx = idx_of_entry(row);
      if (count++ == 0) {
        values[0] = Int64GetDatum(idx);
      }
      values[1] = Int64GetDatum(idx);
      nulls[0] = nulls[1] = false;
      return true;
    });
  }
  values[2] = Int64GetDatum(count);
  rows.add(values, nulls);
  return 0;
}

// () -> (namespace, key, epoch, writer, trimmed, deleted, hash, hash of the owner's lock
// tag): of the namespaces that the caller may read.
FENCE_FUNCTION(fence_pg_records) {
  Rows rows(fcinfo);
  Relation table = open_table(relations().record, AccessShareLock);
  TupleTableSlot* row = table_slot_create(table, nullptr);
  TableScanDesc scan = table_beginscan(table, SnapshotAny, 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, row)) {
    CHECK_FOR_INTERRUPTS();
    if (!table_tuple_satisfies_snapshot(table, row, GetActiveSnapshot())) {
      continue;
    }
    const StoredRecord record = record_of(row);
    const RecordName name = name_of(row);
    if (!may_read(name.ns)) {
      continue;
    }
    const Fingerprint writer = fingerprint(record.writer);
    const uint64_t owner = claimant_hash(name.hash, {record.epoch, record.writer});
    Datum values[8] = {text_datum(name.ns),
                       text_datum(name.key),
                       Int64GetDatum(record.epoch),
                       text_datum({writer.text, sizeof writer.text - 1}),
                       Int64GetDatum(record.trimmed),
                       BoolGetDatum(record.state == RecordState::deleted),
                       Int64GetDatum(static_cast<int64_t>(name.hash)),
                       Int64GetDatum(static_cast<int64_t>(owner))};
    bool nulls[8] = {};
    rows.add(values, nulls);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(row);
  table_close(table, AccessShareLock);
  return 0;
}

}  // namespace fence
