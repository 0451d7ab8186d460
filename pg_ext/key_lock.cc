#include "pg_ext/key_lock.h"

#include <signal.h>

#include "core/layer.h"
#include "core/siphash.h"
#include "pg_ext/clock.h"
#include "pg_ext/compat.h"
#include "pg_ext/settings.h"

extern "C" {
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
}

namespace fence {

namespace {

constexpr int nap_ms = 2;

LOCKTAG make_tag(uint64_t hash, uint16 kind) {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(hash >> 32),
                       static_cast<uint32>(hash), kind);
  return tag;
}

// The lock of a whole transaction: the one of a savepoint would go with it.
LockAcquireResult acquire(const LOCKTAG& tag, LOCKMODE mode, bool dont_wait) {
  ResourceOwner outer = CurrentResourceOwner;
  CurrentResourceOwner = TopTransactionResourceOwner;
  const LockAcquireResult result = LockAcquire(&tag, mode, false, dont_wait);
  CurrentResourceOwner = outer;
  return result;
}

bool in_client_wait(const PGPROC* process) {
  const uint32 event = *const_cast<const volatile uint32*>(&process->wait_event_info);
  return event == WAIT_EVENT_CLIENT_READ || event == WAIT_EVENT_CLIENT_WRITE;
}

// The server's own text speaks of lock_timeout only.
void explain_wait(void*) {
  errcontext("waiting for a claim of the key to end (at most fence.commit_wait, %d ms)",
             settings.commit_wait);
}

// Runs acquire under a lock_timeout of at most timeout_ms. By the server's own timeout,
// which reports 55P03; the nested level takes the setting back, also when the wait ends in
// an error.
template <typename Acquire>
void with_timeout(int timeout_ms, Acquire acquire_lock) {
  const int level = NewGUCNestLevel();
  ErrorContextCallback context = {error_context_stack, explain_wait, nullptr};
  error_context_stack = &context;
  if (LockTimeout == 0 || timeout_ms < LockTimeout) {
    char text[16];
    snprintf(text, sizeof text, "%d", timeout_ms);
    set_config_option("lock_timeout", text, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
                      false);
  }
  acquire_lock();
  error_context_stack = context.previous;
  AtEOXact_GUC(true, level);
}

// The process of a transaction that is still open, or nullptr.
PGPROC* find_process(const VirtualTransactionId& id) {
  PGPROC* process = compat::process_of(id);
  const bool open = process != nullptr && process->pid != 0 && process != MyProc &&
                    compat::transaction_of(process) == id.localTransactionId;
  return open ? process : nullptr;
}

}  // namespace

LOCKTAG key_tag(uint64_t hash) { return make_tag(hash, tag_key); }

LOCKTAG claimant_tag(uint64_t hash, const Claimant& claimant) {
  return make_tag(claimant_hash(hash, claimant), tag_claimant);
}

LOCKTAG domain_tag() { return make_tag(0, tag_domain); }

LOCKTAG many_tag() { return make_tag(1, tag_domain); }

LOCKTAG trims_tag() { return make_tag(2, tag_domain); }

LOCKTAG unfenced_tag(uint64_t hash) { return claimant_tag(hash, nobody); }

uint64_t claimant_hash(uint64_t hash, const Claimant& claimant) {
  const unsigned char none[16] = {};
  SipHash128 sum(none);
  sum.add_u64(hash);
  sum.add_u64(static_cast<uint64_t>(claimant.epoch));
  sum.add(claimant.writer.bytes, sizeof claimant.writer.bytes);
  return first_word(sum.finish());
}

void hold_lock(const LOCKTAG& tag, LOCKMODE mode) { acquire(tag, mode, false); }

