// oplog_keys(namespace, prefix, after, max): the keys that live, by their bytes.
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

void claim_all(Database& db, const Rows& keys) {
  for (const std::string& key : keys) ASSERT_OK(db, claim(key, 1, w1));
}

Rows keys(Database& db, const std::string& arguments) {
  return db.rows("SELECT key FROM oplog_keys(" + arguments + ")");
}

TEST(Keys, come_in_the_order_of_their_bytes_with_or_without_entries) {
  Database db;
  claim_all(db, {"b", "é", "a", "B", "a b", "ab", "😀", "\xef\xbf\xbd"});
  ASSERT_OK(db, append("a", 1, w1, 1, "x"));
  EXPECT_EQ(keys(db, "'n'"), (Rows{"B", "a", "a b", "ab", "b", "é", "\xef\xbf\xbd", "😀"}));
  EXPECT_EQ(keys(db, "'m'"), Rows{});
}

// U+FFFD and U+1F600 sort the other way round as UTF-16.
TEST(Keys, come_in_the_same_order_from_a_file_of_utf16) {
  for (const char* encoding : {"UTF-16le", "UTF-16be"}) {
    Database db(":memory:", Setup::loaded);
    ASSERT_OK(db, std::string("PRAGMA encoding = '") + encoding + "'; SELECT fence_install()");
    claim_all(db, {"b", "é", "a", "ă", "😀", "\xef\xbf\xbd", "a1"});
    EXPECT_EQ(keys(db, "'n'"), (Rows{"a", "a1", "b", "é", "ă", "\xef\xbf\xbd", "😀"}));
    EXPECT_EQ(keys(db, "'n', '', 'é'"), (Rows{"ă", "\xef\xbf\xbd", "😀"}));
    EXPECT_EQ(keys(db, "'n', 'a'"), (Rows{"a", "a1"}));
    EXPECT_EQ(keys(db, "'n', 'é', 'b'"), Rows{"é"});
  }
}

TEST(Keys, with_a_prefix_take_it_literally) {
  Database db;
  claim_all(db, {"a%b", "a_b", "a\\b", "axb", "a", "A%", "%", "_"});
  EXPECT_EQ(keys(db, "'n', 'a%'"), Rows{"a%b"});
  EXPECT_EQ(keys(db, "'n', 'a_'"), Rows{"a_b"});
  EXPECT_EQ(keys(db, "'n', 'a\\'"), Rows{"a\\b"});
  EXPECT_EQ(keys(db, "'n', '%'"), Rows{"%"});
  EXPECT_EQ(keys(db, "'n', 'a'"), (Rows{"a", "a%b", "a\\b", "a_b", "axb"}));
  EXPECT_EQ(keys(db, "'n', 'zzz'"), Rows{});
  EXPECT_EQ(keys(db, "'n', NULL"), keys(db, "'n', ''"));
}

TEST(Keys, after_a_key_are_those_strictly_above_it) {
  Database db;
  claim_all(db, {"a1", "a2", "a3", "b1"});
  EXPECT_EQ(keys(db, "'n', '', 'a2'"), (Rows{"a3", "b1"}));
  EXPECT_EQ(keys(db, "'n', 'a', 'a2'"), Rows{"a3"});
  EXPECT_EQ(keys(db, "'n', 'a', 'a'"), (Rows{"a1", "a2", "a3"}));
  EXPECT_EQ(keys(db, "'n', 'b', 'a2'"), Rows{"b1"}) << "the prefix begins above it";
  EXPECT_EQ(keys(db, "'n', 'a', 'b'"), Rows{});
  EXPECT_EQ(keys(db, "'n', '', ''"), keys(db, "'n'"));
  EXPECT_EQ(keys(db, "'n', '', NULL"), keys(db, "'n'"));
  EXPECT_EQ(keys(db, "'n', 'a', 'a2x'"), Rows{"a3"});
}

