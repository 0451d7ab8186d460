// Claims of one key: oplog_metadata_upsert and its quiet form.
#include "sqlite_ext/claim.h"

#include "core/argument.h"
#include "core/failpoint.h"
#include "core/layer.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/json_text.h"
#include "sqlite_ext/log_store.h"
#include "sqlite_ext/own_transaction.h"

namespace fence {

namespace {

LastIdx last_idx_of(const LogState& log) noexcept {
  return log.end.last_ever() >= 0 ? LastIdx(log.end.last_ever()) : LastIdx();
}

// Makes log.record the claimant's. A deleted key begins a new life, with a new log.
void take_over(const Claimant& claimant, LogState* log) noexcept {
  if (!log->lives()) {
    begin_life(log);
  }
  log->record.epoch = claimant.epoch;
  log->record.writer = claimant.writer;
  note_tail(log);
}

bool judge_log_claim(const LogState& log, const OwnerCall& call, ClaimVerdict* verdict,
                     Failure* failure) noexcept {
  const int64_t floor = layer(Layer::floor_check) ? log.rule.floor : -1;
  *verdict = judge_claim(log.ownership(), floor, call.claimant);
  if (verdict->action != ClaimAction::refuse) {
    return true;
  }
  failure->refuse(claim_refusal(verdict->refusal, log.ownership(), floor, call.claimant));
  return false;
}

// One claim under main's write lock.
bool claim_locked(Connection* connection, const OwnerCall& call, LastIdx* last,
                  Failure* failure) noexcept {
  LogState log;
  ClaimVerdict verdict;
  if (!read_log(connection, call, judge_owner_mode, &log, failure) ||
      !judge_log_claim(log, call, &verdict, failure)) {
    return false;
  }
  FENCE_FAILPOINT("claim.judged");
  if (verdict.action == ClaimAction::take) {
    take_over(call.claimant, &log);
    if (!store_record(connection, call.name, &log, failure)) {
      return false;
    }
  }
  FENCE_FAILPOINT("claim.stored");
  *last = last_idx_of(log);
  return true;
}

// Would the claim be refused by what is stored now? Takes no lock.
bool claim_stands(Connection* connection, const OwnerCall& call, Failure* failure) noexcept {
  LogState log;
  ClaimVerdict verdict;
  return read_log(connection, call, judge_owner_mode, &log, failure) &&
         judge_log_claim(log, call, &verdict, failure);
}

}  // namespace

bool run_claims(Connection* connection, const OwnerCall* calls, int count, LastIdx* last,
                Failure* failure) noexcept {
  const auto for_each = [&](Failure* refused, auto claim) {
    for (int i = 0; i < count; ++i) {
      if (!claim(calls[i], &last[i], refused)) {
        refused->name_key(calls[i].name.ns, calls[i].name.key);
        return false;
      }
    }
    return true;
  };
  const auto judge = [&](Failure* stale) {
    return for_each(stale, [&](const OwnerCall& call, LastIdx*, Failure* refused) {
      return claim_stands(connection, call, refused);
    });
  };
  const auto write = [&](WriteProgress*, Failure* refused) {
    const bool done = for_each(refused, [&](const OwnerCall& call, LastIdx* answer, Failure* why) {
      return claim_locked(connection, call, answer, why);
    });
    FENCE_FAILPOINT("claim.before_commit");
    return done;
  };
  const bool done = run_alone(connection, judge, write, failure);
  FENCE_FAILPOINT("claim.after_commit");
  return done;
}

namespace {

bool claim_one(Connection* connection, sqlite3_value** values, OwnerCall* call, LastIdx* last,
               Failure* failure) noexcept {
  const CallScope scope(connection, failure);
  if (!scope.entered()) {
    return false;
  }
  const bool done = read_owner_call(values, call, failure) && check_epoch_given(*call, failure) &&
                    run_claims(connection, call, 1, last, failure);
  failure->name_key(call->name.ns, call->name.key);
  return done;
}

}  // namespace

void oplog_metadata_upsert(sqlite3_context* context, int, sqlite3_value** values) {
  OwnerCall call;
  LastIdx last;
  Failure failure;
  if (!claim_one(connection_of(context), values, &call, &last, &failure)) {
    failure.raise(context);
  } else if (last.known) {
    sqlite3_result_int64(context, last.value);
  }
}

void try_oplog_metadata_upsert(sqlite3_context* context, int, sqlite3_value** values) {
  OwnerCall call;
  LastIdx last;
  Failure failure;
  JsonText json(context);
  if (claim_one(connection_of(context), values, &call, &last, &failure)) {
    json.put("{\"owned\":true,\"last\":");
    json.put_number_or_null(last);
  } else if (is_refused_claim(failure.refusal())) {
    json.put("{\"owned\":false,");
    json.put_members(failure.refusal());
  } else {
    failure.raise(context);
    return;
  }
  json.put("}");
  json.finish();
}

}  // namespace fence
