// The foreign table on which the views stand: the ownership records that the caller may
// read, as its snapshot has them. A foreign table, and not a function, so that a query
// which names a namespace and a key reads the row of that key and no other; and not the
// table itself, so that a serializable reader makes no good append or claim fail.
#include <new>

#include "pg_ext/access.h"
#include "pg_ext/arguments.h"
#include "pg_ext/compat.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"

extern "C" {
#include "foreign/fdwapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
}

namespace fence {

namespace {

// Its columns, in the order of sql/pg/50-views.sql. No epoch: the key was never claimed. No
// writer: nobody owns it. The hashes are those of the lock tags of the key and its owner.
enum Column {
  column_namespace,
  column_key,
  column_epoch,
  column_writer,
  column_deleted,
  column_hash,
  column_claimant_hash,
  column_count
};

// What the name of a record must equal, as far as the query says so: how many leading
// columns of (namespace, key).
constexpr int most_names = 2;

// The other side of "column = something", where that is known before the scan begins.
Expr* known_side(OpExpr* clause, Index relation, AttrNumber column) {
  set_opfuncid(clause);
  if (clause->opfuncid != F_TEXTEQ || !get_collation_isdeterministic(clause->inputcollid)) {
    return nullptr;
  }
  const auto is_column = [&](const Node* node) {
    const auto* variable = reinterpret_cast<const Var*>(node);
    return IsA(node, Var) && variable->varno == static_cast<int>(relation) &&
           variable->varattno == column && variable->varlevelsup == 0;
  };
  auto* left = static_cast<Node*>(linitial(clause->args));
  auto* right = static_cast<Node*>(lsecond(clause->args));
  Node* other = is_column(left) ? right : is_column(right) ? left : nullptr;
  const bool known =
      other != nullptr && !contain_volatile_functions(other) && !contain_var_clause(other);
  return known ? reinterpret_cast<Expr*>(other) : nullptr;
}

// The expressions that the leading columns must equal.
List* find_names(const List* restrictions, Index relation) {
  List* names = NIL;
  for (AttrNumber column = 1; column <= most_names; ++column) {
    Expr* found = nullptr;
    const ListCell* cell = nullptr;
    foreach (cell, restrictions) {
      Expr* clause = lfirst_node(RestrictInfo, cell)->clause;
      if (found == nullptr && IsA(clause, OpExpr)) {
        found = known_side(reinterpret_cast<OpExpr*>(clause), relation, column);
      }
    }
    if (found == nullptr) {
      break;
    }
    names = lappend(names, found);
  }
  return names;
}

// What one search in the index costs, and what a row: rough, since nothing competes.
constexpr double search_cost = 1;
constexpr double row_cost = 0.02;
constexpr double rows_of_all = 1000;
constexpr double rows_of_namespace = 100;

void set_size(PlannerInfo*, RelOptInfo* relation, Oid) {
  const int names = list_length(find_names(relation->baserestrictinfo, relation->relid));
  relation->rows = names == most_names ? 1 : names == 1 ? rows_of_namespace : rows_of_all;
}

void add_paths(PlannerInfo* root, RelOptInfo* relation, Oid) {
  add_path(relation, compat::foreign_scan_path(root, relation, search_cost,
                                               search_cost + row_cost * relation->rows));
}

ForeignScan* make_plan(PlannerInfo*, RelOptInfo* relation, Oid, ForeignPath*, List* targets,
                       List* clauses, Plan* outer) {
  List* names = find_names(clauses, relation->relid);
  // The clauses stay: what is read is a superset.
  return make_foreignscan(targets, extract_actual_clauses(clauses, false), relation->relid, names,
                          NIL, NIL, NIL, outer);
}

struct ScanState {
  List* names = NIL;  // ExprState
  IndexScan* scan = nullptr;
};

ScanState* state_of(ForeignScanState* node) { return static_cast<ScanState*>(node->fdw_state); }

void begin_scan(ForeignScanState* node, int flags) {
  constexpr Oid types[column_count] = {TEXTOID, TEXTOID, INT8OID, TEXTOID,
                                       BOOLOID, INT8OID, INT8OID};
  check_column_types(node->ss.ss_currentRelation, types, column_count);
  auto* state = static_cast<ScanState*>(palloc0(sizeof(ScanState)));
  const auto* plan = reinterpret_cast<const ForeignScan*>(node->ss.ps.plan);
  if ((flags & EXEC_FLAG_EXPLAIN_ONLY) == 0) {
    state->names = ExecInitExprList(plan->fdw_exprs, &node->ss.ps);
  }
  node->fdw_state = state;
}

// False: a name is NULL, which nothing equals.
bool open_scan(ForeignScanState* node) {
  ScanState* state = state_of(node);
  ExprContext* context = node->ss.ps.ps_ExprContext;
  MemoryContext outer = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
  auto* scan = new (palloc(sizeof(IndexScan))) IndexScan(relations().record);
  bool possible = true;
  const ListCell* cell = nullptr;
  foreach (cell, state->names) {
    bool is_null = false;
    const Datum name = ExecEvalExpr(static_cast<ExprState*>(lfirst(cell)), context, &is_null);
    possible = possible && !is_null;
    scan->equal(is_null ? std::string_view() : bytes_of(name));
  }
  scan->begin(SnapshotAny);
  state->scan = scan;
  MemoryContextSwitchTo(outer);
  return possible;
}

void close_scan(ForeignScanState* node) {
  ScanState* state = state_of(node);
  if (state != nullptr && state->scan != nullptr) {
    state->scan->end();
    state->scan = nullptr;
  }
}

void fill(TupleTableSlot* slot, const RecordName& name, const StoredRecord& record) {
  const Fingerprint writer = fingerprint(record.writer);
  const uint64_t owner = claimant_hash(name.hash, {record.epoch, record.writer});
  const Datum values[column_count] = {text_datum(name.ns),
                                      text_datum(name.key),
                                      Int64GetDatum(record.epoch),
                                      text_datum({writer.text, sizeof writer.text - 1}),
                                      BoolGetDatum(!record.lives),
                                      Int64GetDatum(static_cast<int64_t>(name.hash)),
                                      Int64GetDatum(static_cast<int64_t>(owner))};
  for (int i = 0; i < column_count; ++i) {
    slot->tts_values[i] = values[i];
    slot->tts_isnull[i] = false;
  }
  slot->tts_isnull[column_epoch] = record.epoch == unfenced_epoch;
  slot->tts_isnull[column_writer] = is_nobody(record.writer);
  ExecStoreVirtualTuple(slot);
}

// Moves to the next row that the caller sees. In the memory of the query: the scan keeps
// what it allocates on its way.
bool advance(ForeignScanState* node) {
  MemoryContext outer = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
  IndexScan* scan = state_of(node)->scan;
  bool found = false;
  while (!found && scan->next()) {
    CHECK_FOR_INTERRUPTS();
    found = scan->in_snapshot() && may_read(name_of(scan->row()).ns);
  }
  MemoryContextSwitchTo(outer);
  return found;
}

// Called in the memory of a row, which the executor resets for each.
TupleTableSlot* next_row(ForeignScanState* node) {
  TupleTableSlot* slot = ExecClearTuple(node->ss.ss_ScanTupleSlot);
  const bool possible = state_of(node)->scan != nullptr || open_scan(node);
  if (possible && advance(node)) {
    TupleTableSlot* row = state_of(node)->scan->row();
    fill(slot, name_of(row), record_of(row));
  }
  return slot;
}

void explain(ForeignScanState* node, ExplainState* explanation) {
  const auto* plan = reinterpret_cast<const ForeignScan*>(node->ss.ps.plan);
  const char* read[] = {"all keys", "the keys of one namespace", "one key"};
  ExplainPropertyText("Reads", read[list_length(plan->fdw_exprs)], explanation);
}

}  // namespace

// The handler of the wrapper fence_records.
FENCE_FUNCTION(fence_pg_record_table) {
  static_cast<void>(fcinfo);
  FdwRoutine* routine = makeNode(FdwRoutine);
  routine->GetForeignRelSize = set_size;
  routine->GetForeignPaths = add_paths;
  routine->GetForeignPlan = make_plan;
  routine->BeginForeignScan = begin_scan;
  routine->IterateForeignScan = next_row;
  routine->ReScanForeignScan = close_scan;
  routine->EndForeignScan = close_scan;
  routine->ExplainForeignScan = explain;
  PG_RETURN_POINTER(routine);
}

}  // namespace fence
