// The transaction of one fenced write: which lock is taken when, and what
// becomes of it when the write is refused.
//
// SQLite has one writer, so what is decided under its write lock holds until the
// commit. The order in which the lock is taken matters:
//   autocommit           BEGIN IMMEDIATE inside the call. If somebody else is
//                        writing, one read still tells a stale caller so: epochs
//                        only rise, so "stale" is final in any snapshot.
//   BEGIN, nothing read  the lock first: once a read is open SQLite never calls
//                        the busy handler, and an old snapshot never heals.
//   BEGIN, and read      judge what the snapshot shows, then the lock; SQLite
//                        answers SQLITE_BUSY_SNAPSHOT if the snapshot is old.
//   writing already      nothing to take.
#ifndef FENCE_SQLITE_EXT_WRITE_SCOPE_H
#define FENCE_SQLITE_EXT_WRITE_SCOPE_H

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"

namespace fence {

// What a write reports besides its failure.
struct WriteProgress {
  // Something was written: after a failure the transaction must not keep it.
  bool partial = false;
};

namespace reasons {
extern const Reason partial_write;
}  // namespace reasons

// BEGIN IMMEDIATE; false: failed. COMMIT if done, else ROLLBACK.
bool begin_own(Connection* connection, Failure* failure) noexcept;
bool end_own(Connection* connection, bool done, Failure* failure) noexcept;

// Takes main's write lock in the transaction of the application.
bool lock_main(Connection* connection, Failure* failure) noexcept;

// Dooms the application's transaction if the failure of a write demands it.
void settle_joined(Connection* connection, const WriteProgress& progress,
                   const Failure& failure) noexcept;

// Fails (ZF012) where the application has a transaction open: for calls that are
// a transaction of their own.
bool check_alone(Connection* connection, Failure* failure) noexcept;

// Runs a write. judge(Failure*) reads and decides without writing; it is asked
// before the lock is taken where the order above says so, and must answer false
// when it refuses. write(WriteProgress*, Failure*) judges again under the lock,
// then writes.
template <typename Judge, typename Write>
bool run_write(Connection* connection, Judge judge, Write write, Failure* failure) noexcept {
  Transaction& transaction = connection->transaction;
  if (!transaction.journal_settled && !check_storage(connection, failure)) {
    return false;
  }
  WriteProgress progress;
  const auto refuse_stale = [&] {
    Failure stale;
    if (layer(Layer::fallback_read) && !judge(&stale) && stale.dooms()) {
      *failure = stale;
    }
    return false;
  };
  if (!in_transaction(connection->db)) {
    if (begin_own(connection, failure)) {
      return end_own(connection, write(&progress, failure), failure);
    }
    return failure->is_busy() && refuse_stale();
  }
  const bool done = [&] {
    if (!enlist(connection, failure)) {
      return refuse_stale();
    }
    if (sqlite3_txn_state(connection->db, "main") == SQLITE_TXN_READ && !judge(failure)) {
      return false;
    }
    return lock_main(connection, failure) && write(&progress, failure);
  }();
  if (done) {
    transaction.journal_settled |= transaction.enlisted() && progress.partial;
  } else {
    settle_joined(connection, progress, *failure);
  }
  return done;
}

}  // namespace fence

#endif
