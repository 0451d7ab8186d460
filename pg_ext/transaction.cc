#include "pg_ext/transaction.h"

#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/assertions.h"
#include "pg_ext/clock.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/settings.h"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
}

namespace fence {

namespace {

const Reason not_prepared = {Code::cannot_prepare,
                             "a transaction with fenced writes cannot be prepared",
                             "it was rolled back: do it again and end it with COMMIT, since nobody "
                             "can check what is prepared"};

// Of the transaction that is open; forgotten at its end.
struct State {
  bool watched = false;     // ours is first among the callbacks
  bool committing = false;  // its check at commit is done
  bool claimed = false;
  bool doomed = false;
  Assertions assertions;
};
State state;
KeptRefusal first_refusal;
bool seen_a_transaction_end = false;

void check_at_commit();

void raise_if_doomed() {
  if (state.doomed && layer(Layer::doom)) {
    raise_doomed(first_refusal.get());
  }
}

// The server calls the youngest callback first, and foreign data wrappers commit their
// remote half in theirs. So another one of ours is registered whenever a younger one may
// have come up. They are taken away by on_transaction_end, which the server comes to after
// them: what it has passed in its list it does not look at any more.
int registered_first = 0;

void on_commit_first(XactEvent event, void*) {
  if (event == XACT_EVENT_PRE_COMMIT) {
    check_at_commit();
  }
}

void stand_first() {
  RegisterXactCallback(on_commit_first, nullptr);
  ++registered_first;
}

void take_old_callbacks_away() {
  while (registered_first > 0) {
    UnregisterXactCallback(on_commit_first, nullptr);
    --registered_first;
  }
}

// Registered when the library is loaded and for good, so it is called in every commit,
// after those of other libraries.
void on_transaction_end(XactEvent event, void*) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
      check_at_commit();
      break;
    case XACT_EVENT_PRE_PREPARE:
      raise_if_doomed();
      if ((!state.assertions.empty() || state.claimed) && layer(Layer::prepare_check)) {
        raise_error(not_prepared);
      }
      break;
    default:
      take_old_callbacks_away();
      state.assertions.forget();
      state = State();
      seen_a_transaction_end = true;
      break;
  }
}

void on_savepoint_end(SubXactEvent event, SubTransactionId, SubTransactionId, void*) {
  if (event == SUBXACT_EVENT_ABORT_SUB) {
    state.assertions.drop_level(GetCurrentTransactionNestLevel(), [](const Assertion& gone) {
      let_go(key_tag(gone.name.hash), AccessShareLock);
      let_go(claimant_tag(gone.name.hash, gone.claimant), AccessShareLock);
    });
  } else if (event == SUBXACT_EVENT_COMMIT_SUB) {
    state.assertions.release_level(GetCurrentTransactionNestLevel());
  }
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
  const bool overtaken = state.watched && may_write_remotely(query);
  if (next_query_end != nullptr) {
    next_query_end(query);
  } else {
    standard_ExecutorEnd(query);
  }
  if (overtaken) {
    stand_first();
  }
}

ProcessUtility_hook_type next_utility = nullptr;

// BEGIN after a claim, before its Sync: the claim would stand in an open block.
void check_no_claim_is_enclosed(const Node* statement) {
  if (!state.claimed || !IsA(statement, TransactionStmt) || !layer(Layer::claim_alone)) {
    return;
  }
  const TransactionStmtKind kind = reinterpret_cast<const TransactionStmt*>(statement)->kind;
  if (kind == TRANS_STMT_BEGIN || kind == TRANS_STMT_START) {
    raise_error(reasons::claim_in_transaction);
  }
}

// COPY and TRUNCATE reach foreign tables, too, and so may what CALL and DO run.
void on_utility(PlannedStmt* statement, const char* text, bool read_only_tree,
                ProcessUtilityContext context, ParamListInfo parameters,
                QueryEnvironment* environment, DestReceiver* destination,
                QueryCompletion* completion) {
  const bool may_reach_others = !IsA(statement->utilityStmt, TransactionStmt);
  check_no_claim_is_enclosed(statement->utilityStmt);
  const auto run = next_utility != nullptr ? next_utility : standard_ProcessUtility;
  run(statement, text, read_only_tree, context, parameters, environment, destination, completion);
  if (may_reach_others && state.watched) {
    stand_first();
  }
}

void watch_transaction() {
  static bool hooked = false;
  if (!hooked) {
    next_utility = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
    next_query_end = ExecutorEnd_hook;
    ExecutorEnd_hook = on_query_end;
    hooked = true;
  }
  if (!state.watched) {
    stand_first();
    state.watched = true;
  }
}

