#include "pg_ext/owned_write.h"

#include "pg_ext/access.h"
#include "pg_ext/bare_call.h"
#include "pg_ext/key_content.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/namespace_store.h"
#include "pg_ext/settings.h"
#include "pg_ext/trim_store.h"

namespace fence {

namespace {

NamespaceRule judge_rule(const OwnerCall& call, const NamespaceRule& rule, ModeRule judge) {
  const Reason* reason =
      judge_call_mode(judge, rule.mode, !call.claimant.unfenced(), call.writer_sound);
  if (reason != nullptr) {
    raise_error(about(call.name, *reason));
  }
  return rule;
}

}  // namespace

void check_writer(const OwnerCall& call) {
  if (!call.writer_sound) {
    check_mode(call);
  }
}

NamespaceRule check_mode(const OwnerCall& call) {
  return judge_rule(call, namespace_rule(call.name.ns), judge_mode);
}

NamespaceRule check_owner_mode(const OwnerCall& call) {
  return judge_rule(call, namespace_rule(call.name.ns), judge_owner_mode);
}

NamespaceRule settle_mode(const OwnerCall& call) {
  return judge_rule(call, settle_namespace_rule(call.name.ns), judge_mode);
}

NamespaceRule settle_owner_mode(const OwnerCall& call) {
  return judge_rule(call, settle_namespace_rule(call.name.ns), judge_owner_mode);
}

OwnedWrite::OwnedWrite(FunctionCallInfo call, const OwnerCall& owner) : owner_(owner) {
  check_may_write(owner.name.ns);
  rule_ = check_mode(owner);
  if (owner.claimant.unfenced()) {
    write_without_epoch(owner.name, rule_.mode);
    commit_before_report();
    return;
  }
  bare_ = call != nullptr && is_bare_call(call);
  if (!bare_) {
    assert_owner(owner.name, owner.claimant, rule_.mode);
    commit_before_report();
  }
  if (rule_.mode == Mode::optional) {
    // Before the record is read: it says where entries without an epoch may stand.
    shut_out_unfenced(owner.name);
  }
}

const Reason* OwnedWrite::judge() {
  record_ =
      read_record(owner_.name, owner_.claimant.unfenced() ? Reading::locked : Reading::unlocked);
  return judge_owner(record_.ownership(), owner_.claimant);
}

void OwnedWrite::check_owner() {
  const Reason* reason = judge();
  if (reason != nullptr) {
    refuse(refusal_by(record_, owner_.name, owner_.claimant, *reason));
  }
}

int64_t OwnedWrite::trimmed() const { return find_trimmed(owner_.name, record_); }

LogEnd OwnedWrite::find_end() const { return find_log_end(owner_.name, record_); }

void OwnedWrite::exclude_other_sessions() const {
  hold_lock_in_savepoint(claimant_tag(owner_.name.hash, owner_.claimant), ExclusiveLock);
}

// What is left of an earlier life has epochs up to its floor.
void OwnedWrite::give_life() {
  if (record_.lives) {
    return;
  }
  begin_life(record_.epoch < INT64_MAX ? record_.epoch + 1 : record_.epoch, &record_);
  record_.exists = true;
  record_.lives = true;
  record_.writer = nobody.writer;
  record_.published = Maybe<Seal>();
  write_record(owner_.name, record_);
  check_owner();  // reads it again: there is a row to be changed now
}

void OwnedWrite::note_unfenced_entry(int64_t idx) {
  if (idx > record_.tail_at_claim) {
    record_.tail_at_claim = idx;
    write_record(owner_.name, record_);
    check_owner();
  }
}

void OwnedWrite::end(FinalCheck check) {
  check.mode = rule_.mode;
  check.row = record_.row;
  if (bare_) {
    check_owner_finally(owner_.name, owner_.claimant, check);
  } else if (!owner_.claimant.unfenced()) {
    check_at_commit_too(owner_.name, check);
  }
}

}  // namespace fence
