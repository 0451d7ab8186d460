// What carries the doom to COMMIT is a TEMP table that the application can see,
// drop and shadow: none of that lets a doomed transaction commit.
#include "regress/sqlite/transaction.h"

namespace fence::test {
namespace {

using Enlistment = TransactionTest;

// A module with nothing in it that could refuse a commit.
int connect_nothing(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char**) {
  *table = static_cast<sqlite3_vtab*>(sqlite3_malloc(sizeof(sqlite3_vtab)));
  **table = sqlite3_vtab{};
  return sqlite3_declare_vtab(db, "CREATE TABLE x(unused)");
}
int disconnect_nothing(sqlite3_vtab* table) {
  sqlite3_free(table);
  return SQLITE_OK;
}
int no_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }

const sqlite3_module* empty_module() {
  static const sqlite3_module module = [] {
    sqlite3_module made{};
    made.xCreate = connect_nothing;
    made.xConnect = connect_nothing;
    made.xBestIndex = no_index;
    made.xDisconnect = disconnect_nothing;
    made.xDestroy = disconnect_nothing;
    return made;
  }();
  return &module;
}

int count_call(void* counter) {
  ++*static_cast<int*>(counter);
  return 0;
}
int veto(void* counter) {
  ++*static_cast<int*>(counter);
  return 1;
}
void count_rollback(void* counter) { ++*static_cast<int*>(counter); }

TEST_F(Enlistment, replacing_the_module_does_not_undo_the_doom) {
  doom_transaction();
  ASSERT_EQ(
      sqlite3_create_module_v2(db.get(), "fence_transaction", empty_module(), nullptr, nullptr),
      SQLITE_OK);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, replacing_every_module_does_not_undo_the_doom) {
  doom_transaction();
  for (const char* name :
       {"fence_transaction", "fence_statements", "fenced_append", "fence", "oplog_read"}) {
    ASSERT_EQ(sqlite3_create_module_v2(db.get(), name, empty_module(), nullptr, nullptr),
              SQLITE_OK);
  }
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, dropping_all_modules_does_not_undo_the_doom) {
  doom_transaction();
  ASSERT_EQ(sqlite3_drop_modules(db.get(), nullptr), SQLITE_OK);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, replacing_the_functions_does_not_undo_the_doom) {
  doom_transaction();
  for (const char* name : {"fence_version", "fenced_append", "fence_check"}) {
    for (int arity : {0, 4, 6}) {
      ASSERT_EQ(sqlite3_create_function_v2(db.get(), name, arity, SQLITE_UTF8, nullptr, nullptr,
                                           nullptr, nullptr, nullptr),
                SQLITE_OK);
    }
  }
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, loading_the_extension_again_does_not_undo_the_doom) {
  doom_transaction();
  ASSERT_TRUE(succeeded(db.load()));
  EXPECT_DOOMED(db, good, "ZF001");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, the_table_cannot_be_dropped_while_it_carries_a_doom) {
  doom_transaction();
  EXPECT_FALSE(db.exec("DROP TABLE temp.fence_transaction").ok());
  EXPECT_FALSE(db.exec("DROP TABLE fence_transaction").ok());
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, the_table_cannot_be_dropped_inside_a_savepoint_either) {
  doom_transaction();
  EXPECT_FALSE(db.exec("SAVEPOINT a; DROP TABLE temp.fence_transaction").ok());
  EXPECT_OK(db, "ROLLBACK TO a; RELEASE a");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, dropped_while_idle_it_is_made_anew) {
  doom_transaction();
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  ASSERT_OK(db, "CREATE TEMP TABLE unrelated(x)");
  for (const char* drop : {"DROP TABLE IF EXISTS temp.fence_transaction",
                           "BEGIN; DROP TABLE IF EXISTS temp.fence_transaction; COMMIT"}) {
    SCOPED_TRACE(drop);
    ASSERT_OK(db, drop);
    ASSERT_EQ(db.rows("SELECT name FROM temp.sqlite_schema"),
              (std::vector<std::string>{"unrelated"}));
    doom_transaction();
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(stored(), nothing);
  }
}

TEST_F(Enlistment, dropped_in_the_transaction_before_the_refusal_it_is_made_anew) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT");
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before'); DROP TABLE temp.fence_transaction");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

// xCommit is not called for a dropped table: what the transaction was told must
// not linger on.
TEST_F(Enlistment, dropped_after_a_good_append_it_leaves_nothing_to_the_next_transaction) {
  ASSERT_OK(db, "BEGIN;" + good + "; DROP TABLE temp.fence_transaction; COMMIT");
  ASSERT_OK(db, claim("mine", 2, w1));
  EXPECT_OK(db, "BEGIN;" + append("mine", 2, w1, 2, "next") + "; COMMIT");
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_TRUE(db.autocommit());
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good", "mine|2|2|next"}));
  EXPECT_OK(db, append("mine", 2, w1, 3, "after"));
}

TEST_F(Enlistment, dropped_after_a_good_append_it_is_made_anew_by_the_refusal) {
  ASSERT_OK(db, "BEGIN;" + good + "; DROP TABLE temp.fence_transaction");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, a_rollback_to_that_removes_it_after_a_good_append_loses_no_later_doom) {
  ASSERT_OK(db, "BEGIN; SAVEPOINT a;" + good + "; ROLLBACK TO a");
  ASSERT_EQ(db.value("SELECT name FROM temp.sqlite_schema"), "no row");
  ASSERT_OK(db, "INSERT INTO note VALUES ('after')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, a_change_of_temp_store_loses_the_table_but_no_later_doom) {
  doom_transaction();
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  for (const char* store : {"MEMORY", "FILE", "DEFAULT"}) {
    SCOPED_TRACE(store);
    ASSERT_OK(db, std::string("PRAGMA temp_store = ") + store);
    doom_transaction();
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(stored(), nothing);
  }
}

TEST_F(Enlistment, temp_store_cannot_be_changed_to_escape_the_doom) {
  doom_transaction();
  db.exec("PRAGMA temp_store = MEMORY");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

// More tables of the same module are more participants of the transaction. None of
// them may make it forget what it was refused for.
TEST_F(Enlistment, a_second_table_of_the_module_does_not_undo_the_doom) {
  for (const char* schema : {"temp", "main"}) {
    SCOPED_TRACE(schema);
    const std::string second = std::string(schema) + ".second";
    db.exec("CREATE VIRTUAL TABLE " + second + " USING fence_transaction");
    doom_transaction();
    db.exec("DELETE FROM " + second);
    db.exec("DROP TABLE " + second);
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(stored(), nothing);
    db.exec("DROP TABLE " + second);
  }
}

TEST_F(Enlistment, a_second_table_made_or_dropped_at_any_time_loses_no_doom) {
  const std::string steps[] = {
      "CREATE VIRTUAL TABLE temp.second USING fence_transaction",
      "DELETE FROM temp.second",
      "DROP TABLE temp.second",
      "DELETE FROM temp.fence_transaction",
      "DROP TABLE temp.fence_transaction",
      "CREATE VIRTUAL TABLE temp.fence_transaction USING fence_transaction",
  };
  // Every choice of a step before the good append, before the refusal, and after it.
  for (const std::string& first : steps) {
    SCOPED_TRACE(first);
    for (const std::string& second : steps) {
      SCOPED_TRACE(second);
      for (const std::string& third : steps) {
        SCOPED_TRACE(third);
        db.exec("DROP TABLE temp.second");
        ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
        db.exec(first);
        ASSERT_OK(db, good);
        db.exec(second);
        EXPECT_REFUSED(db, stale, "ZF001", auth);
        db.exec(third);
        ASSERT_DOOMED(db, "COMMIT", "ZF001");
        ASSERT_TRUE(db.autocommit());
      }
    }
  }
  EXPECT_EQ(stored(), nothing);
}

// SQLite then reads its schema anew and connects the table again, while the old
// one is still a part of the transaction.
TEST_F(Enlistment, connecting_the_table_anew_does_not_undo_the_doom) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT");
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  ASSERT_OK(db, "SAVEPOINT a; CREATE TEMP TABLE unrelated(x); ROLLBACK TO a; RELEASE a");
  db.exec("DELETE FROM temp.fence_transaction");
  EXPECT_FALSE(db.exec("DROP TABLE temp.fence_transaction").ok());
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

TEST_F(Enlistment, query_only_does_not_undo_the_doom) {
  doom_transaction();
  ASSERT_OK(db, "PRAGMA query_only = 1");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  ASSERT_OK(db, "PRAGMA query_only = 0");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, renaming_the_table_does_not_undo_the_doom) {
  doom_transaction();
  db.exec("ALTER TABLE temp.fence_transaction RENAME TO harmless");
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, renamed_while_idle_it_loses_no_later_doom) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT");
  db.exec("ALTER TABLE temp.fence_transaction RENAME TO harmless");
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(db, stale, "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

TEST_F(Enlistment, a_foreign_module_of_the_same_name_lets_no_refused_transaction_commit) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT; DROP TABLE temp.fence_transaction");
  ASSERT_EQ(
      sqlite3_create_module_v2(db.get(), "fence_transaction", empty_module(), nullptr, nullptr),
      SQLITE_OK);
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_FALSE(db.exec(stale).ok());
  db.exec("COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

// A table of the application under that name: nothing can be enlisted, so the
// refusal ends the transaction where it stands.
TEST_F(Enlistment, a_foreign_table_of_the_same_name_lets_no_refused_transaction_commit) {
  ASSERT_OK(db, "CREATE TEMP TABLE fence_transaction(x)");
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_FALSE(db.exec(stale).ok());
  db.exec("COMMIT");
  EXPECT_EQ(stored(), nothing);
}

TEST_F(Enlistment, the_table_takes_no_writes_of_the_application) {
  ASSERT_OK(db, "BEGIN;" + good + "; COMMIT");
  EXPECT_FALSE(db.exec("INSERT INTO temp.fence_transaction VALUES (1)").ok());
  EXPECT_OK(db, "DELETE FROM temp.fence_transaction");
  EXPECT_EQ(db.value("SELECT count(*) FROM temp.fence_transaction"), "0");
}

TEST_F(Enlistment, the_applications_hooks_are_left_alone) {
  Database other(path, Setup::plain);
  int commits = 0;
  int rollbacks = 0;
  sqlite3_commit_hook(other.get(), count_call, &commits);
  sqlite3_rollback_hook(other.get(), count_rollback, &rollbacks);
  ASSERT_TRUE(succeeded(other.load()));
  ASSERT_OK(other, "BEGIN; INSERT INTO note VALUES ('before')");
  EXPECT_REFUSED(other, stale, "ZF001", auth);
  EXPECT_DOOMED(other, "COMMIT", "ZF001");
  EXPECT_EQ(commits, 0) << "a doomed commit is never announced";
  EXPECT_EQ(rollbacks, 1);
  EXPECT_OK(other, good);
  EXPECT_EQ(commits, 1);
  EXPECT_EQ(sqlite3_commit_hook(other.get(), nullptr, nullptr), &commits);
  EXPECT_EQ(sqlite3_rollback_hook(other.get(), nullptr, nullptr), &rollbacks);
  EXPECT_EQ(sqlite3_update_hook(other.get(), nullptr, nullptr), nullptr);
}

TEST_F(Enlistment, a_veto_of_the_applications_commit_hook_fails_the_call_cleanly) {
  int vetoes = 0;
  sqlite3_commit_hook(db.get(), veto, &vetoes);
  for (const std::string& statement :
       {good, insert("mine", 1, w1, 1, "good"), claim("mine", 2, w1)}) {
    const Result result = db.exec(statement);
    EXPECT_EQ(result.rc, SQLITE_CONSTRAINT_COMMITHOOK) << statement << ": " << result.message;
    EXPECT_TRUE(db.autocommit());
  }
  EXPECT_EQ(vetoes, 3);
  sqlite3_commit_hook(db.get(), nullptr, nullptr);
  EXPECT_EQ(stored(), nothing);
  EXPECT_OK(db, "BEGIN;" + good + "; COMMIT");
  EXPECT_EQ(stored(), (std::vector<std::string>{"mine|1|1|good"}));
}

TEST_F(Enlistment, closing_a_doomed_transaction_works_and_keeps_nothing) {
  Database other(path);
  ASSERT_OK(other, "BEGIN; INSERT INTO note VALUES ('before')");
  ASSERT_OK(other, good);
  EXPECT_REFUSED(other, stale, "ZF001", auth);
  EXPECT_EQ(other.close(), SQLITE_OK);
  EXPECT_EQ(stored(), nothing);
}

}  // namespace
}  // namespace fence::test
