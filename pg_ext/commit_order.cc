#include "pg_ext/commit_order.h"

#include "core/layer.h"
#include "core/ownership.h"
#include "pg_ext/failure.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/utility.h"
}

namespace fence {

namespace {

void (*wanted_check)() = nullptr;  // nullptr: this transaction needs none
int registered = 0;

void on_commit_first(XactEvent event, void*) {
  if (event == XACT_EVENT_PRE_COMMIT && wanted_check != nullptr) {
    wanted_check();
  }
}

// The server calls the youngest callback first, so another one is registered whenever a
// younger one may have come up. None is taken away before the end: while the server goes
// through its list, what lies ahead must stay.
void register_again() {
  RegisterXactCallback(on_commit_first, nullptr);
  ++registered;
}

// Rows of a partitioned table may go to a foreign one that no plan names.
bool may_write_remotely(const QueryDesc* query) {
  const ListCell* cell = nullptr;
  foreach (cell, query->plannedstmt->rtable) {
    const auto* entry = static_cast<const RangeTblEntry*>(lfirst(cell));
    if (entry->rtekind == RTE_RELATION &&
        (entry->relkind == RELKIND_FOREIGN_TABLE || entry->relkind == RELKIND_PARTITIONED_TABLE)) {
      return true;
    }
  }
  return false;
}

ExecutorEnd_hook_type next_query_end = nullptr;

// A wrapper registers its callback when a query needs its first connection.
void on_query_end(QueryDesc* query) {
  const bool overtaken = wanted_check != nullptr && may_write_remotely(query);
  if (next_query_end != nullptr) {
    next_query_end(query);
  } else {
    standard_ExecutorEnd(query);
  }
  if (overtaken) {
    register_again();
  }
}

// BEGIN after a claim, before its Sync: the claim would stand in an open block.
void check_no_claim_is_enclosed(const Node* statement) {
  if (!has_claimed() || !IsA(statement, TransactionStmt) || !layer(Layer::claim_alone)) {
    return;
  }
  const TransactionStmtKind kind = reinterpret_cast<const TransactionStmt*>(statement)->kind;
  if (kind == TRANS_STMT_BEGIN || kind == TRANS_STMT_START) {
    raise_error(reasons::claim_in_transaction);
  }
}

ProcessUtility_hook_type next_utility = nullptr;

// COPY and TRUNCATE reach foreign tables, too, and so may what CALL and DO run.
void on_utility(PlannedStmt* statement, const char* text, bool read_only_tree,
                ProcessUtilityContext context, ParamListInfo parameters,
                QueryEnvironment* environment, DestReceiver* destination,
                QueryCompletion* completion) {
  const bool may_reach_others = !IsA(statement->utilityStmt, TransactionStmt);
  check_no_claim_is_enclosed(statement->utilityStmt);
  const auto run = next_utility != nullptr ? next_utility : standard_ProcessUtility;
  run(statement, text, read_only_tree, context, parameters, environment, destination, completion);
  if (may_reach_others && wanted_check != nullptr) {
    register_again();
  }
}

void hook_session() {
  static bool hooked = false;
  if (!hooked) {
    next_utility = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
    next_query_end = ExecutorEnd_hook;
    ExecutorEnd_hook = on_query_end;
    hooked = true;
  }
}

}  // namespace

void stay_first(void (*check)()) {
  hook_session();
  wanted_check = check;
  register_again();
}

void leave_first_place() {
  wanted_check = nullptr;
  while (registered > 0) {
    UnregisterXactCallback(on_commit_first, nullptr);
    --registered;
  }
}

}  // namespace fence
