// What differs between the majors that Fence is built for (15 to 18).
#ifndef FENCE_PG_EXT_COMPAT_H
#define FENCE_PG_EXT_COMPAT_H

#include "pg_ext/server.h"

extern "C" {
#include "catalog/pg_class.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#else
#include "commands/explain.h"
#endif
#include "commands/trigger.h"
#include "libpq/libpq.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/timestamp.h"
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

// What pg_stat_activity says of a session. began is 0, and it is not idle, where the
// server does not track that.
struct SessionState {
  TimestampTz began = 0;
  bool is_idle = false;
};

inline SessionState find_state(int pid) {
  SessionState state;
  pgstat_clear_backend_activity_snapshot();
  for (int i = 1; i <= pgstat_fetch_stat_numbackends(); ++i) {
#if PG_VERSION_NUM >= 160000
    const LocalPgBackendStatus* one = pgstat_get_local_beentry_by_index(i);
#else
    const LocalPgBackendStatus* one = pgstat_fetch_stat_local_beentry(i);
#endif
    if (one != nullptr && one->backendStatus.st_procpid == pid) {
      const auto tracked = one->backendStatus.st_state;
      state.began = one->backendStatus.st_state_start_timestamp;
      state.is_idle = tracked == STATE_IDLE || tracked == STATE_IDLEINTRANSACTION ||
                      tracked == STATE_IDLEINTRANSACTION_ABORTED;
      break;
    }
  }
  return state;
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

inline void enable_trigger_always(Relation table, const char* name, LOCKMODE lock) {
#if PG_VERSION_NUM >= 160000
  EnableDisableTrigger(table, name, InvalidOid, TRIGGER_FIRES_ALWAYS, true, false, lock);
#else
  EnableDisableTrigger(table, name, TRIGGER_FIRES_ALWAYS, true, lock);
#endif
}

inline IndexScanDesc begin_index_scan(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
  return index_beginscan(table, index, snapshot, keys, 0);
#endif
}

// The only way to read a foreign table of ours.
inline Path* foreign_scan_path(PlannerInfo* root, RelOptInfo* relation, Cost startup, Cost total) {
#if PG_VERSION_NUM >= 180000
  ForeignPath* path =
      create_foreignscan_path(root, relation, nullptr, relation->rows, 0, startup, total, NIL,
                              relation->lateral_relids, nullptr, NIL, NIL);
#elif PG_VERSION_NUM >= 170000
  ForeignPath* path =
      create_foreignscan_path(root, relation, nullptr, relation->rows, startup, total, NIL,
                              relation->lateral_relids, nullptr, NIL, NIL);
#else
  ForeignPath* path = create_foreignscan_path(root, relation, nullptr, relation->rows, startup,
                                              total, NIL, relation->lateral_relids, nullptr, NIL);
#endif
  return &path->path;
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

// Which indexes a new version of a row needs entries in.
#if PG_VERSION_NUM >= 160000
using IndexUpdate = TU_UpdateIndexes;
constexpr IndexUpdate no_index_update = TU_None;
#else
using IndexUpdate = bool;
constexpr IndexUpdate no_index_update = false;
#endif

// Inserts them; a row of equal key is the server's error.
inline void insert_index_entries(ResultRelInfo* relation, TupleTableSlot* row, EState* state,
                                 IndexUpdate which) {
#if PG_VERSION_NUM >= 160000
  ExecInsertIndexTuples(relation, row, state, false, false, nullptr, NIL, which == TU_Summarizing);
#else
  static_cast<void>(which);
  ExecInsertIndexTuples(relation, row, state, false, false, nullptr, NIL);
#endif
}

}  // namespace fence::compat

#endif
