// What differs between the majors that Fence is built for (15 to 18).
#ifndef FENCE_PG_EXT_COMPAT_H
#define FENCE_PG_EXT_COMPAT_H

#include "pg_ext/server.h"

extern "C" {
#include "catalog/pg_class.h"
#include "libpq/libpq.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#if PG_VERSION_NUM < 170000
#include "storage/backendid.h"
#include "storage/sinvaladt.h"
#else
#include "storage/procnumber.h"
#endif
}

namespace fence::compat {

inline bool has_input() {
#if PG_VERSION_NUM >= 170000
  return pq_buffer_remaining_data() > 0;
#else
  return pq_buffer_has_data();
#endif
}

inline PGPROC* process_of(const VirtualTransactionId& id) {
#if PG_VERSION_NUM >= 170000
  return ProcNumberGetProc(id.procNumber);
#else
  return BackendIdGetProc(id.backendId);
#endif
}

inline LocalTransactionId transaction_of(const PGPROC* process) {
#if PG_VERSION_NUM >= 170000
  return process->vxid.lxid;
#else
  return process->lxid;
#endif
}

inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, role);
#else
  return pg_class_ownercheck(relation, role);
#endif
}

inline IndexScanDesc begin_index_scan(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
  return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

// Inserts the index entries of a new row. A row of equal key is no error: returns
// whether there is, or may be, one (what ON CONFLICT calls noDupErr).
inline bool insert_index_entries(ResultRelInfo* relation, TupleTableSlot* row, EState* state) {
  bool conflict = false;
#if PG_VERSION_NUM >= 160000
  List* recheck = ExecInsertIndexTuples(relation, row, state, false, true, &conflict, NIL, false);
#else
  List* recheck = ExecInsertIndexTuples(relation, row, state, false, true, &conflict, NIL);
#endif
  return conflict || recheck != NIL;
}

}  // namespace fence::compat

#endif
