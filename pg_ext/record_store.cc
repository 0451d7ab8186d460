#include "pg_ext/record_store.h"

#include <cstring>

#include "core/layer.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/lineage.h"
#include "pg_ext/relations.h"
#include "pg_ext/settings.h"

extern "C" {
#include "access/xlog.h"
#include "storage/bufmgr.h"
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
  column_reset_last,
  column_published,
  column_count
};
static_assert(column_count == record_columns, "as many as the table has");

// False where the column holds another number of bytes: nobody of ours stored that.
bool read_16_bytes(TupleTableSlot* row, Column column, unsigned char (&bytes)[16]) {
  const std::string_view stored = bytes_at(row, column);
  if (stored.size() != sizeof bytes) {
    return false;
  }
  std::memcpy(bytes, stored.data(), sizeof bytes);
  return true;
}

Datum bytes_datum(const unsigned char (&bytes)[16]) {
  return text_datum({reinterpret_cast<const char*>(bytes), sizeof bytes});
}

// Never an epoch: reported as a value that cannot be.
constexpr int64_t impossible_epoch = -2;

}  // namespace

void begin_life(int64_t epoch, StoredRecord* record) {
  record->born = epoch;
  record->trimmed = -1;
  record->tail_at_claim = -1;
  record->reset_last = -1;
}

RecordName name_of(TupleTableSlot* row) {
  return {bytes_at(row, column_namespace), bytes_at(row, column_key),
          static_cast<uint64_t>(number_at(row, column_hash))};
}

StoredRecord record_of(TupleTableSlot* row) {
  StoredRecord record;
  record.exists = true;
  record.lives = is_null_at(row, column_deleted_at);
  record.epoch = number_at(row, column_epoch);
  record.tail_at_claim = number_at(row, column_tail_at_claim);
  record.trimmed = number_at(row, column_trimmed);
  record.born = number_at(row, column_born);
  record.timeline = static_cast<uint32_t>(number_at(row, column_timeline));
  record.lineage = number_at(row, column_lineage);
  record.reset_last = number_at(row, column_reset_last);
  record.row = row->tts_tid;
  if (!read_16_bytes(row, column_writer, record.writer.bytes)) {
    record.epoch = impossible_epoch;
    std::memset(record.writer.bytes, 0xff, sizeof record.writer.bytes);  // not nobody
  }
  Seal published;
  if (!is_null_at(row, column_published) && read_16_bytes(row, column_published, published.bytes)) {
    record.published = published;
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

RecordReader::RecordReader()
    : table_(open_table(relations().record, AccessShareLock)),
      pages_(RelationGetNumberOfBlocks(table_)),
      row_(table_slot_create(table_, nullptr)) {}

// The place may be another key's by now. A version that is the latest committed one is it for
// every transaction: there is one row a key.
bool RecordReader::fetch(const RecordName& name, const ItemPointerData& row) {
  ItemPointerData place = row;
  return ItemPointerIsValid(&place) && ItemPointerGetBlockNumber(&place) < pages_ &&
         table_tuple_fetch_row_version(table_, &place, SnapshotSelf, row_) &&
         same_record(name_of(row_), name);
}

StoredRecord RecordReader::read(const RecordName& name, const ItemPointerData& row) {
  return fetch(name, row) ? record_of(row_) : scan_for(name, SnapshotSelf);
}

void RecordReader::end() {
  ExecDropSingleTupleTableSlot(row_);
  table_close(table_, NoLock);
}

Record StoredRecord::ownership() const {
  Record record = record_of_row(epoch, writer, !lives);
  record.outdated = record.state != RecordState::none && !claim_counts(lineage, timeline);
  return record;
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
  if (record.exists || reading == Reading::glance) {
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
  values[column_writer] = bytes_datum(record.writer.bytes);
  values[column_deleted_at] = TimestampTzGetDatum(GetCurrentTimestamp());
  nulls[column_deleted_at] = record.lives;
  values[column_tail_at_claim] = Int64GetDatum(record.tail_at_claim);
  values[column_trimmed] = Int64GetDatum(record.trimmed);
  values[column_born] = Int64GetDatum(record.born);
  // What changes no owner does not make an outdated claim count again.
  const bool begins = record.lineage == 0;
  values[column_timeline] =
      Int32GetDatum(static_cast<int32>(begins ? GetWALInsertionTimeLine() : record.timeline));
  values[column_lineage] =
      Int64GetDatum(begins ? whereabouts().lineage.generation : record.lineage);
  values[column_reset_last] = Int64GetDatum(record.reset_last);
  nulls[column_published] = !record.published.known;
  if (record.published.known) {
    values[column_published] = bytes_datum(record.published.value.bytes);
  }
  store_row(table, record.row, values, nulls);
  table_close(table, NoLock);
}

}  // namespace fence
