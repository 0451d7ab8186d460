#include "sqlite_ext/rows_table.h"

namespace fence {

bool prepare_rows(Connection* connection, const char* sql, sqlite3_stmt** rows,
                  Failure* failure) noexcept {
  const bool outer_armed = connection->armed;
  connection->armed = true;
  const int rc = sqlite3_prepare_v2(connection->db, sql, -1, rows, nullptr);
  connection->armed = outer_armed;
  if (rc != SQLITE_OK) {
    refuse_unreadable(connection, sqlite3_extended_errcode(connection->db), failure);
  }
  return rc == SQLITE_OK;
}

void bind_copy(sqlite3_stmt* rows, int position, std::string_view text) noexcept {
  sqlite3_bind_text(rows, position, text.empty() ? "" : text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

}  // namespace fence
