// DDL by somebody who does not have the extension. SQLite lets the owner of a file
// do that; what cannot be refused is noticed by the owner's next append (ZF020).
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

using Detected = Attack;

const char* const a_twin =
    "CREATE TABLE fence_oplog_v1(namespace, key, idx, epoch, writer, payload, late, seal)";

TEST_F(Detected, S15_drop_trigger_then_insert) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
}

TEST_F(Detected, S17_triggers_deleted_through_writable_schema) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie,
            "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE type = 'trigger';"
            "PRAGMA writable_schema = RESET");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
}

TEST_F(Detected, S27_the_log_renamed_away_and_an_empty_twin_in_its_place) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "ALTER TABLE fence_oplog_v1 RENAME TO gone");
  ASSERT_OK(zombie, a_twin);
  ASSERT_OK(zombie,
            "INSERT INTO fence_oplog_v1 SELECT namespace, key, 4, epoch, writer, payload, late,"
            " seal FROM gone WHERE key = 'k' AND idx = 1");
  expect_owner_alarmed();
}

TEST_F(Detected, S27_the_log_renamed_away_and_a_full_twin_in_its_place) {
  for (const char* legacy : {"0", "1"}) {
    Database zombie(path, Setup::plain);
    ASSERT_OK(zombie, std::string("PRAGMA legacy_alter_table = ") + legacy);
    ASSERT_OK(zombie, std::string("ALTER TABLE fence_oplog_v1 RENAME TO gone") + legacy);
    ASSERT_OK(zombie,
              a_twin + std::string("; INSERT INTO fence_oplog_v1 SELECT * FROM gone") + legacy);
    ASSERT_OK(zombie, zombie_row);
    expect_owner_alarmed();
  }
}

TEST_F(Detected, S29_the_log_dropped_and_made_again) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "CREATE TABLE kept AS SELECT * FROM fence_oplog_v1; DROP TABLE fence_oplog_v1");
  ASSERT_OK(zombie, a_twin);
  expect_owner_alarmed();  // empty
  ASSERT_OK(zombie, "INSERT INTO fence_oplog_v1 SELECT * FROM kept");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
}

TEST_F(Detected, S29_the_records_dropped_and_made_again) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "CREATE TABLE kept AS SELECT * FROM fence_meta_v1; DROP TABLE fence_meta_v1");
  ASSERT_OK(zombie, "CREATE TABLE fence_meta_v1 AS SELECT * FROM kept");
  ASSERT_OK(zombie, lowered_record);
  expect_owner_alarmed();
}

// No record and yet entries: nobody was ever "the first" to claim this key.
TEST_F(Detected, X_the_record_removed) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "DROP TRIGGER fence_meta_delete; DELETE FROM fence_meta_v1 WHERE key = 'k'");
  Database loaded(path, Setup::loaded);
  accept_changes();
  EXPECT_REFUSED(loaded, claim("k", 1, w1), "ZF020", auth);
  EXPECT_REFUSED(loaded, claim("k", 3, w1), "ZF020", auth);
  EXPECT_REFUSED(loaded, append("k", 1, w1, 4, "late"), "ZF020", auth);
  expect_owner_alarmed();
}

TEST_F(Detected, X_the_epoch_lowered_and_the_trigger_put_back) {
  Database zombie(path, Setup::plain);
  const std::string trigger =
      zombie.value("SELECT sql FROM sqlite_schema WHERE name = 'fence_meta_update'");
  ASSERT_OK(zombie, "DROP TRIGGER fence_meta_update");
  ASSERT_OK(zombie, lowered_record);
  ASSERT_OK(zombie, trigger);
  Database loaded(path, Setup::loaded);
  accept_changes();
  EXPECT_REFUSED(loaded, append("k", 1, w1, 4, "late"), "ZF020", auth);
  EXPECT_REFUSED(loaded, insert("k", 1, w1, 4, "late"), "ZF020", auth);
  EXPECT_REFUSED(loaded, claim("k", 1, w1), "ZF020", auth);
  expect_owner_alarmed();
}

// Above the entry that the claim has noted there are none but the owner's.
TEST_F(Detected, X_an_entry_of_the_zombie_and_the_trigger_put_back) {
  Database zombie(path, Setup::plain);
  const std::string trigger =
      zombie.value("SELECT sql FROM sqlite_schema WHERE name = 'fence_oplog_insert'");
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(zombie, zombie_row);
  ASSERT_OK(zombie, trigger);
  expect_owner_alarmed();
}

TEST_F(Detected, X_the_newest_entries_removed_and_the_trigger_put_back) {
  Database zombie(path, Setup::plain);
  const std::string trigger =
      zombie.value("SELECT sql FROM sqlite_schema WHERE name = 'fence_oplog_delete'");
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_delete");
  ASSERT_OK(zombie, "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx > 1");
  ASSERT_OK(zombie, trigger);
  expect_owner_alarmed();
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_delete; DELETE FROM fence_oplog_v1 WHERE key = 'k'");
  ASSERT_OK(zombie, trigger);
  expect_owner_alarmed();
}

