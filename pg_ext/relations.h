// Fence's own tables and their indexes, by number.
#ifndef FENCE_PG_EXT_RELATIONS_H
#define FENCE_PG_EXT_RELATIONS_H

#include <string_view>

#include "pg_ext/record_name.h"
#include "pg_ext/server.h"
#include "pg_ext/table_shape.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace fence {

struct Relations {
  OwnTable record;     // (namespace, key); second: (namespace, deleted_at)
  OwnTable entry;      // (namespace, key, idx, epoch)
  OwnTable trim_mark;  // (namespace, key, epoch)
  OwnTable value;      // (namespace, key, name, epoch)
  OwnTable ns;         // (namespace)
  OwnTable access;
  OwnTable lineage;
  OwnTable install;
  OwnTable protected_table;
};

constexpr int record_columns = 13;
constexpr int entry_columns = 5;
constexpr int trim_mark_columns = 4;
constexpr int value_columns = 5;
constexpr int namespace_columns = 5;
constexpr int access_columns = 3;
constexpr int lineage_columns = 6;
constexpr int install_columns = 1;
constexpr int protected_columns = 8;

// Looked up anew after anything about them changed; always the same object. ZF012 where
// they do not exist.
const Relations& relations();

// That table, or nullptr where it is none of them.
const OwnTable* find_own_table(Oid table);

// ZF012 where it is not as this library knows it. Looked at once after each change of it.
Relation open_table(const OwnTable& own, LOCKMODE lock);

// Rises with each change of rights, of roles, of who is member of what, of the rules of
// namespaces, of what is protected, and of the lineage: what was read of them under another
// number must be read anew.
uint64_t settings_generation();

// One scan of an index of Fence's tables, and the row that it stands at. Whoever
// leaves the scope by an error leaves the rest to the transaction's end.
class IndexScan {
 public:
  // The first keys columns of the index must equal what add() is given.
  explicit IndexScan(const OwnTable& own);
  // The same by another index of the table.
  IndexScan(const OwnTable& own, Oid OwnTable::*index);
  void equal(std::string_view text);
  void equal(int64_t number);
  void equal_oid(Oid oid);
  void at_least(std::string_view text);
  void above(std::string_view text);
  void at_least(int64_t number);
  void at_most(int64_t number);
  void above(int64_t number);
  void at_most_time(TimestampTz time);

  void begin(Snapshot snapshot);
  bool next(ScanDirection direction = ForwardScanDirection);
  // Begins anew; after forget_keys() and other keys of the same kind: with these.
  void rescan();
  void forget_keys();
  void end();
  // Whether the caller's snapshot sees the row; for scans with SnapshotAny.
  bool in_snapshot() const;

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

// ZF012 where a foreign table does not have exactly these types of columns: a superuser can
// make one of his own by Fence's wrappers.
void check_column_types(Relation table, const Oid* types, int count);

// A text Datum of these bytes; a bytea looks the same.
Datum text_datum(std::string_view bytes);

// What a column of a row of Fence's own tables holds; column: counted from 0.
int64_t number_at(TupleTableSlot* row, int column);
std::string_view bytes_at(TupleTableSlot* row, int column);
bool is_null_at(TupleTableSlot* row, int column);

// The name of a table or index with its schema, quoted where it must be.
char* qualified_name(Oid relation);

// Adds a row, with its index entries and without running triggers: they are against
// others. nulls may be nullptr. What was added is seen by the next command.
void insert_row(Relation table, Datum* values, bool* nulls);

// The same, or puts it in the place of the row at replaced, where that is valid. For tables and
// keys that the caller has locked against other writers.
void store_row(Relation table, const ItemPointerData& replaced, Datum* values, bool* nulls);

// Puts another row of the same key in the place of one that a scan of this transaction sees,
// unless another transaction that is still open has touched that: then false, at once.
bool replace_row(Relation table, const ItemPointerData& row, Datum* values, bool* nulls);

// Removes a row that a scan of this transaction sees, unless another transaction that is
// still open has touched it: then false, at once. True where it is gone already.
bool remove_row(Relation table, const ItemPointerData& row);

// Whether this very transaction has stored the row.
bool is_own_row(TupleTableSlot* row);

}  // namespace fence

#endif
