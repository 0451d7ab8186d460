// What each of Fence's own tables must look like, and what somebody has made of it. The
// functions write rows past the executor: a constraint, an index or a child table that
// they do not know would be passed by, or filled wrong.
#ifndef FENCE_PG_EXT_TABLE_SHAPE_H
#define FENCE_PG_EXT_TABLE_SHAPE_H

#include "core/refusal.h"
#include "pg_ext/server.h"

namespace fence {

struct ColumnShape {
  Oid type;
  bool nullable = false;
};

// The columns of an index, in their order; 0: no more.
struct IndexShape {
  const char* name;
  AttrNumber columns[4];
};

struct TableShape {
  const char* name;
  const ColumnShape* columns;
  int count;
  IndexShape key;     // unique
  IndexShape second;  // one more that is scanned; no name: there is none
};

namespace shapes {
extern const TableShape record;
extern const TableShape entry;
extern const TableShape trim_mark;
extern const TableShape value;
extern const TableShape ns;
extern const TableShape access;
extern const TableShape lineage;
extern const TableShape install;
extern const TableShape protected_table;
}  // namespace shapes

// One of them, by number.
struct OwnTable {
  const TableShape* shape = nullptr;
  Oid table = InvalidOid;
  Oid key = InvalidOid;
  Oid second = InvalidOid;
  mutable uint64_t sound = 0;  // it was found without fault as of that many changes
};

// ZF012: why Fence cannot use an open table of its own, or no reason. Rules, row security and
// triggers are no fault: Fence's functions pass them by, and that is as it should be.
Refusal find_fault(Relation table, const OwnTable& own);

}  // namespace fence

#endif