TEST_F(Detected, X_the_noted_entry_replaced_and_the_trigger_put_back) {
  Database zombie(path, Setup::plain);
  const std::string trigger =
      zombie.value("SELECT sql FROM sqlite_schema WHERE name = 'fence_oplog_update'");
  const std::string drop = "DROP TRIGGER fence_oplog_delete; DROP TRIGGER fence_oplog_update";
  ASSERT_OK(zombie, drop);
  ASSERT_OK(zombie, "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3");
  ASSERT_OK(zombie,
            "UPDATE fence_oplog_v1 SET payload = x'7a', seal = randomblob(16) WHERE key = 'k'"
            " AND idx = 2");
  ASSERT_OK(zombie, trigger);
  expect_owner_alarmed();
}

TEST_F(Detected, X_the_triggers_rewritten_to_agree) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie,
            "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(replace(sql,"
            " 'fence_guard_v1(', 'coalesce(1, '), 'NOT EXISTS (SELECT 1 FROM fence_meta_v1', '0 AND"
            " EXISTS (SELECT 1 FROM fence_meta_v1') WHERE type = 'trigger';"
            "PRAGMA writable_schema = RESET");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
}

// A view in the place of the log, whose trigger even asks the guard.
TEST_F(Detected, X_a_view_in_the_place_of_the_log) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie,
            "CREATE TABLE twin AS SELECT * FROM fence_oplog_v1; DROP TABLE fence_oplog_v1;"
            "CREATE VIEW fence_oplog_v1 AS SELECT rowid AS rowid, * FROM twin");
  ASSERT_OK(
      zombie,
      "CREATE TRIGGER fence_oplog_insert INSTEAD OF INSERT ON fence_oplog_v1 BEGIN"
      " SELECT fence_guard_v1('entry', NEW.namespace, NEW.key, NEW.idx, NEW.epoch, NEW.writer,"
      " NEW.payload, NEW.late, NEW.seal); END");
  ASSERT_OK(zombie,
            "INSERT INTO twin SELECT namespace, key, 4, epoch, writer, payload, late, seal"
            " FROM twin WHERE key = 'k' AND idx = 1");
  expect_owner_alarmed();
}

// Columns of others stay outside of what Fence reads and writes.
TEST_F(Attack, X_columns_added_without_the_extension_change_nothing) {
  {
    Database other(path, Setup::plain);
    ASSERT_OK(other,
              "ALTER TABLE fence_oplog_v1 ADD COLUMN more DEFAULT 7;"
              "ALTER TABLE fence_oplog_v1 ADD COLUMN made AS (idx + 1);"
              "ALTER TABLE fence_meta_v1 ADD COLUMN more NOT NULL DEFAULT 7;"
              "CREATE INDEX other_idx ON fence_oplog_v1(abs(idx))");
    accept_changes();
    expect_no_guard(other, "UPDATE fence_oplog_v1 SET more = 8");
    expect_no_guard(other, "UPDATE fence_meta_v1 SET more = 8");
  }
  Database zombie(path, Setup::loaded);
  expect_zombie_refused(zombie);
  expect_unprepared(zombie, "UPDATE fence_oplog_v1 SET more = 8", plain_error,
                    "table fence_oplog_v1 may not be modified");
  expect_owner_goes_on();
  EXPECT_OK(zombie, claim("k", 3, w1));
}

// What keeps the owner from writing is an alarm, never an append that went nowhere.
TEST_F(Detected, X_constraints_added_without_the_extension) {
  const std::string original = path;
  int files = 0;
  for (const char* change :
       {"ALTER TABLE fence_oplog_v1 ADD COLUMN more CHECK (idx < 9)",
        "CREATE UNIQUE INDEX one_each ON fence_oplog_v1(namespace, epoch) WHERE epoch > 1",
        "CREATE TRIGGER mine BEFORE INSERT ON fence_oplog_v1 BEGIN SELECT RAISE(ABORT, 'no'); END",
        "ALTER TABLE fence_oplog_v1 RENAME COLUMN payload TO content"}) {
    SCOPED_TRACE(change);
    path = original + std::to_string(++files);
    ASSERT_OK(Database(original, Setup::plain), "VACUUM INTO " + test::quoted(path));
    ASSERT_OK(Database(path, Setup::plain), change);
    expect_owner_alarmed();
  }
}

TEST_F(Attack, X_a_column_that_fence_uses_cannot_be_dropped) {
  Database other(path, Setup::plain);
  for (const char* change : {"ALTER TABLE fence_oplog_v1 DROP COLUMN late",
                             "ALTER TABLE fence_meta_v1 DROP COLUMN seal"}) {
    EXPECT_FALSE(other.exec(change).ok()) << change;
  }
  expect_untouched();
  expect_owner_goes_on();
}

}  // namespace
}  // namespace fence::test
