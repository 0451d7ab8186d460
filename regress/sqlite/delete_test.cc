// fenced_delete: entries, values and ownership go, the floor stays.
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Delete = OwnedLog;
using Rows = std::vector<std::string>;

TEST_F(Delete, L23_by_the_owner_removes_everything_but_the_floor) {
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  EXPECT_EQ(db.value(del("k", 7)), "2");
  EXPECT_EQ(entries(db), Rows{});
  EXPECT_EQ(all_values(db), Rows{});
  EXPECT_EQ(db.rows("SELECT * FROM oplog_metadata"), Rows{});
  EXPECT_EQ(db.rows("SELECT * FROM oplog_keys('n')"), Rows{});
  EXPECT_EQ(status(db), std::string("7|") + w1_fingerprint + "|NULL|NULL|0|1");
  const Result result = db.exec(append("k", 7, w1, 3, "x"));
  EXPECT_TRUE(refused(result, "ZF003", auth, "ZF003"));
  EXPECT_EQ(detail(result, "deleted"), "1");
  EXPECT_EQ(detail(result, "stored_epoch"), "7");
}

TEST_F(Delete, is_repeated_by_the_deleter_alone) {
  ASSERT_OK(db, del("k", 7));
  const Rows before = contents(db);
  EXPECT_EQ(db.value(del("k", 7)), "0");
  EXPECT_EQ(contents(db), before) << "not even its time";
  expect_clean_refusal(db, del("k", 7, w2), "ZF003");
  expect_clean_refusal(db, del("k", 6), "ZF003");
  expect_clean_refusal(db, del("k", 8), "ZF003");
}

TEST_F(Delete, L19_keeps_the_floor) {
  ASSERT_OK(db, claim("k", 9, w1));
  ASSERT_OK(db, del("k", 9));
  for (const int64_t epoch : {0, 8, 9}) {
    const Result result = db.exec(claim("k", epoch, w1));
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << epoch;
    EXPECT_EQ(detail(result, "deleted"), "1");
    EXPECT_EQ(detail(result, "stored_epoch"), "9");
  }
  EXPECT_EQ(db.value(claim("k", 10, w2)), "NULL") << "a new life has no entries";
}

TEST_F(Delete, L21_of_a_key_that_was_never_claimed_is_ZF003) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, free_append("free", 1, "one"));
  expect_clean_refusal(db, del("free", 1), "ZF003");
  expect_clean_refusal(db, del("none", 1), "ZF003");
  EXPECT_EQ(status(db, "free"), "NULL|NULL|1|1|1|0") << "its entry is kept";
}

TEST_F(Delete, by_anybody_else_is_refused_and_removes_nothing) {
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  expect_clean_refusal(db, del("k", 6), "ZF001");
  expect_clean_refusal(db, del("k", 8), "ZF004");
  expect_clean_refusal(db, del("k", 7, w2), "ZF002");
  EXPECT_EQ(entries(db), two);
}

TEST_F(Delete, L18_without_an_epoch_is_harmless_when_repeated) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, claim("three", 3, w1));
  ASSERT_OK(db, append("three", 3, w1, 1, "x"));
  EXPECT_EQ(db.value(del("three", unfenced)), "1");
  const Rows before = contents(db);
  EXPECT_EQ(db.value(del("three", unfenced)), "0");
  EXPECT_EQ(db.value(del("never", unfenced)), "0");
  EXPECT_EQ(contents(db), before);
  EXPECT_REFUSED(db, append("three", 3, w1, 2, "x"), "ZF003", auth);
  EXPECT_REFUSED(db, claim("three", 3, w1), "ZF001", auth);
  EXPECT_EQ(status(db, "never"), "no row");
}

TEST_F(Delete, L22_without_an_epoch_removes_what_somebody_owns) {
  ASSERT_OK(db, set_mode("optional"));
  EXPECT_EQ(db.value("SELECT fenced_delete('n', 'k', NULL, " + quoted(w2) + ")"), "2");
  EXPECT_REFUSED(db, append("k", 7, w1, 3, "x"), "ZF003", auth);
  EXPECT_EQ(status(db), std::string("7|") + w1_fingerprint + "|NULL|NULL|0|1");
  EXPECT_EQ(db.value(del("k", 7)), "0") << "the owner finds it done";
}

TEST_F(Delete, L27_acts_on_one_namespace_only) {
  ASSERT_OK(db, "SELECT oplog_metadata_upsert('m', 'k', 7, " + quoted(w1) + ")");
  ASSERT_OK(db, "SELECT fenced_append('m', 'k', 7, " + quoted(w1) + ", 1, 'm')");
  EXPECT_EQ(db.value(del("k", 7)), "2");
  EXPECT_EQ(db.rows("SELECT namespace, key, idx FROM oplog_entries"), Rows{"m|k|1"});
  EXPECT_OK(db, "SELECT fenced_append('m', 'k', 7, " + quoted(w1) + ", 2, 'm')");
}

TEST_F(Delete, M5_in_an_open_transaction_is_ZF012_and_dooms_nothing) {
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db, append("k", 7, w1, 3, "three"));
  expect_clean_refusal(db, del("k", 7), "ZF012");
  expect_clean_refusal(db, "SELECT fenced_delete('n', 'k', NULL, 'me')", "ZF010");
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries"), "3");
}

