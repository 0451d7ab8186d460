#include "sqlite_ext/stored_row.h"

#include <cstring>

namespace fence {

bool read_integer(sqlite3_stmt* row, int column, int64_t* value) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_INTEGER) {
    return false;
  }
  *value = sqlite3_column_int64(row, column);
  return true;
}

bool read_16_bytes(sqlite3_stmt* row, int column, unsigned char (&bytes)[16]) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_BLOB || sqlite3_column_bytes(row, column) != 16) {
    return false;
  }
  std::memcpy(bytes, sqlite3_column_blob(row, column), 16);
  return true;
}

bool read_text(sqlite3_stmt* row, int column, std::string_view* text) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_TEXT) {
    return false;
  }
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  *text = data == nullptr
              ? std::string_view()
              : std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(row, column)));
  return data != nullptr;
}

bool read_blob(sqlite3_stmt* row, int column, std::string_view* bytes) noexcept {
  if (sqlite3_column_type(row, column) != SQLITE_BLOB) {
    return false;
  }
  const auto* data = static_cast<const char*>(sqlite3_column_blob(row, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(row, column));
  *bytes = size == 0 ? std::string_view() : std::string_view(data, size);
  return true;
}

}  // namespace fence
