// What the tests of the extension share: connections that load the real fence.so
// the way an application does, and the checks of what they answer.
#ifndef FENCE_REGRESS_SQLITE_HARNESS_H
#define FENCE_REGRESS_SQLITE_HARNESS_H

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fence::test {

// Two writers, and the fingerprints under which everybody else sees them (the
// beginning of the SHA-256 of the 16 bytes, computed elsewhere).
inline constexpr char w1[] = "6f1c2f0e-4b7a-4d43-9d0e-2f5a8c1b7e90";
inline constexpr char w2[] = "b8e04a57-13c9-4f6d-8a21-d97c5e30f4b6";
inline constexpr char w1_fingerprint[] = "bc40076d";
inline constexpr char w2_fingerprint[] = "aa1ac979";

// The extended result codes of Fence's refusals.
inline constexpr int auth = SQLITE_AUTH;                     // ZF001..5, 7, 8, 9, 20
inline constexpr int conflict = SQLITE_CONSTRAINT_FUNCTION;  // ZF013
inline constexpr int plain_error = SQLITE_ERROR;             // the rest

// What a statement answered.
struct Result {
  int rc = SQLITE_OK;   // the extended result code
  std::string message;  // empty when it succeeded

  bool ok() const { return rc == SQLITE_OK; }
};

// $FENCE_EXTENSION, or the one that the Makefile builds.
std::string extension_path();

// A directory that goes, with all that is in it, at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

enum class Setup : unsigned char {
  plain,      // without the extension
  loaded,     // the extension is loaded
  installed,  // and fence_install() was called
};

// A connection. Closing it is itself a test: sqlite3_close must return SQLITE_OK.
class Database {
 public:
  static constexpr int usual_flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;

  explicit Database(const std::string& name = ":memory:", Setup setup = Setup::installed,
                    int flags = usual_flags, const char* vfs = nullptr);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* get() const { return db_; }
  Result load();
  // The result code of sqlite3_close; the connection is gone if it is SQLITE_OK.
  int close();

  // Runs any number of statements, up to the first that fails.
  Result exec(const std::string& sql);
  // The rows of one statement, columns joined by "|": NULL is NULL, a BLOB x'6162'.
  // An error is a last row "error: " and the message.
  std::vector<std::string> rows(const std::string& sql);
  // The first of those rows, or "no row".
  std::string value(const std::string& sql);

  bool autocommit() const { return sqlite3_get_autocommit(db_) != 0; }

 private:
  sqlite3* db_ = nullptr;
};

// A statement that is stepped by hand.
class Statement {
 public:
  Statement(Database& db, const std::string& sql);
  ~Statement() { finalize(); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  sqlite3_stmt* get() const { return statement_; }
  // The result code of sqlite3_step.
  int step() { return sqlite3_step(statement_); }
  int finalize();

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// A test with a directory of its own and the name of a database file in it.
class FileTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string path = directory.file("fence.db");
};

// 'text' as a literal of SQL.
std::string quoted(const std::string& text);

// The statements that most tests are made of, all in the namespace 'n'.
std::string claim(const std::string& key, int64_t epoch, const std::string& writer);
std::string append(const std::string& key, int64_t epoch, const std::string& writer, int64_t idx,
                   const std::string& payload);
std::string check(const std::string& key, int64_t epoch, const std::string& writer);
// The same append in its INSERT form; verb: "INSERT", "INSERT OR IGNORE", …
std::string insert(const std::string& key, int64_t epoch, const std::string& writer, int64_t idx,
                   const std::string& payload, const std::string& verb = "INSERT");

// All entries in the file, as "key|idx|epoch|payload".
std::vector<std::string> entries(Database& db);

// A member of the JSON detail in a message, read by SQLite's own JSON functions
// on a connection that knows nothing of Fence; "NULL" for null.
std::string detail(const Result& result, const std::string& member);

// Is it a refusal with this code and result code, with a hint and a whole detail?
// detail_code: the code in the detail, which ZF009 takes from the first refusal.
::testing::AssertionResult refused(const Result& result, const std::string& code, int rc,
                                   const std::string& detail_code);
::testing::AssertionResult succeeded(const Result& result);

}  // namespace fence::test

#define EXPECT_OK(db, sql) EXPECT_TRUE(::fence::test::succeeded((db).exec(sql)))
#define ASSERT_OK(db, sql) ASSERT_TRUE(::fence::test::succeeded((db).exec(sql)))
#define EXPECT_REFUSED(db, sql, code, rc) \
  EXPECT_TRUE(::fence::test::refused((db).exec(sql), code, rc, code))
// ZF009, with the detail of the refusal that doomed the transaction.
#define ASSERT_DOOMED(db, sql, first_code) \
  ASSERT_TRUE(::fence::test::refused((db).exec(sql), "ZF009", ::fence::test::auth, first_code))
#define EXPECT_DOOMED(db, sql, first_code) \
  EXPECT_TRUE(::fence::test::refused((db).exec(sql), "ZF009", ::fence::test::auth, first_code))

#endif
