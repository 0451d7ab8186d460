#include "core/ownership.h"

#include "core/layer.h"

namespace fence {

namespace reasons {
const Reason stale_claim = {
    Code::stale_epoch, "epoch %e is claimed, the record is already at epoch %s, held by writer %w",
    "this process was superseded: stop it, or claim an epoch above %s"};
const Reason claim_below_floor = {Code::stale_epoch,
                                  "epoch %e is claimed, the key was deleted at epoch %s",
                                  "epochs never come back: claim an epoch above %s"};
const Reason claim_below_namespace_floor = {
    Code::stale_epoch, "epoch %e is claimed, keys of this namespace were purged up to epoch %s",
    "epochs never come back: claim an epoch above %s"};
const Reason claimed_by_other = {Code::other_writer, "epoch %s is held by another writer, %w",
                                 "two processes chose one epoch: claim an epoch above %s"};
const Reason stale_write = {
    Code::stale_epoch, "epoch %e is asserted, the record is already at epoch %s, held by writer %w",
    "this process lost the ownership: stop it, or claim an epoch above %s with a new writer"};
const Reason left_epoch = {
    Code::stale_epoch, "epoch %e is asserted, this writer itself claimed the key anew, at epoch %s",
    "write under epoch %s; if it was not this process that claimed it, give each process a writer "
    "of its own"};
const Reason written_by_other = {
    Code::other_writer, "epoch %s is held by another writer, %w",
    "this process does not own the key: claim an epoch above %s first"};
const Reason never_claimed = {Code::no_record, "the key was never claimed",
                              "claim it first with oplog_metadata_upsert"};
const Reason key_deleted = {Code::no_record, "the key was deleted at epoch %s",
                            "claim an epoch above %s to begin a new life of the key"};
const Reason key_ownerless = {Code::no_record,
                              "nobody owns the key, and its epochs up to %s are used up",
                              "claim an epoch above %s first"};
const Reason claim_below_used = {
    Code::stale_epoch,
    "epoch %e is claimed, nobody owns the key and its epochs up to %s are used up",
    "epochs never come back: claim an epoch above %s"};
const Reason nothing_to_reset = {Code::no_record, "the key was never claimed",
                                 "there is nothing to reset: look for the key in oplog_status"};
const Reason reset_not_lower = {Code::out_of_range, "epoch %e is not below epoch %s of the record",
                                "fence_reset only lowers an epoch; to raise it, claim the key"};
const Reason outdated_claim = {
    Code::lineage_changed,
    "the claim of epoch %s was made before a failover, a restore or a copy of the database",
    "claim an epoch above %s: only then is it known who owns the key in this database"};
const Reason ahead_of_record = {
    Code::ahead_of_record, "epoch %e is asserted, the record is only at epoch %s",
    "claim the epoch before writing; if it was claimed, the database went back in time"};
const Reason two_epochs = {Code::configuration,
                           "this transaction already used epoch %s of the key, now epoch %e",
                           "use one epoch of a key in a transaction"};
const Reason impossible_epoch = {Code::corrupt, "the record's epoch is %s, which cannot be",
                                 "restore the record from a backup"};
const Reason claim_in_transaction = {
    Code::configuration, "this call is a transaction of its own, and one is open",
    "call it in autocommit, alone and once: frozen inside, it would hold up every other writer"};
}  // namespace reasons

bool is_nobody(const WriterHash& writer) noexcept { return writer == nobody.writer; }

Record record_of_row(int64_t epoch, const WriterHash& writer, bool deleted) noexcept {
  if (is_nobody(writer) && epoch == unfenced_epoch) {
    return {};
  }
  Record record;
  record.epoch = epoch;
  record.writer = writer;
  record.state = deleted             ? RecordState::deleted
                 : is_nobody(writer) ? RecordState::ownerless
                                     : RecordState::live;
  return record;
}

ClaimVerdict judge_claim(const Record& record, int64_t floor, const Claimant& claimant) noexcept {
  const auto refuse = [](const Reason& reason) {
    return ClaimVerdict{ClaimAction::refuse, &reason};
  };
  if (record.state == RecordState::none) {
    return claimant.epoch > floor ? ClaimVerdict{ClaimAction::take, nullptr}
                                  : refuse(reasons::claim_below_namespace_floor);
  }
  if (record.epoch < 0) {
    return refuse(reasons::impossible_epoch);
  }
  if (claimant.epoch > record.epoch || !layer(Layer::claim_check)) {
    return {ClaimAction::take, nullptr};
  }
  if (record.state == RecordState::deleted) {
    return refuse(reasons::claim_below_floor);
  }
  if (record.state == RecordState::ownerless) {
    return refuse(reasons::claim_below_used);
  }
  if (claimant.epoch < record.epoch) {
    return refuse(reasons::stale_claim);
  }
  if (record.outdated) {
    return refuse(reasons::outdated_claim);
  }
  return claimant.writer == record.writer ? ClaimVerdict{ClaimAction::reopen, nullptr}
                                          : refuse(reasons::claimed_by_other);
}

bool is_refused_claim(const Refusal& refusal) noexcept {
  return refusal.code() == Code::stale_epoch || refusal.code() == Code::other_writer;
}

const Reason* judge_owner(const Record& record, const Claimant& claimant) noexcept {
  if (claimant.unfenced()) {
    return nullptr;
  }
  if (record.state == RecordState::none) {
    return &reasons::never_claimed;
  }
  if (record.epoch < 0) {
    return &reasons::impossible_epoch;
  }
  if (record.state == RecordState::live && record.outdated) {
    return &reasons::outdated_claim;
  }
  if (record.state == RecordState::deleted) {
    return &reasons::key_deleted;
  }
  if (record.state == RecordState::ownerless) {
    return &reasons::key_ownerless;
  }
  if (layer(Layer::epoch_check) && claimant.epoch < record.epoch) {
    return claimant.writer == record.writer ? &reasons::left_epoch : &reasons::stale_write;
  }
  if (layer(Layer::epoch_check) && claimant.epoch > record.epoch) {
    return &reasons::ahead_of_record;
  }
  if (layer(Layer::writer_check) && claimant.writer != record.writer) {
    return &reasons::written_by_other;
  }
  return nullptr;
}

DeleteVerdict judge_delete(const Record& record, bool lives, const Claimant& claimant) noexcept {
  const bool own = record.epoch == claimant.epoch && record.writer == claimant.writer;
  if (!lives && (claimant.unfenced() || (record.state == RecordState::deleted && own))) {
    return {DeleteAction::nothing, nullptr};
  }
  const Reason* refusal = judge_owner(record, claimant);
  return {refusal == nullptr ? DeleteAction::remove : DeleteAction::refuse, refusal};
}

const Reason* judge_reset(const Record& record, int64_t epoch) noexcept {
  if (record.state == RecordState::none) {
    return &reasons::nothing_to_reset;
  }
  if (record.epoch < 0) {
    return &reasons::impossible_epoch;
  }
  return epoch < record.epoch ? nullptr : &reasons::reset_not_lower;
}

const Reason* judge_same_epoch(int64_t earlier, int64_t asserted) noexcept {
  return !layer(Layer::one_epoch) || earlier == asserted ? nullptr : &reasons::two_epochs;
}

Refusal ownership_refusal(const Reason* reason, const Record& record,
                          const Claimant& claimant) noexcept {
  const auto known = [](const WriterHash& writer) {
    return is_nobody(writer) ? Maybe<WriterHash>() : Maybe<WriterHash>(writer);
  };
  Refusal refusal;
  refusal.reason = reason;
  if (!claimant.unfenced()) {
    refusal.asserted_epoch = claimant.epoch;
    refusal.asserted_writer = known(claimant.writer);
  }
  if (record.state != RecordState::none) {
    refusal.stored_epoch = record.epoch;
    refusal.stored_writer = known(record.writer);
  }
  const bool is_claim = reason == &reasons::stale_claim || reason == &reasons::claim_below_floor ||
                        reason == &reasons::claim_below_used ||
                        reason == &reasons::claim_below_namespace_floor;
  if (is_claim || refusal.code() == Code::no_record) {
    refusal.deleted = record.state == RecordState::deleted;
  }
  return refusal;
}

Refusal claim_refusal(const Reason* reason, const Record& record, int64_t floor,
                      const Claimant& claimant) noexcept {
  Refusal refusal = ownership_refusal(reason, record, claimant);
  if (reason == &reasons::claim_below_namespace_floor) {
    refusal.stored_epoch = floor;
  }
  return refusal;
}

}  // namespace fence
