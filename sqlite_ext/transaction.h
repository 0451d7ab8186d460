// Fence's part in the transactions of a connection. A TEMP virtual table is
// enlisted in each transaction that Fence has a say in: SQLite then asks it at
// COMMIT, where a refusal that the application has swallowed is raised again.
//
// TEMP, because enlisting a table of main would take main's write lock: a stale
// caller must be told so even while somebody else writes, and must not sit on
// the lock afterwards.
#ifndef FENCE_SQLITE_EXT_TRANSACTION_H
#define FENCE_SQLITE_EXT_TRANSACTION_H

#include "core/refusal.h"
#include "sqlite_ext/asserted_keys.h"
#include "sqlite_ext/failure.h"

namespace fence {

struct Connection;

struct Transaction {
  // The table through which SQLite asks at COMMIT; nullptr: none is enlisted.
  sqlite3_vtab* carrier = nullptr;
  bool doomed = false;
  KeptRefusal first;  // the refusal that doomed it
  int level = 0;      // number of open savepoints
  // Something was written to main: from here on its journal mode is settled.
  bool journal_settled = false;
  AssertedKeys keys;

  bool enlisted() const noexcept { return carrier != nullptr; }
  void clear() noexcept;
};

// Is a transaction of the application open? A statement that is writing around the
// call counts, to whatever schema: the call is then part of its transaction.
bool in_transaction(sqlite3* db) noexcept;

// Puts the table into the current transaction, and makes it where it is missing.
bool enlist(Connection* connection, Failure* failure) noexcept;

// From here on the current transaction cannot commit: COMMIT fails with ZF009
// and everything is rolled back, whatever savepoints are rolled back before.
void doom(Connection* connection, const Refusal& first) noexcept;

// Ends the transaction that is open, if there is one, and keeps nothing of it; works
// also when the application has cancelled what is running.
void roll_back(Connection* connection) noexcept;

// Fails with ZF009 when the current transaction is doomed.
bool check_not_doomed(Connection* connection, Failure* failure) noexcept;

int register_transaction_table(Connection* connection) noexcept;

namespace reasons {
extern const Reason not_enlisted;
}  // namespace reasons

}  // namespace fence

#endif
