// Questions that change nothing: fence_check and fence_fingerprint.
#include "core/layer.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/log_store.h"
#include "sqlite_ext/storage.h"

namespace fence {

namespace {

const Reason old_snapshot = {
    Code::configuration,
    "a transaction or SELECT that is open may read an old state of the file, in which nobody can "
    "know",
    "call fence_check outside a transaction and with no SELECT open, or after BEGIN IMMEDIATE"};

// A stale owner is refused in any snapshot, since epochs only rise (where one was
// reset, nobody owned the key, and the answer errs on the safe side). "Still the
// owner" is only known in a snapshot that this call opens, or under the write lock.
bool check_owner(Connection* connection, const OwnerCall& call, Failure* failure) noexcept {
  if (!check_epoch_given(call, failure) || !check_storage(connection, failure)) {
    return false;
  }
  const bool known_fresh = sqlite3_txn_state(connection->db, "main") != SQLITE_TXN_READ;
  LogState log;
  if (!read_log(connection, call, judge_owner_mode, &log, failure)) {
    return false;
  }
  const Reason* reason = judge_owner(log.ownership(), call.claimant);
  if (reason != nullptr) {
    failure->refuse(ownership_refusal(reason, log.ownership(), call.claimant));
    return false;
  }
  if (!known_fresh && layer(Layer::fresh_check)) {
    failure->refuse(old_snapshot);
    return false;
  }
  return true;
}

}  // namespace

void fence_check(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  OwnerCall call;
  Failure failure;
  const CallScope scope(connection, &failure, WhenDoomed::refused, Intent::asks);
  if (!scope.entered() || !read_owner_call(values, &call, &failure) ||
      !check_owner(connection, call, &failure)) {
    failure.name_key(call.name.ns, call.name.key);
    failure.raise(context);
    return;
  }
  sqlite3_result_int(context, 1);
}

void fence_fingerprint(sqlite3_context* context, int, sqlite3_value** values) {
  WriterHash writer{};
  Failure failure;
  if (!read_writer(values[0], &writer, &failure)) {
    failure.raise(context);
    return;
  }
  sqlite3_result_text(context, fingerprint(writer).text, -1, SQLITE_TRANSIENT);
}

}  // namespace fence
