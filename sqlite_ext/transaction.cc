#include "sqlite_ext/transaction.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace reasons {
const Reason not_enlisted = {
    Code::guard_broken, "the TEMP table fence_transaction or its module is not Fence's own",
    "drop the table, load the extension on a new connection, and find out who replaced it"};
}  // namespace reasons

namespace {

struct TransactionTable : VirtualTable {
  static constexpr const char* columns = "CREATE TABLE x(unused)";
  // Were it eponymous as well, temp.fence_transaction would resolve to main's.
  static constexpr bool eponymous = false;

  static bool may_create(Connection* connection) noexcept { return connection->armed; }

  static bool may_drop(Connection* connection, sqlite3_vtab* table) noexcept {
    Transaction& transaction = connection->transaction;
    if (!transaction.doomed || !layer(Layer::tx_destroy)) {
      // SQLite forgets a dropped table without a word about its transaction.
      if (transaction.carrier == table) {
        transaction.clear();
      }
      return true;
    }
    Failure failure;
    failure.refuse_doomed(transaction.first.get());
    failure.raise(table);
    return false;
  }

  // Without it SQLite renames the table and asks nobody.
  static int rename(sqlite3_vtab* table, const char*) noexcept {
    Failure failure;
    failure.refuse(reasons::not_enlisted);
    return failure.raise(table);
  }

  static int update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) noexcept {
    return SQLITE_READONLY;
  }

  // The application may make more tables of this module, and SQLite may connect
  // this one anew within a transaction: only the first one begins anything.
  static int begin(sqlite3_vtab* table) noexcept {
    Transaction& transaction = connection_of(table)->transaction;
    if (!transaction.enlisted()) {
      transaction.clear();
      transaction.carrier = table;
    }
    return SQLITE_OK;
  }

  // SQLite enlists a virtual table that it creates, without calling xBegin.
  static void created(sqlite3_vtab* table) noexcept { begin(table); }

  static int sync(sqlite3_vtab* table) noexcept {
    const Transaction& transaction = connection_of(table)->transaction;
    if (!transaction.doomed) {
      return SQLITE_OK;
    }
    Failure failure;
    failure.refuse_doomed(transaction.first.get());
    return failure.raise(table);
  }

  static int end(sqlite3_vtab* table) noexcept {
    connection_of(table)->transaction.clear();
    return SQLITE_OK;
  }

  static int savepoint(sqlite3_vtab* table, int number) noexcept {
    connection_of(table)->transaction.level = number + 1;
    return SQLITE_OK;
  }

  static int release(sqlite3_vtab* table, int number) noexcept {
    Transaction& transaction = connection_of(table)->transaction;
    const int level = number < 0 ? 0 : number;
    if (transaction.level > level) {
      transaction.level = level;
    }
    transaction.keys.lower_to(transaction.level);
    return SQLITE_OK;
  }

  // What a transaction was refused for does not go away with a savepoint: the
  // application has believed itself the owner all along.
  static int rollback_to(sqlite3_vtab* table, int number) noexcept {
    connection_of(table)->transaction.keys.forget_above(number);
    return SQLITE_OK;
  }

  static constexpr void complete(sqlite3_module* module) noexcept {
    module->xUpdate = update;
    module->xRename = rename;
    module->xBegin = begin;
    module->xSync = sync;
    module->xCommit = end;
    module->xRollback = end;
    module->xSavepoint = savepoint;
    module->xRelease = release;
    module->xRollbackTo = rollback_to;
  }
};

// PRAGMA temp_store drops every TEMP table, and so may the application.
bool create_transaction_table(Connection* connection, Failure* failure) noexcept {
  const bool outer_armed = connection->armed;
  connection->armed = true;
  const int rc = sqlite3_exec(connection->db,
                              "CREATE VIRTUAL TABLE temp.fence_transaction USING fence_transaction",
                              nullptr, nullptr, nullptr);
  connection->armed = outer_armed;
  if (rc != SQLITE_OK) {
    failure->pass_on(connection->db, rc);
    return false;
  }
  return true;
}

int run_enlist(Connection* connection) noexcept {
  Use use(connection, Sql::enlist);
  use.run();
  return use.rc();
}

}  // namespace

void Transaction::clear() noexcept {
  carrier = nullptr;
  doomed = false;
  first.clear();
  level = 0;
  journal_settled = false;
  keys.clear();
}

bool in_transaction(sqlite3* db) noexcept {
  return sqlite3_get_autocommit(db) == 0 || sqlite3_txn_state(db, nullptr) == SQLITE_TXN_WRITE;
}

bool enlist(Connection* connection, Failure* failure) noexcept {
  if (connection->transaction.enlisted()) {
    return true;
  }
  int rc = run_enlist(connection);
  if ((rc & 0xff) == SQLITE_ERROR) {
    if (!create_transaction_table(connection, failure)) {
      return false;
    }
    // Now for what else it does: the table learns how many savepoints are open.
    rc = run_enlist(connection);
  }
  if (connection->transaction.enlisted()) {
    return true;
  }
  if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_ERROR) {
    failure->refuse(reasons::not_enlisted);
  } else {
    failure->pass_on(connection->db, rc);
  }
  return false;
}

void doom(Connection* connection, const Refusal& first) noexcept {
  if (!layer(Layer::doom) || connection->transaction.doomed || !in_transaction(connection->db)) {
    return;
  }
  Failure failure;
  if (!enlist(connection, &failure)) {
    // Nothing would stop the COMMIT: end the transaction here and now.
    roll_back(connection);
    return;
  }
  connection->transaction.first.keep(first);
  connection->transaction.doomed = true;
}

void roll_back(Connection* connection) noexcept {
  // A connection that was cancelled runs no statement to its end, and ROLLBACK is one.
  // But SQLite rolls back by itself when it stops a statement that would write: BEGIN
  // IMMEDIATE, else an error here; or another where that would have to be prepared
  // anew, which sqlite3_interrupt prevents.
  for (const Sql sql : {Sql::rollback, Sql::begin, Sql::any_write}) {
    if (sqlite3_get_autocommit(connection->db) == 0) {
      Use(connection, sql).run();
    }
  }
}

bool check_not_doomed(Connection* connection, Failure* failure) noexcept {
  if (!connection->transaction.doomed || !layer(Layer::doom_early)) {
    return true;
  }
  failure->refuse_doomed(connection->transaction.first.get());
  return false;
}

int register_transaction_table(Connection* connection) noexcept {
  return register_module<TransactionTable>(connection, "fence_transaction");
}

}  // namespace fence
