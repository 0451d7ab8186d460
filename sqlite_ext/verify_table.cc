// fence_verify(namespace, key): what stands in the file and cannot be, or should be looked
// at. Reads the caller's snapshot, takes no lock beyond the reader's own, changes nothing.
#include <new>

#include "core/argument.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/limits.h"
#include "sqlite_ext/rows_table.h"
#include "sqlite_ext/verify.h"

namespace fence {

namespace {

struct VerifyCursor {
  sqlite3_vtab_cursor base{};
  Verifier* verifier = nullptr;
  Finding finding;  // the row at which it stands
  int64_t row = 0;
  bool at_row = false;
};

struct VerifyTable : RowsTable<VerifyTable> {
  // The arguments have names of their own: namespace and key are columns of the answer.
  static constexpr const char* columns =
      "CREATE TABLE x(severity TEXT, object TEXT, problem TEXT, namespace TEXT, key TEXT,"
      " idx INTEGER, of_namespace TEXT HIDDEN, of_key TEXT HIDDEN)";
  static constexpr int visible_columns = 6;

  enum Argument : int { arg_namespace, arg_key };
  static constexpr int argument_count = 2;

  static VerifyCursor* verify_cursor(sqlite3_vtab_cursor* cursor) noexcept {
    return reinterpret_cast<VerifyCursor*>(cursor);
  }

  static int best_index(sqlite3_vtab* table, sqlite3_index_info* info) noexcept {
    const int rc = RowsTable::best_index(table, info);
    info->orderByConsumed = 0;  // the rows come in no order of a column
    return rc;
  }

  static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) noexcept {
    void* memory = sqlite3_malloc(sizeof(VerifyCursor));
    if (memory == nullptr) {
      return SQLITE_NOMEM;
    }
    *cursor = &(new (memory) VerifyCursor())->base;
    return SQLITE_OK;
  }

  static void drop_verifier(VerifyCursor* cursor) noexcept {
    if (cursor->verifier != nullptr) {
      cursor->verifier->~Verifier();
      sqlite3_free(cursor->verifier);
      cursor->verifier = nullptr;
    }
    cursor->at_row = false;
  }

  static int close(sqlite3_vtab_cursor* cursor) noexcept {
    drop_verifier(verify_cursor(cursor));
    sqlite3_free(cursor);
    return SQLITE_OK;
  }

  static int filter(sqlite3_vtab_cursor* base, int given, const char*, int,
                    sqlite3_value** values) noexcept {
    VerifyCursor* cursor = verify_cursor(base);
    drop_verifier(cursor);
    const Arguments<argument_count> arguments(given, values);
    VerifyRange range;
    Failure failure;
    if ((arguments.stated(arg_namespace) &&
         !read_name(arguments.values[arg_namespace], reasons::bad_namespace, &range.ns,
                    &failure)) ||
        (arguments.stated(arg_key) &&
         !read_name(arguments.values[arg_key], reasons::bad_key, &range.key, &failure))) {
      failure.name_key(range.ns, range.key);
      return failure.raise(base->pVtab);
    }
    const LimitScope limits(connection_of(base->pVtab)->db);
    void* memory = sqlite3_malloc(sizeof(Verifier));
    if (memory == nullptr) {
      return SQLITE_NOMEM;
    }
    cursor->verifier = new (memory) Verifier(connection_of(base->pVtab), range);
    return cursor->verifier->start(&failure) ? next(base) : failure.raise(base->pVtab);
  }

  static int next(sqlite3_vtab_cursor* base) noexcept {
    const LimitScope limits(connection_of(base->pVtab)->db);
    VerifyCursor* cursor = verify_cursor(base);
    Failure failure;
    const VerifyStep step = cursor->verifier->next(&cursor->finding, &failure);
    cursor->at_row = step == VerifyStep::found;
    ++cursor->row;
    return step == VerifyStep::failed ? failure.raise(base->pVtab) : SQLITE_OK;
  }

  static int eof(sqlite3_vtab_cursor* base) noexcept { return verify_cursor(base)->at_row ? 0 : 1; }

  static int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* rowid) noexcept {
    *rowid = verify_cursor(base)->row;
    return SQLITE_OK;
  }

  static void put_name(sqlite3_context* context, std::string_view name) noexcept {
    if (!name.empty()) {
      sqlite3_result_text(context, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
    }
  }

  static int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int number) noexcept {
    const VerifyCursor* cursor = verify_cursor(base);
    const Finding& finding = cursor->finding;
    switch (number) {
      case 0:
        sqlite3_result_text(context, finding.severity, -1, SQLITE_STATIC);
        break;
      case 1:
        sqlite3_result_text(context, finding.object, -1, SQLITE_TRANSIENT);
        break;
      case 2:
        sqlite3_result_text(context, finding.problem, -1, SQLITE_STATIC);
        break;
      case 3:
        put_name(context, finding.ns);
        break;
      case 4:
        put_name(context, finding.key);
        break;
      case 5:
        if (finding.idx.known) {
          sqlite3_result_int64(context, finding.idx.value);
        }
        break;
      case visible_columns + arg_namespace:
        // SQLite compares them where a condition repeats an argument.
        put_name(context, cursor->verifier->range().ns);
        break;
      default:
        put_name(context, cursor->verifier->range().key);
    }
    return SQLITE_OK;
  }
};

}  // namespace

int register_verify_table(Connection* connection) noexcept {
  return register_module<VerifyTable>(connection, "fence_verify");
}

}  // namespace fence
