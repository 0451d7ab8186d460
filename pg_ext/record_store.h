// The ownership records: fence_internal.record.
#ifndef FENCE_PG_EXT_RECORD_STORE_H
#define FENCE_PG_EXT_RECORD_STORE_H

#include "core/ownership.h"
#include "core/siphash.h"
#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

namespace fence {

// One record as it is stored. All idx are -1 where there is none.
struct StoredRecord {
  bool exists = false;
  bool lives = false;  // not deleted
  int64_t epoch = unfenced_epoch;
  WriterHash writer{};
  int64_t tail_at_claim = -1;  // greatest idx ever stored by others than the owner
  int64_t trimmed = -1;        // up to here the log was trimmed when the epoch began
  int64_t lineage = 0;         // generation when the epoch began; 0: it begins when this is stored
  uint32_t timeline = 0;       // of the server then
  int64_t born = -1;           // first epoch of this life of the key
  int64_t reset_last = -1;     // greatest idx ever stored when the epoch was reset
  Maybe<Seal> published;       // of a deleted key: to where (core/publish.h)
  ItemPointerData row{};

  // Whether its claim still counts is judged anew by each call.
  Record ownership() const;
  // Does what is stored under that epoch belong to this life of the key? What was stored
  // without an epoch always does: it goes with the life.
  bool counts(int64_t stored_epoch) const {
    return stored_epoch == unfenced_epoch || stored_epoch >= born;
  }
  // May what is stored under that epoch stay behind when this life ends? The next life has
  // higher epochs only, so it does not count there; but it would without an epoch, and where
  // fence_reset has lowered the epoch since.
  bool may_stay(int64_t stored_epoch) const {
    return stored_epoch >= 0 && stored_epoch <= epoch && stored_epoch < INT64_MAX;
  }
};

// What became of rows that were to go. Those that another transaction is at stay.
struct Removal {
  bool all = true;   // none stayed
  bool safe = true;  // those that stayed count in no later life of the key

  void note(bool gone, bool may_stay) {
    all = all && gone;
    safe = safe && (gone || may_stay);
  }
  void add(const Removal& other) {
    all = all && other.all;
    safe = safe && other.safe;
  }
};

// The key begins a new life under that epoch, with nothing of the earlier one.
void begin_life(int64_t epoch, StoredRecord* record);

enum class Reading : unsigned char {
  glance,    // "none" may be wrong while a claim is under way; never waits
  unlocked,  // a claim may be under way: its row is seen as soon as it is committed
  locked,    // this transaction holds Share or Exclusive on the key
};

// Flushes the log of the server up to the end of this transaction at its commit, also
// where it wrote nothing: what it answers with may rest on commits that are not flushed.
void flush_with_this_transaction();

// What is committed now, whatever snapshot the caller has. Serializable transactions
// do not come to depend on it.
StoredRecord read_record(const RecordName& name, Reading reading);

// The same of many keys, where no claim of any of them is under way, or where "none" may be
// wrong. The table is opened once.
class RecordReader {
 public:
  RecordReader();
  // row: where it stood when it was read last, or not valid. Still there: it is the latest.
  StoredRecord read(const RecordName& name, const ItemPointerData& row);
  void end();

 private:
  bool fetch(const RecordName& name, const ItemPointerData& row);

  Relation table_;
  BlockNumber pages_;
  TupleTableSlot* row_;
};

// A row of the table, as a scan of any kind found it. The name's bytes stand in the row.
StoredRecord record_of(TupleTableSlot* row);
RecordName name_of(TupleTableSlot* row);

// The refusal of who is not the owner, with everything its detail can say.
Refusal refusal_by(const StoredRecord& record, const RecordName& name, const Claimant& claimant,
                   const Reason& reason);

// Stores the record: a new row, or a new version of record.row. The caller holds
// Exclusive on the key.
void write_record(const RecordName& name, const StoredRecord& record);

}  // namespace fence

#endif
