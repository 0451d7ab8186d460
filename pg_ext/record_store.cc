#include "pg_ext/record_store.h"

#include <cstring>

#include "core/layer.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/lineage.h"
#include "pg_ext/relations.h"
#include "pg_ext/settings.h"

extern "C" {
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "utils/timestamp.h"
}

namespace fence {

namespace {

// The columns of fence_internal.record, in its order (sql/pg/20-tables.sql).
enum Column {
  column_namespace,
  column_key,
  column_hash,
  column_epoch,
  column_writer,
  column_deleted_at,
  column_tail_at_claim,
  column_trimmed,
  column_born,
  column_timeline,
  column_lineage,
  column_count
};
static_assert(column_count == record_columns, "as many as the table has");

int64_t number_at(TupleTableSlot* row, Column column) {
  return DatumGetInt64(row->tts_values[column]);
}

std::string_view text_at(TupleTableSlot* row, Column column) {
  const auto* packed = DatumGetTextPP(row->tts_values[column]);
  return {VARDATA_ANY(packed), static_cast<size_t>(VARSIZE_ANY_EXHDR(packed))};
}

}  // namespace

RecordName name_of(TupleTableSlot* row) {
  slot_getallattrs(row);
  return {text_at(row, column_namespace), text_at(row, column_key),
          static_cast<uint64_t>(number_at(row, column_hash))};
}

StoredRecord record_of(TupleTableSlot* row) {
  slot_getallattrs(row);
  StoredRecord record;
  record.state = row->tts_isnull[column_deleted_at] ? RecordState::live : RecordState::deleted;
  record.epoch = number_at(row, column_epoch);
  record.tail_at_claim = number_at(row, column_tail_at_claim);
  record.trimmed = number_at(row, column_trimmed);
  record.born = number_at(row, column_born);
  record.timeline = static_cast<uint32_t>(DatumGetInt32(row->tts_values[column_timeline]));
  record.lineage = number_at(row, column_lineage);
  record.row = row->tts_tid;
  const auto* writer = DatumGetByteaPP(row->tts_values[column_writer]);
  if (VARSIZE_ANY_EXHDR(writer) == sizeof record.writer.bytes) {
    std::memcpy(record.writer.bytes, VARDATA_ANY(writer), sizeof record.writer.bytes);
  } else {
    record.epoch = -1;  // no writer is that long: reported as what cannot be
  }
  return record;
}

namespace {

StoredRecord scan_for(const RecordName& name, Snapshot snapshot) {
  StoredRecord record;
  IndexScan scan(relations().record);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.begin(snapshot);
  if (scan.next()) {
    record = record_of(scan.row());
  }
  scan.end();
  return record;
}

}  // namespace

Record StoredRecord::ownership() const {
  return {state, epoch, writer, state != RecordState::none && !claim_counts(lineage, timeline)};
}

void flush_with_this_transaction() {
  GetTopTransactionId();  // else there is no commit record, and nothing to flush
  ForceSyncCommit();
}

StoredRecord read_record(const RecordName& name, Reading reading) {
  if (reading == Reading::locked) {
    return scan_for(name, SnapshotSelf);
  }
  StoredRecord record =
      scan_for(name, layer(Layer::sees_committed) ? SnapshotSelf : GetActiveSnapshot());
  if (record.state != RecordState::none || reading == Reading::glance) {
    return record;
  }
  // A claim may have moved the row from where the scan still had to come to where it
  // had been. Behind the lock it stands still.
  const LOCKTAG tag = key_tag(name.hash);
  hold_lock_for(tag, ShareLock, settings.commit_wait);
  record = scan_for(name, SnapshotSelf);
  let_go(tag, ShareLock);
  return record;
}

Refusal refusal_by(const StoredRecord& record, const RecordName& name, const Claimant& claimant,
                   const Reason& reason) {
  Refusal refusal = ownership_refusal(&reason, record.ownership(), claimant);
  refusal.ns = name.ns;
  refusal.key = name.key;
  return refusal;
}

void write_record(const RecordName& name, const StoredRecord& record) {
  Relation table = open_table(relations().record, RowExclusiveLock);
  Datum values[column_count] = {};
  bool nulls[column_count] = {};
  values[column_namespace] = text_datum(name.ns);
  values[column_key] = text_datum(name.key);
  values[column_hash] = Int64GetDatum(static_cast<int64_t>(name.hash));
  values[column_epoch] = Int64GetDatum(record.epoch);
  values[column_writer] =
      text_datum({reinterpret_cast<const char*>(record.writer.bytes), sizeof record.writer.bytes});
  values[column_deleted_at] = TimestampTzGetDatum(GetCurrentTimestamp());
  nulls[column_deleted_at] = record.state == RecordState::live;
  values[column_tail_at_claim] = Int64GetDatum(record.tail_at_claim);
  values[column_trimmed] = Int64GetDatum(record.trimmed);
  values[column_born] = Int64GetDatum(record.born);
  // What changes no owner does not make an outdated claim count again.
  const bool begins = record.lineage == 0;
  values[column_timeline] =
      Int32GetDatum(static_cast<int32>(begins ? GetWALInsertionTimeLine() : record.timeline));
  values[column_lineage] =
      Int64GetDatum(begins ? whereabouts().lineage.generation : record.lineage);
  HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
  // The plain functions of the catalogs: nobody else writes the row while the key is
  // locked, and they do not run the guard triggers, which are against others.
  if (ItemPointerIsValid(&record.row)) {
    ItemPointerData row = record.row;
    CatalogTupleUpdate(table, &row, tuple);
  } else {
    CatalogTupleInsert(table, tuple);
  }
  CommandCounterIncrement();
  heap_freetuple(tuple);
  table_close(table, NoLock);
}

}  // namespace fence
