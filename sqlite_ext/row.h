// A row of one of Fence's tables on its way into the file: the values are bound
// to a statement and, unchanged, are what the guard lets through.
#ifndef FENCE_SQLITE_EXT_ROW_H
#define FENCE_SQLITE_EXT_ROW_H

#include <cstdint>
#include <string_view>

#include "sqlite_ext/sqlite.h"

namespace fence {

// One value. Text and blobs are borrowed; they must outlive the row.
struct Field {
  enum class Type : unsigned char { null, integer, text, blob };

  Type type = Type::null;
  int64_t integer = 0;
  std::string_view bytes;
};

Field integer_field(int64_t value) noexcept;
Field text_field(std::string_view text) noexcept;
Field blob_field(const void* data, size_t size) noexcept;

// Binds a value to parameter number position (from 1).
int bind_field(sqlite3_stmt* statement, int position, const Field& field) noexcept;

// Is the value of the same type and content?
bool same_value(sqlite3_value* value, const Field& field) noexcept;

// kind: what the trigger calls this row, the first argument of the guard.
struct Row {
  static constexpr int most_fields = 13;

  const char* kind = nullptr;
  int count = 0;
  Field fields[most_fields];

  void add(const Field& field) noexcept { fields[count++] = field; }
};

}  // namespace fence

#endif
