// fenced_publish: a staged log moves to its final name, for exactly one of many publishers.
#include "core/argument.h"
#include "core/number.h"
#include "core/publish.h"
#include "pg_ext/access.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/key_content.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/namespace_store.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/trim_store.h"

namespace fence {

namespace {

struct PublishCall {
  OwnerCall target;
  RecordName staged;
  int64_t expected_last = 0;

  Seal mark() const {
    return publication_mark(target.name.ns, target.name.key, expected_last, target.claimant);
  }
};

PublishCall read_call(Arguments* arguments) {
  PublishCall call;
  call.target = arguments->write_call();
  call.staged.ns = arguments->name(4, reasons::bad_staged_namespace);
  call.staged.key = arguments->name(5, reasons::bad_staged_key);
  call.staged.hash = record_hash(call.staged.ns, call.staged.key);
  call.expected_last = arguments->number(6, reasons::bad_published_last);
  if (same_record(call.staged, call.target.name)) {
    arguments->refuse(reasons::same_key);
  }
  return call;
}

void check_modes(const PublishCall& call) {
  check_mode(call.target);
  const Reason* reason = judge_call_mode(judge_staged_mode, namespace_rule(call.staged.ns).mode,
                                         !call.target.claimant.unfenced(), true);
  if (reason != nullptr) {
    raise_error(about(call.staged, *reason));
  }
}

void check_staged_owner(const PublishCall& call, const StoredRecord& staged) {
  const Reason* reason = judge_staged_owner(staged.ownership(), call.target.claimant);
  if (reason != nullptr) {
    refuse(refusal_by(staged, call.staged, call.target.claimant, *reason));
  }
}

[[noreturn]] void refuse_entry(const PublishCall& call, const RecordName& name,
                               const StoredRecord& record, const Reason& reason, int64_t number) {
  Refusal refusal = refusal_by(record, name, call.target.claimant, reason);
  refusal.number = number;
  refuse(refusal);
}

void check_whole(const PublishCall& call, const StoredRecord& record) {
  StagedLog log;
  if (record.lives) {
    const int64_t trimmed = find_trimmed(call.staged, record);
    scan_entries(call.staged, trimmed + 1, greatest_number, SnapshotSelf,
                 [&](const IndexScan& scan) {
                   if (record.counts(epoch_of_entry(scan.row()))) {
                     log.last = idx_of_entry(scan.row());
                     log.first = log.count == 0 ? log.last : log.first;
                     ++log.count;
                   }
                   return log.last <= call.expected_last;
                 });
  }
  const Reason* reason = judge_staged_log(log, call.expected_last);
  if (reason != nullptr) {
    refuse_entry(call, call.staged, record, *reason, call.expected_last);
  }
}

// Another session of the owner may be storing in the target right now. It is not waited for:
// the staged key is locked, and nobody could claim that meanwhile.
void store(const PublishCall& call, OwnedWrite* write, EntryWriter* writer, const NewEntry& entry) {
  const EntryWriter::Outcome outcome = writer->write_at_once(entry);
  if (outcome != EntryWriter::Outcome::stored) {
    write->check_owner();
    const bool open = outcome == EntryWriter::Outcome::open;
    refuse_entry(call, call.target.name, write->record(),
                 open ? reasons::target_in_use : reasons::other_bytes, entry.idx);
  }
}

void move_entries(const PublishCall& call, const StoredRecord& record, OwnedWrite* write) {
  EntryWriter writer(call.target.name, call.target.claimant.epoch);
  scan_entries(call.staged, 1, call.expected_last, SnapshotSelf, [&](const IndexScan& scan) {
    if (record.counts(epoch_of_entry(scan.row()))) {
      store(call, write, &writer, {idx_of_entry(scan.row()), payload_of_entry(scan.row())});
    }
    return true;
  });
  writer.end();
}

void delete_staged(const PublishCall& call, StoredRecord* record) {
  if (!remove_content(call.staged, *record).removal.safe) {
    raise_busy();
  }
  record->lives = false;
  record->published = call.mark();
  write_record(call.staged, *record);
}

// Under the lock of the staged key.
bool publish(const PublishCall& call, OwnedWrite* write) {
  write->check_owner();
  StoredRecord staged = read_record(call.staged, Reading::locked);
  const LogEnd target = write->find_end();
  if (is_repeated_publication(staged.lives, staged.published, call.mark(), target)) {
    return true;
  }
  check_staged_owner(call, staged);
  if (!can_be_published_to(target)) {
    return false;
  }
  check_whole(call, staged);
  if (call.target.claimant.unfenced()) {
    write->give_life();
  }
  move_entries(call, staged, write);
  if (call.target.claimant.unfenced()) {
    write->note_unfenced_entry(call.expected_last);
  }
  delete_staged(call, &staged);
  FinalCheck check;
  check.lowest_stored = 1;
  write->end(check);
  return true;
}

}  // namespace

// (namespace, key, epoch, writer, staged_namespace, staged_key, expected_last)
FENCE_FUNCTION(fence_pg_publish) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const PublishCall call = read_call(&arguments);
  check_may_write(call.target.name.ns);
  check_may_write(call.staged.ns);
  check_writer(call.target);
  check_alone(call.target.name);
  check_modes(call);
  begin_own_transaction();
  lock_key_for_claim(call.staged.hash);
  OwnedWrite write(nullptr, call.target);  // without an epoch it waits for the target's lock
  lock_domain_for_claim();
  const bool published = publish(call, &write);
  flush_with_this_transaction();  // the staged key's floor must not be lost
  PG_RETURN_BOOL(published);
}

}  // namespace fence
