// The protective layers that a test build can leave out, one by one, to prove
// that each of them is tested (regress/mutations). In a normal build
// FENCE_WITHOUT is not defined, layer() is the constant true, and the compiler
// leaves nothing of this file behind.
//
// An engine has the layers that core/ or its own sources ask for. So what one engine alone
// refuses by is asked for in its sources, also where core/ judges it.
#ifndef FENCE_CORE_LAYER_H
#define FENCE_CORE_LAYER_H

namespace fence {

enum class Layer {
  epoch_check,      // ownership verdict: the epochs must be equal
  writer_check,     // ownership verdict: the writers must be equal
  claim_check,      // claim verdict: forward only
  one_epoch,        // one epoch a key in a transaction
  doom,             // a refusal of ownership dooms the transaction
  doom_early,       // later calls of a doomed transaction answer ZF009 at once
  tx_destroy,       // the enlisted table cannot be dropped while doomed
  fresh_check,      // fence_check does not trust an old snapshot
  fallback_read,    // a stale caller learns so even while somebody else writes
  claim_alone,      // a claim is a transaction of its own
  plain_half,       // triggers: the invariant in plain SQL
  guard,            // triggers: the one-shot guard function
  self_check,       // exactly one row changed and the guard ran
  marker,           // shadow tables through the marker virtual table
  marker_destroy,   // the marker table cannot be dropped
  defensive,        // DEFENSIVE on load
  blob_index,       // the empty expression index against sqlite3_blob_open
  authorizer,       // the opt-in authorizer
  record_seal,      // the record's seal is compared at each read
  tail_seal,        // the newest entry is compared with the record's mark
  directonly,       // not callable from triggers and views
  innocuous,        // the guard works under trusted_schema = OFF
  idempotent_load,  // loading twice is harmless
  storage_check,    // journal modes and VFS that cannot fence are refused
  statement_owner,  // cached statements do not keep sqlite3_close from working
  durable_claim,    // a claim is flushed whatever the settings say of others
  mode_check,       // a write states an epoch, or none, as the namespace's mode says
  trim_check,       // nothing is stored below a trim
  generation,       // a file that is older than min_generation is refused
  floor_check,      // a purged key is claimed above the floor of its namespace only
  commit_check,     // PostgreSQL: ownership is judged again when the transaction commits
  bare_check,       // PostgreSQL: a call alone in its transaction is judged at its end
  prepare_check,    // PostgreSQL: a transaction with fenced writes is not prepared
  claim_lock,       // PostgreSQL: a claim waits for commits under way, and they for it
  domain_lock,      // PostgreSQL: a claim and a commit of very many keys wait for each other
  sees_committed,   // PostgreSQL: the record is read as it is, not as the snapshot has it
  access_check,     // PostgreSQL: a role writes to the namespaces that it was given only
  always_trigger,   // PostgreSQL: session_replication_role does not switch the guards off
  nothing_public,   // PostgreSQL: PUBLIC may call nothing
  dumped,           // PostgreSQL: pg_dump takes the state along
  home_check,       // PostgreSQL: nothing is written in a copy of a database
  outdated_check,   // PostgreSQL: claims of before a failover or a copy do not count
  assert_inside,    // an assertion needs an open transaction
  row_check,        // PostgreSQL: a row of a protected table is changed under its key only
  moved_row,        // PostgreSQL: a row that moves to another key needs that one, too
  truncate_check,   // PostgreSQL: a protected table is not truncated
};

#ifdef FENCE_WITHOUT
constexpr bool layer(Layer wanted) noexcept {
  constexpr Layer removed[] = {FENCE_WITHOUT};
  for (const Layer one : removed) {
    if (one == wanted) {
      return false;
    }
  }
  return true;
}
#else
constexpr bool layer(Layer) noexcept { return true; }
#endif

}  // namespace fence

#endif
