// fenced_drop_prefix: the beginning of a log goes, its last idx is remembered.
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

// Given the record (k,7,W1) with the entries 10, 11 and 12.
class Trim : public ::testing::Test {
 protected:
  Trim() {
    EXPECT_OK(db, claim("k", 7, w1));
    for (const int idx : {10, 11, 12}) EXPECT_OK(db, append("k", 7, w1, idx, "x"));
  }
  // first|last|length
  std::string extent() {
    return db.value("SELECT first_idx, last_idx, length FROM oplog_status WHERE key = 'k'");
  }

  Database db;
};

TEST_F(Trim, L24_below_the_first_entry_drops_nothing) {
  EXPECT_EQ(db.value(drop("k", 7, w1, 5)), "0");
  EXPECT_EQ(extent(), "10|12|3");
}

TEST_F(Trim, L24_drops_up_to_and_including_the_idx) {
  EXPECT_EQ(db.value(drop("k", 7, w1, 10)), "1");
  EXPECT_EQ(extent(), "11|12|2");
  EXPECT_EQ(entries(db), (Rows{"k|11|7|x", "k|12|7|x"}));
  EXPECT_EQ(db.value(drop("k", 7, w1, 10)), "0") << "a repeat";
}

TEST_F(Trim, L24_beyond_the_end_empties_the_log_and_the_key_stays) {
  EXPECT_EQ(db.value(drop("k", 7, w1, 20)), "3");
  EXPECT_EQ(extent(), "NULL|12|0");
  EXPECT_EQ(db.value("SELECT key FROM oplog_keys('n')"), "k");
  EXPECT_EQ(db.value(claim("k", 8, w2)), "12") << "the last idx is remembered";
  EXPECT_EQ(db.value(append("k", 8, w2, 13, "next")), "13") << "an idx above it is free";
}

TEST_F(Trim, L24_of_a_key_that_never_existed_is_ZF003_and_makes_none) {
  expect_clean_refusal(db, drop("none", 7, w1, 5), "ZF003");
  EXPECT_EQ(status(db, "none"), "no row");
}

TEST_F(Trim, M24_an_append_at_a_trimmed_idx_is_ZF013_and_never_acknowledged) {
  ASSERT_OK(db, drop("k", 7, w1, 11));
  for (const int64_t idx : {0, 5, 10, 11}) {
    expect_clean_refusal(db, append("k", 7, w1, idx, "x"), "ZF013");
    expect_clean_refusal(db, insert("k", 7, w1, idx, "x"), "ZF013");
    expect_clean_refusal(db, append_many("k", 7, w1, "[13," + std::to_string(idx) + "]", "'x','x'"),
                         "ZF013");
  }
  EXPECT_OK(db, append("k", 7, w1, 12, "x")) << "what is left repeats as ever";
  EXPECT_EQ(extent(), "12|12|1");
}

TEST_F(Trim, never_reaches_beyond_what_was_stored) {
  ASSERT_OK(db, drop("k", 7, w1, INT64_MAX));
  EXPECT_OK(db, append("k", 7, w1, 13, "y"));
  EXPECT_EQ(extent(), "13|13|1");
  EXPECT_EQ(db.value("SELECT trimmed FROM fence_meta_v1"), "12");
}

TEST_F(Trim, L25_by_a_stale_owner_is_refused_and_trims_nothing) {
  ASSERT_OK(db, claim("k", 8, w2));
  const Result result = db.exec(drop("k", 7, w1, 11));
  EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001"));
  EXPECT_EQ(detail(result, "stored_epoch"), "8");
  EXPECT_EQ(detail(result, "already_stored"), "NULL");
  expect_clean_refusal(db, drop("k", 8, w1, 11), "ZF002");
  expect_clean_refusal(db, drop("k", 9, w2, 11), "ZF004");
  EXPECT_EQ(extent(), "10|12|3");
  EXPECT_EQ(db.value("SELECT trimmed FROM fence_meta_v1"), "-1");
}

