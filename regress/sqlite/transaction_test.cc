// A refusal that says "you are not the owner" dooms the transaction: it cannot
// commit any more, whatever the application does with the error.
#include "regress/sqlite/transaction.h"

namespace fence::test {
namespace {

using Transaction = TransactionTest;

struct FirstRefusal {
  const char* code;
  std::string select;
  std::string insert;
};

// Every code of this release that dooms, in both forms of the append.
std::vector<FirstRefusal> dooming_refusals() {
  return {
      {"ZF001", append("k", 4, w1, 1, "x"), insert("k", 4, w1, 1, "x")},
      {"ZF002", append("k", 5, w1, 1, "x"), insert("k", 5, w1, 1, "x")},
      {"ZF003", append("unknown", 1, w1, 1, "x"), insert("unknown", 1, w1, 1, "x")},
      {"ZF004", append("k", 6, w2, 1, "x"), insert("k", 6, w2, 1, "x")},
  };
}

TEST_F(Transaction, commit_fails_and_everything_is_rolled_back) {
  for (const FirstRefusal& refusal : dooming_refusals()) {
    for (const std::string& statement : {refusal.select, refusal.insert}) {
      for (const char* commit : {"COMMIT", "END"}) {
        SCOPED_TRACE(statement + "; " + commit);
        ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before');" + good);
        EXPECT_REFUSED(db, statement, refusal.code, auth);
        EXPECT_FALSE(db.autocommit()) << "the refusal itself ends nothing";
        ASSERT_OK(db, "INSERT INTO note VALUES ('after')");
        EXPECT_DOOMED(db, commit, refusal.code);
        EXPECT_TRUE(db.autocommit()) << "SQLite has rolled back by itself";
        EXPECT_EQ(stored(), nothing);
      }
    }
  }
}

TEST_F(Transaction, rollback_and_commit_after_the_failed_commit_find_no_transaction) {
  doom_transaction();
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  const Result rollback = db.exec("ROLLBACK");
  EXPECT_EQ(rollback.rc, SQLITE_ERROR);
  EXPECT_EQ(rollback.message, "cannot rollback - no transaction is active");
  const Result commit = db.exec("COMMIT");
  EXPECT_EQ(commit.rc, SQLITE_ERROR);
  EXPECT_EQ(commit.message, "cannot commit - no transaction is active");
}

TEST_F(Transaction, is_doomed_by_a_refusal_before_anything_else) {
  for (const char* begin : {"BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
    SCOPED_TRACE(begin);
    ASSERT_OK(db, begin);
    EXPECT_REFUSED(db, stale, "ZF001", auth);
    ASSERT_OK(db, "INSERT INTO note VALUES ('after')");
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_TRUE(db.autocommit());
    EXPECT_EQ(stored(), nothing);
  }
}

TEST_F(Transaction, is_doomed_also_when_it_only_reads_besides) {
  ASSERT_OK(db, "BEGIN; SELECT count(*) FROM note");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_EQ(db.value("SELECT count(*) FROM note"), "0") << "reading goes on";
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
}

TEST_F(Transaction, rollback_of_a_doomed_one_works) {
  doom_transaction();
  EXPECT_OK(db, "ROLLBACK");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Transaction, the_next_one_is_not_doomed) {
  for (const char* end : {"COMMIT", "ROLLBACK"}) {
    SCOPED_TRACE(end);
    doom_transaction();
    db.exec(end);
    EXPECT_OK(db, "BEGIN;" + good + "; ROLLBACK");
    EXPECT_OK(db, "BEGIN; INSERT INTO note VALUES ('next'); DELETE FROM note; COMMIT");
  }
  EXPECT_OK(db, "BEGIN; INSERT INTO note VALUES ('next');" + good + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"next", "mine|1|1|good"}));
}

TEST_F(Transaction, a_refusal_in_autocommit_dooms_nothing_that_comes_later) {
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_REFUSED(db, insert("k", 4, w1, 1, "x"), "ZF001", auth);
  EXPECT_TRUE(db.autocommit());
  EXPECT_OK(db, "BEGIN; INSERT INTO note VALUES ('next');" + good + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"next", "mine|1|1|good"}));
}

