// INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES …:
// a write statement for SQLite, so one commit, all or nothing, never optimised
// away. The table has no rows.
#include "core/layer.h"
#include "sqlite_ext/append.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

const Reason append_only = {Code::configuration, "fenced_append takes INSERT only",
                            "read entries from oplog_entries or oplog_read"};

struct AppendTable : VirtualTable {
  // No column types: values must arrive as they were given, '007' not as 7.
  static constexpr const char* columns =
      "CREATE TABLE x(namespace, key, epoch, writer, idx, payload)";
  static constexpr bool direct_only = layer(Layer::directonly);

  // values: old rowid, new rowid, then the columns.
  static int update(sqlite3_vtab* table, int count, sqlite3_value** values,
                    sqlite3_int64* rowid) noexcept {
    Connection* connection = connection_of(table);
    Failure failure;
    if (count != 8 || sqlite3_value_type(values[0]) != SQLITE_NULL) {
      failure.refuse(append_only);
      return failure.raise(table);
    }
    const CallScope scope(connection, &failure);
    NewEntry entry;
    if (!scope.entered() || !append_one(connection, values + 2, &entry, &failure)) {
      return failure.raise(table);
    }
    *rowid = entry.idx;
    return SQLITE_OK;
  }

  static constexpr void complete(sqlite3_module* module) noexcept { module->xUpdate = update; }
};

}  // namespace

int register_append_table(Connection* connection) noexcept {
  return register_module<AppendTable>(connection, "fenced_append");
}

}  // namespace fence
