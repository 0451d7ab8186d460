// oplog_read: entries in ascending order, a closed range, at most so many (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

// Given the entries 4, 8, 6, 2^63-1, 0 of (n,k), stored in that order.
class Read : public ::testing::Test {
 protected:
  Read() {
    EXPECT_OK(db, claim("k", 7, w1));
    for (const int64_t idx : {int64_t{4}, int64_t{8}, int64_t{6}, INT64_MAX, int64_t{0}}) {
      EXPECT_OK(db, append("k", 7, w1, idx, "at " + std::to_string(idx)));
    }
  }
  Rows idxs(const std::string& arguments, const std::string& more = "") {
    return db.rows("SELECT idx FROM oplog_read(" + arguments + ")" + more);
  }

  Database db;
  const Rows all = {"0", "4", "6", "8", "9223372036854775807"};
};

TEST_F(Read, gives_idx_epoch_and_payload) {
  EXPECT_EQ(db.rows("SELECT * FROM oplog_read('n', 'k', 4, 4)"), Rows{"4|7|x'61742034'"});
  EXPECT_EQ(db.rows("SELECT typeof(idx), typeof(epoch), typeof(payload)"
                    " FROM oplog_read('n', 'k', 4, 4)"),
            Rows{"integer|integer|blob"});
}

TEST_F(Read, by_default_gives_everything_from_0_on) { EXPECT_EQ(idxs("'n', 'k'"), all); }

TEST_F(Read, L29_is_ascending_whatever_the_order_of_the_inserts_was) {
  ASSERT_OK(db, claim("o", 1, w1));
  for (const int64_t idx : {3, 1, 2}) ASSERT_OK(db, append("o", 1, w1, idx, "x"));
  EXPECT_EQ(idxs("'n', 'o', 1, 3"), (Rows{"1", "2", "3"}));
  EXPECT_EQ(idxs("'n', 'o', 1, 3", " ORDER BY idx DESC"), (Rows{"3", "2", "1"}));
  EXPECT_EQ(idxs("'n', 'o'", " ORDER BY idx"), (Rows{"1", "2", "3"}));
}

