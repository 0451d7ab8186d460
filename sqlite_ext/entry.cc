// The entry points that SQLite calls when the extension is loaded.
#include <cstring>
#include <new>

#include "core/layer.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/virtual_table.h"

SQLITE_EXTENSION_INIT1

namespace fence {

namespace {

// sqlite3_txn_state, without which a stale caller could not be told from one
// whose transaction is already writing.
constexpr int oldest_sqlite = 3034000;

enum class Loaded : unsigned char { no, same, other };

// Is there a function of this name? Asked by a PRAGMA, for which SQLite does not
// read the schema: newer versions read it for any SELECT, and then do not know the
// marker's module yet. Builds without that PRAGMA list no function at all.
bool may_have_function(sqlite3* db, const char* name) noexcept {
  sqlite3_stmt* statement = nullptr;
  int listed = 0;
  bool found = false;
  if (sqlite3_prepare_v2(db, "PRAGMA function_list", -1, &statement, nullptr) == SQLITE_OK) {
    for (; !found && sqlite3_step(statement) == SQLITE_ROW; ++listed) {
      const auto* one = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      found = one != nullptr && sqlite3_stricmp(one, name) == 0;
    }
  }
  sqlite3_finalize(statement);
  return found || listed == 0;
}

// Has the connection loaded Fence before? Registering anew would give functions
// and tables two different states.
Loaded find_loaded(sqlite3* db) noexcept {
  if (!layer(Layer::idempotent_load) || !may_have_function(db, "fence_version")) {
    return Loaded::no;
  }
  sqlite3_stmt* statement = nullptr;
  Loaded loaded = Loaded::no;
  if (sqlite3_prepare_v2(db, "SELECT fence_version()", -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    const auto* version = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    loaded = version != nullptr && std::strcmp(version, FENCE_VERSION) == 0 ? Loaded::same
                                                                            : Loaded::other;
  }
  sqlite3_finalize(statement);
  return loaded;
}

// Tables become shadow tables when SQLite reads the schema and knows the module. It
// may have read it before: an application that sets its journal mode first has.
bool read_schema_again(sqlite3* db) noexcept {
  return sqlite3_exec(db, "PRAGMA writable_schema = RESET", nullptr, nullptr, nullptr) == SQLITE_OK;
}

// From 3.41 on SQLite refuses, under DEFENSIVE, to read a schema with a trigger of
// a shadow table behind the marker (a reloaded dump): nothing in the file could be
// used any more, fence_install() neither, which puts the marker where it belongs.
bool marker_misplaced(sqlite3* db) noexcept {
  sqlite3_stmt* statement = nullptr;
  const bool misplaced =
      sqlite3_prepare_v2(db,
                         "SELECT 1 FROM main.sqlite_schema f JOIN main.sqlite_schema t"
                         " ON t.rowid > f.rowid WHERE f.type = 'table' AND f.name = 'fence'"
                         " AND t.type = 'trigger' AND t.tbl_name LIKE 'fence!_%' ESCAPE '!'",
                         -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  return misplaced;
}

int register_all(Connection* connection) noexcept {
  // The first object that fails to register ends it; those before it go with the
  // connection.
  int rc = register_statement_owner(connection);
  const auto next = [&](int (*register_one)(Connection*) noexcept) {
    rc = rc == SQLITE_OK ? register_one(connection) : rc;
  };
  next(register_transaction_table);
  next(register_marker_table);
  next(register_append_table);
  next(register_read_table);
  next(register_keys_table);
  next(register_verify_table);
  next(register_evidence_tables);
  next(register_guard);
  next(register_functions);
  return rc;
}

int fail(char** message, const char* text) noexcept {
  if (message != nullptr) {
    *message = sqlite3_mprintf("%s", text);
  }
  return SQLITE_ERROR;
}

int load(sqlite3* db, char** message) noexcept {
  if (sqlite3_libversion_number() < oldest_sqlite) {
    return fail(message, "ZF012 configuration: Fence needs SQLite 3.34 or newer");
  }
  switch (find_loaded(db)) {
    case Loaded::same:
      return SQLITE_OK_LOAD_PERMANENTLY;
    case Loaded::other:
      return fail(message,
                  "ZF012 configuration: another version of Fence is loaded on this connection");
    case Loaded::no:
      break;
  }
  void* memory = sqlite3_malloc(sizeof(Connection));
  if (memory == nullptr) {
    return SQLITE_NOMEM;
  }
  auto* connection = new (memory) Connection();
  connection->db = db;
  connection->references = 1;
  const int rc = register_all(connection);
  const bool read_again = rc == SQLITE_OK && read_schema_again(db);
  if (read_again) {
    connection->defensive_withheld = marker_misplaced(db);
    if (layer(Layer::defensive) && !connection->defensive_withheld) {
      sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    }
  }
  release_connection(connection);
  if (rc != SQLITE_OK) {
    return fail(message, sqlite3_errmsg(db));
  }
  if (!read_again) {
    return fail(message,
                "ZF012 configuration: the application's authorizer forbids PRAGMA writable_schema, "
                "by which loading Fence makes SQLite read the schema again");
  }
  return SQLITE_OK_LOAD_PERMANENTLY;
}

}  // namespace

}  // namespace fence

extern "C" {

__attribute__((visibility("default"))) int sqlite3_fence_init(sqlite3* db, char** message,
                                                              const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  static_cast<void>(api);
  return fence::load(db, message);
}

#ifndef SQLITE_CORE
// The name that SQLite tries first, whatever the file is called. It must not call
// the other entry: SQLite loads libraries globally, and where two builds of Fence
// are in one process that name may belong to the other one.
__attribute__((visibility("default"))) int sqlite3_extension_init(sqlite3* db, char** message,
                                                                  const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  return fence::load(db, message);
}
#endif

}  // extern "C"