TEST(Keys, are_at_most_max_many_and_1000_by_default) {
  Database db;
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db, "COMMIT");
  std::string claims = "[";
  for (int i = 0; i < 1100; ++i) {
    claims += std::string(i == 0 ? "" : ",") + "{\"key\":\"" + std::to_string(10000 + i) +
              "\",\"epoch\":1}";
  }
  ASSERT_OK(db, "SELECT oplog_metadata_upsert_many('n', '" + claims + "]', " + quoted(w1) + ")");
  EXPECT_EQ(keys(db, "'n'").size(), 1000u);
  EXPECT_EQ(keys(db, "'n', '', NULL, NULL").size(), 1000u);
  EXPECT_EQ(keys(db, "'n', '', NULL, 2000").size(), 1100u);
  EXPECT_EQ(keys(db, "'n', '', NULL, 0"), Rows{});
  EXPECT_EQ(keys(db, "'n', '', '10500', 2"), (Rows{"10501", "10502"}));
}

TEST(Keys, that_were_deleted_are_left_out_and_never_lead_past_one_that_lives) {
  Database db;
  claim_all(db, {"a", "b", "c", "d", "e"});
  Rows seen;
  for (Rows next = keys(db, "'n', '', NULL, 1"); !next.empty();
       next = keys(db, "'n', '', " + test::quoted(seen.back()) + ", 1")) {
    seen.push_back(next[0]);
    ASSERT_OK(db, del(next[0], 1));
  }
  EXPECT_EQ(seen, (Rows{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(keys(db, "'n'"), Rows{});
  ASSERT_OK(db, claim("c", 2, w1));
  EXPECT_EQ(keys(db, "'n'"), Rows{"c"});
}

TEST(Keys, without_an_owner_are_keys_as_well) {
  Database db;
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("free", 1, "x"), claim("was", 5, w1), reset("was", 2)));
  EXPECT_EQ(keys(db, "'n'"), (Rows{"free", "was"}));
}

TEST(Keys, refuse_arguments_that_cannot_be) {
  Database db;
  claim_all(db, {"a"});
  for (const std::string& arguments :
       {std::string("NULL"), std::string("''"), std::string("x'6e'"), std::string("'n', x'61'"),
        std::string("'n', 5"), std::string("'n', CAST(x'ff' AS TEXT)"),
        std::string("'n', CAST(x'6100' AS TEXT)"), "'n', " + test::quoted(std::string(256, 'x')),
        "'n', '', " + test::quoted(std::string(256, 'x')),
        std::string("'n', '', CAST(x'c3' AS TEXT)"), std::string("'n', '', NULL, -1"),
        std::string("'n', '', NULL, 'x'")}) {
    const Result result = db.exec("SELECT key FROM oplog_keys(" + arguments + ")");
    EXPECT_TRUE(refused(result, "ZF010", plain_error, "ZF010")) << arguments;
  }
  EXPECT_TRUE(refused(db.exec("SELECT key FROM oplog_keys"), "ZF010", plain_error, "ZF010"));
  EXPECT_EQ(keys(db, "'n', " + test::quoted(std::string(255, 'x'))), Rows{});
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, "SELECT key FROM oplog_keys('n')", "ZF012", plain_error);
}

TEST(Keys, join_with_other_tables) {
  Database db;
  claim_all(db, {"a1", "a2", "b1"});
  ASSERT_OK(db, "CREATE TABLE prefixes(p); INSERT INTO prefixes VALUES ('a'), ('b')");
  EXPECT_EQ(db.rows("SELECT p, key FROM prefixes, oplog_keys('n', p) ORDER BY p, key"),
            (Rows{"a|a1", "a|a2", "b|b1"}));
  EXPECT_EQ(db.rows("SELECT key FROM oplog_keys WHERE namespace = 'n' AND prefix = 'a'"
                    " ORDER BY key DESC"),
            (Rows{"a2", "a1"}));
}

}  // namespace
}  // namespace fence::test
