// Plain SQL on Fence's tables, with and without the extension.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

struct Write {
  std::string table;
  std::string sql;
};

// Statements of every kind that store or remove something. Each of them would find
// a row to work on.
std::vector<Write> every_kind_of_statement() {
  const std::string like_zombie = " FROM fence_oplog_v1 WHERE key = 'k' AND idx = 1";
  return {
      {"fence_oplog_v1", forged(4, 1, "REPLACE")},
      {"fence_oplog_v1", forged(3, 1, "INSERT OR REPLACE")},
      {"fence_oplog_v1", zombie_row + " ON CONFLICT DO NOTHING"},
      {"fence_oplog_v1",
       forged(3, 1) + " ON CONFLICT (namespace, key, idx) DO UPDATE SET epoch = 1"},
      {"fence_oplog_v1", forged(3, 1) + " ON CONFLICT DO UPDATE SET payload = excluded.payload"},
      {"fence_oplog_v1", zombie_row + " RETURNING rowid, *"},
      {"fence_oplog_v1", "UPDATE fence_oplog_v1 SET payload = x'7a' RETURNING payload"},
      {"fence_oplog_v1", "DELETE FROM fence_oplog_v1 RETURNING idx"},
      {"fence_oplog_v1",
       "UPDATE OR REPLACE fence_oplog_v1 SET idx = 3 WHERE key = 'k' AND idx = 2"},
      {"fence_oplog_v1", "UPDATE OR IGNORE fence_oplog_v1 SET rowid = rowid + 1"},
      {"fence_oplog_v1", "UPDATE fence_oplog_v1 SET epoch = m.epoch FROM fence_meta_v1 m"},
      {"fence_oplog_v1",
       "INSERT OR REPLACE INTO fence_oplog_v1(rowid, namespace, key, idx, epoch, writer, payload,"
       " late, seal) SELECT rowid, namespace, key, idx, epoch, writer, x'7a', late, seal" +
           like_zombie},
      {"fence_oplog_v1",
       "WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 9)"
       " INSERT INTO fence_oplog_v1 SELECT namespace, key, i, epoch, writer, payload, late, seal"
       " FROM n, fence_oplog_v1 WHERE key = 'k' AND idx = 1"},
      {"fence_oplog_v1", "UPDATE main.\"FENCE_OPLOG_V1\" SET epoch = 1"},
      {"fence_oplog_v1",
       "DELETE FROM [Fence_Oplog_V1] INDEXED BY sqlite_autoindex_fence_oplog_v1_1"
       " WHERE namespace = 'n'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET epoch = 3 WHERE key = 'k'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET writer = randomblob(16)"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET deleted_at = 1"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET key = key || 'x'"},
      {"fence_meta_v1", "UPDATE OR REPLACE fence_meta_v1 SET key = 'k' WHERE key = 'own'"},
      {"fence_meta_v1",
       "UPDATE OR REPLACE fence_meta_v1 SET rowid = (SELECT rowid FROM fence_meta_v1 WHERE key = "
       "'k')"
       " WHERE key = 'own'"},
      {"fence_meta_v1",
       "INSERT INTO fence_meta_v1 SELECT namespace, 'new', epoch, writer, deleted_at, tail,"
       " tail_seal, trimmed, trim_seal, late_sum, reset_last, published, seal FROM fence_meta_v1 "
       "WHERE key = 'own'"},
      {"fence_meta_v1",
       "REPLACE INTO fence_meta_v1 SELECT namespace, 'k', epoch, writer, deleted_at, tail, "
       "tail_seal,"
       " trimmed, trim_seal, late_sum, reset_last, published, seal FROM fence_meta_v1 WHERE key = "
       "'own'"},
      {"fence_control_v1", "UPDATE fence_control_v1 SET generation = generation + 1"},
      {"fence_control_v1", "DELETE FROM fence_control_v1"},
      {"fence_control_v1",
       "INSERT OR REPLACE INTO fence_control_v1 SELECT * FROM fence_control_v1"},
      {"fence_setting_v1", "INSERT INTO fence_setting_v1 VALUES ('max_waiters', 1)"},
      {"fence_setting_v1", "UPDATE fence_setting_v1 SET value = 1"},
      {"fence_setting_v1", "DELETE FROM fence_setting_v1"},
      {"fence_namespace_v1",
       "INSERT INTO fence_namespace_v1 VALUES ('n', 'unfenced', 0, NULL, -1, zeroblob(16))"},
      {"fence_value_v1",
       "INSERT INTO fence_value_v1 SELECT namespace, key, 'name', epoch, writer, payload, seal" +
           like_zombie},
  };
}

TEST_F(Attack, S01_insert_without_the_extension_does_not_prepare) {
  Database zombie(path, Setup::plain);
  expect_no_guard(zombie, zombie_row);
  expect_no_guard(zombie, owner_row);
  expect_owner_goes_on();
}

