// Savepoints do not save a doomed transaction, and they bound what a transaction
// remembers of the keys it has used.
#include "regress/sqlite/transaction.h"

namespace fence::test {
namespace {

using Savepoint = TransactionTest;

TEST_F(Savepoint, rollback_to_does_not_undo_the_doom) {
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before'); SAVEPOINT a");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_OK(db, "ROLLBACK TO a; RELEASE a");
  EXPECT_DOOMED(db, good, "ZF001");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Savepoint, three_levels_of_them_do_not_undo_the_doom) {
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before');" + good);
  ASSERT_OK(db, "SAVEPOINT a; SAVEPOINT b; SAVEPOINT c; INSERT INTO note VALUES ('inside')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_OK(db, "ROLLBACK TO c; RELEASE c; ROLLBACK TO b; RELEASE b; ROLLBACK TO a; RELEASE a");
  EXPECT_OK(db, "INSERT INTO note VALUES ('after')");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Savepoint, rollback_to_the_outermost_at_once_does_not_undo_the_doom) {
  ASSERT_OK(db, "BEGIN; SAVEPOINT a; SAVEPOINT b;" + good + "; SAVEPOINT c");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_OK(db, "ROLLBACK TO a; INSERT INTO note VALUES ('after')");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Savepoint, release_without_rollback_does_not_undo_the_doom) {
  ASSERT_OK(db, "BEGIN; SAVEPOINT a; SAVEPOINT b");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_OK(db, "RELEASE a; INSERT INTO note VALUES ('after')");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

// Every refusal makes the enlisted table where it is missing, so the first one of
// a connection makes it inside the savepoint, and ROLLBACK TO removes it again.
TEST_F(Savepoint, the_doom_outlives_the_rollback_of_the_table_that_carries_it) {
  ASSERT_OK(db, "BEGIN; SAVEPOINT a");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  ASSERT_EQ(db.value("SELECT name FROM temp.sqlite_schema"), "fence_transaction");
  ASSERT_OK(db, "ROLLBACK TO a; INSERT INTO note VALUES ('after')");
  ASSERT_EQ(db.value("SELECT name FROM temp.sqlite_schema"), "no row");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);

  doom_transaction();
  EXPECT_DOOMED(db, "COMMIT", "ZF001") << "and it is made anew";
}

// SQLite leaves the savepoint open when its RELEASE fails: the application has to
// roll back. What it wrote before is gone all the same.
TEST_F(Savepoint, release_of_an_outermost_one_is_a_commit_that_fails) {
  ASSERT_OK(db, "SAVEPOINT a; INSERT INTO note VALUES ('before');" + good);
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "RELEASE a", "ZF001");
  EXPECT_FALSE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, "ROLLBACK");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, good);
}

TEST_F(Savepoint, released_again_in_spite_of_the_error_keeps_only_what_came_after_it) {
  ASSERT_OK(db, "SAVEPOINT a; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "RELEASE a", "ZF001");
  ASSERT_OK(db, "INSERT INTO note VALUES ('after');" + good);
  EXPECT_OK(db, "RELEASE a");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), (std::vector<std::string>{"after", "mine|1|1|good"}));
}

TEST_F(Savepoint, a_refusal_after_that_dooms_again) {
  ASSERT_OK(db, "SAVEPOINT a; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "RELEASE a", "ZF001");
  ASSERT_OK(db, "INSERT INTO note VALUES ('after')");
  EXPECT_REFUSED(db, append("k", 5, w1, 1, "x"), "ZF002", auth);
  EXPECT_DOOMED(db, "RELEASE a", "ZF002");
  EXPECT_OK(db, "ROLLBACK");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Savepoint, rollback_to_undoes_entries_and_keeps_the_rest) {
  ASSERT_OK(db, "BEGIN;" + good + "; SAVEPOINT a;" + append("mine", 1, w1, 2, "undone"));
  ASSERT_OK(db, "ROLLBACK TO a;" + append("mine", 1, w1, 3, "kept") + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good", "mine|3|1|kept"}));
}

// M9. The epoch that a key was used under binds the transaction, not longer than
// the savepoint in which it was first used.
TEST_F(Savepoint, two_epochs_of_one_key_in_one_transaction_are_refused) {
  ASSERT_OK(db, "BEGIN;" + good);
  EXPECT_REFUSED(db, append("mine", 2, w1, 2, "x"), "ZF012", plain_error);
  EXPECT_REFUSED(db, append("mine", 0, w1, 2, "x"), "ZF012", plain_error);
  EXPECT_REFUSED(db, insert("mine", 2, w1, 2, "x"), "ZF012", plain_error);
  EXPECT_OK(db, append("mine", 1, w1, 2, "same epoch") + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good", "mine|2|1|same epoch"}));
}

TEST_F(Savepoint, the_next_transaction_may_use_another_epoch) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT");
  ASSERT_OK(db, claim("mine", 2, w1));
  EXPECT_OK(db, "BEGIN;" + append("mine", 2, w1, 2, "x") + "; COMMIT");
}

TEST_F(Savepoint, rollback_to_forgets_the_epochs_of_keys_used_inside) {
  const std::string beginnings[] = {
      "BEGIN; SAVEPOINT a;",
      "BEGIN; SAVEPOINT a; INSERT INTO note VALUES ('x');",
      "BEGIN; INSERT INTO note VALUES ('x'); SAVEPOINT a;",
      "BEGIN; SAVEPOINT b; SAVEPOINT a; INSERT INTO note VALUES ('x');",
  };
  for (const std::string& begin : beginnings) {
    for (const char* table : {"still there", "dropped"}) {
      SCOPED_TRACE(begin + " " + table);
      ASSERT_OK(db, "BEGIN;" + append("mine", 1, w1, 7, "x") + "; COMMIT");
      if (table[0] == 'd') {
        ASSERT_OK(db, "DROP TABLE temp.fence_transaction");
      }
      ASSERT_OK(db, begin + good + "; ROLLBACK TO a");
      // Not "a second epoch of the key" any more: the caller is simply ahead.
      EXPECT_REFUSED(db, append("mine", 2, w1, 2, "x"), "ZF004", auth);
      EXPECT_OK(db, "ROLLBACK");
    }
  }
}

TEST_F(Savepoint, release_keeps_the_epochs_of_keys_used_inside) {
  ASSERT_OK(db,
            "BEGIN; SAVEPOINT a; SAVEPOINT b;" + good + "; RELEASE b; SAVEPOINT c; ROLLBACK TO c");
  EXPECT_REFUSED(db, append("mine", 2, w1, 2, "x"), "ZF012", plain_error);
  ASSERT_OK(db, "RELEASE a");
  EXPECT_REFUSED(db, append("mine", 2, w1, 2, "x"), "ZF012", plain_error);
  EXPECT_OK(db, "COMMIT");
}

TEST_F(Savepoint, an_outermost_one_rolled_back_to_forgets_the_epochs) {
  ASSERT_OK(db, "SAVEPOINT a;" + good + "; ROLLBACK TO a");
  EXPECT_REFUSED(db, append("mine", 2, w1, 2, "x"), "ZF004", auth);
  EXPECT_OK(db, "ROLLBACK");
}

}  // namespace
}  // namespace fence::test
