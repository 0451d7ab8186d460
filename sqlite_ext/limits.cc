#include "sqlite_ext/limits.h"

namespace fence {

namespace {

// More than is needed, and far below what SQLite itself allows.
constexpr struct {
  int id;
  int least;
} needs[] = {
    {SQLITE_LIMIT_VARIABLE_NUMBER, 16},  // 13: the columns of a record
    {SQLITE_LIMIT_EXPR_DEPTH, 50},       // 25: the conditions of the triggers
    {SQLITE_LIMIT_COLUMN, 32},           // 22: a record with its namespace and newest entry
    {SQLITE_LIMIT_FUNCTION_ARG, 16},     // 14: the guard of a record
};

}  // namespace

LimitScope::LimitScope(sqlite3* db) noexcept : db_(db) {
  static_assert(sizeof needs / sizeof *needs == count, "one place for each limit");
  for (int i = 0; i < count; ++i) {
    const bool low = sqlite3_limit(db, needs[i].id, -1) < needs[i].least;
    before_[i] = low ? sqlite3_limit(db, needs[i].id, needs[i].least) : -1;
  }
}

LimitScope::~LimitScope() {
  for (int i = 0; i < count; ++i) {
    if (before_[i] >= 0) {
      sqlite3_limit(db_, needs[i].id, before_[i]);
    }
  }
}

}  // namespace fence
