// oplog_read(namespace, key, from_idx, to_idx, max): entries in ascending order
// of idx, as a table-valued function. Takes no lock beyond the reader's own and
// asserts nothing.
#include "core/argument.h"
#include "core/number.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

constexpr int64_t default_max = 1000;

// The hidden columns, in the order of the arguments.
enum Argument : int { arg_namespace, arg_key, arg_from, arg_to, arg_max, argument_count };
constexpr int first_hidden_column = 3;

const Reason key_not_given = {
    Code::out_of_range, "oplog_read was called without namespace and key",
    "SELECT … FROM oplog_read(namespace, key); for all keys use oplog_entries"};

struct Bounds {
  LogName name;
  int64_t from = 0;
  int64_t to = greatest_number;
  int64_t max = default_max;
};

struct ReadCursor {
  sqlite3_vtab_cursor base;
  sqlite3_stmt* rows;
  bool at_row;
};

ReadCursor* cursor_of(sqlite3_vtab_cursor* cursor) noexcept {
  return reinterpret_cast<ReadCursor*>(cursor);
}

struct ReadTable : VirtualTable {
  static constexpr const char* columns =
      "CREATE TABLE x(idx INTEGER, epoch INTEGER, payload BLOB, namespace TEXT HIDDEN,"
      " key TEXT HIDDEN, from_idx INTEGER HIDDEN, to_idx INTEGER HIDDEN, max INTEGER HIDDEN)";

  // idxNum is a bit for each argument that is given; their values follow in order.
  static int best_index(sqlite3_vtab*, sqlite3_index_info* info) noexcept {
    int given[argument_count];
    for (int& constraint : given) {
      constraint = -1;
    }
    for (int i = 0; i < info->nConstraint; ++i) {
      const auto& constraint = info->aConstraint[i];
      const int argument = constraint.iColumn - first_hidden_column;
      if (argument < 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) {
        continue;
      }
      if (constraint.usable == 0) {
        return SQLITE_CONSTRAINT;  // its value comes from a table not read yet
      }
      given[argument] = i;
    }
    int position = 0;
    for (int argument = 0; argument < argument_count; ++argument) {
      if (given[argument] >= 0) {
        info->aConstraintUsage[given[argument]].argvIndex = ++position;
        info->aConstraintUsage[given[argument]].omit = 1;
        info->idxNum |= 1 << argument;
      }
    }
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == 0 && info->aOrderBy[0].desc == 0;
    info->estimatedCost = 100;
    info->estimatedRows = default_max;
    return SQLITE_OK;
  }

  static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) noexcept {
    auto* made = static_cast<ReadCursor*>(sqlite3_malloc(sizeof(ReadCursor)));
    if (made == nullptr) {
      return SQLITE_NOMEM;
    }
    std::memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
  }

  static int close(sqlite3_vtab_cursor* cursor) noexcept {
    sqlite3_finalize(cursor_of(cursor)->rows);
    sqlite3_free(cursor);
    return SQLITE_OK;
  }

  static bool read_bounds(int given, sqlite3_value** values, Bounds* bounds,
                          Failure* failure) noexcept {
    if ((given & 3) != 3) {
      failure->refuse(key_not_given);
      return false;
    }
    const auto bound = [&](int argument, int64_t* number) {
      return (given & (1 << argument)) == 0 ||
             read_number_or_null(*values++, reasons::bad_range, number, failure);
    };
    return read_name(*values++, reasons::bad_namespace, &bounds->name.ns, failure) &&
           read_name(*values++, reasons::bad_key, &bounds->name.key, failure) &&
           bound(arg_from, &bounds->from) && bound(arg_to, &bounds->to) &&
           bound(arg_max, &bounds->max);
  }

  static int prepare(Connection* connection, ReadCursor* cursor, Failure* failure) noexcept {
    const bool outer_armed = connection->armed;
    connection->armed = true;
    const int rc = sqlite3_prepare_v2(
        connection->db,
        "SELECT idx, CASE WHEN epoch >= 0 THEN epoch END, payload, ?1, ?2, ?3, ?4, ?5"
        " FROM main.fence_oplog_v1 WHERE namespace = ?1 AND key = ?2 AND idx BETWEEN ?3 AND ?4"
        " ORDER BY idx LIMIT ?5",
        -1, &cursor->rows, nullptr);
    connection->armed = outer_armed;
    if (rc != SQLITE_OK) {
      refuse_unreadable(connection, sqlite3_extended_errcode(connection->db), failure);
    }
    return rc;
  }

  static int filter(sqlite3_vtab_cursor* base, int given, const char*, int,
                    sqlite3_value** values) noexcept {
    ReadCursor* cursor = cursor_of(base);
    Connection* connection = connection_of(base->pVtab);
    sqlite3_finalize(cursor->rows);
    cursor->rows = nullptr;
    Failure failure;
    Bounds bounds;
    if (!read_bounds(given, values, &bounds, &failure) ||
        prepare(connection, cursor, &failure) != SQLITE_OK) {
      failure.name_key(bounds.name.ns, bounds.name.key);
      return failure.raise(base->pVtab);
    }
    // The values live only as long as this call; names are copied.
    sqlite3_bind_text(cursor->rows, 1, bounds.name.ns.data(),
                      static_cast<int>(bounds.name.ns.size()), SQLITE_TRANSIENT);
    sqlite3_bind_text(cursor->rows, 2, bounds.name.key.data(),
                      static_cast<int>(bounds.name.key.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(cursor->rows, 3, bounds.from);
    sqlite3_bind_int64(cursor->rows, 4, bounds.to);
    sqlite3_bind_int64(cursor->rows, 5, bounds.max);
    return next(base);
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    ReadCursor* cursor = cursor_of(base);
    const int rc = sqlite3_step(cursor->rows);
    cursor->at_row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
      return SQLITE_OK;
    }
    Failure failure;
    failure.pass_on(connection_of(base->pVtab)->db, rc);
    return failure.raise(base->pVtab);
  }

  static int eof(sqlite3_vtab_cursor* base) noexcept { return cursor_of(base)->at_row ? 0 : 1; }

  static int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int number) noexcept {
    // The arguments too: SQLite compares them where a condition repeats one.
    sqlite3_result_value(context, sqlite3_column_value(cursor_of(base)->rows, number));
    return SQLITE_OK;
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
