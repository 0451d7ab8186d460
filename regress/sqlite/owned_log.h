// The log that most tests of single calls begin with, and the check that a
// refused call left everything as it was.
#ifndef FENCE_REGRESS_SQLITE_OWNED_LOG_H
#define FENCE_REGRESS_SQLITE_OWNED_LOG_H

#include "regress/sqlite/harness.h"

namespace fence::test {

// An argument as a program binds it.
struct Value {
  enum class Type : unsigned char { null, integer, real, text, blob };

  Type type = Type::null;
  int64_t whole = 0;
  double number = 0;
  std::string bytes;

  static Value null() { return {}; }
  static Value integer(int64_t value) { return {Type::integer, value, 0, ""}; }
  static Value real(double value) { return {Type::real, 0, value, ""}; }
  static Value text(std::string value) { return {Type::text, 0, 0, std::move(value)}; }
  static Value blob(std::string value) { return {Type::blob, 0, 0, std::move(value)}; }
};

// A statement with the values bound to its parameters, in order.
Result run(Database& db, const std::string& sql, const std::vector<Value>& values);
// SELECT function(values).
Result call(Database& db, const std::string& function, const std::vector<Value>& values);

// All that Fence keeps in the file, every column.
std::vector<std::string> contents(Database& db);

// Runs something and expects what must hold for every refused call: one clear
// error, nothing written, the connection as usable as before.
void expect_clean_refusal(Database& db, const std::string& sql, const std::string& code);
void expect_clean_refusal(Database& db, const std::string& sql, const std::vector<Value>& values,
                          const std::string& code);
// The same for an error of SQLite's own.
void expect_clean_error(Database& db, const std::string& sql, int rc, const std::string& text);

// fenced_append_many('n', key, epoch, writer, idxs, fence_blobs(payloads)[, expected]).
// payloads and expected are expressions of SQL.
std::string append_many(const std::string& key, int64_t epoch, const std::string& writer,
                        const std::string& idxs, const std::string& payloads,
                        const std::string& expected = "");

// Where text has `@`, puts value.
std::string filled(std::string text, const std::string& value);

// Given the record (k,7,W1) of the namespace n with the entries 1 and 2.
class OwnedLog : public ::testing::Test {
 protected:
  OwnedLog();

  Database db;
  const std::vector<std::string> two = {"k|1|7|one", "k|2|7|two"};
};

}  // namespace fence::test

#endif
