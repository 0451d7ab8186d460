// Fence's own calls, by the zombie and from places where they do not belong.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

std::string many(const std::string& key, int epoch, const std::string& writer,
                 const std::string& idxs) {
  return "SELECT fenced_append_many('n', " + quoted(key) + ", " + std::to_string(epoch) + ", " +
         quoted(writer) + ", '" + idxs + "', fence_blobs('x'))";
}
std::string claim_many(const std::string& claims, const std::string& writer) {
  return "SELECT oplog_metadata_upsert_many('n', " + quoted(claims) + ", " + quoted(writer) + ")";
}
std::string without_select(const std::string& call) { return call.substr(sizeof "SELECT " - 1); }

const char unsafe_function[] = "unsafe use of fenced_append()";
const char unsafe_table[] = "unsafe use of virtual table \"fenced_append\"";

TEST_P(Loaded, S45_calls_in_a_trigger_are_unsafe) {
  ASSERT_OK(zombie, "CREATE TABLE app(x)");
  const struct {
    std::string call;
    const char* message;
  } calls[] = {{append("k", 1, w1, 4, "x"), unsafe_function},
               {append("k", 2, w2, 4, "x"), unsafe_function},
               {insert("k", 1, w1, 4, "x"), unsafe_table},
               {insert("k", 2, w2, 4, "x"), unsafe_table},
               {claim("k", 3, w1), "unsafe use of oplog_metadata_upsert()"},
               {check("k", 2, w2), "unsafe use of fence_check()"},
               {"SELECT fence_config('defensive', 0)", "unsafe use of fence_config()"},
               {"SELECT fence_install()", "unsafe use of fence_install()"}};
  for (const auto& one : calls) {
    SCOPED_TRACE(one.call);
    ASSERT_OK(zombie, "CREATE TRIGGER t AFTER INSERT ON app BEGIN " + one.call + "; END");
    const Result result = zombie.exec("INSERT INTO app VALUES (1)");
    EXPECT_EQ(result.rc, plain_error);
    EXPECT_EQ(result.message, one.message);
    ASSERT_OK(zombie, "DROP TRIGGER t");
    EXPECT_EQ(zombie.value("SELECT count(*) FROM app"), "0");
    expect_untouched();
  }
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S45_calls_in_a_view_are_unsafe) {
  const struct {
    std::string call;
    const char* message;
  } calls[] = {{append("k", 1, w1, 4, "x"), unsafe_function},
               {append("k", 2, w2, 4, "x"), unsafe_function},
               {claim("k", 3, w1), "unsafe use of oplog_metadata_upsert()"},
               {"SELECT fence_config('defensive', 0)", "unsafe use of fence_config()"},
               {"SELECT * FROM fenced_append", unsafe_table}};
  for (const auto& one : calls) {
    SCOPED_TRACE(one.call);
    ASSERT_OK(zombie, "CREATE VIEW v AS " + one.call);
    const Result result = zombie.exec("SELECT * FROM v");
    EXPECT_EQ(result.rc, plain_error);
    EXPECT_EQ(result.message, one.message);
    ASSERT_OK(zombie, "DROP VIEW v");
    expect_untouched();
  }
  expect_owner_goes_on(zombie);
}

// What is TEMP was written by this connection itself: SQLite takes a function there
// for a direct call, so it is judged like one. The table is unsafe there, too.
TEST_P(Loaded, S45_calls_in_a_temp_trigger_and_a_temp_view_are_judged_like_any_other) {
  ASSERT_OK(zombie, "CREATE TABLE app(x)");
  ASSERT_OK(zombie, "CREATE TEMP TRIGGER t AFTER INSERT ON app BEGIN " +
                        append("k", 1, w1, 4, "x") + "; END");
  EXPECT_REFUSED(zombie, "INSERT INTO app VALUES (1)", "ZF001", auth);
  ASSERT_OK(zombie, "DROP TRIGGER t; CREATE TEMP TRIGGER t AFTER INSERT ON app BEGIN " +
                        insert("k", 2, w2, 4, "x") + "; END");
  EXPECT_EQ(zombie.exec("INSERT INTO app VALUES (1)").message, unsafe_table);
  ASSERT_OK(zombie, "DROP TRIGGER t");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM app"), "0");

  ASSERT_OK(zombie, "CREATE TEMP VIEW v AS " + append("k", 1, w1, 4, "x"));
  EXPECT_REFUSED(zombie, "SELECT * FROM v", "ZF001", auth);
  ASSERT_OK(zombie, "CREATE TEMP VIEW u AS SELECT * FROM fenced_append");
  EXPECT_FALSE(zombie.exec("SELECT * FROM u").ok() && zombie.value("SELECT * FROM u") != "no row");
  expect_untouched();
  expect_owner_goes_on(zombie);
}