// A library that runs SQL in its own callback at commit may be the first to use ours in
// the session. Then on_transaction_end is not in the list that the server goes through.
// By then the portals of the client are closed, or, around a COMMIT in a procedure, have
// no owner any more; those that functions open in the callback are no sign of a statement.
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

bool may_be_unwatched_commit() { return !seen_a_transaction_end && !runs_a_client_statement(); }

void check_owner_now(const RecordName& name, const Claimant& claimant) {
  const StoredRecord record = read_record(name, Reading::locked);
  const Reason* reason = judge_owner(record.ownership(), claimant);
  if (reason != nullptr) {
    const Refusal refusal = refusal_by(record, name, claimant, *reason);
    log_refusal(refusal);
    raise_error(refusal);
  }
}

// Messages of this level go out at once, and a client that reads none would stop the
// commit while it holds the locks. Until the end of the transaction.
void mute_chatter() {
  if (client_min_messages < NOTICE) {
    set_config_option("client_min_messages", "notice", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
                      true, 0, false);
  }
}

// Share on all asserted keys. None is held while another is waited for, so that two
// commits and two claims of the same keys cannot wait for each other in a circle.
void lock_assertions() {
  const Assertions& all = state.assertions;
  if (all.empty()) {
    return;
  }
  mute_chatter();
  const int64_t deadline = monotonic_ms() + settings.commit_wait;
  int held_out_of_order = -1;  // the one that was waited for
  for (int i = 0; i < all.count(); ++i) {
    if (i == held_out_of_order || try_hold_lock(key_tag(all[i].name.hash), ShareLock)) {
      continue;
    }
    for (int j = 0; j < all.count(); ++j) {
      if (j < i || j == held_out_of_order) {
        let_go(key_tag(all[j].name.hash), ShareLock);
      }
    }
    const int64_t left = deadline - monotonic_ms();
    hold_lock_for(key_tag(all[i].name.hash), ShareLock, static_cast<int>(left > 1 ? left : 1));
    held_out_of_order = i;
    i = -1;
  }
}

void check_at_commit() {
  if (state.committing) {
    return;  // what was asserted since was checked at once
  }
  raise_if_doomed();
  if (layer(Layer::commit_check)) {
    lock_assertions();
    for (int i = 0; i < state.assertions.count(); ++i) {
      check_owner_now(state.assertions[i].name, state.assertions[i].claimant);
    }
  }
  state.committing = true;
}

}  // namespace

void watch_transactions() {
  RegisterXactCallback(on_transaction_end, nullptr);
  RegisterSubXactCallback(on_savepoint_end, nullptr);
}

void check_not_doomed() {
  if (state.doomed && layer(Layer::doom_early)) {
    raise_doomed(first_refusal.get());
  }
}

void refuse(const Refusal& refusal) {
  if (refusal.dooms()) {
    watch_transaction();
    state.doomed = true;
    first_refusal.keep(refusal);
    log_refusal(refusal);  // last: it may end in the error of a cancel
  }
  raise_error(refusal);
}

bool has_assertions() { return !state.assertions.empty(); }

bool has_claimed() { return state.claimed; }

void note_claim() {
  watch_transaction();
  state.claimed = true;
}

void assert_owner(const RecordName& name, const Claimant& claimant) {
  const Assertion* earlier = state.assertions.find(name);
  if (earlier != nullptr) {
    const Reason* reason = judge_same_epoch(earlier->claimant.epoch, claimant.epoch);
    if (reason != nullptr) {
      Refusal refusal = about(name, *reason);
      refusal.asserted_epoch = claimant.epoch;
      refusal.stored_epoch = earlier->claimant.epoch;
      refuse(refusal);
    }
    if (earlier->claimant.writer == claimant.writer) {
      return;
    }
  }
  watch_transaction();
  hold_lock(claimant_tag(name.hash, claimant), AccessShareLock);
  hold_lock(key_tag(name.hash), AccessShareLock);
  if (earlier == nullptr) {
    state.assertions.add(name, claimant, GetCurrentTransactionNestLevel());
  }
  if (state.committing || may_be_unwatched_commit()) {
    // Another library runs SQL while it commits: our own check is over, or never comes.
    check_owner_finally(name, claimant);
  }
}

void check_owner_finally(const RecordName& name, const Claimant& claimant) {
  if (!layer(Layer::bare_check)) {
    return;
  }
  hold_lock_for(key_tag(name.hash), ShareLock, settings.commit_wait);
  check_owner_now(name, claimant);
}

}  // namespace fence
