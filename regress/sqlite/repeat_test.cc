// An append that was sent before, many rows in one statement, and what a call
// leaves alone (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

class Repeat : public OwnedLog {};

TEST_F(Repeat, of_the_same_bytes_under_the_same_epoch_succeeds_and_stores_nothing) {
  const Rows before = contents(db);
  EXPECT_EQ(db.value(append("k", 7, w1, 2, "two")), "2");
  EXPECT_EQ(db.value(append("k", 7, w1, 1, "one")), "1");
  EXPECT_OK(db, insert("k", 7, w1, 2, "two"));
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[1,2]", "'one', 'two'")), "0");
  EXPECT_EQ(contents(db), before);
}

TEST_F(Repeat, after_reopening_the_claim_succeeds) {
  ASSERT_OK(db, claim("k", 7, w1));
  EXPECT_EQ(db.value(append("k", 7, w1, 2, "two")), "2");
}

TEST_F(Repeat, of_an_entry_of_another_epoch_is_ZF013_even_with_the_same_bytes) {
  ASSERT_OK(db, claim("k", 8, w1));
  expect_clean_refusal(db, append("k", 8, w1, 2, "two"), "ZF013");
  expect_clean_refusal(db, insert("k", 8, w1, 1, "one"), "ZF013");
  expect_clean_refusal(db, append_many("k", 8, w1, "[2,3]", "'two', 'three'"), "ZF013");
  EXPECT_EQ(entries(db), two);
}

TEST_F(Repeat, refused_with_ZF013_says_why_and_names_the_idx) {
  ASSERT_OK(db, claim("k", 8, w2));
  const Result other_epoch = db.exec(append("k", 8, w2, 2, "two"));
  EXPECT_EQ(other_epoch.rc, SQLITE_CONSTRAINT_FUNCTION);
  EXPECT_EQ(other_epoch.message.rfind(
                "ZF013 index_conflict: idx 2 is taken by an entry of another epoch; hint: ", 0),
            0U)
      << other_epoch.message;
  const Result other_bytes = db.exec(append("k", 8, w2, 2, "zwei"));
  EXPECT_EQ(
      other_bytes.message.rfind("ZF013 index_conflict: idx 2 is taken by other bytes; hint: ", 0),
      0U)
      << other_bytes.message;
  EXPECT_EQ(detail(other_bytes, "key"), "k");
  EXPECT_EQ(detail(other_bytes, "already_stored"), "NULL");
}

// The sender learns that its entry is there, but never that it is still the owner.
TEST_F(Repeat, by_a_stale_owner_is_ZF001_and_says_whether_its_entry_is_stored) {
  ASSERT_OK(db, claim("k", 8, w2));
  ASSERT_OK(db, append("k", 8, w2, 3, "three"));
  const struct {
    const char* what;
    std::string sql;
    const char* already_stored;  // as JSON functions show a boolean
  } cases[] = {
      {"its entry", append("k", 7, w1, 2, "two"), "1"},
      {"its entry, INSERT", insert("k", 7, w1, 2, "two"), "1"},
      {"other bytes", append("k", 7, w1, 2, "zwei"), "0"},
      {"nothing there", append("k", 7, w1, 9, "nine"), "0"},
      {"the new owner's entry", append("k", 7, w1, 3, "three"), "0"},
      {"the new owner's entry, INSERT", insert("k", 7, w1, 3, "three"), "0"},
      {"the whole batch", append_many("k", 7, w1, "[1,2]", "'one', 'two'"), "1"},
      {"the batch unsorted", append_many("k", 7, w1, "[2,1]", "'two', 'one'"), "1"},
      {"part of the batch", append_many("k", 7, w1, "[2,4]", "'two', 'four'"), "0"},
      {"other bytes in the batch", append_many("k", 7, w1, "[1,2]", "'one', 'zwei'"), "0"},
      {"a batch with the new owner's", append_many("k", 7, w1, "[2,3]", "'two', 'three'"), "0"},
  };
  for (const auto& c : cases) {
    expect_clean_refusal(db, c.sql, "ZF001");
    const Result result = db.exec(c.sql);
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << c.what;
    EXPECT_EQ(detail(result, "already_stored"), c.already_stored) << c.what;
  }
  EXPECT_EQ(entries(db), (Rows{"k|1|7|one", "k|2|7|two", "k|3|8|three"}));
}

TEST_F(Repeat, refusals_of_other_kinds_do_not_speak_of_stored_entries) {
  for (const std::string& sql : {append("k", 8, w1, 2, "two"), append("k", 7, w2, 2, "two"),
                                 append("absent", 7, w1, 2, "two")}) {
    EXPECT_EQ(detail(db.exec(sql), "already_stored"), "NULL") << sql;
  }
}

// Many rows in one INSERT.
class InsertForm : public OwnedLog {
 protected:
  static std::string row(int64_t epoch, const std::string& writer, int64_t idx,
                         const std::string& payload) {
    return "('n', 'k', " + std::to_string(epoch) + ", " + quoted(writer) + ", " +
           std::to_string(idx) + ", " + quoted(payload) + ")";
  }
  static std::string values_of(const Rows& rows) {
    std::string sql =
        "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)"
        " VALUES ";
    for (const std::string& one : rows) sql += (&one == &rows.front() ? "" : ", ") + one;
    return sql;
  }
  const std::string three = row(7, w1, 3, "three");
  const std::string four = row(7, w1, 4, "four");
};

