#include "sqlite_ext/row.h"

#include <cstring>

namespace fence {

Field integer_field(int64_t value) noexcept {
  Field field;
  field.type = Field::Type::integer;
  field.integer = value;
  return field;
}

Field text_field(std::string_view text) noexcept {
  Field field;
  field.type = Field::Type::text;
  field.bytes = text;
  return field;
}

Field blob_field(const void* data, size_t size) noexcept {
  Field field;
  field.type = Field::Type::blob;
  field.bytes = std::string_view(static_cast<const char*>(data), size);
  return field;
}

int bind_field(sqlite3_stmt* statement, int position, const Field& field) noexcept {
  switch (field.type) {
    case Field::Type::integer:
      return sqlite3_bind_int64(statement, position, field.integer);
    case Field::Type::text:
      return sqlite3_bind_text64(statement, position, field.bytes.data(), field.bytes.size(),
                                 SQLITE_STATIC, SQLITE_UTF8);
    case Field::Type::blob:
      // A null pointer would be bound as NULL, not as an empty blob.
      return sqlite3_bind_blob64(statement, position, field.bytes.empty() ? "" : field.bytes.data(),
                                 field.bytes.size(), SQLITE_STATIC);
    case Field::Type::null:
      break;
  }
  return sqlite3_bind_null(statement, position);
}

bool same_value(sqlite3_value* value, const Field& field) noexcept {
  const auto same_bytes = [&](const void* data) {
    const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
    return size == field.bytes.size() &&
           (size == 0 || std::memcmp(data, field.bytes.data(), size) == 0);
  };
  switch (field.type) {
    case Field::Type::integer:
      return sqlite3_value_type(value) == SQLITE_INTEGER &&
             sqlite3_value_int64(value) == field.integer;
    case Field::Type::text:
      return sqlite3_value_type(value) == SQLITE_TEXT && same_bytes(sqlite3_value_text(value));
    case Field::Type::blob:
      return sqlite3_value_type(value) == SQLITE_BLOB && same_bytes(sqlite3_value_blob(value));
    case Field::Type::null:
      break;
  }
  return sqlite3_value_type(value) == SQLITE_NULL;
}

}  // namespace fence