// Which of them SQLite lets into a schema depends on its version, and in a CHECK it
// may not see that the call is unsafe: the zombie is refused all the same.
TEST_P(Loaded, X_calls_in_other_parts_of_a_schema_make_nobody_the_owner) {
  const std::string stale = without_select(append("k", 1, w1, 4, "x"));
  ASSERT_OK(zombie, "CREATE TABLE note(x)");
  for (const std::string& sql :
       {"CREATE TABLE app(x CHECK (" + stale + "))", "CREATE TABLE app(x, CHECK (" + stale + "))",
        "CREATE TABLE app(x, y DEFAULT (" + stale + "))",
        "CREATE TABLE app(x, y AS (" + stale + "))", "CREATE INDEX i ON note(" + stale + ")",
        "CREATE INDEX i ON note(x) WHERE " + stale}) {
    SCOPED_TRACE(sql);
    if (zombie.exec(sql).ok()) {
      EXPECT_FALSE(zombie.exec("INSERT INTO app(x) VALUES (1)").ok());
      EXPECT_EQ(zombie.value("SELECT count(*) FROM app"), "0");
      ASSERT_OK(zombie, "DROP TABLE app");
    }
    expect_untouched();
  }
  expect_untouched();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S48_an_append_under_the_old_epoch_names_the_owner) {
  for (const std::string& call :
       {append("k", 1, w1, 4, "x"), insert("k", 1, w1, 4, "x"), many("k", 1, w1, "[4]"),
        insert("k", 1, w1, 4, "x", "INSERT OR REPLACE"), append("k", 1, w1, 2, "two"),
        append("k", 1, w2, 4, "x")}) {
    const Result result = zombie.exec(call);
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << call;
    EXPECT_EQ(detail(result, "namespace"), "n");
    EXPECT_EQ(detail(result, "key"), "k");
    EXPECT_EQ(detail(result, "asserted_epoch"), "1");
    EXPECT_EQ(detail(result, "stored_epoch"), "2");
    EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint);
  }
  expect_untouched();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S48_a_claim_of_the_old_epoch_is_refused) {
  for (const std::string& call :
       {claim("k", 1, w1), claim("k", 0, w1), claim_many(R"([{"key":"k","epoch":1}])", w1),
        claim_many(R"([{"key":"own","epoch":2},{"key":"k","epoch":1}])", w1)}) {
    const Result result = zombie.exec(call);
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << call;
    EXPECT_EQ(detail(result, "key"), "k");
    EXPECT_EQ(detail(result, "stored_epoch"), "2");
  }
  EXPECT_NE(zombie.value("SELECT try_oplog_metadata_upsert('n', 'k', 1, " + quoted(w1) + ")")
                .find("\"owned\":false"),
            std::string::npos);
  expect_untouched();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S48_a_claim_of_the_equal_epoch_by_another_writer_is_refused) {
  for (const std::string& call :
       {claim("k", 2, w1), claim_many(R"([{"key":"k","epoch":2}])", w1), append("k", 2, w1, 4, "x"),
        insert("k", 2, w1, 4, "x"), many("k", 2, w1, "[4]")}) {
    const Result result = zombie.exec(call);
    EXPECT_TRUE(refused(result, "ZF002", auth, "ZF002")) << call;
    EXPECT_EQ(detail(result, "asserted_writer"), w1_fingerprint);
    EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint);
  }
  expect_untouched();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S48_what_is_stored_of_the_owner_does_not_pass_for_its_writer) {
  for (const char* column :
       {"writer", "hex(writer)", "lower(hex(writer))", "substr(writer, 1, 4)"}) {
    const Result result = zombie.exec("SELECT fenced_append('n', 'k', 2, " + std::string(column) +
                                      ", 4, 'x')"
                                      " FROM fence_meta_v1 WHERE key = 'k'");
    EXPECT_FALSE(result.ok()) << column;
    EXPECT_TRUE(result.message.rfind("ZF002 ", 0) == 0 || result.message.rfind("ZF010 ", 0) == 0)
        << result.message;
  }
  expect_untouched();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S61_delete_and_update_of_the_insert_form_touch_nothing) {
  EXPECT_OK(zombie, "DELETE FROM fenced_append");
  EXPECT_OK(zombie, "UPDATE fenced_append SET idx = 1, epoch = 2");
  EXPECT_EQ(zombie.value("SELECT * FROM fenced_append"), "no row");
  for (const char* sql :
       {"DROP TABLE fenced_append", "ALTER TABLE fenced_append RENAME TO gone",
        "ALTER TABLE fenced_append ADD COLUMN more", "CREATE INDEX i ON fenced_append(idx)",
        "CREATE TRIGGER t AFTER INSERT ON fenced_append BEGIN SELECT 1; END"}) {
    EXPECT_FALSE(zombie.exec(sql).ok()) << sql;
  }
  expect_untouched();
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, X_no_clause_makes_the_insert_form_skip_the_check) {
  const std::string row = insert("k", 1, w1, 4, "x");
  const std::string columns = "(rowid, namespace, key, epoch, writer, idx, payload)";
  for (const std::string& sql :
       {row + " RETURNING idx", row + " RETURNING (SELECT 1)",
        insert("k", 1, w1, 4, "x", "INSERT OR FAIL"), insert("k", 1, w1, 4, "x", "REPLACE"),
        insert("k", 1, w1, 4, "x", "INSERT OR ROLLBACK"),
        insert("k", 1, w1, 4, "x", "INSERT OR IGNORE"),
        "INSERT INTO fenced_append" + columns + " VALUES (7, 'n', 'k', 1, " + quoted(w1) +
            ", 4, 'x')",
        "WITH RECURSIVE c(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM c WHERE i < 9)"
        " INSERT INTO fenced_append SELECT 'n', 'k', 1, " +
            quoted(w1) + ", i, 'x' FROM c"}) {
    EXPECT_REFUSED(zombie, sql, "ZF001", auth);
  }
  EXPECT_FALSE(zombie.exec(row + " ON CONFLICT DO NOTHING").ok());
  EXPECT_FALSE(zombie.exec("INSERT INTO fenced_append DEFAULT VALUES").ok());
  expect_untouched();
  expect_owner_goes_on(zombie);
}

