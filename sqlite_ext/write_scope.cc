#include "sqlite_ext/write_scope.h"

#include "core/ownership.h"

namespace fence {

namespace reasons {
const Reason partial_write = {
    Code::transaction_refused,
    "an error of SQLite stopped a write of Fence half-way, so nothing of this transaction can be "
    "committed",
    "ROLLBACK, then do the whole transaction again"};
}  // namespace reasons

bool begin_own(Connection* connection, Failure* failure) noexcept {
  // So that roll_back can rely on them.
  for (const Sql way_out : {Sql::any_write, Sql::rollback}) {
    const Use use(connection, way_out);
    if (!use.ready()) {
      failure->pass_on(connection->db, use.rc());
      return false;
    }
  }
  Use use(connection, Sql::begin);
  if (use.run()) {
    return true;
  }
  failure->pass_on(connection->db, use.rc());
  // Cancelled at its end, BEGIN fails and has begun.
  roll_back(connection);
  return false;
}

bool end_own(Connection* connection, bool done, Failure* failure) noexcept {
  if (done) {
    Use use(connection, Sql::commit);
    if (use.run()) {
      return true;
    }
    failure->pass_on(connection->db, use.rc());
  }
  // SQLite may have done so by itself (a full disk, a commit hook).
  roll_back(connection);
  return false;
}

bool lock_main(Connection* connection, Failure* failure) noexcept {
  if (sqlite3_txn_state(connection->db, "main") == SQLITE_TXN_WRITE) {
    return true;
  }
  Use use(connection, Sql::lock);
  if (use.run()) {
    return true;
  }
  refuse_unreadable(connection, use.rc(), failure);
  return false;
}

void settle_joined(Connection* connection, const WriteProgress& progress,
                   const Failure& failure) noexcept {
  if (failure.dooms()) {
    doom(connection, failure.refusal());
  } else if (progress.partial) {
    Refusal refusal;
    refusal.reason = &reasons::partial_write;
    doom(connection, refusal);
  }
}

bool check_alone(Connection* connection, Failure* failure) noexcept {
  if (!layer(Layer::claim_alone) || !in_transaction(connection->db)) {
    return true;
  }
  failure->refuse(reasons::claim_in_transaction);
  return false;
}

}  // namespace fence
