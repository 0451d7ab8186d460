// A table-valued function over one SELECT: its visible columns first, then one
// hidden column for each argument. Takes no lock beyond the reader's own and
// asserts nothing. A table derives from it and says which arguments it takes.
#ifndef FENCE_SQLITE_EXT_ROWS_TABLE_H
#define FENCE_SQLITE_EXT_ROWS_TABLE_H

#include "sqlite_ext/arguments.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

// How many rows are given where max is not.
constexpr int64_t default_max = 1000;

struct RowsCursor {
  sqlite3_vtab_cursor base;
  sqlite3_stmt* rows;
  bool at_row;
};

// The values of the arguments that are given, by number; nullptr: not given.
template <int count>
struct Arguments {
  sqlite3_value* values[count] = {};

  Arguments(int given, sqlite3_value** in_order) noexcept {
    for (int i = 0; i < count; ++i) {
      values[i] = (given & (1 << i)) != 0 ? *in_order++ : nullptr;
    }
  }
  // Was it given, and not as NULL?
  bool stated(int argument) const noexcept {
    return values[argument] != nullptr && sqlite3_value_type(values[argument]) != SQLITE_NULL;
  }
};

bool prepare_rows(Connection* connection, const char* sql, sqlite3_stmt** rows,
                  Failure* failure) noexcept;

// A copy: the values of a call live only as long as the call.
void bind_copy(sqlite3_stmt* rows, int position, std::string_view text) noexcept;

// Table: visible_columns, argument_count; start(Connection*, given, values, RowsCursor*,
// Failure*) prepares and binds; ended(RowsCursor*) may end it before its last row.
template <typename Table>
struct RowsTable : VirtualTable {
  static RowsCursor* cursor_of(sqlite3_vtab_cursor* cursor) noexcept {
    return reinterpret_cast<RowsCursor*>(cursor);
  }

  static bool ended(RowsCursor*) noexcept { return false; }

  // idxNum is a bit for each argument that is given; their values follow in order.
  static int best_index(sqlite3_vtab*, sqlite3_index_info* info) noexcept {
    int given[Table::argument_count];
    for (int& constraint : given) {
      constraint = -1;
    }
    for (int i = 0; i < info->nConstraint; ++i) {
      const auto& constraint = info->aConstraint[i];
      const int argument = constraint.iColumn - Table::visible_columns;
      if (argument < 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) {
        continue;
      }
      if (constraint.usable == 0) {
        return SQLITE_CONSTRAINT;  // its value comes from a table not read yet
      }
      given[argument] = i;
    }
    int position = 0;
    for (int argument = 0; argument < Table::argument_count; ++argument) {
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
    auto* made = static_cast<RowsCursor*>(sqlite3_malloc(sizeof(RowsCursor)));
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

  static int filter(sqlite3_vtab_cursor* base, int given, const char*, int,
                    sqlite3_value** values) noexcept {
    RowsCursor* cursor = cursor_of(base);
    sqlite3_finalize(cursor->rows);
    cursor->rows = nullptr;
    Failure failure;
    const Arguments<Table::argument_count> arguments(given, values);
    if (!Table::start(connection_of(base->pVtab), arguments, cursor, &failure)) {
      return failure.raise(base->pVtab);
    }
    return next(base);
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    RowsCursor* cursor = cursor_of(base);
    const int rc = sqlite3_step(cursor->rows);
    cursor->at_row = rc == SQLITE_ROW && !Table::ended(cursor);
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
};

}  // namespace fence

#endif