// Wherever in a statement the call stands: it fails the statement, and what the
// statement would have written is not.
TEST_P(Loaded, X_no_place_in_a_statement_makes_the_function_skip_the_check) {
  ASSERT_OK(zombie,
            "CREATE TABLE note(x); CREATE TEMP TABLE scratch(x);"
            "INSERT INTO scratch VALUES (1), (2)");
  const std::string stale = without_select(append("k", 1, w1, 4, "x"));
  for (const std::string& sql :
       {"INSERT INTO note SELECT " + stale, "INSERT OR IGNORE INTO note SELECT " + stale,
        "INSERT INTO note SELECT x FROM scratch WHERE " + stale, "UPDATE scratch SET x = " + stale,
        "DELETE FROM scratch WHERE " + stale, "INSERT INTO scratch SELECT " + stale,
        "SELECT x FROM scratch ORDER BY " + stale,
        "SELECT count(*) FROM scratch GROUP BY x HAVING " + stale,
        "WITH w AS MATERIALIZED (SELECT " + stale + " AS y) SELECT y FROM w, scratch",
        "SELECT CASE WHEN x = 2 THEN " + stale + " END FROM scratch",
        "SELECT x FROM scratch LIMIT " + stale, "INSERT INTO note VALUES (1) RETURNING " + stale,
        "SELECT sum(" + stale + ") OVER () FROM scratch", "SELECT coalesce(NULL, " + stale + ")",
        "SELECT 1 FROM scratch WHERE x IN (" + stale + ")"}) {
    EXPECT_REFUSED(zombie, sql, "ZF001", auth);
    EXPECT_TRUE(zombie.autocommit());
  }
  EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
  EXPECT_EQ(zombie.value("SELECT group_concat(x) FROM scratch"), "1,2");
  expect_untouched();
  expect_owner_goes_on(zombie);
}

}  // namespace
}  // namespace fence::test
