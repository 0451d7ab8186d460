// Reads JSON with a parser that is not ours: SQLite's.
#ifndef FENCE_REGRESS_UNIT_JSON_H
#define FENCE_REGRESS_UNIT_JSON_H

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <utility>

namespace fence::test {

class Json {
 public:
  explicit Json(std::string text) : text_(std::move(text)) {
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
  }
  ~Json() { sqlite3_close(db_); }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  bool valid() const { return ask("SELECT json_valid(?1)") == "1"; }
  // The members of an object in their order, joined by commas.
  std::string members() const { return ask("SELECT group_concat(key) FROM json_each(?1)"); }
  // "NULL" for null.
  std::string member(const std::string& name) const { return at("." + name); }
  // What stands at a path of SQLite, "[0].name", and its type there; "NULL" where nothing does.
  std::string at(const std::string& path) const {
    return ask("SELECT json_extract(?1, '$" + path + "')");
  }
  std::string type(const std::string& path) const {
    return ask("SELECT json_type(?1, '$" + path + "')");
  }

 private:
  std::string ask(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    std::string answer = "no answer";
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_bind_text64(statement, 1, text_.data(), text_.size(), SQLITE_STATIC, SQLITE_UTF8) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, 0));
      answer = bytes == nullptr ? "NULL" : std::string(bytes, size);
    }
    sqlite3_finalize(statement);
    return answer;
  }

  std::string text_;
  sqlite3* db_ = nullptr;
};

}  // namespace fence::test

#endif