TEST_F(Attack, S02_update_of_an_entry_without_the_extension_does_not_prepare) {
  Database zombie(path, Setup::plain);
  expect_no_guard(zombie, "UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key = 'k' AND idx = 1");
  expect_owner_goes_on();
}

TEST_F(Attack, S03_delete_of_an_entry_without_the_extension_does_not_prepare) {
  Database zombie(path, Setup::plain);
  expect_no_guard(zombie, "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3");
  expect_owner_goes_on();
}

TEST_F(Attack, S04_lowering_the_epoch_without_the_extension_does_not_prepare) {
  Database zombie(path, Setup::plain);
  expect_no_guard(zombie, lowered_record);
  expect_no_guard(zombie, "DELETE FROM fence_meta_v1 WHERE key = 'k'");
  expect_owner_goes_on();
}

TEST_P(Loaded, S05_insert_is_refused) {
  expect_shut(zombie_row);
  expect_shut(owner_row);
  expect_owner_goes_on();
}

TEST_P(Loaded, S05_insert_in_a_transaction_is_refused_and_dooms_nothing) {
  ASSERT_OK(zombie, "CREATE TABLE note(text)");
  ASSERT_OK(zombie, "BEGIN IMMEDIATE; INSERT INTO note VALUES ('kept')");
  expect_shut(zombie_row);
  EXPECT_OK(zombie, "COMMIT");
  EXPECT_EQ(zombie.value("SELECT text FROM note"), "kept");
  expect_owner_goes_on();
}

TEST_P(Loaded, S06_lowering_the_epoch_is_refused) {
  expect_shut(lowered_record, "fence_meta_v1");
  expect_shut("DELETE FROM fence_meta_v1 WHERE key = 'k'", "fence_meta_v1");
  expect_zombie_refused(zombie);
  expect_owner_goes_on();
}

TEST_F(Attack, S08_or_ignore_without_the_extension_is_an_error_and_no_silent_skip) {
  Database zombie(path, Setup::plain);
  for (const char* verb : {"INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL",
                           "INSERT OR ROLLBACK", "INSERT OR ABORT"}) {
    expect_no_guard(zombie, forged(4, 1, verb));
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, S08_or_ignore_is_an_error_and_no_silent_skip) {
  for (const char* verb : {"INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL",
                           "INSERT OR ROLLBACK", "INSERT OR ABORT"}) {
    expect_shut(forged(4, 1, verb));
  }
  expect_owner_goes_on();
}

// Triggers keep SQLite from emptying a table without looking at its rows.
TEST_F(Attack, S11_delete_without_where_does_not_prepare_without_the_extension) {
  Database zombie(path, Setup::plain);
  for (const char* table : {"fence_oplog_v1", "fence_meta_v1", "fence_control_v1",
                            "fence_setting_v1", "fence_namespace_v1", "fence_value_v1"}) {
    expect_no_guard(zombie, std::string("DELETE FROM ") + table);
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, S11_delete_without_where_is_refused) {
  expect_shut("DELETE FROM fence_oplog_v1");
  expect_shut("DELETE FROM fence_meta_v1", "fence_meta_v1");
  expect_owner_goes_on();
}

TEST_F(Attack, S12_ignored_check_constraints_let_nothing_through_without_the_extension) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "PRAGMA ignore_check_constraints = 1");
  expect_no_guard(zombie, zombie_row);
  expect_owner_goes_on();
}

TEST_P(Loaded, S13_ignored_check_constraints_let_nothing_through) {
  const Result pragma = zombie.exec("PRAGMA ignore_check_constraints = 1");
  EXPECT_EQ(pragma.rc, has_authorizer() ? auth : SQLITE_OK);
  expect_shut(zombie_row);
  expect_shut(lowered_record, "fence_meta_v1");
  expect_owner_goes_on();
}

// INSERT INTO a SELECT * FROM b copies whole pages where the two tables are alike.
void make_twin(Database& db) {
  for (const char* name : {"fence_oplog_v1", "fence_oplog_noblob"}) {
    const std::string sql = db.value(
        "SELECT replace(replace(sql, 'fence_oplog_v1', 'twin'), 'fence_oplog_noblob',"
        " 'twin_noblob') FROM sqlite_schema WHERE name = '" +
        std::string(name) + "'");
    if (sql != "no row") {
      ASSERT_OK(db, sql);
    }
  }
  ASSERT_OK(db,
            "INSERT INTO twin SELECT namespace, key, idx + 3, epoch, writer, payload, late,"
            " seal FROM fence_oplog_v1 WHERE key = 'k' AND idx = 1");
}

TEST_F(Attack, S39_copy_from_a_twin_does_not_prepare_without_the_extension) {
  Database zombie(path, Setup::plain);
  make_twin(zombie);
  expect_no_guard(zombie, "INSERT INTO fence_oplog_v1 SELECT * FROM twin");
  expect_owner_goes_on();
}

