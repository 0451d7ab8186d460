// fenced_delete: the end of a key's life, as a transaction of its own.
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/content.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/own_transaction.h"

namespace fence {

namespace {

bool judge_deleter(Connection* connection, const OwnerCall& call, LogState* log,
                   DeleteAction* action, Failure* failure) noexcept {
  if (!read_log(connection, call, judge_mode, log, failure)) {
    return false;
  }
  const DeleteVerdict verdict = judge_delete(log->ownership(), log->lives(), call.claimant);
  *action = verdict.action;
  if (verdict.action == DeleteAction::refuse) {
    failure->refuse(ownership_refusal(verdict.refusal, log->ownership(), call.claimant));
  }
  return verdict.action != DeleteAction::refuse;
}

bool run_delete(Connection* connection, const OwnerCall& call, int64_t* removed,
                Failure* failure) noexcept {
  const auto judge = [&](Failure* stale) {
    LogState log;
    DeleteAction action = DeleteAction::refuse;
    return judge_deleter(connection, call, &log, &action, stale);
  };
  const auto write = [&](WriteProgress*, Failure* refused) {
    LogState log;
    DeleteAction action = DeleteAction::refuse;
    if (!judge_deleter(connection, call, &log, &action, refused)) {
      return false;
    }
    return action == DeleteAction::nothing ||
           end_life(connection, call.name, {}, &log, removed, refused);
  };
  return check_writer(connection, call, failure) && run_alone(connection, judge, write, failure);
}

}  // namespace

void fenced_delete(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  OwnerCall call;
  int64_t removed = 0;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !read_owner_call(values, &call, &failure) ||
      !run_delete(connection, call, &removed, &failure)) {
    failure.name_key(call.name.ns, call.name.key);
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, removed);
}

}  // namespace fence
