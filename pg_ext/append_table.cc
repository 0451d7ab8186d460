// INSERT INTO fence.fenced_append and COPY into it: a foreign table that takes rows and
// shows none. No view with a trigger, which session_replication_role could switch off, and
// whose rows would then be lost in silence; an ALWAYS trigger of a view is nothing that
// pg_upgrade can make.
#include "pg_ext/append_table.h"

#include "pg_ext/compat.h"
#include "pg_ext/relations.h"

extern "C" {
#include "foreign/fdwapi.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
}

namespace fence {

namespace {

// namespace, key, epoch, writer, idx, payload.
constexpr Oid columns[] = {TEXTOID, TEXTOID, INT8OID, TEXTOID, INT8OID, BYTEAOID};
constexpr int column_count = sizeof columns / sizeof *columns;

// Called for each row in the memory of the statement.
TupleTableSlot* insert(EState* state, ResultRelInfo* target, TupleTableSlot* row, TupleTableSlot*) {
  check_column_types(target->ri_RelationDesc, columns, column_count);
  MemoryContext outer = MemoryContextSwitchTo(GetPerTupleMemoryContext(state));
  slot_getallattrs(row);
  NullableDatum values[column_count];
  for (int i = 0; i < column_count; ++i) {
    values[i].value = row->tts_values[i];
    values[i].isnull = row->tts_isnull[i];
  }
  append_row(values, column_count);
  MemoryContextSwitchTo(outer);
  return row;
}

int takes_inserts(Relation) { return 1 << CMD_INSERT; }

void set_size(PlannerInfo*, RelOptInfo* relation, Oid) { relation->rows = 1; }

void add_paths(PlannerInfo* root, RelOptInfo* relation, Oid) {
  add_path(relation, compat::foreign_scan_path(root, relation, 0, 0));
}

ForeignScan* make_plan(PlannerInfo*, RelOptInfo* relation, Oid, ForeignPath*, List* targets,
                       List* clauses, Plan* outer) {
  return make_foreignscan(targets, extract_actual_clauses(clauses, false), relation->relid, NIL,
                          NIL, NIL, NIL, outer);
}

void begin_scan(ForeignScanState*, int) {}

TupleTableSlot* no_row(ForeignScanState* node) { return ExecClearTuple(node->ss.ss_ScanTupleSlot); }

void nothing(ForeignScanState*) {}

}  // namespace

// The handler of the wrapper fence_appends.
FENCE_FUNCTION(fence_pg_append_table) {
  static_cast<void>(fcinfo);
  FdwRoutine* routine = makeNode(FdwRoutine);
  routine->IsForeignRelUpdatable = takes_inserts;
  routine->ExecForeignInsert = insert;
  routine->GetForeignRelSize = set_size;
  routine->GetForeignPaths = add_paths;
  routine->GetForeignPlan = make_plan;
  routine->BeginForeignScan = begin_scan;
  routine->IterateForeignScan = no_row;
  routine->ReScanForeignScan = nothing;
  routine->EndForeignScan = nothing;
  PG_RETURN_POINTER(routine);
}

}  // namespace fence