bool try_hold_lock(const LOCKTAG& tag, LOCKMODE mode) {
  return acquire(tag, mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

void hold_lock_for(const LOCKTAG& tag, LOCKMODE mode, int timeout_ms) {
  if (try_hold_lock(tag, mode)) {
    return;
  }
  with_timeout(timeout_ms, [&] { acquire(tag, mode, false); });
}

// Of the whole transaction as well: LockRelationOid would let go with a savepoint.
void hold_table_for(Oid table, LOCKMODE mode, int timeout_ms) {
  ResourceOwner outer = CurrentResourceOwner;
  CurrentResourceOwner = TopTransactionResourceOwner;
  if (!ConditionalLockRelationOid(table, mode)) {
    with_timeout(timeout_ms, [&] { LockRelationOid(table, mode); });
  }
  CurrentResourceOwner = outer;
}

void hold_lock_in_savepoint(const LOCKTAG& tag, LOCKMODE mode) {
  LockAcquire(&tag, mode, false, false);
}

void let_go(const LOCKTAG& tag, LOCKMODE mode) {
  ResourceOwner outer = CurrentResourceOwner;
  CurrentResourceOwner = TopTransactionResourceOwner;
  LockRelease(&tag, mode, false);
  CurrentResourceOwner = outer;
}

void nap() {
  WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, nap_ms, PG_WAIT_EXTENSION);
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
}

namespace {

// Nobody sees who waits here for whom: a circle ends by this.
[[noreturn]] void raise_claim_busy() {
  ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                  errmsg("another claim of the key did not end within %d ms",
                         settings.evict_after + settings.commit_wait),
                  errhint("Try again; pg_stat_activity shows what the other session does.")));
  pg_unreachable();
}

// In the server's words: it bounds this wait as any other.
[[noreturn]] void raise_lock_timeout() {
  ereport(ERROR,
          (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout"),
           errcontext("waiting for another claim of the key to end")));
  pg_unreachable();
}

void check_wait_for_claim(int64_t waited_ms) {
  if (LockTimeout > 0 && waited_ms >= LockTimeout) {
    raise_lock_timeout();
  }
  if (waited_ms > settings.evict_after + settings.commit_wait) {
    raise_claim_busy();
  }
}

}  // namespace

// Who may be idle while it holds the key up is another claim only (its client has
// not read the answer, say): a commit does not wait for a client. So claims queue up
// on a lock of their own, where each looks at who is before it, and the one that is
// through stands in the server's fair queue, behind at most the commits under way.
void lock_key_for_claim(uint64_t hash) {
  const LOCKTAG queue = make_tag(hash, tag_claim_queue);
  const int64_t begin = monotonic_ms();
  IdleWatch watch;
  while (!try_hold_lock(queue, ExclusiveLock)) {
    check_wait_for_claim(monotonic_ms() - begin);
    const Holders holders = find_holders(queue, ExclusiveLock);
    if (holders.count > 0 && watch.is_due(holders.ids[0])) {
      end_idle_holder(holders.ids[0]);
    }
    pfree(holders.ids);
    nap();
  }
  hold_lock(key_tag(hash), ExclusiveLock);
}

void lock_domain_for_claim() {
  if (layer(Layer::domain_lock)) {
    hold_lock(domain_tag(), RowExclusiveLock);
  }
}

void lock_for_claim(uint64_t hash) {
  lock_key_for_claim(hash);
  lock_domain_for_claim();
}

bool try_lock_key_for_claim(uint64_t hash) {
  return try_hold_lock(make_tag(hash, tag_claim_queue), ExclusiveLock) &&
         try_hold_lock(key_tag(hash), ExclusiveLock);
}

// The lock against writers with an epoch first: while that is waited for, claims pass.
// Not of the domain: such a transaction may stay open for long, and would hold up the commits
// of many keys. They need no protection from it. It changes no owner; where its mode takes
// writes with an epoch as well, these hold unfenced_tag of their key, however many they are
// (fence_assert stores nothing); and where the mode has changed since, one of the two is refused
// at its commit for that.
void lock_for_unfenced(uint64_t hash) {
  hold_lock_for(unfenced_tag(hash), ExclusiveLock, settings.commit_wait);
  hold_lock_for(make_tag(hash, tag_claim_queue), ExclusiveLock, settings.commit_wait);
  hold_lock_for(key_tag(hash), ExclusiveLock, settings.commit_wait);
}