TEST_F(Transaction, every_later_call_is_refused_at_once_with_the_first_detail) {
  doom_transaction();
  const std::string calls[] = {
      append("mine", 1, w1, 1, "good"),
      insert("mine", 1, w1, 1, "good"),
      append("mine", 1, w2, 1, "would be ZF002 by itself"),
      "SELECT fenced_append_many('n', 'mine', 1, " + quoted(w1) + ", '[1]', fence_blobs('a'))",
      "SELECT fenced_append_many('n', 'mine', 1, " + quoted(w1) + ", '[]', x'')",
      check("mine", 1, w1),
      claim("mine", 2, w1),
      "SELECT try_oplog_metadata_upsert('n', 'mine', 2, " + quoted(w1) + ")",
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"mine\",\"epoch\":2}]', " + quoted(w1) +
          ")",
      "SELECT fence_install()",
      "SELECT fence_config('max_waiters', 17)",
  };
  for (const std::string& call : calls) {
    const Result result = db.exec(call);
    EXPECT_TRUE(refused(result, "ZF009", auth, "ZF001")) << call;
    EXPECT_EQ(detail(result, "key"), "k") << call;
    EXPECT_EQ(detail(result, "asserted_epoch"), "4") << call;
    EXPECT_EQ(detail(result, "stored_epoch"), "5") << call;
    EXPECT_EQ(detail(result, "asserted_writer"), w1_fingerprint) << call;
    EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint) << call;
    EXPECT_EQ(detail(result, "already_stored"), "0") << call;
  }
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
  EXPECT_EQ(db.value("SELECT epoch FROM oplog_metadata WHERE key = 'mine'"), "1");
}

TEST_F(Transaction, a_broken_guard_dooms_it_too) {
  {
    Database vandal(path, Setup::plain);
    ASSERT_OK(vandal, "DROP TRIGGER fence_oplog_insert");
  }
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, good, "ZF020", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF020");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Transaction, codes_that_do_not_question_the_ownership_fail_their_statement_only) {
  ASSERT_OK(db, good);
  const struct {
    const char* code;
    int rc;
    std::string statement;
  } cases[] = {
      {"ZF013", conflict, append("mine", 1, w1, 1, "other bytes")},
      {"ZF013", conflict, insert("mine", 1, w1, 1, "other bytes")},
      {"ZF010", plain_error, append("mine", -1, w1, 2, "x")},
      {"ZF010", plain_error, append("mine", 1, "nobody", 2, "x")},
      {"ZF010", plain_error, insert("mine", 1, w1, -2, "x")},
      {"ZF012", plain_error, claim("mine", 2, w1)},
      {"ZF012", plain_error, append("mine", 2, w1, 2, "a second epoch")},
      {"ZF012", plain_error,
       "SELECT fenced_append('n', 'mine', NULL, " + quoted(w1) + ", 2, 'no epoch')"},
  };
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before');" + append("mine", 1, w1, 2, "more"));
  for (const auto& one : cases) {
    SCOPED_TRACE(one.statement);
    EXPECT_REFUSED(db, one.statement, one.code, one.rc);
    EXPECT_FALSE(db.autocommit());
  }
  EXPECT_OK(db, append("mine", 1, w1, 3, "after"));
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"before", "mine|1|1|good", "mine|2|1|more",
                                                "mine|3|1|after"}));
}

TEST_F(Transaction, a_refused_check_dooms_nothing) {
  ASSERT_OK(db, "BEGIN IMMEDIATE; INSERT INTO note VALUES ('kept')");
  EXPECT_REFUSED(db, check("k", 4, w1), "ZF001", auth);
  EXPECT_REFUSED(db, check("unknown", 4, w1), "ZF003", auth);
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"kept"}));
}

TEST_F(Transaction, an_open_cursor_does_not_save_a_doomed_one) {
  ASSERT_OK(db, "INSERT INTO note VALUES ('a'), ('b'); BEGIN; INSERT INTO note VALUES ('c')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  Statement cursor(db, "SELECT text FROM note");
  ASSERT_EQ(cursor.step(), SQLITE_ROW);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  cursor.finalize();
  EXPECT_EQ(stored(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(Transaction, a_constraint_that_rolls_a_doomed_one_back_ends_the_doom_with_it) {
  ASSERT_OK(db, "CREATE TABLE single(value UNIQUE); INSERT INTO single VALUES (1)");
  doom_transaction();
  EXPECT_EQ(db.exec("INSERT OR ROLLBACK INTO single VALUES (1)").rc, SQLITE_CONSTRAINT_UNIQUE);
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, "BEGIN;" + good + "; COMMIT");
}

TEST_F(Transaction, takes_the_writes_to_an_attached_file_with_it) {
  const std::string other = directory.file("other.db");
  ASSERT_OK(db, "ATTACH " + quoted(other) + " AS other; CREATE TABLE other.seen(text)");
  ASSERT_OK(db, "BEGIN; INSERT INTO other.seen VALUES ('x')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(db.value("SELECT count(*) FROM other.seen"), "0");
  EXPECT_OK(db, "INSERT INTO other.seen VALUES ('y')");
}

TEST_F(Transaction, in_memory_is_doomed_like_one_on_a_file) {
  Database memory;
  ASSERT_OK(memory, "CREATE TABLE note(text);" + claim("k", 5, w2) + "; BEGIN");
  ASSERT_OK(memory, "INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(memory, stale, "ZF001", auth);
  EXPECT_DOOMED(memory, "COMMIT", "ZF001");
  EXPECT_TRUE(memory.autocommit());
  EXPECT_EQ(memory.value("SELECT count(*) FROM note"), "0");
}

}  // namespace
}  // namespace fence::test
