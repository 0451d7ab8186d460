// A million entries in a hundred thousand keys: a call reads the pages of what it names and no
// more. Pages are counted, not milliseconds.
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

constexpr int keys_of_all = 100000;
constexpr int entries_of_each = 10;
// A descent in an index is three or four of them; a whole table here has thousands.
constexpr int page_limit = 200;

std::string key_name(int number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(6 - digits.size(), '0') + digits;
}

// The claims of a thousand keys.
std::string claim_thousand(int first) {
  std::string claims;
  for (int i = first; i < first + 1000; ++i) {
    claims += (claims.empty() ? "" : ",") + ("{\"key\":\"" + key_name(i) + "\",\"epoch\":1}");
  }
  return "SELECT oplog_metadata_upsert_many('n', '[" + claims + "]', " + quoted(w1) + ")";
}

// One file for all tests of it: making it takes a few seconds.
class Scale : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory = new TemporaryDirectory();
    db = new Database(directory->file("big.db"));
    ASSERT_OK(*db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    for (int i = 0; i < keys_of_all; i += 1000) ASSERT_OK(*db, claim_thousand(i));
    ASSERT_OK(*db, "BEGIN IMMEDIATE");
    Statement append(*db,
                     "SELECT fenced_append_many('n', ?1, 1, ?2, '[0,1,2,3,4,5,6,7,8,9]',"
                     " fence_blobs('a','b','c','d','e','f','g','h','i','j'))");
    sqlite3_bind_text(append.get(), 2, w1, -1, SQLITE_STATIC);
    for (int i = 0; i < keys_of_all; ++i) {
      const std::string key = key_name(i);
      sqlite3_bind_text(append.get(), 1, key.c_str(), -1, SQLITE_TRANSIENT);
      ASSERT_EQ(append.step(), SQLITE_ROW);
      sqlite3_reset(append.get());
    }
    ASSERT_EQ(append.finalize(), SQLITE_OK);
    ASSERT_OK(*db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT_EQ(db->value("SELECT count(*) FROM oplog_entries"),
              std::to_string(keys_of_all * entries_of_each));
  }
  static void TearDownTestSuite() {
    delete db;
    delete directory;
  }

  static int touched(bool reset) {
    int hits = 0;
    int misses = 0;
    int highest = 0;
    sqlite3_db_status(db->get(), SQLITE_DBSTATUS_CACHE_HIT, &hits, &highest, reset ? 1 : 0);
    sqlite3_db_status(db->get(), SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, reset ? 1 : 0);
    return hits + misses;
  }

  // How many pages a statement looked at; it must answer as given.
  static void expect_few_pages(const std::string& sql, const std::string& answer) {
    touched(true);
    EXPECT_EQ(db->value(sql), answer) << sql;
    EXPECT_LT(touched(false), page_limit) << sql;
  }

  static TemporaryDirectory* directory;
  static Database* db;
};

TemporaryDirectory* Scale::directory = nullptr;
Database* Scale::db = nullptr;

TEST_F(Scale, reading_one_key) {
  const std::string where = " WHERE namespace = 'n' AND key = 'key050000'";
  expect_few_pages("SELECT first_idx, last_idx, length FROM oplog_status" + where, "0|9|10");
  expect_few_pages("SELECT epoch FROM oplog_metadata" + where, "1");
  expect_few_pages("SELECT count(*) FROM oplog_entries" + where, "10");
  expect_few_pages("SELECT count(*) FROM oplog_read('n', 'key050000', 3, 5)", "3");
  expect_few_pages("SELECT count(*) FROM fenced_values" + where, "0");
  expect_few_pages(check("key050000", 1, w1), "1");
}

TEST_F(Scale, listing_keys) {
  expect_few_pages("SELECT min(key), count(*) FROM oplog_keys('n', 'key05', 'key050100', 20)",
                   "key050101|20");
  expect_few_pages("SELECT count(*) FROM oplog_keys('n', '', 'key099990')", "9");
}

TEST_F(Scale, writing_to_one_key) {
  expect_few_pages(append("key060000", 1, w1, 10, "x"), "10");
  expect_few_pages(append("key060000", 1, w1, 10, "x"), "10");
  expect_few_pages(put("key060000", 1, w1, "state", "x"), "1");
  expect_few_pages(take("key060000", 1, w1, "state"), "1");
  expect_few_pages(drop("key060000", 1, w1, 4), "5");
  expect_few_pages(claim("key060000", 2, w2), "10");
  expect_few_pages(del("key060000", 2, w2), "6");
}

TEST_F(Scale, publishing_and_purging) {
  ASSERT_OK(*db, claim("staged", 1, w1));
  ASSERT_OK(*db, claim("final", 1, w1));
  ASSERT_OK(*db, append("staged", 1, w1, 1, "x"));
  expect_few_pages(publish("final", 1, w1, "staged", 1), "1");
  expect_few_pages(purge(1000 * 1000 * 1000), "0");
}

}  // namespace
}  // namespace fence::test
