#include "pg_ext/transaction.h"

#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/assertions.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/settings.h"

extern "C" {
#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
}

namespace fence {

namespace {

const Reason not_prepared = {Code::cannot_prepare,
                             "a transaction with fenced writes cannot be prepared",
                             "COMMIT it: once prepared, nobody could check it again"};

// Of the transaction that is open; forgotten at its end.
struct State {
  bool watched = false;     // the callbacks are registered for it
  bool committing = false;  // its check at commit is done
  bool claimed = false;
  bool doomed = false;
  Assertions assertions;
};
State state;
KeptRefusal first_refusal;

void check_at_commit();

void raise_if_doomed() {
  if (state.doomed && layer(Layer::doom)) {
    raise_doomed(first_refusal.get());
  }
}

void on_transaction_end(XactEvent event, void*) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
      check_at_commit();
      break;
    case XACT_EVENT_PRE_PREPARE:
      raise_if_doomed();
      if (!state.assertions.empty() && layer(Layer::prepare_check)) {
        raise_error(not_prepared);
      }
      break;
    default:
      state.assertions.forget();
      state = State();
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

// The server calls the youngest callback first, and foreign data wrappers commit their
// remote half in theirs: ours must be younger than any that came up meanwhile.
void stand_first() {
  UnregisterXactCallback(on_transaction_end, nullptr);
  RegisterXactCallback(on_transaction_end, nullptr);
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
  // While the callbacks run their list must stay as it is.
  const bool overtaken = state.watched && !state.committing && may_write_remotely(query);
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

// COPY and TRUNCATE reach foreign tables, too.
void on_utility(PlannedStmt* statement, const char* text, bool read_only_tree,
                ProcessUtilityContext context, ParamListInfo parameters,
                QueryEnvironment* environment, DestReceiver* destination,
                QueryCompletion* completion) {
  const auto run = next_utility != nullptr ? next_utility : standard_ProcessUtility;
  run(statement, text, read_only_tree, context, parameters, environment, destination, completion);
  if (state.watched && !state.committing) {
    stand_first();
  }
}

void watch_transaction() {
  static bool ever = false;
  if (!ever) {
    next_utility = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
    RegisterSubXactCallback(on_savepoint_end, nullptr);
    next_query_end = ExecutorEnd_hook;
    ExecutorEnd_hook = on_query_end;
    ever = true;
  }
  if (!state.watched) {
    stand_first();
    state.watched = true;
  }
}

void check_owner_now(const RecordName& name, const Claimant& claimant) {
  const StoredRecord record = read_record(name, Reading::locked);
  const Reason* reason = judge_owner(record.ownership(), claimant);
  if (reason != nullptr) {
    const Refusal refusal = refusal_by(record, name, claimant, *reason);
    log_refusal(refusal);
    raise_error(refusal);
  }
}

// Share on all asserted keys. None is held while another is waited for, so that two
// commits and two claims of the same keys cannot wait for each other in a circle.
void lock_assertions() {
  const Assertions& all = state.assertions;
  const TimestampTz deadline =
      TimestampTzPlusMilliseconds(GetCurrentTimestamp(), settings.commit_wait);
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
    const long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
    hold_lock_for(key_tag(all[i].name.hash), ShareLock, static_cast<int>(left > 1 ? left : 1));
    held_out_of_order = i;
    i = -1;
  }
}

void check_at_commit() {
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

void check_not_doomed() {
  if (state.doomed && layer(Layer::doom_early)) {
    raise_doomed(first_refusal.get());
  }
}

void refuse(const Refusal& refusal) {
  if (refusal.dooms()) {
    log_refusal(refusal);
    watch_transaction();
    state.doomed = true;
    first_refusal.keep(refusal);
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
  if (state.committing) {
    // Another part of the server runs SQL while it commits: our own check is over.
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