TEST_F(InsertForm, stores_all_rows_of_a_statement_and_counts_them) {
  ASSERT_OK(db, values_of({three, four, row(7, w1, 5, "five")}));
  EXPECT_EQ(sqlite3_changes(db.get()), 3);
  EXPECT_EQ(sqlite3_last_insert_rowid(db.get()), 5) << "the idx of the last row";
  EXPECT_EQ(db.value("SELECT count(*), max(idx) FROM oplog_entries"), "5|5");
}

TEST_F(InsertForm, takes_its_rows_from_a_query) {
  ASSERT_OK(db, "CREATE TABLE source(idx, payload); INSERT INTO source VALUES (3, 'a'), (4, 'b')");
  ASSERT_OK(db, "INSERT INTO fenced_append SELECT 'n', 'k', 7, " + quoted(w1) +
                    ", idx, payload FROM source");
  EXPECT_EQ(entries(db), (Rows{"k|1|7|one", "k|2|7|two", "k|3|7|a", "k|4|7|b"}));
}

// The last row is the bad one: what stood before it must go as well.
TEST_F(InsertForm, stores_all_rows_or_none_in_autocommit) {
  ASSERT_OK(db, claim("j", 9, w2));
  const struct {
    const char* what;
    std::string row;
    const char* code;
  } cases[] = {
      {"other bytes", row(7, w1, 2, "zwei"), "ZF013"},
      {"stale", row(6, w1, 5, "five"), "ZF012"},
      {"ahead", row(8, w1, 5, "five"), "ZF012"},
      {"other writer", row(7, w2, 5, "five"), "ZF002"},
      {"another key, stale", "('n', 'j', 8, " + quoted(w2) + ", 1, 'x')", "ZF001"},
      {"another key, no record", "('n', 'absent', 8, " + quoted(w2) + ", 1, 'x')", "ZF003"},
      {"no idx", "('n', 'k', 7, " + quoted(w1) + ", NULL, 'x')", "ZF010"},
      {"no payload", "('n', 'k', 7, " + quoted(w1) + ", 5, NULL)", "ZF010"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    expect_clean_refusal(db, values_of({three, four, c.row}), c.code);
    EXPECT_EQ(entries(db), two);
  }
}

TEST_F(InsertForm, refused_inside_a_transaction_leaves_the_earlier_statements_alone) {
  ASSERT_OK(db, "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)");
  ASSERT_OK(db, values_of({three}));
  EXPECT_REFUSED(db, values_of({four, row(7, w1, 2, "zwei")}), "ZF013", conflict);
  EXPECT_EQ(db.value("SELECT count(*), max(idx) FROM oplog_entries"), "3|3")
      << "the whole statement is undone, and nothing else";
  ASSERT_OK(db, values_of({four}));
  EXPECT_OK(db, "COMMIT") << "a taken idx dooms nothing";
  EXPECT_EQ(entries(db), (Rows{"k|1|7|one", "k|2|7|two", "k|3|7|three", "k|4|7|four"}));
  EXPECT_EQ(db.value("SELECT count(*) FROM t"), "1");
  EXPECT_OK(db, claim("k", 8, w2)) << "the seals are whole";
}

TEST_F(InsertForm, with_a_late_row_before_the_refused_one_leaves_the_record_whole) {
  ASSERT_OK(db, values_of({row(7, w1, 90, "ninety")}));
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, values_of({row(7, w1, 50, "late"), row(7, w1, 2, "zwei")}), "ZF013", conflict);
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries"), "3");
  EXPECT_OK(db, append("k", 7, w1, 50, "late"));
  EXPECT_EQ(db.value(claim("k", 8, w2)), "90");
}

TEST_F(InsertForm, takes_repeats_and_new_rows_in_one_statement) {
  ASSERT_OK(db, values_of({row(7, w1, 2, "two"), three, three}));
  EXPECT_EQ(db.value("SELECT count(*), max(idx) FROM oplog_entries"), "3|3");
}

TEST_F(InsertForm, takes_columns_by_name_and_misses_none) {
  ASSERT_OK(db,
            "INSERT INTO fenced_append(payload, idx, writer, epoch, key, namespace) VALUES"
            " ('three', 3, " +
                quoted(w1) + ", 7, 'k', 'n')");
  EXPECT_EQ(entries(db).back(), "k|3|7|three");
  for (const char* missing : {"namespace", "key", "writer", "idx", "payload"}) {
    std::string columns;
    std::string values;
    const std::pair<std::string, std::string> all[] = {{"namespace", "'n'"}, {"key", "'k'"},
                                                       {"epoch", "7"},       {"writer", quoted(w1)},
                                                       {"idx", "4"},         {"payload", "'x'"}};
    for (const auto& [column, value] : all) {
      if (column == missing) continue;
      columns += (columns.empty() ? "" : ", ") + column;
      values += (values.empty() ? "" : ", ") + value;
    }
    expect_clean_refusal(db, "INSERT INTO fenced_append(" + columns + ") VALUES (" + values + ")",
                         "ZF010");
  }
}

