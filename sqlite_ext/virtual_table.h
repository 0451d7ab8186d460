// The parts that all of Fence's virtual tables share. A table is a struct that
// derives from VirtualTable and hides what it wants to be different.
#ifndef FENCE_SQLITE_EXT_VIRTUAL_TABLE_H
#define FENCE_SQLITE_EXT_VIRTUAL_TABLE_H

#include <cstring>

#include "sqlite_ext/connection.h"

namespace fence {

// base must stay first: SQLite hands out pointers to it.
struct TableObject {
  sqlite3_vtab base;
  Connection* connection;
};

inline Connection* connection_of(sqlite3_vtab* table) noexcept {
  return reinterpret_cast<TableObject*>(table)->connection;
}

// A table that has no rows and takes no writes.
struct VirtualTable {
  static constexpr bool direct_only = false;
  static constexpr bool eponymous = true;

  static void connected(Connection*) noexcept {}
  static void created(sqlite3_vtab*) noexcept {}
  static void disconnected(Connection*) noexcept {}

  static int best_index(sqlite3_vtab*, sqlite3_index_info* info) noexcept {
    info->estimatedCost = 1;
    info->estimatedRows = 1;
    return SQLITE_OK;
  }
  static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) noexcept {
    auto* made = static_cast<sqlite3_vtab_cursor*>(sqlite3_malloc(sizeof **cursor));
    if (made == nullptr) {
      return SQLITE_NOMEM;
    }
    std::memset(made, 0, sizeof *made);
    *cursor = made;
    return SQLITE_OK;
  }
  static int close(sqlite3_vtab_cursor* cursor) noexcept {
    sqlite3_free(cursor);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor*, int, const char*, int, sqlite3_value**) noexcept {
    return SQLITE_OK;
  }
  static int next(sqlite3_vtab_cursor*) noexcept { return SQLITE_OK; }
  static int eof(sqlite3_vtab_cursor*) noexcept { return 1; }
  static int column(sqlite3_vtab_cursor*, sqlite3_context*, int) noexcept { return SQLITE_OK; }
  static int rowid(sqlite3_vtab_cursor*, sqlite3_int64* rowid) noexcept {
    *rowid = 0;
    return SQLITE_OK;
  }
  // May CREATE VIRTUAL TABLE make one? Only asked of tables that are not eponymous.
  static bool may_create(Connection*) noexcept { return true; }
  // May DROP TABLE remove it? Only asked of tables that are not eponymous.
  static bool may_drop(Connection*, sqlite3_vtab*) noexcept { return true; }
  // Leaves the methods for writes and transactions out, or fills them in.
  static constexpr void complete(sqlite3_module*) noexcept {}
};

template <typename Table>
int connect_table(sqlite3* db, void* connection, int, const char* const*, sqlite3_vtab** table,
                  char**) noexcept {
  const int rc = sqlite3_declare_vtab(db, Table::columns);
  if (rc != SQLITE_OK) {
    return rc;
  }
  if (Table::direct_only) {
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
  }
  auto* made = static_cast<TableObject*>(sqlite3_malloc(sizeof(TableObject)));
  if (made == nullptr) {
    return SQLITE_NOMEM;
  }
  std::memset(made, 0, sizeof *made);
  // A reference of its own: SQLite lets go of a module before it disconnects the
  // module's last table.
  made->connection = static_cast<Connection*>(connection);
  ++made->connection->references;
  *table = &made->base;
  Table::connected(made->connection);
  return SQLITE_OK;
}

// A function of its own: where xCreate is xConnect, the table is eponymous as well.
template <typename Table>
int create_table(sqlite3* db, void* connection, int count, const char* const* arguments,
                 sqlite3_vtab** table, char** error) noexcept {
  if (!Table::may_create(static_cast<Connection*>(connection))) {
    *error = sqlite3_mprintf("ZF012 configuration: only Fence itself makes tables of this module");
    return SQLITE_ERROR;
  }
  const int rc = connect_table<Table>(db, connection, count, arguments, table, error);
  if (rc == SQLITE_OK) {
    Table::created(*table);
  }
  return rc;
}

template <typename Table>
int disconnect_table(sqlite3_vtab* table) noexcept {
  Connection* connection = connection_of(table);
  Table::disconnected(connection);
  // A text that SQLite did not ask for: it reads none of xDestroy.
  sqlite3_free(table->zErrMsg);
  sqlite3_free(table);
  release_connection(connection);
  return SQLITE_OK;
}

template <typename Table>
int destroy_table(sqlite3_vtab* table) noexcept {
  if (!Table::may_drop(connection_of(table), table)) {
    return SQLITE_LOCKED;
  }
  return disconnect_table<Table>(table);
}

template <typename Table>
constexpr sqlite3_module make_module() noexcept {
  sqlite3_module made{};
  made.iVersion = 3;
  made.xCreate = Table::eponymous ? nullptr : create_table<Table>;
  made.xConnect = connect_table<Table>;
  made.xBestIndex = Table::best_index;
  made.xDisconnect = disconnect_table<Table>;
  made.xDestroy = destroy_table<Table>;
  made.xOpen = Table::open;
  made.xClose = Table::close;
  made.xFilter = Table::filter;
  made.xNext = Table::next;
  made.xEof = Table::eof;
  made.xColumn = Table::column;
  made.xRowid = Table::rowid;
  Table::complete(&made);
  return made;
}

// SQLite keeps the address: one constant for each kind of table.
template <typename Table>
inline constexpr sqlite3_module module_of = make_module<Table>();

template <typename Table>
int register_module(Connection* connection, const char* name) noexcept {
  ++connection->references;
  return sqlite3_create_module_v2(connection->db, name, &module_of<Table>, connection,
                                  release_connection);
}

}  // namespace fence

#endif
