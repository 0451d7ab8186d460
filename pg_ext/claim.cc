// A claim: a look without a lock (a stale one must not queue before the owner), the
// key locked, the record read and judged again, written, and the end of the log read.
#include "pg_ext/claim.h"

#include <cstdlib>

#include "core/failpoint.h"
#include "core/layer.h"
#include "pg_ext/evidence.h"
#include "pg_ext/key_content.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/lineage.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"

namespace fence {

namespace {

// False, with the refusal, where somebody else owns the key.
bool judge(const OwnerCall& call, const NamespaceRule& rule, const StoredRecord& record,
           ClaimVerdict* verdict, Refusal* refusal) {
  const int64_t floor = layer(Layer::floor_check) ? rule.floor : -1;
  *verdict = judge_claim(record.ownership(), floor, call.claimant);
  if (verdict->action != ClaimAction::refuse) {
    return true;
  }
  *refusal = claim_refusal(verdict->refusal, record.ownership(), floor, call.claimant);
  refusal->ns = call.name.ns;
  refusal->key = call.name.key;
  note_refusal(*refusal);
  if (!is_refused_claim(*refusal)) {
    raise_error(*refusal);
  }
  return false;
}

// A deleted key begins a new life: what is left of the earlier one is not shown.
void begin_epoch(const Claimant& claimant, const LogEnd& end, StoredRecord* record) {
  if (record->exists && !record->lives) {
    begin_life(claimant.epoch, record);
  }
  record->lives = true;
  record->published = Maybe<Seal>();
  record->epoch = claimant.epoch;
  record->lineage = 0;
  record->writer = claimant.writer;
  record->trimmed = end.trimmed;
  record->tail_at_claim = end.last_ever();
}

// Under the key's lock. Nothing of an older epoch can become visible any more, so the
// end that is read now is the end.
bool take(const OwnerCall& call, const NamespaceRule& rule, LastIdx* last, Refusal* refusal) {
  StoredRecord record = read_record(call.name, Reading::locked);
  ClaimVerdict verdict;
  if (!judge(call, rule, record, &verdict, refusal)) {
    return false;
  }
  const LogEnd end = find_log_end(call.name, record);
  if (verdict.action == ClaimAction::take) {
    begin_epoch(call.claimant, end, &record);
    write_record(call.name, record);
  }
  *last = end.last_ever() >= 0 ? LastIdx(end.last_ever()) : LastIdx();
  return true;
}

int compare_hash(const void* left, const void* right) {
  const uint64_t a = *static_cast<const uint64_t*>(left);
  const uint64_t b = *static_cast<const uint64_t*>(right);
  return a < b ? -1 : a > b ? 1 : 0;
}

// In one order, so that two claims of the same keys do not wait in a circle.
void lock_all(const OwnerCall* calls, int count) {
  auto* hashes = static_cast<uint64_t*>(palloc(sizeof(uint64_t) * static_cast<size_t>(count)));
  for (int i = 0; i < count; ++i) {
    hashes[i] = calls[i].name.hash;
  }
  qsort(hashes, static_cast<size_t>(count), sizeof *hashes, compare_hash);
  for (int i = 0; i < count; ++i) {
    if (i == 0 || hashes[i] != hashes[i - 1]) {
      lock_key_for_claim(hashes[i]);
    }
  }
  lock_domain_for_claim();
  pfree(hashes);
}

}  // namespace

bool run_claims(const OwnerCall* calls, int count, LastIdx* last, Refusal* refusal) {
  if (count > 0) {
    check_home_for_claim(calls[0].name.ns);
  }
  for (int i = 0; i < count; ++i) {
    ClaimVerdict verdict;
    const NamespaceRule rule = check_owner_mode(calls[i]);
    if (!judge(calls[i], rule, read_record(calls[i].name, Reading::glance), &verdict, refusal)) {
      return false;
    }
  }
  begin_own_transaction();
  if (layer(Layer::claim_lock)) {
    lock_all(calls, count);
  }
  NamespaceRule rule;  // all of them are of one namespace
  if (count > 0) {
    rule = settle_owner_mode(calls[0]);
  }
  for (int i = 0; i < count; ++i) {
    if (!take(calls[i], rule, &last[i], refusal)) {
      return false;
    }
  }
  FENCE_FAILPOINT("claim.stored");
  if (layer(Layer::durable_claim)) {
    flush_with_this_transaction();
  }
  return true;
}

}  // namespace fence
