// Calls that are a transaction of their own, flushed to disk when they return: what
// they change must not come back after a power cut.
#ifndef FENCE_SQLITE_EXT_OWN_TRANSACTION_H
#define FENCE_SQLITE_EXT_OWN_TRANSACTION_H

#include "sqlite_ext/durability.h"
#include "sqlite_ext/write_scope.h"

namespace fence {

// As run_write, but refused (ZF012) while a transaction is open.
template <typename Judge, typename Write>
bool run_alone(Connection* connection, Judge judge, Write write, Failure* failure) noexcept {
  if (!check_alone(connection, failure)) {
    return false;
  }
  const DurableCommit durable(connection, failure);
  return durable.ready() && run_write(connection, judge, write, failure);
}

// For what is decided under the lock alone.
template <typename Write>
bool run_alone(Connection* connection, Write write, Failure* failure) noexcept {
  return run_alone(
      connection, [](Failure*) { return true; }, write, failure);
}

}  // namespace fence

#endif