TEST_F(Trim, L25_refused_in_a_transaction_dooms_it) {
  ASSERT_OK(db, claim("k", 8, w2));
  ASSERT_OK(db, "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)");
  EXPECT_REFUSED(db, drop("k", 7, w1, 11), "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(db.value("SELECT count(*) FROM t"), "0");
}

TEST_F(Trim, L39_an_archive_by_the_old_owner_leaves_the_log_whole) {
  ASSERT_OK(db, script(claim("archive", 3, w1), claim("archive", 4, w2), claim("k", 8, w2)));
  EXPECT_REFUSED(db, append("archive", 3, w1, 1, "chunk"), "ZF001", auth);
  EXPECT_REFUSED(db, drop("k", 7, w1, 12), "ZF001", auth);
  EXPECT_EQ(extent(), "10|12|3");
}

TEST_F(Trim, in_a_transaction_is_undone_with_it) {
  const Rows before = contents(db);
  ASSERT_OK(db, "BEGIN");
  EXPECT_EQ(db.value(drop("k", 7, w1, 11)), "2");
  EXPECT_REFUSED(db, append("k", 7, w1, 10, "x"), "ZF013", conflict);
  ASSERT_OK(db, append("k", 7, w1, 13, "x"));
  ASSERT_OK(db, "ROLLBACK");
  EXPECT_EQ(contents(db), before);
  ASSERT_OK(db, "BEGIN; SAVEPOINT s");
  EXPECT_EQ(db.value(drop("k", 7, w1, 20)), "3");
  ASSERT_OK(db, "ROLLBACK TO s");
  EXPECT_OK(db, append("k", 7, w1, 11, "x")) << "it is there again";
  ASSERT_OK(db, "COMMIT");
  EXPECT_EQ(contents(db), before);
}

TEST_F(Trim, takes_late_entries_and_those_of_earlier_epochs_along) {
  ASSERT_OK(db, script(append("k", 7, w1, 3, "late"), append("k", 7, w1, 8, "late")));
  ASSERT_OK(db, claim("k", 8, w2));
  EXPECT_EQ(db.value(drop("k", 8, w2, 10)), "3");
  EXPECT_EQ(extent(), "11|12|2");
  ASSERT_OK(db, append("k", 8, w2, 20, "x"));
  ASSERT_OK(db, append("k", 8, w2, 15, "late"));
  EXPECT_EQ(db.value(drop("k", 8, w2, 15)), "3");
  EXPECT_EQ(db.value("SELECT hex(late_sum) FROM fence_meta_v1"), std::string(32, '0'))
      << "no late entry is left";
  EXPECT_OK(db, claim("k", 9, w1));
}

TEST_F(Trim, of_many_entries_removes_all_of_them) {
  for (int idx = 100; idx < 600; ++idx) ASSERT_OK(db, append("k", 7, w1, idx, "x"));
  EXPECT_EQ(db.value(drop("k", 7, w1, 598)), "502");
  EXPECT_EQ(extent(), "599|599|1");
}

TEST_F(Trim, takes_an_idx_from_0_to_2_to_the_63_minus_1) {
  const std::string with = "SELECT fenced_drop_prefix('n', 'k', 7, " + quoted(w1) + ", ";
  for (const char* bad : {"NULL", "-1", "9223372036854775808", "1.5", "'x'", "x'31'", "''"}) {
    expect_clean_refusal(db, with + bad + ")", "ZF010");
  }
  EXPECT_EQ(db.value(with + "'10')"), "1");
  EXPECT_EQ(db.value(with + "11.0)"), "1");
}

TEST_F(Trim, at_idx_0_leaves_the_rest) {
  ASSERT_OK(db, claim("zero", 1, w1));
  ASSERT_OK(db, script(append("zero", 1, w1, 0, "x"), append("zero", 1, w1, 1, "y")));
  EXPECT_EQ(db.value(drop("zero", 1, w1, 0)), "1");
  expect_clean_refusal(db, append("zero", 1, w1, 0, "x"), "ZF013");
  EXPECT_EQ(status(db, "zero"), std::string("1|") + w1_fingerprint + "|1|1|1|0");
}

int cancel_once(void* steps_left) { return --*static_cast<int*>(steps_left) == 0 ? 1 : 0; }

// In a transaction of the application a trim that stopped half-way cannot be kept.
TEST_F(Trim, cancelled_midway_in_a_transaction_keeps_nothing_of_it) {
  ASSERT_OK(db, "CREATE TABLE t(x)");
  const Rows before = contents(db);
  int steps = 0;
  for (bool done = false; !done && steps < 5000; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_OK(db, "BEGIN; INSERT INTO t VALUES (1)");
    int left = steps + 1;
    sqlite3_progress_handler(db.get(), 1, cancel_once, &left);
    const bool answered = db.exec(drop("k", 7, w1, 11)).ok();
    sqlite3_progress_handler(db.get(), 0, nullptr, nullptr);
    done = db.exec("COMMIT").ok() && extent() == "12|12|1";
    db.exec("ROLLBACK");
    ASSERT_TRUE(done || (!answered && contents(db) == before));
  }
  EXPECT_GT(steps, 50) << "it was disturbed at many points";
  EXPECT_LT(steps, 5000) << "and came through in the end";
  EXPECT_EQ(extent(), "12|12|1");
}

// A full disk is no tampering, and what it stopped half-way cannot be kept.
TEST_F(Trim, after_a_full_disk_the_transaction_is_refused_and_says_why) {
  ASSERT_OK(db, "CREATE TABLE t(x)");
  const Rows before = contents(db);
  const int64_t pages = std::stoll(db.value("PRAGMA page_count"));
  ASSERT_OK(db, "PRAGMA max_page_count = " + std::to_string(pages + 3));
  ASSERT_OK(db, "BEGIN; INSERT INTO t VALUES (1)");
  const std::string large = "SELECT fenced_append('n', " + owner("k", 7) + ", 20, zeroblob(60000))";
  EXPECT_EQ(db.exec(large).rc, SQLITE_FULL);
  for (const std::string& sql : {append("k", 7, w1, 21, "x"), std::string("COMMIT")}) {
    const Result result = db.exec(sql);
    EXPECT_EQ(result.rc, auth) << result.message;
    EXPECT_EQ(result.message.rfind("ZF009 transaction_refused: an error of SQLite stopped", 0), 0U)
        << result.message;
    EXPECT_EQ(detail(result, "code"), "ZF009");
  }
  db.exec("ROLLBACK");
  EXPECT_EQ(contents(db), before);
  EXPECT_EQ(db.value("SELECT count FROM fence_stat WHERE code = 'ZF020'"), "0");
  ASSERT_OK(db, "PRAGMA max_page_count = 100000");
  EXPECT_OK(db, large);
}

// What the trim took, nobody can put back: the seal of the record covers the mark.
TEST_F(Trim, remembered_mark_cannot_be_lowered_unseen) {
  ASSERT_OK(db, drop("k", 7, w1, 12));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_meta_update");
  ASSERT_OK(db, "UPDATE fence_meta_v1 SET trimmed = 5");
  EXPECT_REFUSED(db, append("k", 7, w1, 10, "x"), "ZF020", auth);
}

}  // namespace
}  // namespace fence::test
