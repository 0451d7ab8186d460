// The entries of the logs: fence_internal.entry. Whoever stores them in another way
// (many at once, in a table of another kind) replaces this file.
#ifndef FENCE_PG_EXT_ENTRY_STORE_H
#define FENCE_PG_EXT_ENTRY_STORE_H

#include <string_view>

#include "core/append.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"
#include "pg_ext/row_memory.h"
#include "pg_ext/server.h"

namespace fence {

struct NewEntry {
  int64_t idx = 0;
  std::string_view payload;
};

// All of these see what is committed now, and what this transaction did itself;
// serializable transactions do not come to depend on them.

// The entry at idx, of whatever epoch of this life.
Place find_place(const RecordName& name, const NewEntry& wanted, const StoredRecord& record);
// The one of exactly that epoch.
Place find_own_place(const RecordName& name, const NewEntry& wanted, int64_t epoch);
// Greatest idx above `above` that has an entry, or -1.
int64_t find_last(const RecordName& name, const StoredRecord& record, int64_t above);

// Calls take(scan) for each row of the key with idx from..to, ascending, until it answers
// false. What the rows are worth is for the record to say. What take allocates goes with the
// row.
template <typename Take>
void scan_entries(const RecordName& name, int64_t from, int64_t to, Snapshot snapshot, Take take) {
  IndexScan scan(relations().entry);
  scan.equal(name.ns);
  scan.equal(name.key);
  scan.at_least(from);
  scan.at_most(to);
  scan.begin(snapshot);
  RowMemory memory;
  while (scan.next()) {
    CHECK_FOR_INTERRUPTS();
    if (!memory.run([&] { return take(scan); })) {
      break;
    }
  }
  memory.end();
  scan.end();
}

// Removes the entries of idx above..through, but for rows that another transaction is at:
// the caller sees to it that they do not count.
struct RemovedEntries {
  int64_t counted = 0;
  Removal removal;
};
RemovedEntries remove_entries(const RecordName& name, const StoredRecord& record, int64_t above,
                              int64_t through);

// The lowest idx from..to at which this transaction has stored an entry under that epoch, and
// has not undone it since; -1: none.
int64_t find_own_stored(const RecordName& name, int64_t epoch, int64_t from, int64_t to);

// Of a row that a scan found.
int64_t idx_of_entry(TupleTableSlot* row);
int64_t epoch_of_entry(TupleTableSlot* row);
std::string_view payload_of_entry(TupleTableSlot* row);
// (idx, epoch or NULL where it is an unfenced one, payload)
void read_entry(TupleTableSlot* row, Datum values[3], bool nulls[3]);

// Stores entries of one key and epoch.
class EntryWriter {
 public:
  // What came of an entry: another one of the same idx and epoch may be there.
  enum class Outcome : unsigned char { stored, same_bytes, other_bytes, open };
  struct Result {
    Outcome outcome;
    bool waited;  // for another transaction: ownership may have changed meanwhile
  };

  EntryWriter(const RecordName& name, int64_t epoch);
  // Waits for a transaction that has stored the same idx under the same epoch and is
  // still open; for no other.
  Result write(const NewEntry& entry);
  // The same without waiting: where there is such a transaction, that is the outcome.
  Outcome write_at_once(const NewEntry& entry);
  void end();

 private:
  enum class Standing : unsigned char { none, open, stays };
  struct Other {
    Standing standing;
    bool same_bytes;
    TransactionId transaction;
    ItemPointerData row;
  };

  bool insert(const NewEntry& entry);
  void take_back();
  // *other: what stands in its place.
  Outcome attempt(const NewEntry& entry, Other* other);
  Other find_other(const NewEntry& entry);

  const RecordName& name_;
  Datum ns_;
  Datum key_;
  int64_t epoch_;
  EState* state_;
  ResultRelInfo* target_;
  TupleTableSlot* row_;
};

}  // namespace fence

#endif
