#include "pg_ext/transaction.h"

#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/assertions.h"
#include "pg_ext/bare_call.h"
#include "pg_ext/clock.h"
#include "pg_ext/commit_locks.h"
#include "pg_ext/commit_order.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/relations.h"
#include "pg_ext/settings.h"

extern "C" {
#include "access/xlog.h"
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
  bool shuts_out = false;        // holds locks against writes without an epoch
  bool marked_many = false;      // holds many_tag()
  bool covers_all_keys = false;  // holds Share of the domain
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
      if (gone.marked) {
        let_go(key_tag(gone.name.hash), AccessShareLock);
        let_go(claimant_tag(gone.name.hash, gone.claimant), AccessShareLock);
      }
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

// To the end of the transaction, whatever becomes of savepoints.
void mark_many() {
  if (!state.marked_many) {
    hold_lock(many_tag(), AccessShareLock);
    state.marked_many = true;
  }
}

// A library that runs SQL in its own callback at commit may be the first to use ours in
// the session. Then on_transaction_end is not in the list that the server goes through.
bool may_be_unwatched_commit() { return !seen_a_transaction_end && !runs_a_client_statement(); }

// Who trims shuts appends out, which would store below what it trims.
bool shuts_out_appends(bool trims) { return trims && layer(Layer::trim_check); }

LOCKMODE commit_lock(bool trims) { return shuts_out_appends(trims) ? ExclusiveLock : ShareLock; }

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

// Beyond this number of keys a transaction takes one lock of the domain in place of one a key:
// 100,000 do not fit into the server's lock table.
constexpr int most_marked = 64;

FinalCheck check_of(const Assertion& assertion) {
  return {assertion.mode, assertion.lowest_stored, assertion.trims, assertion.row};
}

// Share on all asserted keys (see commit_lock).
void lock_assertions(bool many, int64_t deadline) {
  const Assertions& all = state.assertions;
  bool any_trims = false;
  CommitLocks locks(all.count() + 1);
  for (int i = 0; i < all.count(); ++i) {
    const bool trims = shuts_out_appends(all[i].trims);
    any_trims = any_trims || trims;
    if (!many || trims) {
      locks.add(key_tag(all[i].name.hash), commit_lock(trims));
    }
  }
  if (many) {
    locks.add(domain_tag(), ShareLock);
  } else if (any_trims) {
    locks.add(trims_tag(), RowExclusiveLock);
  }
  locks.hold_all(deadline);
  state.covers_all_keys = many;
}

// While this is held nothing else is waited for but the locks of lock_assertions, and nobody
// who waits for it holds one of these.
void lock_out_trims() {
  bool needed = false;
  bool trims = false;
  for (int i = 0; i < state.assertions.count(); ++i) {
    trims = trims || shuts_out_appends(state.assertions[i].trims);
    needed = needed || trims || state.assertions[i].lowest_stored.known;
  }
  if (needed && layer(Layer::trim_check)) {
    hold_lock_for(trims_tag(), trims ? ShareRowExclusiveLock : ShareLock, settings.commit_wait);
  }
}

// Claims of all keys wait for the end of this commit: all that can be done before it is done
// without the lock. What is stale is refused, trims are looked for, each record as well, so
// that only its place has to be looked at again, and what was written is flushed.
void prepare_for_domain_lock() {
  lock_out_trims();
  CommitCheck check;
  for (int i = 0; i < state.assertions.count(); ++i) {
    CHECK_FOR_INTERRUPTS();
    Assertion& one = state.assertions[i];
    check_mode_now(one.name, one.mode);
    one.row = check.glance(one.name, one.claimant, check_of(one));
  }
  check.end();
  if (synchronous_commit > SYNCHRONOUS_COMMIT_OFF && XactLastRecEnd != InvalidXLogRecPtr) {
    XLogFlush(XactLastRecEnd);
  }
}

void check_assertions() {
  CommitCheck check;
  for (int i = 0; i < state.assertions.count(); ++i) {
    const Assertion& one = state.assertions[i];
    check_mode_now(one.name, one.mode);
    check.check_owner(one.name, one.claimant, check_of(one));
  }
  check.end();
}

// modes_known: nothing about them has changed since they were looked at.
void check_assertions_again(bool modes_known) {
  CommitCheck check;
  for (int i = 0; i < state.assertions.count(); ++i) {
    const Assertion& one = state.assertions[i];
    if (!modes_known) {
      check_mode_now(one.name, one.mode);
    }
    check.check_again(one.name, one.claimant, check_of(one));
  }
  check.end();
}

void lock_and_check_assertions() {
  if (state.assertions.empty()) {
    return;
  }
  mute_chatter();
  const bool many = state.assertions.count() > most_marked;
  const uint64_t before = settings_generation();
  const int64_t deadline = monotonic_ms() + settings.commit_wait;
  if (many) {
    prepare_for_domain_lock();
  }
  lock_assertions(many, deadline);
  settle_rules();
  if (many) {
    check_assertions_again(before == settings_generation());
  } else {
    check_assertions();
  }
}

void check_at_commit() {
  if (state.committing) {
    return;  // what was asserted since was checked at once
  }
  raise_if_doomed();
  if (layer(Layer::commit_check)) {
    lock_and_check_assertions();
    if (!state.unfenced.empty()) {
      settle_rules();
    }
    for (int i = 0; i < state.unfenced.count(); ++i) {
      check_mode_now(state.unfenced[i].name, state.unfenced[i].mode);
    }
  }
  state.committing = true;
}

// The same for one key alone, after or without the check at commit.
void check_owner_now(const RecordName& name, const Claimant& claimant, const FinalCheck& check) {
  if (shuts_out_appends(check.trims)) {
    CommitLocks locks(2);
    locks.add(key_tag(name.hash), ExclusiveLock);
    locks.add(trims_tag(), RowExclusiveLock);
    locks.hold_all(monotonic_ms() + settings.commit_wait);
  } else if (!state.covers_all_keys) {
    hold_lock_for(key_tag(name.hash), ShareLock, settings.commit_wait);
  }
  settle_rules();
  check_mode_now(name, check.mode);
  CommitCheck last;
  last.check_owner(name, claimant, check);
  last.end();
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

bool is_asserted(std::string_view ns, std::string_view key) {
  return state.assertions.contains(ns, key);
}

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
  const bool marked = earlier != nullptr ? earlier->marked : state.assertions.count() < most_marked;
  if (marked) {
    hold_lock(claimant_tag(name.hash, claimant), AccessShareLock);
    hold_lock(key_tag(name.hash), AccessShareLock);
  } else {
    mark_many();
  }
  if (earlier == nullptr) {
    Assertion* made = state.assertions.add(name, claimant, GetCurrentTransactionNestLevel());
    made->mode = mode;
    made->marked = marked;
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
  assertion->row = check.row;
  if (state.committing || may_be_unwatched_commit()) {
    check_owner_finally(name, assertion->claimant, check);
  }
}

void check_nothing_trimmed(const RecordName& name, const StoredRecord& record) {
  const Assertion* assertion = state.assertions.find(name);
  if (assertion != nullptr) {
    CommitCheck check;
    check.check_not_trimmed(name, record, assertion->claimant, assertion->lowest_stored);
    check.end();
  }
}

void check_owner_finally(const RecordName& name, const Claimant& claimant,
                         const FinalCheck& check) {
  if (layer(Layer::bare_check)) {
    check_owner_now(name, claimant, check);
  }
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
