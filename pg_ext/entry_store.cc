#include "pg_ext/entry_store.h"

#include <cstring>

#include "pg_ext/compat.h"

extern "C" {
#include "access/detoast.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
}

namespace fence {

namespace {

// The columns of fence_internal.entry, in its order (sql/pg/20-tables.sql).
enum Column {
  column_idx,
  column_epoch,
  column_namespace,
  column_key,
  column_payload,
  column_count
};
static_assert(column_count == entry_columns, "as many as the table has");

bool has_payload(TupleTableSlot* row, std::string_view payload) {
  bool is_null = false;
  const Datum stored = slot_getattr(row, column_payload + 1, &is_null);
  if (toast_raw_datum_size(stored) - VARHDRSZ != payload.size()) {
    return false;
  }
  const auto* bytes = DatumGetByteaPP(stored);
  return std::memcmp(VARDATA_ANY(bytes), payload.data(), payload.size()) == 0;
}

Place place_of(TupleTableSlot* row, const NewEntry& wanted) {
  Place place;
  place.taken = true;
  place.epoch = number_at(row, column_epoch);
  place.same_bytes = has_payload(row, wanted.payload);
  return place;
}

// By the transaction that had stored it, which may still be open: it never counts.
bool was_taken_back(TupleTableSlot* row) {
  bool should_free = false;
  const HeapTupleHeaderData* header = ExecFetchSlotHeapTuple(row, false, &should_free)->t_data;
  return (header->t_infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) == 0 &&
         !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
         HeapTupleHeaderGetRawXmin(header) == HeapTupleHeaderGetRawXmax(header);
}

void scan_key(IndexScan* scan, const RecordName& name) {
  scan->equal(name.ns);
  scan->equal(name.key);
}

}  // namespace

int64_t idx_of_entry(TupleTableSlot* row) { return number_at(row, column_idx); }

int64_t epoch_of_entry(TupleTableSlot* row) { return number_at(row, column_epoch); }

std::string_view payload_of_entry(TupleTableSlot* row) { return bytes_at(row, column_payload); }

void read_entry(TupleTableSlot* row, Datum values[3], bool nulls[3]) {
  values[0] = Int64GetDatum(number_at(row, column_idx));
  values[1] = Int64GetDatum(number_at(row, column_epoch));
  nulls[1] = number_at(row, column_epoch) < 0;
  values[2] = slot_getattr(row, column_payload + 1, &nulls[2]);
}

Place find_place(const RecordName& name, const NewEntry& wanted, const StoredRecord& record) {
  Place place;
  IndexScan scan(relations().entry);
  scan_key(&scan, name);
  scan.equal(wanted.idx);
  scan.begin(SnapshotSelf);
  while (!place.taken && scan.next()) {
    if (record.counts(number_at(scan.row(), column_epoch))) {
      place = place_of(scan.row(), wanted);
    }
  }
  scan.end();
  return place;
}

Place find_own_place(const RecordName& name, const NewEntry& wanted, int64_t epoch) {
  Place place;
  IndexScan scan(relations().entry);
  scan_key(&scan, name);
  scan.equal(wanted.idx);
  scan.equal(epoch);
  scan.begin(SnapshotSelf);
  if (scan.next()) {
    place = place_of(scan.row(), wanted);
  }
  scan.end();
  return place;
}

int64_t find_last(const RecordName& name, const StoredRecord& record, int64_t above) {
  int64_t last = -1;
  IndexScan scan(relations().entry);
  scan_key(&scan, name);
  scan.above(above);
  scan.begin(SnapshotSelf);
  while (last < 0 && scan.next(BackwardScanDirection)) {
    if (record.counts(number_at(scan.row(), column_epoch))) {
      last = number_at(scan.row(), column_idx);
    }
  }
  scan.end();
  return last;
}

RemovedEntries remove_entries(const RecordName& name, const StoredRecord& record, int64_t above,
                              int64_t through) {
  RemovedEntries removed;
  if (through < 0 || above >= through) {
    return removed;
  }
  Relation table = open_table(relations().entry, RowExclusiveLock);
  scan_entries(name, above + 1, through, SnapshotSelf, [&](const IndexScan& scan) {
    const int64_t epoch = epoch_of_entry(scan.row());
    removed.counted += record.counts(epoch) ? 1 : 0;
    removed.removal.note(remove_row(table, scan.row()->tts_tid), record.may_stay(epoch));
    return true;
  });
  CommandCounterIncrement();
  table_close(table, NoLock);
  return removed;
}

int64_t find_own_stored(const RecordName& name, int64_t epoch, int64_t from, int64_t to) {
  int64_t found = -1;
  scan_entries(name, from, to, SnapshotSelf, [&](const IndexScan& scan) {
    if (epoch_of_entry(scan.row()) == epoch && is_own_row(scan.row())) {
      found = idx_of_entry(scan.row());
    }
    return found < 0;
  });
  return found;
}

EntryWriter::EntryWriter(const RecordName& name, int64_t epoch)
    : name_(name), ns_(text_datum(name.ns)), key_(text_datum(name.key)), epoch_(epoch) {
  Relation table = open_table(relations().entry, RowExclusiveLock);
  state_ = CreateExecutorState();
  target_ = makeNode(ResultRelInfo);
  InitResultRelInfo(target_, table, 0, nullptr, 0);  // 0: it stands in no range table
  ExecOpenIndices(target_, false);
  row_ = table_slot_create(table, &state_->es_tupleTable);
}

// As the executor would, without a plan: the row, then its index entries. Returns
// whether there may be another row of the same key.
bool EntryWriter::insert(const NewEntry& entry) {
  Relation table = target_->ri_RelationDesc;
  ExecClearTuple(row_);
  std::memset(row_->tts_isnull, 0, column_count * sizeof *row_->tts_isnull);
  row_->tts_values[column_idx] = Int64GetDatum(entry.idx);
  row_->tts_values[column_epoch] = Int64GetDatum(epoch_);
  row_->tts_values[column_namespace] = ns_;
  row_->tts_values[column_key] = key_;
  row_->tts_values[column_payload] = text_datum(entry.payload);
  ExecStoreVirtualTuple(row_);
  row_->tts_tableOid = RelationGetRelid(table);
  table_tuple_insert(table, row_, GetCurrentCommandId(true), 0, nullptr);
  const bool conflict = compat::insert_index_entries(target_, row_, state_);
  CommandCounterIncrement();
  return conflict;
}

void EntryWriter::take_back() {
  ItemPointerData mine = row_->tts_tid;
  simple_heap_delete(target_->ri_RelationDesc, &mine);
  CommandCounterIncrement();
}

// The row of the same key that counts: one that stays, else one whose transaction is
// still open.
EntryWriter::Other EntryWriter::find_other(const NewEntry& entry) {
  Other other{Standing::none, false, InvalidTransactionId, {}};
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  IndexScan scan(relations().entry);
  scan_key(&scan, name_);
  scan.equal(entry.idx);
  scan.equal(epoch_);
  scan.begin(&dirty);
  while (other.standing != Standing::stays && scan.next()) {
    if (ItemPointerEquals(&scan.row()->tts_tid, &row_->tts_tid) || was_taken_back(scan.row())) {
      continue;
    }
    const TransactionId open = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
    other.standing = TransactionIdIsValid(open) ? Standing::open : Standing::stays;
    other.same_bytes = has_payload(scan.row(), entry.payload);
    other.transaction = open;
    other.row = scan.row()->tts_tid;
  }
  scan.end();
  return other;
}

EntryWriter::Outcome EntryWriter::attempt(const NewEntry& entry, Other* other) {
  while (insert(entry)) {
    *other = find_other(entry);
    if (other->standing == Standing::none) {
      break;
    }
    // Not while the own row stands: two that wait so would wait for each other.
    take_back();
    if (other->standing == Standing::open) {
      *other = find_other(entry);
    }
    if (other->standing == Standing::open) {
      return Outcome::open;
    }
    if (other->standing == Standing::stays) {
      return other->same_bytes ? Outcome::same_bytes : Outcome::other_bytes;
    }
  }
  return Outcome::stored;
}

EntryWriter::Result EntryWriter::write(const NewEntry& entry) {
  Result result{Outcome::stored, false};
  Other other{};
  while ((result.outcome = attempt(entry, &other)) == Outcome::open) {
    XactLockTableWait(other.transaction, target_->ri_RelationDesc, &other.row,
                      XLTW_InsertIndexUnique);
    result.waited = true;
  }
  return result;
}

EntryWriter::Outcome EntryWriter::write_at_once(const NewEntry& entry) {
  Other other{};
  return attempt(entry, &other);
}

void EntryWriter::end() {
  Relation table = target_->ri_RelationDesc;
  ExecCloseIndices(target_);
  ExecResetTupleTable(state_->es_tupleTable, false);
  FreeExecutorState(state_);
  table_close(table, NoLock);
}

}  // namespace fence
