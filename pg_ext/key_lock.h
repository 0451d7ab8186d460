// The locks of one key, in the server's lock table (shown by pg_locks as advisory,
// told apart by objsubid). pg_advisory_* functions cannot reach them.
#ifndef FENCE_PG_EXT_KEY_LOCK_H
#define FENCE_PG_EXT_KEY_LOCK_H

#include "core/ownership.h"
#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace fence {

// The last field of the lock tag. 1 and 2 are the server's own advisory locks, 4 to
// 16 are used by a well-known extension; above 0x7fff pg_locks shows them negative.
constexpr uint16 tag_key = 0x4fe1;
constexpr uint16 tag_claimant = 0x4fe2;
constexpr uint16 tag_claim_queue = 0x4fe3;
constexpr uint16 tag_domain = 0x4fe4;

// Of the key. AccessShare: a transaction has asserted it (blocks nobody here). Share:
// a commit, or the end of a bare call, is under way. Exclusive: a claim is.
LOCKTAG key_tag(uint64_t hash);
// Of (key, epoch, writer). AccessShare: asserted by that claimant. Exclusive: an append
// of that claimant that compares the end of the log, a trim or a change of a value.
LOCKTAG claimant_tag(uint64_t hash, const Claimant& claimant);
// Of who writes without an epoch. Exclusive: such a writer. Share: a writer who states one,
// where the mode takes both; neither sees what the other has not committed.
LOCKTAG unfenced_tag(uint64_t hash);
// Of all keys of the database, for transactions that have asserted more of them than the lock
// table should hold. Share: Share on every key, against claims. RowExclusive: a claim, or what
// takes its locks, of some key.
LOCKTAG domain_tag();
// The same against trims. RowExclusive: the commit of a trim. Share: a commit of very many keys.
// ShareRowExclusive: both.
LOCKTAG trims_tag();
// AccessShare: a transaction has asserted keys of which pg_locks does not say which.
LOCKTAG many_tag();
// The hash that stands in the claimant's tag.
uint64_t claimant_hash(uint64_t hash, const Claimant& claimant);

// But for one, these are held to the end of the transaction, whatever becomes of savepoints.

// Waits without a bound of its own (lock_timeout holds).
void hold_lock(const LOCKTAG& tag, LOCKMODE mode);
bool try_hold_lock(const LOCKTAG& tag, LOCKMODE mode);
// Waits at most timeout_ms, then 55P03.
void hold_lock_for(const LOCKTAG& tag, LOCKMODE mode, int timeout_ms);
// Share of the domain, after the claims that are under way; then 55P03.
void hold_domain_until(int64_t deadline);
void hold_table_for(Oid table, LOCKMODE mode, int timeout_ms);
// To the end of the transaction or of the savepoint that it is taken under.
void hold_lock_in_savepoint(const LOCKTAG& tag, LOCKMODE mode);
// Before the end of the transaction.
void let_go(const LOCKTAG& tag, LOCKMODE mode);

// A claim's way in: Exclusive on the key, after everybody who commits under it now, and then
// RowExclusive of the domain. Claims of one key come one after another; one that waits ends
// a session that holds it up and has itself waited for its client for fence.evict_after.
void lock_for_claim(uint64_t hash);
// The halves, for who takes the locks of several keys: the domain comes after all that is waited
// for, since commits of many keys stand behind it.
void lock_key_for_claim(uint64_t hash);
void lock_domain_for_claim();
// The first half at once or not at all, and nobody is ended.
bool try_lock_key_for_claim(uint64_t hash);
// For who writes without an epoch: as the first half, but ends nobody; waits at most
// fence.commit_wait for each of the locks, then 55P03. The next claim ends it when it is idle.
void lock_for_unfenced(uint64_t hash);

// Who holds a lock that conflicts with mode, without this transaction.
struct Holders {
  VirtualTransactionId* ids;
  int count;
};
Holders find_holders(const LOCKTAG& tag, LOCKMODE mode);
bool contains(const Holders& holders, const VirtualTransactionId& id);

bool is_gone(const VirtualTransactionId& id);
bool is_superusers(const VirtualTransactionId& id);

// Ends the session of a holder if it waits for its client right now. Never one that
// commits, never a superuser's unless the caller is one.
bool end_idle_holder(const VirtualTransactionId& id);

// For how long one holder has waited for its client, looked at every few milliseconds.
class IdleWatch {
 public:
  // Whether the holder waits now and has waited for all of fence.evict_after.
  bool is_due(const VirtualTransactionId& id);
  // Since when (see clock.h), or 0: it was at work when last looked at.
  int64_t since() const { return since_; }

 private:
  VirtualTransactionId id_{};
  TimestampTz state_began_ = 0;  // changes with each statement, however short
  int64_t since_ = 0;
};

// Sleeps for a few milliseconds; ends early, and by an error, when cancelled.
void nap();

}  // namespace fence

#endif
