#include "sqlite_ext/transaction.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

struct TransactionTable : VirtualTable {
  static constexpr const char* columns = "CREATE TABLE x(unused)";
  // Were it eponymous as well, temp.fence_transaction would resolve to main's.
  static constexpr bool eponymous = false;

  static bool may_drop(Connection* connection, sqlite3_vtab* table) noexcept {
    if (!connection->transaction.doomed || !layer(Layer::tx_destroy)) {
      return true;
    }
    Failure failure;
    failure.refuse_doomed(connection->transaction.first.get());
    failure.raise(table);
    return false;
  }

  static int update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) noexcept {
    return SQLITE_READONLY;
  }

  static int begin(sqlite3_vtab* table) noexcept {
    Transaction& transaction = connection_of(table)->transaction;
    transaction.clear();
    transaction.enlisted = true;
    return SQLITE_OK;
  }

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

}  // namespace

void Transaction::clear() noexcept {
  enlisted = false;
  doomed = false;
  first.clear();
  level = 0;
  keys.clear();
}

bool in_transaction(sqlite3* db) noexcept {
  return sqlite3_get_autocommit(db) == 0 || sqlite3_txn_state(db, nullptr) == SQLITE_TXN_WRITE;
}

bool enlist(Connection* connection, Failure* failure) noexcept {
  if (connection->transaction.enlisted) {
    return true;
  }
  {
    Use use(connection, Sql::enlist);
    if (use.run()) {
      return true;
    }
    if ((use.rc() & 0xff) != SQLITE_ERROR) {
      failure->pass_on(connection->db, use.rc());
      return false;
    }
  }
  if (!create_transaction_table(connection, failure)) {
    return false;
  }
  // SQLite enlists a virtual table that it creates, without calling xBegin.
  connection->transaction.clear();
  connection->transaction.enlisted = true;
  return true;
}

void doom(Connection* connection, const Refusal& first) noexcept {
  if (!layer(Layer::doom) || connection->transaction.doomed || !in_transaction(connection->db)) {
    return;
  }
  Failure failure;
  if (!enlist(connection, &failure)) {
    // Nothing would stop the COMMIT: end the transaction here and now.
    Use(connection, Sql::rollback).run();
    return;
  }
  connection->transaction.first.keep(first);
  connection->transaction.doomed = true;
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
