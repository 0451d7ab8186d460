// A JSON result of a SQL function, of any length.
#ifndef FENCE_SQLITE_EXT_JSON_TEXT_H
#define FENCE_SQLITE_EXT_JSON_TEXT_H

#include <string_view>

#include "core/refusal.h"
#include "sqlite_ext/sqlite.h"

namespace fence {

class JsonText {
 public:
  explicit JsonText(sqlite3_context* context) noexcept;
  ~JsonText();
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;

  void put(const char* text) noexcept;
  // A string of at most 255 bytes, with quotes.
  void put_name(std::string_view name) noexcept;
  // "7" as a string, since JavaScript's numbers end at 2^53; or null.
  void put_number_or_null(const Maybe<int64_t>& number) noexcept;
  // The members of a refusal's detail, without braces.
  void put_members(const Refusal& refusal) noexcept;
  // Makes the text the function's result (SQLITE_NOMEM if it did not fit).
  void finish() noexcept;

 private:
  sqlite3_context* context_;
  sqlite3_str* text_;
};

// Does the text begin like a JSON array? What follows is for a parser to say.
bool is_json_array(std::string_view json) noexcept;

// Is there a NUL in the text or, escaped, in one of its strings? SQLite's JSON
// functions end the text or the string there, and lose the rest without a word.
bool has_nul(std::string_view json) noexcept;

}  // namespace fence

#endif