TEST_F(InsertForm, has_no_rows_and_takes_no_other_change) {
  EXPECT_EQ(db.value("SELECT count(*) FROM fenced_append"), "0");
  const Rows before = contents(db);
  EXPECT_OK(db, "DELETE FROM fenced_append");
  EXPECT_OK(db, "UPDATE fenced_append SET idx = 9");
  EXPECT_EQ(contents(db), before);
}

class LastInsertRowid : public OwnedLog {};

TEST_F(LastInsertRowid, is_the_applications_own_after_every_scalar_call) {
  ASSERT_OK(db, "CREATE TABLE t(x); INSERT INTO t(rowid, x) VALUES (777, 1)");
  const std::string calls[] = {
      append("k", 7, w1, 3, "three"),
      append("k", 7, w1, 3, "three"),
      append("k", 7, w2, 4, "refused"),
      append_many("k", 7, w1, "[5,6]", "'five', 'six'"),
      claim("new", 1, w1),
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"newer\",\"epoch\":1}]', " + quoted(w1) +
          ")",
      check("k", 7, w1),
      "SELECT fence_config('evict_after', 2000)",
      "SELECT fence_install()",
  };
  for (const std::string& sql : calls) {
    db.exec(sql);
    EXPECT_EQ(sqlite3_last_insert_rowid(db.get()), 777) << sql;
  }
  ASSERT_OK(db, "BEGIN; " + append("k", 7, w1, 9, "nine"));
  EXPECT_EQ(sqlite3_last_insert_rowid(db.get()), 777);
  ASSERT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT max(idx) FROM oplog_entries"), "9");
}

class HugePayload : public OwnedLog {};

TEST_F(HugePayload, of_20_MB_is_stored_read_and_repeated) {
  const std::string payload(20 << 20, '\x5a');
  const std::vector<Value> values = {Value::text("n"), Value::text("k"),  Value::integer(7),
                                     Value::text(w1),  Value::integer(3), Value::blob(payload)};
  EXPECT_TRUE(succeeded(call(db, "fenced_append", values)));
  EXPECT_TRUE(succeeded(call(db, "fenced_append", values))) << "a repeat";
  std::vector<Value> other = values;
  other[5].bytes.back() = '\x5b';
  EXPECT_TRUE(refused(call(db, "fenced_append", other), "ZF013", conflict, "ZF013"));
  const std::string many =
      "SELECT fenced_append_many('n', 'k', 7, " + quoted(w1) + ", '[3,4]', fence_blobs(?1, ?1))";
  EXPECT_TRUE(succeeded(run(db, many, {Value::blob(payload)})));
  EXPECT_EQ(db.rows("SELECT idx, length(payload) FROM oplog_read('n', 'k', 3)"),
            (Rows{"3|20971520", "4|20971520"}));
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_read('n', 'k', 3) WHERE payload = "
                     "(SELECT payload FROM oplog_entries WHERE idx = 4)"),
            "2");
}

TEST_F(HugePayload, beyond_the_connections_limit_is_a_clear_error) {
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, 100000);
  const std::string text = "string or blob too big";
  const std::string head = "'n', 'k', 7, " + quoted(w1);
  expect_clean_error(db, "SELECT fenced_append(" + head + ", 3, zeroblob(100001))", SQLITE_TOOBIG,
                     text);
  // The payload fits, the row with it does not.
  expect_clean_error(db, "SELECT fenced_append(" + head + ", 3, zeroblob(99999))", SQLITE_TOOBIG,
                     text);
  expect_clean_error(db, "INSERT INTO fenced_append VALUES (" + head + ", 3, zeroblob(99999))",
                     SQLITE_TOOBIG, text);
  expect_clean_error(db, append_many("k", 7, w1, "[3,4]", "zeroblob(60000), zeroblob(60000)"),
                     SQLITE_TOOBIG, text);
  expect_clean_error(db, append_many("k", 7, w1, "[3,4]", "'small', zeroblob(99970)"),
                     SQLITE_TOOBIG, text);
  EXPECT_EQ(entries(db), two);
  EXPECT_OK(db, "SELECT fenced_append(" + head + ", 3, zeroblob(90000))");
}

// The first entry of the batch is written when the second one turns out to be too large.
TEST_F(HugePayload, that_stops_a_batch_half_way_leaves_nothing_of_it_to_commit) {
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, 100000);
  ASSERT_OK(db, "BEGIN");
  const Result result = db.exec(append_many("k", 7, w1, "[3,4]", "'small', zeroblob(99970)"));
  EXPECT_EQ(result.rc, SQLITE_TOOBIG) << result.message;
  EXPECT_EQ(db.exec("COMMIT").rc, SQLITE_AUTH);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(entries(db), two);
  EXPECT_OK(db, append("k", 7, w1, 3, "three"));
}

}  // namespace
}  // namespace fence::test
