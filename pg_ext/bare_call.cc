#include "pg_ext/bare_call.h"

#include "pg_ext/compat.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/portal.h"
}

namespace fence {

namespace {

// The simple protocol: one statement (several form a block), committed when it is done.
bool is_simple_query() { return ActivePortal != nullptr && !ActivePortal->visible; }

// The extended protocol commits at Sync. When that has arrived with the rest nothing
// is waited for.
bool has_sync_at_hand() {
  if (whereToSendOutput != DestRemote) {
    return true;
  }
  if (!compat::has_input()) {
    return false;
  }
  pq_startmsgread();
  const int next = pq_peekbyte();
  pq_endmsgread();
  return next == 'S';
}

// The unnamed portal is the client's own: what a function opens gets a name.
bool is_client_statement() {
  return ActivePortal != nullptr && ActivePortal->name[0] == '\0' &&
         ActivePortal->strategy == PORTAL_ONE_SELECT;
}

// SELECT call(…): one row without a table, one column, and that column is the call
// itself, so nothing is computed after it. Its arguments are computed before it.
bool is_whole_statement(FunctionCallInfo call) {
  if (!is_client_statement()) {
    return false;
  }
  const QueryDesc* query = ActivePortal->queryDesc;
  if (query == nullptr || query->estate == nullptr || query->planstate == nullptr ||
      !IsA(query->planstate, ResultState) || query->plannedstmt->subplans != NIL) {
    return false;
  }
  const Plan* plan = query->planstate->plan;
  if (plan->lefttree != nullptr || list_length(plan->targetlist) != 1) {
    return false;
  }
  const auto* column = static_cast<const TargetEntry*>(linitial(plan->targetlist));
  return call->flinfo->fn_mcxt == query->estate->es_query_cxt &&
         reinterpret_cast<const Node*>(column->expr) == call->flinfo->fn_expr;
}

}  // namespace

bool runs_a_client_statement() {
  const PortalData* unnamed = GetPortalByName("");
  if (PortalIsValid(unnamed) && unnamed->resowner != nullptr) {
    return true;
  }
  if (debug_query_string == nullptr) {
    return IsTransactionBlock();  // the fast path: COMMIT has a text
  }
  return ActivePortal != nullptr && ActivePortal->resowner != nullptr &&
         strcmp(ActivePortal->sourceText, debug_query_string) == 0;
}

bool in_autocommit() { return !IsTransactionBlock() && GetCurrentTransactionNestLevel() == 1; }

bool in_pipeline() { return (MyXactFlags & XACT_FLAGS_PIPELINING) != 0; }

bool is_bare_call(FunctionCallInfo call) {
  // What an argument wrote may have left triggers to the commit, which may wait.
  const bool written = TransactionIdIsValid(GetTopTransactionIdIfAny());
  // A client that asked for more than notices is sent messages in the middle of a commit.
  const bool chatty = client_min_messages < NOTICE;
  // A cursor that an argument declared WITH HOLD is run to its end by the commit.
  const bool held = !ThereAreNoReadyPortals();
  return in_autocommit() && !in_pipeline() && !has_assertions() && !written && !chatty && !held &&
         is_whole_statement(call) && (is_simple_query() || has_sync_at_hand());
}

void commit_before_report() {
  // In a COPY the server takes no notice of a Sync.
  if (in_autocommit() && !in_pipeline() && ActivePortal != nullptr && !is_simple_query() &&
      ActivePortal->commandTag != CMDTAG_COPY && has_sync_at_hand()) {
    commit_at_once();
  }
}

void commit_at_once() { MyXactFlags |= XACT_FLAGS_NEEDIMMEDIATECOMMIT; }

}  // namespace fence
