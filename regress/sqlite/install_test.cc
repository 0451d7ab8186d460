// fence_install(), and what the installed file survives.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

const char schema[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";

class Install : public FileTest {
 protected:
  void make_log(Database& db) {
    ASSERT_OK(db, "CREATE TABLE IF NOT EXISTS note(text)");
    ASSERT_OK(db, claim("k", 7, w1));
    for (int idx = 1; idx <= 100; ++idx) {
      ASSERT_OK(db, append("k", 7, w1, idx, "payload " + std::to_string(idx)));
    }
  }

  // The log of make_log goes on, and still belongs to its owner alone.
  void expect_whole(Database& db) {
    EXPECT_EQ(db.rows("PRAGMA integrity_check"), (std::vector<std::string>{"ok"}));
    EXPECT_EQ(db.value("SELECT count(*), min(idx), max(idx), count(DISTINCT payload) FROM"
                       " oplog_entries"),
              "100|1|100|100");
    EXPECT_EQ(db.value("SELECT epoch, writer FROM oplog_metadata"),
              std::string("7|") + w1_fingerprint);
    EXPECT_REFUSED(db, append("k", 6, w1, 101, "x"), "ZF001", auth);
    EXPECT_REFUSED(db, append("k", 7, w2, 101, "x"), "ZF002", auth);
    EXPECT_OK(db, append("k", 7, w1, 100, "payload 100")) << "a repeat";
    EXPECT_EQ(db.value(claim("k", 7, w1)), "100");
    ASSERT_OK(db, "BEGIN");
    EXPECT_OK(db, append("k", 7, w1, 101, "goes on") + "; ROLLBACK");
  }
};

TEST_F(Install, answers_the_format_and_is_harmless_when_repeated) {
  Database db(path, Setup::loaded);
  EXPECT_EQ(db.value("SELECT fence_install()"), "1");
  make_log(db);
  const std::vector<std::string> before = db.rows(schema);
  const std::string seal_key = db.value("SELECT seal_key FROM fence_control_v1");
  EXPECT_EQ(db.value("SELECT fence_install()"), "1");
  EXPECT_EQ(db.rows(schema), before);
  EXPECT_EQ(db.value("SELECT seal_key FROM fence_control_v1"), seal_key);
  expect_whole(db);
}

TEST_F(Install, every_file_has_its_own_seal_key) {
  Database one(path);
  Database two(directory.file("two.db"));
  const std::string key = one.value("SELECT seal_key FROM fence_control_v1");
  EXPECT_EQ(key.size(), std::string("x''").size() + 32) << key;
  EXPECT_NE(key, two.value("SELECT seal_key FROM fence_control_v1"));
}

TEST_F(Install, does_not_change_the_journal_mode_and_leaves_the_rest_of_the_file_alone) {
  for (const char* mode : {"delete", "truncate", "persist", "wal"}) {
    SCOPED_TRACE(mode);
    Database db(directory.file(mode), Setup::loaded);
    ASSERT_EQ(db.value(std::string("PRAGMA journal_mode = ") + mode), mode);
    ASSERT_OK(db,
              "CREATE TABLE note(text); INSERT INTO note VALUES ('mine');"
              "PRAGMA user_version = 7; PRAGMA application_id = 9");
    EXPECT_EQ(db.value("SELECT fence_install()"), "1");
    EXPECT_EQ(db.value("PRAGMA journal_mode"), mode);
    EXPECT_EQ(db.value("PRAGMA user_version"), "7");
    EXPECT_EQ(db.value("PRAGMA application_id"), "9");
    EXPECT_EQ(db.value("SELECT text FROM note"), "mine");
  }
}

TEST_F(Install, inside_a_transaction_is_refused_and_makes_nothing) {
  Database db(path, Setup::loaded);
  for (const char* begin : {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT a"}) {
    SCOPED_TRACE(begin);
    ASSERT_OK(db, begin);
    EXPECT_REFUSED(db, "SELECT fence_install()", "ZF012", plain_error);
    EXPECT_OK(db, "COMMIT");
    EXPECT_EQ(db.value("SELECT count(*) FROM sqlite_schema"), "0");
  }
  ASSERT_OK(db, "CREATE TABLE note(text)");
  EXPECT_REFUSED(db, "INSERT INTO note SELECT fence_install()", "ZF012", plain_error);
  EXPECT_EQ(db.rows("SELECT name FROM sqlite_schema"), (std::vector<std::string>{"note"}));
}

// Each name collides with an object that a later step of the installation makes.
TEST_F(Install, makes_all_or_nothing) {
  for (const char* obstacle :
       {"CREATE VIEW oplog_status AS SELECT 1", "CREATE TABLE oplog_entries(x)",
        "CREATE TABLE unrelated(x); CREATE INDEX fence_value_noblob ON"
        " unrelated(x)",
        "CREATE TABLE fence_value_v1(x)"}) {
    SCOPED_TRACE(obstacle);
    Database db(":memory:", Setup::loaded);
    ASSERT_OK(db, obstacle);
    const std::vector<std::string> before = db.rows(schema);
    EXPECT_FALSE(db.exec("SELECT fence_install()").ok());
    EXPECT_TRUE(db.autocommit());
    EXPECT_EQ(db.rows(schema), before);
  }
}

TEST_F(Install, waits_for_a_writer_and_finds_what_another_connection_installed) {
  Database first(path, Setup::loaded);
  Database second(path, Setup::loaded);
  ASSERT_OK(first, "BEGIN IMMEDIATE; CREATE TABLE note(text)");
  EXPECT_EQ(second.exec("SELECT fence_install()").rc, SQLITE_BUSY);
  ASSERT_OK(first, "COMMIT");
  EXPECT_EQ(first.value("SELECT fence_install()"), "1");
  EXPECT_EQ(second.value("SELECT fence_install()"), "1");
  EXPECT_OK(second, claim("k", 1, w1));
  EXPECT_OK(first, append("k", 1, w1, 1, "a"));
  EXPECT_EQ(entries(second), (std::vector<std::string>{"k|1|1|a"}));
}

TEST_F(Install, a_connection_that_was_open_before_sees_it) {
  Database early(path, Setup::loaded);
  EXPECT_REFUSED(early, claim("k", 1, w1), "ZF012", plain_error);
  Database db(path);
  EXPECT_OK(early, claim("k", 1, w1));
  EXPECT_OK(db, append("k", 1, w1, 1, "a"));
}

TEST_F(Install, maintenance_keeps_everything) {
  Database db(path);
  make_log(db);
  for (const char* statement :
       {"VACUUM", "ANALYZE", "REINDEX", "PRAGMA optimize", "PRAGMA auto_vacuum = FULL; VACUUM",
        "PRAGMA page_size = 8192; VACUUM", "PRAGMA journal_mode = WAL; VACUUM",
        "PRAGMA wal_checkpoint(TRUNCATE)", "ALTER TABLE note ADD COLUMN more"}) {
    SCOPED_TRACE(statement);
    EXPECT_OK(db, statement);
    expect_whole(db);
  }
  EXPECT_OK(db, "SELECT fence_config('authorizer', 1); VACUUM");
  expect_whole(db);
}

TEST_F(Install, maintenance_without_the_extension_keeps_everything) {
  {
    Database db(path);
    make_log(db);
  }
  {
    Database plain(path, Setup::plain);
    EXPECT_OK(plain, "VACUUM; REINDEX; ANALYZE");
    EXPECT_EQ(plain.rows("PRAGMA integrity_check"), (std::vector<std::string>{"ok"}));
  }
  Database db(path);
  expect_whole(db);
}

TEST_F(Install, copies_made_by_sqlite_are_fenced_like_the_original) {
  const std::string vacuumed = directory.file("vacuumed.db");
  const std::string backed_up = directory.file("backup.db");
  {
    Database db(path);
    make_log(db);
    EXPECT_OK(db, "VACUUM INTO " + quoted(vacuumed));
    Database target(backed_up, Setup::plain);
    sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", db.get(), "main");
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  }
  for (const std::string& copy : {vacuumed, backed_up}) {
    SCOPED_TRACE(copy);
    {
      Database plain(copy, Setup::plain);
      EXPECT_EQ(plain
                    .exec("INSERT INTO fence_oplog_v1 SELECT namespace, key, idx + 1000, epoch,"
                          " writer, payload, late, seal FROM fence_oplog_v1")
                    .message,
                "no such function: fence_guard_v1");
    }
    Database db(copy);
    expect_whole(db);
  }
}

}  // namespace
}  // namespace fence::test
