// fence_key(column, …) with what SQLite can bind, and where it may be called from.
#include <set>

#include "regress/sqlite/failing_memory.h"
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

// Given a connection on which Fence was loaded and nothing more.
class FenceKey : public ::testing::Test {
 protected:
  std::string key(const std::string& columns) {
    return db.value("SELECT fence_key(" + columns + ")");
  }
  // The column, from 1, and what is wrong with it.
  void expect_refused(const std::string& columns, const std::string& fault) {
    const Result result = db.exec("SELECT fence_key(" + columns + ")");
    EXPECT_TRUE(refused(result, "ZF010", plain_error, "ZF010")) << columns;
    EXPECT_EQ(result.message.rfind("ZF010 out_of_range: " + fault + "; hint: ", 0), 0U)
        << result.message;
  }

  Database db{":memory:", Setup::loaded};
};

TEST_F(FenceKey, takes_integers_text_and_whole_reals) {
  EXPECT_EQ(key("7, 'a/b'"), R"(7/a\/b)");
  EXPECT_EQ(key("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(key("7.0, -7.0, 0.0, -0.0"), "7/-7/0/0");
  EXPECT_EQ(key("9007199254740991.0, -9007199254740991.0"), "9007199254740991/-9007199254740991");
  EXPECT_EQ(key("CAST('7' AS TEXT), TRUE"), "7/1") << "a boolean of SQLite is a number";
}

TEST_F(FenceKey, refuses_everything_else_and_says_which_column) {
  const std::string type = " of the key is not of a type that a key column may have";
  for (const char* real : {"1.5", "-0.5", "9007199254740992.0", "-9007199254740992.0", "1e18",
                           "9223372036854775808", "1e999", "-1e999"}) {
    expect_refused(std::string("'a', ") + real, "column 2" + type);
  }
  expect_refused("x'61'", "column 1" + type);
  expect_refused("1, 2, x'', 4", "column 3" + type);
  expect_refused("NULL", "column 1 of the key is NULL");
  expect_refused("'a', NULL, NULL", "column 2 of the key is NULL");
  expect_refused("'a', 'b' || char(0) || 'c'", "column 2 of the key contains a NUL byte");
  expect_refused("CAST(x'61c3' AS TEXT), 'a'", "column 1 of the key is not valid UTF-8");
  expect_refused("'a', hex(zeroblob(128))", "column 2 of the key is longer than 255 bytes");
}

TEST_F(FenceKey, refuses_what_is_no_key_as_a_whole) {
  expect_refused("", "the key has no column");
  expect_refused("''", "the key of these columns is empty");
  const std::string half = "substr(hex(zeroblob(100)), 1, 127)";
  EXPECT_EQ(key(half + ", " + half).size(), 255U);
  expect_refused(half + ", " + half + " || 'a'",
                 "the key of these columns is longer than 255 bytes");
  expect_refused("replace(hex(zeroblob(64)), '0', '/')",
                 "the key of these columns is longer than 255 bytes");
  expect_refused(half + ", " + half + " || 'a', NULL", "column 3 of the key is NULL");
}

TEST_F(FenceKey, is_the_same_from_a_file_of_utf16) {
  for (const char* encoding : {"UTF-16le", "UTF-16be"}) {
    Database wide(":memory:", Setup::loaded);
    ASSERT_OK(wide, std::string("PRAGMA encoding = '") + encoding + "'");
    EXPECT_EQ(wide.value("SELECT fence_key('sch\xc3\xb6n/', '\xf0\x9f\x94\x92', 7)"),
              "sch\xc3\xb6n\\//\xf0\x9f\x94\x92/7");
  }
}

// A text that could not be converted must not become an empty column.
TEST(FenceKeyMemory, that_runs_out_is_an_error_and_never_another_key) {
  FailingMemory memory;
  Database wide(":memory:", Setup::loaded);
  ASSERT_OK(wide,
            "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(a TEXT, b TEXT);"
            "CREATE TABLE made(k TEXT); INSERT INTO t VALUES ('one', 'two')");
  std::set<std::string> seen;
  bool failed = true;
  for (int after = 0; failed && after < 1000; ++after) {
    memory.fail_after(after);
    const Result result = wide.exec("INSERT INTO made SELECT fence_key(a, b) FROM t");
    failed = memory.failed();
    memory.stop();
    seen.insert(result.message);
  }
  EXPECT_FALSE(failed) << "more allocations than that?";
  EXPECT_EQ(seen, (std::set<std::string>{"", "out of memory"}));
  EXPECT_EQ(wide.rows("SELECT DISTINCT k FROM made"), std::vector<std::string>{"one/two"});
}

TEST_F(FenceKey, may_stand_in_a_schema_also_of_a_file_that_is_not_trusted) {
  ASSERT_OK(db,
            "PRAGMA trusted_schema = OFF;"
            "CREATE TABLE t(a INTEGER, b TEXT, k TEXT AS (fence_key(a, b)) STORED);"
            "CREATE UNIQUE INDEX by_key ON t(fence_key(a, b));"
            "CREATE VIEW v AS SELECT fence_key(b, a) AS turned FROM t;"
            "INSERT INTO t(a, b) VALUES (7, 'a/b')");
  EXPECT_EQ(db.rows("SELECT k, turned FROM t, v WHERE fence_key(a, b) = '7/a\\/b'"),
            std::vector<std::string>{R"(7/a\/b|a\/b/7)"});
  EXPECT_FALSE(db.exec("INSERT INTO t(a, b) VALUES (7, 'a/b')").ok());
  EXPECT_FALSE(db.exec("INSERT INTO t(a, b) VALUES (8, NULL)").ok());
  EXPECT_EQ(db.value("SELECT count(*) FROM t"), "1");
}

}  // namespace
}  // namespace fence::test
