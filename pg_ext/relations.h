// Fence's own tables and their indexes, by number.
#ifndef FENCE_PG_EXT_RELATIONS_H
#define FENCE_PG_EXT_RELATIONS_H

#include <string_view>

#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

namespace fence {

// One of them. A library that is older or newer than the tables must not touch them:
// it knows them by the number of their columns.
struct OwnTable {
  Oid table = InvalidOid;
  Oid key = InvalidOid;  // the index of its primary key
  int columns = 0;
};

struct Relations {
  OwnTable record;  // (namespace, key)
  OwnTable entry;   // (namespace, key, idx, epoch)
  OwnTable access;
  OwnTable lineage;
  OwnTable install;
};

constexpr int record_columns = 11;
constexpr int entry_columns = 5;
constexpr int access_columns = 3;
constexpr int lineage_columns = 6;
constexpr int install_columns = 1;

// Looked up anew after anything about them changed; always the same object. ZF012 where
// they do not exist.
const Relations& relations();

// ZF012 where it has other columns than this library knows.
Relation open_table(const OwnTable& own, LOCKMODE lock);

// Rises with each change of fence_internal.access, .lineage and .install, of roles, and of
// who is member of what.
uint64_t access_generation();

// One scan of an index of Fence's tables, and the row that it stands at. Whoever
// leaves the scope by an error leaves the rest to the transaction's end.
class IndexScan {
 public:
  // The first keys columns of the index must equal what add() is given.
  explicit IndexScan(const OwnTable& own);
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