TEST_F(Attack, S39_copy_from_a_twin_with_a_stub_is_refused_by_the_plain_half) {
  Database zombie(path, Setup::plain);
  make_twin(zombie);
  stub_guard(zombie);
  expect_plain_refusal(zombie, "INSERT INTO fence_oplog_v1 SELECT * FROM twin");
  expect_owner_goes_on();
}

TEST_P(Loaded, S39_copy_from_a_twin_is_refused) {
  make_twin(zombie);
  expect_shut("INSERT INTO fence_oplog_v1 SELECT * FROM twin");
  expect_owner_goes_on();
}

TEST_F(Attack, X_no_kind_of_statement_prepares_without_the_extension) {
  Database zombie(path, Setup::plain);
  for (const Write& write : every_kind_of_statement()) {
    expect_no_guard(zombie, write.sql);
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, X_every_kind_of_statement_is_refused) {
  for (const Write& write : every_kind_of_statement()) {
    expect_shut(write.sql, write.table);
  }
  expect_zombie_refused(zombie);
  expect_owner_goes_on();
}

// Triggers of the application's own tables and views, which write to ours.
const char* const detours[] = {
    "CREATE TABLE app(x); CREATE TRIGGER detour AFTER INSERT ON app BEGIN ",
    "CREATE VIEW app AS SELECT 1 AS x; CREATE TRIGGER detour INSTEAD OF INSERT ON app BEGIN "};

TEST_F(Attack, X_a_detour_through_a_trigger_does_not_prepare_without_the_extension) {
  for (const char* detour : detours) {
    Database zombie(path, Setup::plain);
    for (const std::string& sql : {zombie_row, lowered_record}) {
      ASSERT_OK(zombie, "BEGIN;" + (detour + sql) + "; END");
      expect_no_guard(zombie, "INSERT INTO app VALUES (1)");
      ASSERT_OK(zombie, "ROLLBACK");
    }
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, X_a_detour_through_a_trigger_is_refused) {
  for (const char* detour : detours) {
    for (const std::string& sql : {zombie_row, lowered_record}) {
      ASSERT_OK(zombie, "BEGIN;" + (detour + sql) + "; END");
      const Result result = zombie.exec("INSERT INTO app VALUES (1)");
      EXPECT_FALSE(result.ok());
      if (is_defensive() && !has_authorizer()) {
        EXPECT_NE(result.message.find("may not be modified"), std::string::npos) << result.message;
      }
      expect_untouched();
      ASSERT_OK(zombie, "ROLLBACK");
    }
  }
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, X_a_detour_that_somebody_else_has_made_is_refused) {
  ASSERT_OK(Database(path, Setup::plain), detours[0] + zombie_row + "; END");
  expect_shut("INSERT INTO app VALUES (1)");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM app"), "0");
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, X_pragmas_that_change_how_statements_run_change_nothing_here) {
  for (const char* pragma :
       {"recursive_triggers = 1", "foreign_keys = 1", "defer_foreign_keys = 1", "count_changes = 1",
        "legacy_alter_table = 1", "reverse_unordered_selects = 1", "case_sensitive_like = 1",
        "full_column_names = 1", "cell_size_check = 0", "secure_delete = 0", "read_uncommitted = 1",
        "temp_store = MEMORY"}) {
    SCOPED_TRACE(pragma);
    ASSERT_OK(zombie, std::string("PRAGMA ") + pragma);
    expect_shut(forged(3, 1, "INSERT OR REPLACE"));
    expect_shut("REPLACE INTO fence_meta_v1 SELECT * FROM fence_meta_v1", "fence_meta_v1");
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

// The same file under a second name in the same connection: its triggers ask the
// same guard, and the marker protects it as well.
TEST_P(Loaded, X_the_file_attached_a_second_time_is_as_shut) {
  ASSERT_OK(zombie, "ATTACH " + test::quoted(path) + " AS aux");
  expect_shut(
      "INSERT INTO aux.fence_oplog_v1 SELECT namespace, key, 4, epoch, writer, payload, late,"
      " seal FROM aux.fence_oplog_v1 WHERE key = 'k' AND idx = 1");
  expect_shut("UPDATE aux.fence_meta_v1 SET epoch = 1 WHERE key = 'k'", "fence_meta_v1");
  expect_shut("DELETE FROM aux.fence_oplog_v1");
  expect_owner_goes_on();
}

TEST_F(Attack, X_the_file_attached_without_the_extension_is_as_shut) {
  Database zombie(":memory:", Setup::plain);
  ASSERT_OK(zombie, "ATTACH " + test::quoted(path) + " AS aux");
  expect_no_guard(zombie, "UPDATE aux.fence_meta_v1 SET epoch = 1 WHERE key = 'k'");
  expect_no_guard(zombie, "DELETE FROM aux.fence_oplog_v1");
  expect_owner_goes_on();
}

}  // namespace
}  // namespace fence::test
