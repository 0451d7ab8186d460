#include "regress/sqlite/harness.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace fence::test {

namespace {

std::string hex(const void* bytes, int size) {
  static const char digits[] = "0123456789abcdef";
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::string text = "x'";
  for (int i = 0; i < size; ++i) {
    text += digits[at[i] >> 4];
    text += digits[at[i] & 15];
  }
  return text + "'";
}

std::string column_text(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return "NULL";
    case SQLITE_BLOB: {
      const void* bytes = sqlite3_column_blob(statement, column);
      return hex(bytes, sqlite3_column_bytes(statement, column));
    }
    default: {
      const unsigned char* text = sqlite3_column_text(statement, column);
      return {reinterpret_cast<const char*>(text),
              static_cast<size_t>(sqlite3_column_bytes(statement, column))};
    }
  }
}

std::string row_text(sqlite3_stmt* statement) {
  std::string row;
  for (int column = 0; column < sqlite3_column_count(statement); ++column) {
    row += (column == 0 ? "" : "|") + column_text(statement, column);
  }
  return row;
}

std::string call(const std::string& function, const std::string& key, int64_t epoch,
                 const std::string& writer, const std::string& more = "") {
  return function + "('n', " + quoted(key) + ", " + std::to_string(epoch) + ", " + quoted(writer) +
         more + ")";
}

std::string entry(int64_t idx, const std::string& payload) {
  return ", " + std::to_string(idx) + ", " + quoted(payload);
}

// One question to a connection of its own.
std::string ask(const std::string& sql) {
  Database json(":memory:", Setup::plain);
  return json.value(sql);
}

std::string detail_json(const std::string& message) {
  const size_t brace = message.find('{');
  return brace == std::string::npos ? "" : message.substr(brace);
}

const char detail_members[] =
    "code,namespace,key,asserted_epoch,stored_epoch,asserted_writer,stored_writer,already_stored,"
    "deleted";

// What is wrong with a refusal; empty: nothing.
std::string fault(const Result& result, const std::string& code, int rc,
                  const std::string& detail_code) {
  if (result.rc != rc) {
    return "result code " + std::to_string(result.rc) + " instead of " + std::to_string(rc);
  }
  if (result.message.compare(0, code.size() + 1, code + " ") != 0) {
    return "does not begin with " + code;
  }
  if (result.message.find("; hint: ") > result.message.find('{')) {
    return "no hint before the detail";
  }
  const std::string json = quoted(detail_json(result.message));
  if (ask("SELECT json_valid(" + json + ")") != "1") {
    return "the detail is not JSON";
  }
  if (ask("SELECT group_concat(key) FROM json_each(" + json + ")") != detail_members) {
    return "the detail has other members";
  }
  if (detail(result, "code") != detail_code) {
    return "the detail is not of " + detail_code;
  }
  return "";
}

}  // namespace

std::string extension_path() {
  const char* path = std::getenv("FENCE_EXTENSION");
  return path == nullptr || *path == '\0' ? "build/sqlite/fence.so" : path;
}

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "fence-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("cannot make a temporary directory");
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Database::Database(const std::string& name, Setup setup, int flags, const char* vfs) {
  Result result;
  result.rc = sqlite3_open_v2(name.c_str(), &db_, flags, vfs);
  if (!result.ok()) {
    result.message = sqlite3_errmsg(db_);
  }
  if (result.ok() && setup != Setup::plain) {
    result = load();
  }
  if (result.ok() && setup == Setup::installed) {
    result = exec("SELECT fence_install()");
  }
  if (!result.ok()) {
    sqlite3_close(db_);
    throw std::runtime_error("cannot open " + name + ": " + result.message);
  }
}

Database::~Database() {
  if (db_ != nullptr) {
    EXPECT_EQ(close(), SQLITE_OK) << "sqlite3_close with a statement of somebody still there";
  }
}

Result Database::load() {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  char* message = nullptr;
  Result result;
  result.rc = sqlite3_load_extension(db_, extension_path().c_str(), nullptr, &message);
  result.message = message == nullptr ? "" : message;
  sqlite3_free(message);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  return result;
}

int Database::close() {
  const int rc = sqlite3_close(db_);
  if (rc == SQLITE_OK) {
    db_ = nullptr;
  }
  return rc;
}

Result Database::exec(const std::string& sql) {
  Result result;
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    result.rc = sqlite3_extended_errcode(db_);
    result.message = sqlite3_errmsg(db_);
  }
  return result;
}

std::vector<std::string> Database::rows(const std::string& sql) {
  std::vector<std::string> rows;
  sqlite3_stmt* statement = nullptr;
  int rc = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
  if (rc == SQLITE_OK) {
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
      rows.push_back(row_text(statement));
    }
  }
  if (rc != SQLITE_DONE) {
    rows.push_back(std::string("error: ") + sqlite3_errmsg(db_));
  }
  sqlite3_finalize(statement);
  return rows;
}

std::string Database::value(const std::string& sql) {
  const std::vector<std::string> all = rows(sql);
  return all.empty() ? "no row" : all.front();
}

Statement::Statement(Database& db, const std::string& sql) {
  if (sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    throw std::runtime_error("cannot prepare " + sql + ": " + sqlite3_errmsg(db.get()));
  }
}

int Statement::finalize() {
  const int rc = sqlite3_finalize(statement_);
  statement_ = nullptr;
  return rc;
}

std::string quoted(const std::string& text) {
  std::string literal = "'";
  for (const char character : text) {
    literal += character == '\'' ? "''" : std::string(1, character);
  }
  return literal + "'";
}

std::string claim(const std::string& key, int64_t epoch, const std::string& writer) {
  return "SELECT " + call("oplog_metadata_upsert", key, epoch, writer);
}

std::string append(const std::string& key, int64_t epoch, const std::string& writer, int64_t idx,
                   const std::string& payload) {
  return "SELECT " + call("fenced_append", key, epoch, writer, entry(idx, payload));
}

std::string check(const std::string& key, int64_t epoch, const std::string& writer) {
  return "SELECT " + call("fence_check", key, epoch, writer);
}

std::string insert(const std::string& key, int64_t epoch, const std::string& writer, int64_t idx,
                   const std::string& payload, const std::string& verb) {
  return verb + " INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES " +
         call("", key, epoch, writer, entry(idx, payload));
}

std::vector<std::string> entries(Database& db) {
  return db.rows(
      "SELECT key, idx, epoch, CAST(payload AS TEXT) FROM oplog_entries"
      " ORDER BY namespace, key, idx");
}

std::string detail(const Result& result, const std::string& member) {
  return ask("SELECT json_extract(" + quoted(detail_json(result.message)) + ", '$." + member +
             "')");
}

::testing::AssertionResult refused(const Result& result, const std::string& code, int rc,
                                   const std::string& detail_code) {
  const std::string wrong = fault(result, code, rc, detail_code);
  if (wrong.empty()) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "expected the refusal " << code << ": " << wrong
                                       << "\nanswer: " << result.rc << " " << result.message;
}

::testing::AssertionResult succeeded(const Result& result) {
  if (result.ok()) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << result.rc << " " << result.message;
}

}  // namespace fence::test
