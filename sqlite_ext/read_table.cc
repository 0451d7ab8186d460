// oplog_read(namespace, key, from_idx, to_idx, max): entries in ascending order
// of idx.
#include "core/argument.h"
#include "core/number.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/owner_call.h"
#include "sqlite_ext/rows_table.h"

namespace fence {

namespace {

const Reason key_not_given = {
    Code::out_of_range, "oplog_read was called without namespace and key",
    "SELECT … FROM oplog_read(namespace, key); for all keys use oplog_entries"};

struct Bounds {
  LogName name;
  int64_t from = 0;
  int64_t to = greatest_number;
  int64_t max = default_max;
};

struct ReadTable : RowsTable<ReadTable> {
  static constexpr const char* columns =
      "CREATE TABLE x(idx INTEGER, epoch INTEGER, payload BLOB, namespace TEXT HIDDEN,"
      " key TEXT HIDDEN, from_idx INTEGER HIDDEN, to_idx INTEGER HIDDEN, max INTEGER HIDDEN)";
  static constexpr int visible_columns = 3;

  // In the order of the arguments.
  enum Argument : int { arg_namespace, arg_key, arg_from, arg_to, arg_max };
  static constexpr int argument_count = 5;

  static bool read_bounds(const Arguments<argument_count>& arguments, Bounds* bounds,
                          Failure* failure) noexcept {
    if (arguments.values[arg_namespace] == nullptr || arguments.values[arg_key] == nullptr) {
      failure->refuse(key_not_given);
      return false;
    }
    const auto bound = [&](int argument, int64_t* number) {
      return !arguments.stated(argument) ||
             read_number(arguments.values[argument], reasons::bad_range, number, failure);
    };
    return read_name(arguments.values[arg_namespace], reasons::bad_namespace, &bounds->name.ns,
                     failure) &&
           read_name(arguments.values[arg_key], reasons::bad_key, &bounds->name.key, failure) &&
           bound(arg_from, &bounds->from) && bound(arg_to, &bounds->to) &&
           bound(arg_max, &bounds->max);
  }

  static bool start(Connection* connection, const Arguments<argument_count>& arguments,
                    RowsCursor* cursor, Failure* failure) noexcept {
    Bounds bounds;
    if (!read_bounds(arguments, &bounds, failure) ||
        !prepare_rows(connection,
                      "SELECT idx, CASE WHEN epoch >= 0 THEN epoch END, payload, ?1, ?2, ?3, ?4, ?5"
                      " FROM main.fence_oplog_v1 WHERE namespace = ?1 AND key = ?2"
                      " AND idx BETWEEN ?3 AND ?4 ORDER BY idx LIMIT ?5",
                      &cursor->rows, failure)) {
      failure->name_key(bounds.name.ns, bounds.name.key);
      return false;
    }
    bind_copy(cursor->rows, 1, bounds.name.ns);
    bind_copy(cursor->rows, 2, bounds.name.key);
    sqlite3_bind_int64(cursor->rows, 3, bounds.from);
    sqlite3_bind_int64(cursor->rows, 4, bounds.to);
    sqlite3_bind_int64(cursor->rows, 5, bounds.max);
    return true;
  }

  static int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* rowid) noexcept {
    *rowid = sqlite3_column_int64(cursor_of(base)->rows, 0);
    return SQLITE_OK;
  }
};

}  // namespace

int register_read_table(Connection* connection) noexcept {
  return register_module<ReadTable>(connection, "oplog_read");
}

}  // namespace fence
