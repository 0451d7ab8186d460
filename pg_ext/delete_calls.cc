// fenced_delete: a key ends, and its floor stays.
#include "pg_ext/access.h"
#include "pg_ext/key_content.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"

namespace fence {

namespace {

DeleteAction judge(const OwnerCall& call, const StoredRecord& record) {
  const DeleteVerdict verdict = judge_delete(record.ownership(), record.lives, call.claimant);
  if (verdict.action == DeleteAction::refuse) {
    refuse(refusal_by(record, call.name, call.claimant, *verdict.refusal));
  }
  return verdict.action;
}

// Under the key's lock.
int64_t remove(const OwnerCall& call) {
  StoredRecord record = read_record(call.name, Reading::locked);
  if (judge(call, record) == DeleteAction::nothing) {
    return 0;
  }
  const RemovedContent removed = remove_content(call.name, record);
  if (!removed.removal.safe) {
    raise_busy();
  }
  record.lives = false;
  write_record(call.name, record);
  return removed.entries;
}

}  // namespace

// (namespace, key, epoch, writer)
FENCE_FUNCTION(fence_pg_delete) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const OwnerCall call = arguments.write_call();
  check_may_write(call.name.ns);
  check_writer(call);
  check_alone(call.name);
  check_mode(call);
  // One that is stale must not queue before the owner.
  judge(call, read_record(call.name, Reading::unlocked));
  begin_own_transaction();
  lock_for_claim(call.name.hash);
  settle_mode(call);
  const int64_t removed = remove(call);
  flush_with_this_transaction();  // the floor must not be lost
  PG_RETURN_INT64(removed);
}

}  // namespace fence
