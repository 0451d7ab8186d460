#include "pg_ext/transaction.h"

#include "core/append.h"
#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/assertions.h"
#include "pg_ext/bare_call.h"
#include "pg_ext/clock.h"
#include "pg_ext/commit_order.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/namespace_store.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"
#include "pg_ext/settings.h"
#include "pg_ext/trim_store.h"

extern "C" {
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
  bool shuts_out = false;  // holds locks against writes without an epoch
  Assertions assertions;
  Assertions unfenced;  // keys that were written to without an epoch
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

// Registered when the library is loaded and for good, so it is called in every commit,
// after those of other libraries.
void on_transaction_end(XactEvent event, void*) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
      check_at_commit();
      break;
    case XACT_EVENT_PRE_PREPARE:
      raise_if_doomed();
      if ((!state.assertions.empty() || !state.unfenced.empty() || state.claimed ||
           state.shuts_out) &&
          layer(Layer::prepare_check)) {
        raise_error(not_prepared);
      }
      break;
    default:
      leave_first_place();
      state.assertions.forget();
      state.unfenced.forget();
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

void watch_transaction() {
  if (!state.watched) {
    stay_first(check_at_commit);
    state.watched = true;
  }
}

// A library that runs SQL in its own callback at commit may be the first to use ours in
// the session. Then on_transaction_end is not in the list that the server goes through.
bool may_be_unwatched_commit() { return !seen_a_transaction_end && !runs_a_client_statement(); }

// Nobody changes the rules of namespaces any more when this is called.
void check_mode_now(const RecordName& name, Mode mode) {
  if (namespace_rule(name.ns).mode != mode && layer(Layer::mode_check)) {
    raise_error(about(name, reasons::mode_changed));
  }
}

// What a savepoint has taken back is still the lowest that was stored: the rows tell.
void check_not_trimmed(const RecordName& name, const StoredRecord& record, const Claimant& claimant,
                       const Maybe<int64_t>& lowest_stored) {
  if (!lowest_stored.known || !layer(Layer::trim_check)) {
    return;
  }
  const int64_t trimmed = find_trimmed_by_others(name, record);
  if (lowest_stored.value > trimmed) {
    return;
  }
  const int64_t lost = find_own_stored(name, claimant.epoch, lowest_stored.value, trimmed);
  if (lost >= 0) {
    Refusal refusal = refusal_by(record, name, claimant, reasons::below_trim);
    refusal.number = lost;
    raise_error(refusal);
  }
}

void check_owner_now(const RecordName& name, const Claimant& claimant, const FinalCheck& check) {
  check_mode_now(name, check.mode);
  const StoredRecord record = read_record(name, Reading::locked);
  const Reason* reason = judge_owner(record.ownership(), claimant);
  if (reason != nullptr) {
    const Refusal refusal = refusal_by(record, name, claimant, *reason);
    log_refusal(refusal);
    raise_error(refusal);
  }
  check_not_trimmed(name, record, claimant, check.lowest_stored);
}

FinalCheck check_of(const Assertion& assertion) {
  return {assertion.mode, assertion.lowest_stored, assertion.trims};
}

// Who trims shuts appends out, which would store below what it trims.
LOCKMODE commit_lock(bool trims) {
  return trims && layer(Layer::trim_check) ? ExclusiveLock : ShareLock;
}

// After the locks of keys: whoever changes a rule waits for who holds this, and that is
// nobody who still waits for a key.
void settle_rules() { hold_table_for(relations().ns.table, RowShareLock, settings.commit_wait); }

// Messages of this level go out at once, and a client that reads none would stop the
// commit while it holds the locks. Until the end of the transaction.
void mute_chatter() {
  if (client_min_messages < NOTICE) {
    set_config_option("client_min_messages", "notice", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
                      true, 0, false);
  }
}

// Share on all asserted keys (see commit_lock). None is held while another is waited for, so that
// two commits and two claims of the same keys cannot wait for each other in a circle.
void lock_assertions() {
  const Assertions& all = state.assertions;
  if (all.empty()) {
    return;
  }
  mute_chatter();
  const int64_t deadline = monotonic_ms() + settings.commit_wait;
  int held_out_of_order = -1;  // the one that was waited for
  for (int i = 0; i < all.count(); ++i) {
    if (i == held_out_of_order ||
        try_hold_lock(key_tag(all[i].name.hash), commit_lock(all[i].trims))) {
      continue;
    }
    for (int j = 0; j < all.count(); ++j) {
      if (j < i || j == held_out_of_order) {
        let_go(key_tag(all[j].name.hash), commit_lock(all[j].trims));
      }
    }
    const int64_t left = deadline - monotonic_ms();
    hold_lock_for(key_tag(all[i].name.hash), commit_lock(all[i].trims),
                  static_cast<int>(left > 1 ? left : 1));
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
    if (!state.assertions.empty() || !state.unfenced.empty()) {
      settle_rules();
    }
    for (int i = 0; i < state.assertions.count(); ++i) {
      const Assertion& one = state.assertions[i];
      check_owner_now(one.name, one.claimant, check_of(one));
    }
    for (int i = 0; i < state.unfenced.count(); ++i) {
      check_mode_now(state.unfenced[i].name, state.unfenced[i].mode);
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

bool is_asserted(const RecordName& name) { return state.assertions.find(name) != nullptr; }

bool has_claimed() { return state.claimed; }

void note_claim() {
  watch_transaction();
  state.claimed = true;
}

void assert_owner(const RecordName& name, const Claimant& claimant, Mode mode) {
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
    state.assertions.add(name, claimant, GetCurrentTransactionNestLevel())->mode = mode;
  }
  if (state.committing || may_be_unwatched_commit()) {
    // Another library runs SQL while it commits: our own check is over, or never comes.
    FinalCheck check;
    check.mode = mode;
    check_owner_finally(name, claimant, check);
  }
}

void check_at_commit_too(const RecordName& name, const FinalCheck& check) {
  Assertion* assertion = state.assertions.find(name);
  if (assertion == nullptr) {
    return;
  }
  const bool lower =
      !assertion->lowest_stored.known || check.lowest_stored.value < assertion->lowest_stored.value;
  if (check.lowest_stored.known && lower) {
    assertion->lowest_stored = check.lowest_stored;
  }
  assertion->trims = assertion->trims || check.trims;
  if (state.committing || may_be_unwatched_commit()) {
    check_owner_finally(name, assertion->claimant, check);
  }
}

void check_nothing_trimmed(const RecordName& name, const StoredRecord& record) {
  const Assertion* assertion = state.assertions.find(name);
  if (assertion != nullptr) {
    check_not_trimmed(name, record, assertion->claimant, assertion->lowest_stored);
  }
}

void check_owner_finally(const RecordName& name, const Claimant& claimant,
                         const FinalCheck& check) {
  if (!layer(Layer::bare_check)) {
    return;
  }
  hold_lock_for(key_tag(name.hash), commit_lock(check.trims), settings.commit_wait);
  settle_rules();
  check_owner_now(name, claimant, check);
}

void shut_out_unfenced(const RecordName& name) {
  watch_transaction();
  state.shuts_out = true;  // the lock stays also where a savepoint takes the write back
  hold_lock_for(unfenced_tag(name.hash), ShareLock, settings.commit_wait);
}

void write_without_epoch(const RecordName& name, Mode mode) {
  if (state.unfenced.find(name) != nullptr) {
    return;
  }
  watch_transaction();
  lock_for_unfenced(name.hash);
  // Not of a savepoint: the locks are not, either.
  state.unfenced.add(name, nobody, 1)->mode = mode;
  if (state.committing || may_be_unwatched_commit()) {
    settle_rules();
    check_mode_now(name, mode);
  }
}

}  // namespace fence