TEST_F(Read, takes_a_closed_range) {
  const struct {
    const char* range;
    Rows rows;
  } cases[] = {
      {"4, 8", {"4", "6", "8"}},
      {"5, 8", {"6", "8"}},
      {"4, 7", {"4", "6"}},
      {"6, 6", {"6"}},
      {"5, 5", {}},
      {"0, 0", {"0"}},
      {"9", {"9223372036854775807"}},
      {"9223372036854775807, 9223372036854775807", {"9223372036854775807"}},
      {"0, 9223372036854775806", {"0", "4", "6", "8"}},
      {"8, 4", {}},
      {"9223372036854775807, 0", {}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(idxs(std::string("'n', 'k', ") + c.range), c.rows) << c.range;
}

TEST_F(Read, L28_finds_the_smallest_idx_from_a_point_on) {
  EXPECT_EQ(idxs("'n', 'k', 1, NULL, 1"), Rows{"4"});
  EXPECT_EQ(idxs("'n', 'k', 4, NULL, 1"), Rows{"4"});
  EXPECT_EQ(idxs("'n', 'k', 7, 8, 1"), Rows{"8"});
  EXPECT_EQ(idxs("'n', 'k', 9, 100, 1"), Rows{});
}

TEST_F(Read, gives_at_most_max_entries_and_1000_by_default) {
  EXPECT_EQ(idxs("'n', 'k', 0, NULL, 2"), (Rows{"0", "4"}));
  EXPECT_EQ(idxs("'n', 'k', 0, NULL, 0"), Rows{});
  EXPECT_EQ(idxs("'n', 'k', 0, NULL, 9223372036854775807"), all);
  EXPECT_EQ(idxs("'n', 'k', 0, NULL, 5"), all);
  ASSERT_OK(db, claim("long", 1, w1));
  ASSERT_OK(db,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)"
            " INSERT INTO fenced_append SELECT 'n', 'long', 1, " +
                quoted(w1) + ", i, 'x' FROM n");
  const std::string count = "SELECT count(*), min(idx), max(idx) FROM oplog_read('n', 'long'@)";
  EXPECT_EQ(db.value(filled(count, "")), "1000|1|1000");
  EXPECT_EQ(db.value(filled(count, ", 1001")), "500|1001|1500");
  EXPECT_EQ(db.value(filled(count, ", 0, NULL, 1200")), "1200|1|1200");
}

TEST_F(Read, takes_NULL_for_the_default) {
  EXPECT_EQ(idxs("'n', 'k', NULL, NULL, NULL"), all);
  EXPECT_EQ(idxs("'n', 'k', NULL, 4"), (Rows{"0", "4"}));
  EXPECT_EQ(idxs("'n', 'k', 8, NULL"), (Rows{"8", "9223372036854775807"}));
}

TEST_F(Read, of_what_is_not_there_gives_no_row_and_no_error) {
  EXPECT_EQ(idxs("'n', 'absent'"), Rows{});
  EXPECT_EQ(idxs("'m', 'k'"), Rows{});
  ASSERT_OK(db, claim("empty", 1, w1));
  EXPECT_EQ(idxs("'n', 'empty'"), Rows{});
}

TEST_F(Read, needs_a_namespace_and_a_key) {
  for (const char* call : {"oplog_read", "oplog_read()", "oplog_read('n')"}) {
    expect_clean_refusal(db, std::string("SELECT * FROM ") + call, "ZF010");
  }
  for (const char* arguments : {"NULL, 'k'", "'n', NULL", "NULL, NULL", "'', 'k'", "5, 'k'"}) {
    expect_clean_refusal(db, std::string("SELECT * FROM oplog_read(") + arguments + ")", "ZF010");
  }
}

TEST_F(Read, stops_where_the_application_stops) {
  EXPECT_EQ(idxs("'n', 'k'", " LIMIT 2"), (Rows{"0", "4"}));
  EXPECT_EQ(idxs("'n', 'k'", " LIMIT 2 OFFSET 1"), (Rows{"4", "6"}));
  Statement read(db, "SELECT idx FROM oplog_read('n', 'k')");
  EXPECT_EQ(read.step(), SQLITE_ROW);
}

TEST_F(Read, can_be_joined_with_the_keys_of_another_table) {
  ASSERT_OK(db, claim("j", 1, w2));
  ASSERT_OK(db, append("j", 1, w2, 5, "j5"));
  EXPECT_EQ(db.rows("SELECT m.key, r.idx FROM oplog_metadata m,"
                    " oplog_read(m.namespace, m.key, 4, 8) r ORDER BY m.key, r.idx"),
            (Rows{"j|5", "k|4", "k|6", "k|8"}));
  EXPECT_EQ(db.rows("SELECT m.key, r.idx FROM oplog_read(m.namespace, m.key, 5, 6) r"
                    " JOIN oplog_metadata m ORDER BY m.key, r.idx"),
            (Rows{"j|5", "k|6"}))
      << "in whatever order they are written";
  EXPECT_EQ(db.rows("SELECT m.key, (SELECT max(idx) FROM oplog_read(m.namespace, m.key, 0, 100))"
                    " FROM oplog_metadata m ORDER BY m.key"),
            (Rows{"j|5", "k|8"}));
  EXPECT_EQ(db.rows("SELECT key.value, idx FROM json_each('[\"j\",\"absent\",\"k\"]') key"
                    " LEFT JOIN oplog_read('n', key.value, 4, 5) ORDER BY 1, 2"),
            (Rows{"absent|NULL", "j|5", "k|4"}));
}

TEST_F(Read, can_be_filtered_like_any_table) {
  ASSERT_OK(db, claim("j", 1, w2));
  ASSERT_OK(db, append("j", 1, w2, 5, "j5"));
  EXPECT_EQ(idxs("'n', 'k'", " WHERE idx > 4 AND idx < 9"), (Rows{"6", "8"}));
  EXPECT_EQ(idxs("'n', 'k'", " WHERE payload = x'61742034'"), Rows{"4"});
  EXPECT_EQ(db.rows("SELECT idx FROM oplog_read WHERE namespace = 'n' AND key = 'k' AND max = 2"),
            (Rows{"0", "4"}));
  EXPECT_EQ(db.rows("SELECT key, idx FROM oplog_read WHERE namespace = 'n' AND key IN ('j', 'k')"
                    " AND from_idx = 5 AND to_idx = 6 ORDER BY 1"),
            (Rows{"j|5", "k|6"}))
      << "the arguments are columns that can be selected";
}

TEST_F(Read, compares_a_repeated_argument_instead_of_losing_rows) {
  EXPECT_EQ(idxs("'n', 'k'", " WHERE namespace = 'n'"), all);
  EXPECT_EQ(idxs("'n', 'k'", " WHERE key = 'k' AND from_idx = 6"),
            (Rows{"6", "8", "9223372036854775807"}));
  EXPECT_EQ(idxs("'n', 'k'", " WHERE key = 'other'"), Rows{});
}

TEST_F(Read, asserts_nothing_and_takes_no_lock) {
  ASSERT_OK(db, "BEGIN");
  EXPECT_EQ(idxs("'n', 'k'"), all);
  EXPECT_NE(sqlite3_txn_state(db.get(), "main"), SQLITE_TXN_WRITE);
  ASSERT_OK(db, append("k", 7, w1, 9, "nine"));
  EXPECT_EQ(idxs("'n', 'k', 9, 9"), Rows{"9"}) << "sees its own transaction";
  ASSERT_OK(db, "ROLLBACK");
  EXPECT_EQ(idxs("'n', 'k'"), all);
}

TEST_F(Read, takes_no_write) {
  for (const char* sql : {"INSERT INTO oplog_read(idx, epoch, payload) VALUES (1, 1, 'x')",
                          "DELETE FROM oplog_read", "UPDATE oplog_read SET idx = 1"}) {
    expect_clean_error(db, sql, SQLITE_ERROR, "table oplog_read may not be modified");
  }
}

TEST(ReadUninstalled, is_ZF012_with_the_way_out) {
  Database db(":memory:", Setup::loaded);
  const Result result = db.exec("SELECT * FROM oplog_read('n', 'k')");
  EXPECT_TRUE(refused(result, "ZF012", plain_error, "ZF012"));
  EXPECT_NE(result.message.find("fence_install()"), std::string::npos) << result.message;
}

// What can be looked at without the extension.
class View : public FileTest {};

TEST_F(View, reads_without_the_extension_and_shows_writers_as_fingerprints) {
  {
    Database db(path);
    ASSERT_OK(db, claim("k", 7, w1));
    ASSERT_OK(db, append("k", 7, w1, 1, "one"));
    ASSERT_OK(db, claim("k", 9, w2));
    ASSERT_OK(db, append("k", 9, w2, 5, "five"));
    ASSERT_OK(db, claim("empty", 0, w1));
  }
  const std::string f1 = w1_fingerprint;
  const std::string f2 = w2_fingerprint;
  for (const auto setup : {test::Setup::plain, test::Setup::loaded}) {
    Database db(path, setup);
    EXPECT_EQ(db.rows("SELECT * FROM oplog_metadata ORDER BY key"),
              (Rows{"n|empty|0|" + f1, "n|k|9|" + f2}));
    EXPECT_EQ(db.rows("SELECT * FROM oplog_entries ORDER BY idx"),
              (Rows{"n|k|1|7|x'6f6e65'", "n|k|5|9|x'66697665'"}));
    EXPECT_EQ(db.rows("SELECT * FROM oplog_status ORDER BY key"),
              (Rows{"n|empty|0|" + f1 + "|NULL|NULL|0|0", "n|k|9|" + f2 + "|1|5|2|0"}));
  }
}

TEST_F(View, has_the_columns_of_the_contract) {
  Database db(path);
  const std::string columns = "SELECT group_concat(name) FROM pragma_table_info('@')";
  EXPECT_EQ(db.value(filled(columns, "oplog_metadata")), "namespace,key,epoch,writer");
  EXPECT_EQ(db.value(filled(columns, "oplog_entries")), "namespace,key,idx,epoch,payload");
  EXPECT_EQ(db.value(filled(columns, "oplog_status")),
            "namespace,key,epoch,writer,first_idx,last_idx,length,deleted");
  EXPECT_EQ(db.value(filled(columns, "oplog_read")), "idx,epoch,payload");
}

TEST_F(View, shows_the_numbers_of_a_log_with_gaps_and_the_ends_of_the_range) {
  Database db(path);
  ASSERT_OK(db, claim("k", INT64_MAX, w1));
  for (const int64_t idx : {INT64_MAX, int64_t{4}, int64_t{0}, int64_t{8}}) {
    ASSERT_OK(db, append("k", INT64_MAX, w1, idx, "x"));
  }
  EXPECT_EQ(db.value("SELECT epoch, first_idx, last_idx, length, deleted FROM oplog_status"),
            "9223372036854775807|0|9223372036854775807|4|0");
}

TEST_F(View, is_a_read_only_thing) {
  Database db(path);
  for (const char* view : {"oplog_metadata", "oplog_entries", "oplog_status"}) {
    const std::string name = view;
    expect_clean_error(db, "DELETE FROM " + name, SQLITE_ERROR,
                       "cannot modify " + name + " because it is a view");
  }
}

}  // namespace
}  // namespace fence::test
