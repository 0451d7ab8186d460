// The order of an append: say who one is, read the record, judge, write, and (in a
// bare call) judge again under the lock that a claim cannot pass.
#include "pg_ext/append.h"

#include "core/failpoint.h"
#include "core/layer.h"
#include "pg_ext/access.h"
#include "pg_ext/bare_call.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/transaction.h"

namespace fence {

namespace {

bool all_stored(const AppendCall& append) {
  for (int i = 0; i < append.count; ++i) {
    const Place place =
        find_own_place(append.owner.name, append.entries[i], append.owner.claimant.epoch);
    if (!place.taken || !place.same_bytes) {
      return false;
    }
  }
  return true;
}

StoredRecord judge_caller(const AppendCall& append) {
  const RecordName& name = append.owner.name;
  const StoredRecord record = read_record(name, Reading::unlocked);
  const Reason* reason = judge_owner(record.ownership(), append.owner.claimant);
  if (reason == nullptr) {
    return record;
  }
  Refusal refusal = refusal_by(record, name, append.owner.claimant, *reason);
  if (refusal.code() == Code::stale_epoch) {
    refusal.already_stored = all_stored(append);
  }
  refuse(refusal);
}

// The owner's own call, for another reason than ownership; so that is looked at again:
// the successor's entries must not be taken for a conflict.
[[noreturn]] void refuse_entry(const AppendCall& append, const Reason& reason, int64_t number) {
  judge_caller(append);
  const Claimant& claimant = append.owner.claimant;
  Refusal refusal = about(append.owner.name, reason, number);
  refusal.asserted_epoch = claimant.epoch;
  refusal.asserted_writer = claimant.writer;
  refusal.stored_epoch = claimant.epoch;
  refusal.stored_writer = claimant.writer;
  refuse(refusal);
}

// Below the end that the log had at the claim, entries of earlier epochs may stand,
// which the unique key does not know as conflicts. Nothing of them can appear later.
EntryVerdict judge_place(const AppendCall& append, const StoredRecord& record,
                         const NewEntry& entry) {
  const LogEnd end{record.tail_at_claim, record.trimmed};
  Place place;
  if (place_matters(entry.idx, end)) {
    place = find_place(append.owner.name, entry, record.born);
  }
  return judge_entry(entry.idx, end, place, append.owner.claimant.epoch, false);
}

// True when the entry is new.
bool store(const AppendCall& append, const StoredRecord& record, EntryWriter* writer,
           const NewEntry& entry) {
  const EntryVerdict verdict = judge_place(append, record, entry);
  if (verdict.action == EntryAction::refuse) {
    refuse_entry(append, *verdict.refusal, entry.idx);
  }
  if (verdict.action == EntryAction::repeat) {
    return false;
  }
  const EntryWriter::Result result = writer->write(entry);
  if (result.waited) {
    judge_caller(append);
  }
  if (result.outcome == EntryWriter::Outcome::other_bytes) {
    refuse_entry(append, reasons::other_bytes, entry.idx);
  }
  return result.outcome == EntryWriter::Outcome::stored;
}

LogEnd find_end(const AppendCall& append, const StoredRecord& record) {
  const int64_t trimmed = record.trimmed;
  return {find_last(append.owner.name, record.born, trimmed), trimmed};
}

}  // namespace

int64_t run_append(FunctionCallInfo call, const AppendCall& append) {
  const RecordName& name = append.owner.name;
  const Claimant& claimant = append.owner.claimant;
  check_may_write(name.ns);
  const bool bare = call != nullptr && is_bare_call(call);
  if (!bare) {
    assert_owner(name, claimant);
    commit_before_report();
  }
  const StoredRecord record = judge_caller(append);
  LogEnd end;
  if (append.expected_last.known) {
    // Two sessions of one owner that compare do so one after the other.
    hold_lock_in_savepoint(claimant_tag(name.hash, claimant), ExclusiveLock);
    end = find_end(append, record);
  }
  int64_t stored = 0;
  EntryWriter writer(name, claimant.epoch);
  for (int i = 0; i < append.count; ++i) {
    stored += store(append, record, &writer, append.entries[i]) ? 1 : 0;
  }
  writer.end();
  FENCE_FAILPOINT("append.stored");
  if (append.expected_last.known) {
    const Reason* reason = judge_expected_last(append.expected_last.value, end, stored == 0);
    if (reason != nullptr) {
      refuse_entry(append, *reason, end.last_ever());
    }
  }
  if (stored < append.count && synchronous_commit > SYNCHRONOUS_COMMIT_OFF) {
    flush_with_this_transaction();
  }
  if (bare) {
    check_owner_finally(name, claimant);
  }
  return stored;
}

}  // namespace fence
