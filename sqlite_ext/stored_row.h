// Columns of Fence's own tables, read with suspicion: false where a value has not
// the type that Fence stores.
#ifndef FENCE_SQLITE_EXT_STORED_ROW_H
#define FENCE_SQLITE_EXT_STORED_ROW_H

#include <cstdint>
#include <string_view>

#include "sqlite_ext/sqlite.h"

namespace fence {

bool read_integer(sqlite3_stmt* row, int column, int64_t* value) noexcept;
bool read_16_bytes(sqlite3_stmt* row, int column, unsigned char (&bytes)[16]) noexcept;
// Borrowed until the statement is stepped or reset.
bool read_text(sqlite3_stmt* row, int column, std::string_view* text) noexcept;
bool read_blob(sqlite3_stmt* row, int column, std::string_view* bytes) noexcept;

}  // namespace fence

#endif