namespace {

constexpr int patience_ms = 100;

[[noreturn]] void raise_domain_busy() {
  ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                  errmsg("a claim by another session has not ended, and a transaction of very "
                         "many keys cannot commit beside it"),
                  errhint("Try again; pg_locks shows who holds objsubid %d.", tag_domain)));
  pg_unreachable();
}

bool have_common(const Holders& left, const Holders& right) {
  for (int i = 0; i < left.count; ++i) {
    if (contains(right, left.ids[i])) {
      return true;
    }
  }
  return false;
}

}  // namespace

// A claim's statement may go on for long after it, and so may a delete. Whoever stood in the
// server's queue behind it would hold up every claim of the database that comes later; so it is
// asked again and again as long as there is a holder that stays. Where they come and go the
// queue is short, and without it claims in a loop could shut a commit out for ever.
void hold_domain_until(int64_t deadline) {
  int64_t begin = monotonic_ms();
  if (LockTimeout > 0 && begin + LockTimeout < deadline) {
    deadline = begin + LockTimeout;
  }
  Holders first = find_holders(domain_tag(), ShareLock);
  IdleWatch watch;
  while (!try_hold_lock(domain_tag(), ShareLock)) {
    if (monotonic_ms() >= deadline) {
      raise_domain_busy();
    }
    nap();
    const Holders now = find_holders(domain_tag(), ShareLock);
    if (now.count > 0 && watch.is_due(now.ids[0])) {
      end_idle_holder(now.ids[0]);  // as the next claim of its key would
    }
    const bool patient = monotonic_ms() - begin < patience_ms;
    if (!patient && !have_common(first, now)) {
      hold_lock_for(domain_tag(), ShareLock, static_cast<int>(deadline - monotonic_ms()));
      return;
    }
    if (!patient) {
      begin = monotonic_ms();
    }
    pfree(patient ? now.ids : first.ids);
    first = patient ? first : now;
  }
}

Holders find_holders(const LOCKTAG& tag, LOCKMODE mode) {
  Holders holders;
  holders.ids = GetLockConflicts(&tag, mode, &holders.count);
  return holders;
}

bool contains(const Holders& holders, const VirtualTransactionId& id) {
  for (int i = 0; i < holders.count; ++i) {
    if (VirtualTransactionIdEquals(holders.ids[i], id)) {
      return true;
    }
  }
  return false;
}

bool is_gone(const VirtualTransactionId& id) { return VirtualXactLock(id, false); }

bool is_superusers(const VirtualTransactionId& id) {
  const PGPROC* process = find_process(id);
  return process != nullptr && superuser_arg(process->roleId);
}

bool IdleWatch::is_due(const VirtualTransactionId& id) {
  const PGPROC* process = find_process(id);
  if (process == nullptr || !in_client_wait(process)) {
    since_ = 0;
    return false;
  }
  const compat::SessionState state = compat::find_state(process->pid);
  if (since_ == 0 || !VirtualTransactionIdEquals(id, id_) || state.began != state_began_) {
    id_ = id;
    state_began_ = state.began;
    // In a pipeline it is "active" all the while: then it waits since now at least.
    const long waited =
        state.is_idle ? TimestampDifferenceMilliseconds(state.began, GetCurrentTimestamp()) : 0;
    since_ = monotonic_ms() - waited;
  }
  return monotonic_ms() - since_ > settings.evict_after;
}

bool end_idle_holder(const VirtualTransactionId& id) {
  const PGPROC* process = find_process(id);
  if (process == nullptr || !in_client_wait(process) ||
      (superuser_arg(process->roleId) && !superuser())) {
    return false;
  }
  const int pid = process->pid;
  // The last look: what commits does not wait for its client.
  if (find_process(id) != process || !in_client_wait(process)) {
    return false;
  }
  ereport(LOG,
          (errmsg("fence ended the session of process %d: it held up the owner of a key while it "
                  "waited for its client",
                  pid)));
  return kill(pid, SIGTERM) == 0;
}

}  // namespace fence
