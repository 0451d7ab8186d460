// fence_refusals and fence_stat: what this connection was refused.
#include <cstdio>
#include <ctime>

#include "sqlite_ext/functions.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

// A table over numbered rows: from first to before end, as they were when it was asked.
struct NumberedCursor {
  sqlite3_vtab_cursor base;
  int64_t at;
  int64_t end;
};

// Table: range(Evidence, NumberedCursor*), put(Evidence, number, context, column).
template <typename Table>
struct NumberedTable : VirtualTable {
  static NumberedCursor* cursor_of(sqlite3_vtab_cursor* cursor) noexcept {
    return reinterpret_cast<NumberedCursor*>(cursor);
  }
  static const Evidence& evidence_of(sqlite3_vtab_cursor* cursor) noexcept {
    return connection_of(cursor->pVtab)->evidence;
  }

  static int best_index(sqlite3_vtab*, sqlite3_index_info* info) noexcept {
    info->estimatedCost = 100;
    info->estimatedRows = 100;
    return SQLITE_OK;
  }
  static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) noexcept {
    auto* made = static_cast<NumberedCursor*>(sqlite3_malloc(sizeof(NumberedCursor)));
    if (made == nullptr) {
      return SQLITE_NOMEM;
    }
    std::memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) noexcept {
    Table::range(evidence_of(cursor), cursor_of(cursor));
    return SQLITE_OK;
  }
  static int next(sqlite3_vtab_cursor* cursor) noexcept {
    ++cursor_of(cursor)->at;
    return SQLITE_OK;
  }
  static int eof(sqlite3_vtab_cursor* cursor) noexcept {
    return cursor_of(cursor)->at < cursor_of(cursor)->end ? 0 : 1;
  }
  static int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) noexcept {
    Table::put(evidence_of(cursor), cursor_of(cursor)->at, context, number);
    return SQLITE_OK;
  }
  static int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) noexcept {
    *rowid = cursor_of(cursor)->at + 1;
    return SQLITE_OK;
  }
};

void put_text(sqlite3_context* context, std::string_view text) noexcept {
  if (!text.empty()) {
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
}

void put_epoch(sqlite3_context* context, const Maybe<int64_t>& epoch) noexcept {
  if (epoch.known) {
    sqlite3_result_int64(context, epoch.value);
  }
}

void put_writer(sqlite3_context* context, const Maybe<WriterHash>& writer) noexcept {
  if (writer.known) {
    put_text(context, fingerprint(writer.value).text);
  }
}

void put_time(sqlite3_context* context, int64_t ms) noexcept {
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  char text[40];
  if (gmtime_r(&seconds, &utc) != nullptr) {
    const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(ms % 1000));
    put_text(context, text);
  }
}

struct RefusalsTable : NumberedTable<RefusalsTable> {
  static constexpr const char* columns =
      "CREATE TABLE x(at TEXT, code TEXT, namespace TEXT, key TEXT, asserted_epoch INTEGER,"
      " asserted_writer TEXT, stored_epoch INTEGER, stored_writer TEXT)";

  static void range(const Evidence& evidence, NumberedCursor* cursor) noexcept {
    cursor->at = evidence.first();
    cursor->end = evidence.end();
  }
  // Calls in the same statement may push out the row at which it stands: NULLs.
  static void put(const Evidence& evidence, int64_t number, sqlite3_context* context,
                  int column) noexcept {
    const KeptEvidence* one = evidence.find(number);
    if (one == nullptr) {
      return;
    }
    switch (column) {
      case 0:
        return put_time(context, one->at);
      case 1:
        return put_text(context, rule_of(one->code).sqlstate);
      case 2:
        return put_text(context, one->ns());
      case 3:
        return put_text(context, one->key());
      case 4:
        return put_epoch(context, one->asserted_epoch);
      case 5:
        return put_writer(context, one->asserted_writer);
      case 6:
        return put_epoch(context, one->stored_epoch);
      default:
        return put_writer(context, one->stored_writer);
    }
  }
};

// A row for each code, those included that never came.
struct StatTable : NumberedTable<StatTable> {
  static constexpr const char* columns = "CREATE TABLE x(code TEXT, name TEXT, count INTEGER)";

  static void range(const Evidence&, NumberedCursor* cursor) noexcept {
    cursor->at = 1;
    cursor->end = Evidence::code_count;
  }
  static void put(const Evidence& evidence, int64_t number, sqlite3_context* context,
                  int column) noexcept {
    const CodeRule& rule = rule_of(static_cast<Code>(number));
    switch (column) {
      case 0:
        return put_text(context, rule.sqlstate);
      case 1:
        return put_text(context, rule.name);
      default:
        sqlite3_result_int64(context, evidence.counted(rule.code));
    }
  }
};

}  // namespace

int register_evidence_tables(Connection* connection) noexcept {
  const int rc = register_module<RefusalsTable>(connection, "fence_refusals");
  return rc == SQLITE_OK ? register_module<StatTable>(connection, "fence_stat") : rc;
}

}  // namespace fence
