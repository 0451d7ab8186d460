#include "sqlite_ext/append.h"

#include "core/argument.h"
#include "core/failpoint.h"
#include "sqlite_ext/owner_write.h"

namespace fence {

namespace {

// How far the record's note of the newest entry may fall behind. Rewriting it at
// each append would cost a fifth of one; behind it, a removal of the newest
// entries would go unnoticed.
constexpr int64_t tail_distance = 64;
// A batch of this size carries the note along at little cost.
constexpr int64_t large_batch = 8;

// Are all entries of a stale caller there, as it wrote them?
bool all_stored(Connection* connection, const AppendCall& call, bool* stored,
                Failure* failure) noexcept {
  *stored = true;
  for (int64_t i = 0; i < call.count && *stored; ++i) {
    Place place;
    if (!read_place(connection, call.owner.name, call.entries[i].idx, call.entries[i].payload,
                    &place, failure)) {
      return false;
    }
    *stored = place.taken && place.same_bytes && place.epoch == call.owner.claimant.epoch;
  }
  return true;
}

bool refuse_owner(Connection* connection, const AppendCall& call, const Reason* reason,
                  const LogState& log, Failure* failure) noexcept {
  Refusal refusal = ownership_refusal(reason, log.ownership(), call.owner.claimant);
  if (refusal.code() == Code::stale_epoch) {
    bool stored = false;
    if (!all_stored(connection, call, &stored, failure)) {
      return false;
    }
    refusal.already_stored = stored;
  }
  failure->refuse(refusal);
  return false;
}

// As judge_writer; a stale caller also learns whether its entries are there.
bool judge_caller(Connection* connection, const AppendCall& call, LogState* log,
                  Failure* failure) noexcept {
  if (!read_log(connection, call.owner, judge_mode, log, failure)) {
    return false;
  }
  const Reason* reason = judge_owner(log->ownership(), call.owner.claimant);
  return reason == nullptr || refuse_owner(connection, call, reason, *log, failure);
}

void refuse_entry(const Reason* reason, int64_t number, const LogState& log, const AppendCall& call,
                  Failure* failure) noexcept {
  Refusal refusal = ownership_refusal(reason, log.ownership(), call.owner.claimant);
  refusal.number = number;
  failure->refuse(refusal);
}

// Decides about every entry before the first one is written.
bool judge_entries(Connection* connection, const AppendCall& call, const LogState& log,
                   int64_t* fresh, Failure* failure) noexcept {
  *fresh = 0;
  for (int64_t i = 0; i < call.count; ++i) {
    NewEntry& entry = call.entries[i];
    Place place;
    if (place_matters(entry.idx, log.end) &&
        !read_place(connection, call.owner.name, entry.idx, entry.payload, &place, failure)) {
      return false;
    }
    const EntryVerdict verdict = judge_entry(entry.idx, log.end, place, call.owner.claimant.epoch,
                                             log.rule.identical_repeat);
    if (verdict.action == EntryAction::refuse) {
      refuse_entry(verdict.refusal, entry.idx, log, call, failure);
      return false;
    }
    entry.action = verdict.action;
    *fresh += verdict.action == EntryAction::store ? 1 : 0;
  }
  if (call.expected_last.known) {
    const Reason* reason = judge_expected_last(call.expected_last.value, log.end, *fresh == 0);
    if (reason != nullptr) {
      refuse_entry(reason, log.end.last_ever(), log, call, failure);
      return false;
    }
  }
  return true;
}

bool write_entries(Connection* connection, const AppendCall& call, int64_t fresh, LogState* log,
                   WriteProgress* progress, Failure* failure) noexcept {
  if (fresh > 0 && !bring_to_life(connection, call.owner, log, progress, failure)) {
    return false;
  }
  const Seal late_before = log->record.late_sum;
  for (int64_t i = 0; i < call.count; ++i) {
    const NewEntry& entry = call.entries[i];
    if (entry.action != EntryAction::store) {
      continue;
    }
    // Before the attempt: one that was cancelled may have stored its row all the same.
    progress->partial = true;
    if (!insert_entry(connection, call.owner.name, call.owner.claimant, entry.idx, entry.payload,
                      log, failure)) {
      return false;
    }
    FENCE_FAILPOINT("append.entry_stored");
  }
  const bool late = log->record.late_sum != late_before;
  const bool far = log->end.last - tail_distance >= log->record.tail;
  if (fresh > 0 && (late || far || fresh >= large_batch)) {
    note_tail(log);
    return store_record(connection, call.owner.name, log, failure);
  }
  return true;
}

}  // namespace

bool run_append(Connection* connection, const AppendCall& call, int64_t* stored,
                Failure* failure) noexcept {
  const auto judge = [&](LogState* log, Failure* refused) {
    return judge_caller(connection, call, log, refused);
  };
  const auto write = [&](LogState* log, WriteProgress* progress, Failure* refused) {
    FENCE_FAILPOINT("append.locked");
    if (!judge_entries(connection, call, *log, stored, refused)) {
      return false;
    }
    FENCE_FAILPOINT("append.judged");
    const bool done = write_entries(connection, call, *stored, log, progress, refused);
    FENCE_FAILPOINT("append.before_commit");
    return done;
  };
  FENCE_FAILPOINT("append.entered");
  const bool done = run_owner_write(connection, call.owner, judge, write, failure);
  FENCE_FAILPOINT("append.after_commit");
  return done;
}

bool append_one(Connection* connection, sqlite3_value** values, NewEntry* entry,
                Failure* failure) noexcept {
  AppendCall call;
  call.entries = entry;
  call.count = 1;
  if (!read_owner_call(values, &call.owner, failure) ||
      !read_number(values[4], reasons::bad_idx, &entry->idx, failure) ||
      !read_payload(values[5], &entry->payload, failure)) {
    failure->name_key(call.owner.name.ns, call.owner.name.key);
    return false;
  }
  int64_t stored = 0;
  return run_append(connection, call, &stored, failure);
}

bool run_empty_append(Connection* connection, const AppendCall& call, Failure* failure) noexcept {
  const bool passed =
      check_storage(connection, failure) && check_mode(connection, call.owner, judge_mode, failure);
  failure->name_key(call.owner.name.ns, call.owner.name.key);
  return passed;
}

}  // namespace fence
