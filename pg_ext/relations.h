// Fence's own tables and their indexes, by number.
#ifndef FENCE_PG_EXT_RELATIONS_H
#define FENCE_PG_EXT_RELATIONS_H

#include <string_view>

#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

namespace fence {

struct Relations {
  Oid record;
  Oid record_key;  // unique: (namespace, key)
  Oid entry;
  Oid entry_key;  // unique: (namespace, key, idx, epoch)
  Oid access;
};

// Looked up anew after anything about them changed. ZF012 where they do not exist.
const Relations& relations();

// Rises with each change of fence_internal.access, of roles, and of who is member of what.
uint64_t access_generation();

// One scan of an index of Fence's tables, and the row that it stands at. Whoever
// leaves the scope by an error leaves the rest to the transaction's end.
class IndexScan {
 public:
  // The first keys columns of the index must equal what add() is given.
  IndexScan(Oid table, Oid index, LOCKMODE lock);
  void equal(std::string_view text);
  void equal(int64_t number);
  void at_least(int64_t number);
  void at_most(int64_t number);
  void above(int64_t number);

  void begin(Snapshot snapshot);
  bool next(ScanDirection direction = ForwardScanDirection);
  void rescan();
  void end();

  TupleTableSlot* row() const { return row_; }
  Relation table() const { return table_; }

 private:
  void add(StrategyNumber strategy, RegProcedure procedure, Oid collation, Datum value);

  Relation table_;
  Relation index_;
  IndexScanDesc scan_ = nullptr;
  TupleTableSlot* row_ = nullptr;
  ScanKeyData keys_[5];
  int count_ = 0;
  int column_ = 0;
};

// A text Datum of these bytes.
Datum text_datum(std::string_view bytes);

}  // namespace fence

#endif