TEST_F(Delete, M25_nothing_of_an_earlier_life_is_visible_or_comes_back) {
  ASSERT_OK(db, put("k", 7, w1, "name", "old"));
  ASSERT_OK(db, drop("k", 7, w1, 1));
  ASSERT_OK(db, del("k", 7));
  EXPECT_EQ(db.value(claim("k", 8, w2)), "NULL");
  EXPECT_EQ(status(db), std::string("8|") + w2_fingerprint + "|NULL|NULL|0|0");
  ASSERT_OK(db, append("k", 8, w2, 1, "new"));
  EXPECT_REFUSED(db, append("k", 7, w1, 2, "late"), "ZF001", auth);
  EXPECT_REFUSED(db, put("k", 7, w1, "name", "late"), "ZF001", auth);
  EXPECT_EQ(entries(db), Rows{"k|1|8|new"}) << "idx 1, trimmed in the earlier life, is free";
  EXPECT_EQ(all_values(db), Rows{});
}

// A zombie with an old snapshot cannot write into the next life either.
TEST(DeleteFile, M25_a_zombie_of_an_earlier_life_commits_nothing) {
  TemporaryDirectory directory;
  Database owner(directory.file("x.db"));
  ASSERT_OK(owner, "PRAGMA journal_mode = WAL");
  ASSERT_OK(owner, script(claim("k", 7, w1), append("k", 7, w1, 1, "old")));
  Database zombie(directory.file("x.db"), Setup::loaded);
  ASSERT_OK(zombie, "BEGIN; SELECT * FROM oplog_entries");
  ASSERT_OK(owner, script(del("k", 7), claim("k", 8, w2), append("k", 8, w2, 1, "new")));
  const Result late = zombie.exec(append("k", 7, w1, 2, "late"));
  EXPECT_EQ(late.rc, SQLITE_BUSY_SNAPSHOT) << late.message;
  ASSERT_OK(zombie, "ROLLBACK");
  EXPECT_REFUSED(zombie, append("k", 7, w1, 2, "late"), "ZF001", auth);
  EXPECT_EQ(entries(owner), Rows{"k|1|8|new"});
}

// Removing is stopped half-way: by the disk, or by somebody who stands in between.
TEST_F(Delete, L62_refused_midway_removes_nothing_and_can_be_done_again) {
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  const Rows before = contents(db);
  // Under DEFENSIVE newer versions of SQLite do not let anybody make such a trigger.
  ASSERT_OK(db, "SELECT fence_config('defensive', 0)");
  for (const char* trigger : {"fence_oplog_v1 WHEN OLD.idx = 2 BEGIN", "fence_value_v1 BEGIN"}) {
    SCOPED_TRACE(trigger);
    ASSERT_OK(db, std::string("CREATE TEMP TRIGGER midway BEFORE DELETE ON main.") + trigger +
                      " SELECT RAISE(ABORT, 'midway'); END");
    EXPECT_REFUSED(db, del("k", 7), "ZF020", auth);
    EXPECT_TRUE(db.autocommit());
    EXPECT_EQ(contents(db), before);
    ASSERT_OK(db, "DROP TRIGGER midway");
  }
  ASSERT_OK(db, claim("k", 8, w2));
  EXPECT_EQ(db.value(del("k", 8, w2)), "2") << "the new owner finishes it";
}

int cancel_once(void* steps_left) { return --*static_cast<int*>(steps_left) == 0 ? 1 : 0; }

// Cancelled at every point there is: all of it, or nothing.
TEST_F(Delete, L62_cancelled_midway_removes_nothing) {
  for (int idx = 3; idx < 8; ++idx) ASSERT_OK(db, append("k", 7, w1, idx, "x"));
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  const Rows before = contents(db);
  int steps = 0;
  for (bool done = false; !done && steps < 5000; ++steps) {
    SCOPED_TRACE(steps);
    int left = steps + 1;
    sqlite3_progress_handler(db.get(), 1, cancel_once, &left);
    const Result result = db.exec(del("k", 7));
    sqlite3_progress_handler(db.get(), 0, nullptr, nullptr);
    ASSERT_TRUE(db.autocommit());
    // The last points lie behind the commit.
    done = result.ok() || (entries(db).empty() && all_values(db).empty());
    ASSERT_TRUE(done || contents(db) == before) << result.message;
  }
  EXPECT_GT(steps, 100) << "it was disturbed at many points";
  EXPECT_LT(steps, 5000) << "and came through in the end";
  EXPECT_EQ(entries(db), Rows{});
  EXPECT_EQ(all_values(db), Rows{});
}

TEST_F(Delete, of_a_log_with_content_that_somebody_put_there_is_noticed) {
  ASSERT_OK(db, del("k", 7));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(db,
            "INSERT INTO fence_oplog_v1 VALUES ('n', 'k', 1, 7, zeroblob(16), x'', 0,"
            " zeroblob(16))");
  EXPECT_REFUSED(db, claim("k", 8, w1), "ZF020", auth);
  EXPECT_REFUSED(db, del("k", 7), "ZF020", auth);
}

TEST_F(Delete, refuses_arguments_as_every_call_does) {
  for (const char* arguments : {"NULL, 'k', 7, @", "'n', '', 7, @", "'n', 'k', -1, @",
                                "'n', 'k', 7, NULL", "'n', 'k', 7, 'me'", "'n', 'k', NULL, 'me'"}) {
    expect_clean_refusal(
        db, filled("SELECT fenced_delete(" + std::string(arguments) + ")", quoted(w1)), "ZF010");
  }
  expect_clean_refusal(db, "SELECT fenced_delete('n', 'k', NULL, " + quoted(w1) + ")", "ZF012");
}

}  // namespace
}  // namespace fence::test
