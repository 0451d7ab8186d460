#include "sqlite_ext/owner_write.h"

namespace fence {

bool judge_writer(Connection* connection, const OwnerCall& call, LogState* log,
                  Failure* failure) noexcept {
  if (!read_log(connection, call, judge_mode, log, failure)) {
    return false;
  }
  const Reason* reason = judge_owner(log->ownership(), call.claimant);
  if (reason != nullptr) {
    failure->refuse(ownership_refusal(reason, log->ownership(), call.claimant));
  }
  return reason == nullptr;
}

bool check_epoch_used(Connection* connection, const OwnerCall& call, Failure* failure) noexcept {
  if (!call.epoch_given()) {
    return true;
  }
  const int64_t* earlier = connection->transaction.keys.find(call.name.ns, call.name.key);
  const Reason* reason =
      earlier == nullptr ? nullptr : judge_same_epoch(*earlier, call.claimant.epoch);
  if (reason == nullptr) {
    return true;
  }
  Refusal refusal;
  refusal.reason = reason;
  refusal.asserted_epoch = call.claimant.epoch;
  refusal.stored_epoch = *earlier;
  failure->refuse(refusal);
  return false;
}

bool remember_epoch(Connection* connection, const OwnerCall& call, Failure* failure) noexcept {
  Transaction& transaction = connection->transaction;
  if (!transaction.enlisted() || !call.epoch_given() ||
      transaction.keys.add(call.name.ns, call.name.key, call.claimant.epoch, transaction.level)) {
    return true;
  }
  failure->out_of_memory();
  return false;
}

bool bring_to_life(Connection* connection, const OwnerCall& call, LogState* log,
                   WriteProgress* progress, Failure* failure) noexcept {
  if (log->lives()) {
    return true;
  }
  begin_life(log);
  progress->partial = true;
  return store_record(connection, call.name, log, failure);
}

}  // namespace fence
