// A write to one key by its owner, or without an epoch where the mode allows it:
// appends, trims, values. The one path that all of them take.
#ifndef FENCE_SQLITE_EXT_OWNER_WRITE_H
#define FENCE_SQLITE_EXT_OWNER_WRITE_H

#include "sqlite_ext/arguments.h"
#include "sqlite_ext/log_store.h"
#include "sqlite_ext/write_scope.h"

namespace fence {

// Reads the log and decides whether the caller may write to it.
bool judge_writer(Connection* connection, const OwnerCall& call, LogState* log,
                  Failure* failure) noexcept;

// One epoch of a key in a transaction of the application: is it the one that the
// transaction has used before? The calls that follow are told it by remember_epoch.
bool check_epoch_used(Connection* connection, const OwnerCall& call, Failure* failure) noexcept;
bool remember_epoch(Connection* connection, const OwnerCall& call, Failure* failure) noexcept;

// Before the content of an unfenced call: a key that does not live begins to, and
// nobody owns it.
bool bring_to_life(Connection* connection, const OwnerCall& call, LogState* log,
                   WriteProgress* progress, Failure* failure) noexcept;

// judge(LogState*, Failure*) is judge_writer, or more than that; write(LogState*,
// WriteProgress*, Failure*) goes on from there under main's write lock.
template <typename Judge, typename Write>
bool run_owner_write(Connection* connection, const OwnerCall& call, Judge judge, Write write,
                     Failure* failure) noexcept {
  // Named before the transaction is doomed by it.
  const auto named = [&](bool done, Failure* refused) {
    if (!done) {
      refused->name_key(call.name.ns, call.name.key);
    }
    return done;
  };
  const auto ask = [&](Failure* stale) {
    LogState log;
    return named(judge(&log, stale), stale);
  };
  const auto act = [&](WriteProgress* progress, Failure* refused) {
    LogState log;
    return named(check_epoch_used(connection, call, refused) && judge(&log, refused) &&
                     remember_epoch(connection, call, refused) && write(&log, progress, refused),
                 refused);
  };
  return named(run_write(connection, ask, act, failure), failure);
}

template <typename Write>
bool run_owner_write(Connection* connection, const OwnerCall& call, Write write,
                     Failure* failure) noexcept {
  const auto judge = [&](LogState* log, Failure* refused) {
    return judge_writer(connection, call, log, refused);
  };
  return run_owner_write(connection, call, judge, write, failure);
}

}  // namespace fence

#endif
