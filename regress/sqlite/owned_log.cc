#include "regress/sqlite/owned_log.h"

namespace fence::test {

namespace {

int bind(sqlite3_stmt* statement, int position, const Value& value) {
  switch (value.type) {
    case Value::Type::null:
      return sqlite3_bind_null(statement, position);
    case Value::Type::integer:
      return sqlite3_bind_int64(statement, position, value.whole);
    case Value::Type::real:
      return sqlite3_bind_double(statement, position, value.number);
    case Value::Type::text:
      return sqlite3_bind_text64(statement, position, value.bytes.data(), value.bytes.size(),
                                 SQLITE_TRANSIENT, SQLITE_UTF8);
    case Value::Type::blob:
      return sqlite3_bind_blob64(statement, position, value.bytes.data(), value.bytes.size(),
                                 SQLITE_TRANSIENT);
  }
  return SQLITE_MISUSE;
}

// Fence answers, its transactions begin and end, and so do the application's.
// Leaves nothing behind. In a namespace of its own, whose mode no test has set.
bool usable(Database& db, const char* code) {
  const std::string start = std::string("error: ") + code;
  const std::string nobodys = "('elsewhere', 'k', 0, " + quoted(w1);
  return db.value("SELECT fenced_append" + nobodys + ", 0, 'x')").rfind(start, 0) == 0 &&
         db.value("SELECT fence_check" + nobodys + ")").rfind(start, 0) == 0 &&
         db.exec(
               "BEGIN IMMEDIATE; CREATE TABLE written(x); INSERT INTO written VALUES (1);"
               " ROLLBACK")
             .ok();
}

// Runs the action between two looks at everything.
template <typename Action>
void expect_no_trace(Database& db, Action action) {
  const std::vector<std::string> before = contents(db);
  const bool autocommit = db.autocommit();
  action();
  EXPECT_EQ(db.autocommit(), autocommit) << "no transaction may begin or end";
  EXPECT_EQ(contents(db), before) << "nothing may be written";
  if (autocommit) {
    EXPECT_TRUE(usable(db, before.empty() ? "ZF012" : "ZF003")) << "the connection stays usable";
  } else {
    EXPECT_OK(db, "SAVEPOINT usable; CREATE TABLE written(x); ROLLBACK TO usable; RELEASE usable");
  }
}

}  // namespace

Result run(Database& db, const std::string& sql, const std::vector<Value>& values) {
  Statement statement(db, sql);
  int rc = SQLITE_OK;
  for (size_t i = 0; i < values.size() && rc == SQLITE_OK; ++i) {
    rc = bind(statement.get(), static_cast<int>(i) + 1, values[i]);
  }
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = statement.step();
  }
  if (rc == SQLITE_DONE) {
    return {};
  }
  return {sqlite3_extended_errcode(db.get()), sqlite3_errmsg(db.get())};
}

Result call(Database& db, const std::string& function, const std::vector<Value>& values) {
  std::string parameters;
  for (size_t i = 0; i < values.size(); ++i) {
    parameters += i == 0 ? "?" : ", ?";
  }
  return run(db, "SELECT " + function + "(" + parameters + ")", values);
}

std::vector<std::string> contents(Database& db) {
  std::vector<std::string> all;
  for (const std::string& table : db.rows(
           "SELECT name FROM sqlite_schema WHERE name IN ('fence_control_v1', 'fence_setting_v1',"
           " 'fence_namespace_v1', 'fence_meta_v1', 'fence_oplog_v1', 'fence_value_v1') ORDER BY "
           "name")) {
    for (const std::string& row : db.rows("SELECT * FROM " + table + " ORDER BY rowid")) {
      all.push_back(table + ": " + row);
    }
  }
  return all;
}

void expect_clean_refusal(Database& db, const std::string& sql, const std::string& code) {
  SCOPED_TRACE(sql.substr(0, 300));
  expect_no_trace(db, [&] {
    const int rc = code == "ZF013"                                         ? conflict
                   : code <= "ZF005" || code == "ZF009" || code == "ZF020" ? auth
                                                                           : plain_error;
    EXPECT_REFUSED(db, sql, code, rc);
  });
}

void expect_clean_refusal(Database& db, const std::string& sql, const std::vector<Value>& values,
                          const std::string& code) {
  SCOPED_TRACE(sql);
  expect_no_trace(db, [&] { EXPECT_TRUE(refused(run(db, sql, values), code, plain_error, code)); });
}

void expect_clean_error(Database& db, const std::string& sql, int rc, const std::string& text) {
  SCOPED_TRACE(sql.substr(0, 300));
  expect_no_trace(db, [&] {
    const Result result = db.exec(sql);
    EXPECT_EQ(result.rc, rc) << result.message;
    EXPECT_EQ(result.message, text);
  });
}

std::string append_many(const std::string& key, int64_t epoch, const std::string& writer,
                        const std::string& idxs, const std::string& payloads,
                        const std::string& expected) {
  return "SELECT fenced_append_many('n', " + quoted(key) + ", " + std::to_string(epoch) + ", " +
         quoted(writer) + ", " + quoted(idxs) + ", fence_blobs(" + payloads + ")" +
         (expected.empty() ? "" : ", " + expected) + ")";
}

std::string filled(std::string text, const std::string& value) {
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 1, value);
    at += value.size();
  }
  return text;
}

OwnedLog::OwnedLog() {
  EXPECT_OK(db, claim("k", 7, w1));
  EXPECT_OK(db, append("k", 7, w1, 1, "one"));
  EXPECT_OK(db, append("k", 7, w1, 2, "two"));
  EXPECT_EQ(entries(db), two);
}

}  // namespace fence::test
