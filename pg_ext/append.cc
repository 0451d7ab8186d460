// The work of an append: judge each place, write, compare the end of the log.
#include "pg_ext/append.h"

#include "core/failpoint.h"
#include "pg_ext/owned_write.h"

namespace fence {

namespace {

class Append {
 public:
  Append(FunctionCallInfo call, const AppendCall& append)
      : append_(append), write_(call, append.owner), writer_(append.owner.name, epoch()) {}

  int64_t run();

 private:
  int64_t epoch() const { return append_.owner.claimant.epoch; }
  bool all_stored() const;
  void check_owner();
  [[noreturn]] void refuse_entry(const Reason& reason, int64_t number);
  int64_t trimmed();
  EntryVerdict judge_place(const NewEntry& entry);
  bool store(const NewEntry& entry);
  void begin();
  void end(int64_t stored);

  const AppendCall& append_;
  OwnedWrite write_;
  EntryWriter writer_;
  StoredRecord found_;      // before this call gave the key life
  LogEnd end_;              // for expected_last
  Maybe<int64_t> trimmed_;  // looked up when it is asked for
};

bool Append::all_stored() const {
  RowMemory memory;
  bool all = true;
  for (int i = 0; i < append_.count && all; ++i) {
    const Place place =
        memory.run([&] { return find_own_place(append_.owner.name, append_.entries[i], epoch()); });
    all = place.taken && place.same_bytes;
  }
  memory.end();
  return all;
}

void Append::check_owner() {
  const Reason* reason = write_.judge();
  if (reason == nullptr) {
    return;
  }
  Refusal refusal =
      refusal_by(write_.record(), append_.owner.name, append_.owner.claimant, *reason);
  if (refusal.code() == Code::stale_epoch) {
    refusal.already_stored = all_stored();
  }
  refuse(refusal);
}

// The owner's own call, for another reason than ownership; so that is looked at again:
// the successor's entries must not be taken for a conflict.
void Append::refuse_entry(const Reason& reason, int64_t number) {
  check_owner();
  Refusal refusal = refusal_by(found_, append_.owner.name, append_.owner.claimant, reason);
  refusal.number = number;
  refuse(refusal);
}

int64_t Append::trimmed() {
  if (!trimmed_.known) {
    trimmed_ = write_.trimmed();
  }
  return trimmed_.value;
}

// Up to the record's tail entries of others may stand, which the unique key does not know
// as conflicts. Nothing of them can appear later. Who writes without an epoch stands alone
// on the key, and looks everywhere.
// A bare call is asked about trims at its end: behind the tail that is soon enough, unless
// another refusal would come before it.
EntryVerdict Append::judge_place(const NewEntry& entry) {
  const StoredRecord& record = write_.record();
  LogEnd end;
  end.last = append_.owner.claimant.unfenced() ? entry.idx : record.tail_at_claim;
  if (!write_.is_bare() || append_.expected_last.known || place_matters(entry.idx, end)) {
    end.trimmed = trimmed();
  }
  Place place;
  if (place_matters(entry.idx, end)) {
    place = find_place(append_.owner.name, entry, record);
  }
  return judge_entry(entry.idx, end, place, epoch(), write_.rule().identical_repeat);
}

// True when the entry is new.
bool Append::store(const NewEntry& entry) {
  const EntryVerdict verdict = judge_place(entry);
  if (verdict.action == EntryAction::refuse) {
    refuse_entry(*verdict.refusal, entry.idx);
  }
  if (verdict.action == EntryAction::repeat) {
    return false;
  }
  const EntryWriter::Result result = writer_.write(entry);
  if (result.waited) {
    check_owner();
  }
  if (result.outcome != EntryWriter::Outcome::stored && entry.idx <= trimmed()) {
    refuse_entry(reasons::below_trim, entry.idx);  // a row that a trim could not remove
  }
  if (result.outcome == EntryWriter::Outcome::other_bytes) {
    refuse_entry(reasons::other_bytes, entry.idx);
  }
  return result.outcome == EntryWriter::Outcome::stored;
}

void Append::begin() {
  check_owner();
  found_ = write_.record();
  if (append_.owner.claimant.unfenced()) {
    write_.give_life();
  }
  if (append_.expected_last.known) {
    write_.exclude_other_sessions();
    end_ = write_.find_end();
  }
}

void Append::end(int64_t stored) {
  if (append_.expected_last.known) {
    const Reason* reason = judge_expected_last(append_.expected_last.value, end_, stored == 0);
    if (reason != nullptr) {
      refuse_entry(*reason, end_.last_ever());
    }
  }
  if (stored < append_.count && synchronous_commit > SYNCHRONOUS_COMMIT_OFF) {
    flush_with_this_transaction();
  }
  FinalCheck check;
  if (stored > 0) {
    check.lowest_stored = append_.entries[0].idx;
    if (append_.owner.claimant.unfenced()) {
      write_.note_unfenced_entry(append_.entries[append_.count - 1].idx);
    }
  }
  write_.end(check);
}

int64_t Append::run() {
  begin();
  RowMemory memory;
  int64_t stored = 0;
  for (int i = 0; i < append_.count; ++i) {
    stored += memory.run([&] { return store(append_.entries[i]); }) ? 1 : 0;
  }
  memory.end();
  writer_.end();
  FENCE_FAILPOINT("append.stored");
  end(stored);
  return stored;
}

}  // namespace

int64_t run_append(FunctionCallInfo call, const AppendCall& append) {
  return Append(call, append).run();
}

}  // namespace fence
