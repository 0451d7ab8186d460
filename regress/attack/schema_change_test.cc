// DDL on Fence's tables and triggers by a connection that has the extension.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

// Everything that SQL can do to the tables themselves.
const char* const changes_of_tables[] = {
    "ALTER TABLE fence_oplog_v1 RENAME TO gone",
    "ALTER TABLE fence_oplog_v1 RENAME COLUMN payload TO content",
    "ALTER TABLE fence_oplog_v1 ADD COLUMN more",
    "ALTER TABLE fence_oplog_v1 ADD COLUMN more AS (idx + 1)",
    "ALTER TABLE fence_oplog_v1 DROP COLUMN late",
    "ALTER TABLE fence_meta_v1 RENAME TO gone",
    "DROP TABLE fence_oplog_v1",
    "DROP TABLE fence_meta_v1",
    "DROP TABLE fence_control_v1",
};

class SchemaChange : public Attack {
 protected:
  std::vector<std::string> schema() {
    Database observer(path, Setup::plain);
    return observer.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
  }
  void expect_schema_unchanged() { EXPECT_EQ(schema(), schema_before_); }
  void SetUp() override {
    Attack::SetUp();
    schema_before_ = schema();
  }

 private:
  std::vector<std::string> schema_before_;
};

TEST_F(SchemaChange, S14_drop_trigger_is_refused_by_the_authorizer) {
  for (const Switches switches : {Switches::authorizer, Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    for (const char* trigger : {"fence_oplog_insert", "fence_oplog_update", "fence_oplog_delete",
                                "fence_meta_insert", "fence_meta_update", "fence_meta_delete"}) {
      expect_unprepared(zombie, std::string("DROP TRIGGER ") + trigger, auth, "not authorized");
    }
    expect_unprepared(zombie, "DROP INDEX fence_oplog_noblob", auth, "not authorized");
    EXPECT_FALSE(zombie.exec(zombie_row).ok());
    expect_schema_unchanged();
    expect_untouched();
    expect_owner_goes_on(zombie);
  }
}

TEST_F(SchemaChange, S14_drop_trigger_without_the_authorizer_opens_nothing) {
  Database zombie(path, Setup::loaded);
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert; DROP TRIGGER fence_meta_update");
  expect_unprepared(zombie, zombie_row, plain_error, "table fence_oplog_v1 may not be modified");
  expect_unprepared(zombie, lowered_record, plain_error, "table fence_meta_v1 may not be modified");
  expect_zombie_refused(zombie);
  expect_owner_alarmed();
}

TEST_F(SchemaChange, S16_writable_schema_is_refused) {
  Database zombie(path, Setup::loaded);
  ASSERT_OK(zombie, "PRAGMA writable_schema = 1");
  expect_unprepared(zombie, "DELETE FROM sqlite_schema WHERE type = 'trigger'", plain_error,
                    "table sqlite_master may not be modified");
  expect_unprepared(zombie, "UPDATE sqlite_schema SET sql = ''", plain_error,
                    "table sqlite_master may not be modified");
  expect_schema_unchanged();
  expect_owner_goes_on();
}

TEST_F(SchemaChange, S16_writable_schema_is_refused_by_the_authorizer_alone) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::authorizer_alone);
  for (const char* pragma : {"writable_schema = 1", "main.writable_schema = ON",
                             "WRITABLE_SCHEMA(1)", "schema_version = 1"}) {
    expect_unprepared(zombie, std::string("PRAGMA ") + pragma, auth, "not authorized");
  }
  EXPECT_FALSE(zombie.exec("DELETE FROM sqlite_schema WHERE type = 'trigger'").ok());
  expect_schema_unchanged();
  expect_owner_goes_on();
}

TEST_F(SchemaChange, S26_S28_altering_and_dropping_the_tables_is_refused) {
  for (const Switches switches :
       {Switches::usual, Switches::authorizer, Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    for (const char* change : changes_of_tables) {
      SCOPED_TRACE(change);
      const Result result = zombie.exec(change);
      const bool by_authorizer = result.rc == auth && result.message == "not authorized";
      const bool by_defensive = result.rc == plain_error &&
                                (result.message.find(" may not be altered") != std::string::npos ||
                                 result.message.find(" may not be dropped") != std::string::npos);
      EXPECT_TRUE(switches == Switches::usual              ? by_defensive
                  : switches == Switches::authorizer_alone ? by_authorizer
                                                           : by_defensive || by_authorizer)
          << result.rc << " " << result.message;
    }
    expect_schema_unchanged();
    expect_untouched();
    expect_owner_goes_on(zombie);
  }
}

// SQLite marks the tables when it reads the schema. That it did so before the
// extension was loaded must not leave them unmarked.
TEST_F(SchemaChange, X_a_schema_that_was_read_before_the_extension_was_loaded_is_as_shut) {
  for (const char* first : {"PRAGMA journal_mode", "SELECT count(*) FROM fence_oplog_v1",
                            "CREATE TEMP TABLE t AS SELECT * FROM fence_meta_v1", "SELECT 1"}) {
    SCOPED_TRACE(first);
    Database zombie(path, Setup::plain);
    ASSERT_OK(zombie, first);
    ASSERT_TRUE(succeeded(zombie.load()));
    expect_unprepared(zombie, zombie_row, plain_error, "table fence_oplog_v1 may not be modified");
    expect_unprepared(zombie, "DROP TABLE fence_oplog_v1", plain_error,
                      "table fence_oplog_v1 may not be dropped");
    expect_unprepared(zombie, "ALTER TABLE fence_meta_v1 RENAME TO gone", plain_error,
                      "table fence_meta_v1 may not be altered");
    expect_schema_unchanged();
    expect_owner_goes_on(zombie);
  }
}

TEST_F(SchemaChange, X_loading_inside_a_transaction_and_a_query_marks_the_tables_as_well) {
  Database zombie(path, Setup::plain);
  ASSERT_EQ(sqlite3_enable_load_extension(zombie.get(), 1), SQLITE_OK);
  ASSERT_OK(zombie,
            "BEGIN; CREATE TEMP TABLE t(x); CREATE TABLE app(x);"
            "SELECT load_extension(" +
                quoted(extension_path()) +
                ") FROM fence_meta_v1 LIMIT 1;"
                "INSERT INTO t VALUES (1); INSERT INTO app VALUES (1)");
  const Attempt made = attempt(zombie, "DROP TABLE fence_oplog_v1");
  EXPECT_EQ(made.result.message, "table fence_oplog_v1 may not be dropped");
  EXPECT_OK(zombie, "COMMIT");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM t, app"), "1");
  expect_untouched();
  expect_owner_goes_on(zombie);
}

// DEFENSIVE and the authorizer off, and the trigger dropped: the application has
// taken three fences down. The next append tells.
TEST_F(SchemaChange, S37_all_off_and_the_trigger_dropped_writes_and_is_noticed) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
  expect_owner_alarmed(zombie);
}

TEST_F(SchemaChange, S26_S28_all_off_a_twin_takes_the_place_of_the_log_and_is_noticed) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  ASSERT_OK(zombie, "ALTER TABLE fence_oplog_v1 RENAME TO gone");
  ASSERT_OK(zombie, "CREATE TABLE fence_oplog_v1 AS SELECT * FROM gone");
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
  expect_owner_alarmed(zombie);
}

TEST_F(SchemaChange, S38_an_append_without_its_trigger_leaves_nothing_behind) {
  {
    Database vandal(path, Setup::plain);
    ASSERT_OK(vandal, "DROP TRIGGER fence_oplog_insert");
  }
  expect_owner_alarmed();
}

TEST_F(SchemaChange, S38_a_claim_without_its_trigger_leaves_nothing_behind) {
  Database owner(path, Setup::loaded);
  ASSERT_OK(owner, append("k", 2, w2, 4, "everything is prepared"));
  accept_changes();
  {
    Database vandal(path, Setup::plain);
    ASSERT_OK(vandal, "DROP TRIGGER fence_meta_update; DROP TRIGGER fence_meta_insert");
  }
  EXPECT_REFUSED(owner, claim("k", 3, w2), "ZF020", auth);
  EXPECT_REFUSED(owner, claim("new", 1, w2), "ZF020", auth);
  expect_untouched();
}

TEST_F(SchemaChange, X_the_marker_table_cannot_be_dropped_or_renamed) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    for (const char* sql : {"DROP TABLE fence", "ALTER TABLE fence RENAME TO gone",
                            "BEGIN; DROP TABLE main.fence; COMMIT"}) {
      EXPECT_FALSE(zombie.exec(sql).ok()) << sql;
      zombie.exec("ROLLBACK");
      expect_schema_unchanged();
    }
  }
  Database again(path, Setup::loaded);
  expect_unprepared(again, zombie_row, plain_error, "table fence_oplog_v1 may not be modified");
  expect_owner_goes_on();
}

TEST_F(SchemaChange, X_the_marker_cannot_be_dropped_without_its_module_either) {
  Database zombie(path, Setup::plain);
  EXPECT_FALSE(zombie.exec("DROP TABLE fence").ok());
  EXPECT_FALSE(zombie.exec("ALTER TABLE fence RENAME TO gone").ok());
  expect_schema_unchanged();
  expect_owner_goes_on();
}

// Another table of that module would make tables of the application read-only for
// it, and could never be dropped.
TEST_F(SchemaChange, X_nobody_but_fence_makes_a_marker) {
  Database zombie(path, Setup::loaded);
  EXPECT_FALSE(zombie.exec("CREATE VIRTUAL TABLE app USING fence").ok());
  EXPECT_FALSE(zombie.exec("CREATE VIRTUAL TABLE temp.app USING fence").ok());
  EXPECT_OK(zombie, "CREATE TABLE app_meta(x); INSERT INTO app_meta VALUES (1)");
  expect_owner_goes_on();
}

// main under another name, and the file attached a second time: the authorizer
// still knows whose triggers they are.
TEST_F(SchemaChange, X_the_authorizer_knows_main_under_every_name) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::authorizer_alone);
  ASSERT_OK(zombie, "ATTACH " + test::quoted(path) + " AS aux");
  for (const char* sql : {"DROP TRIGGER aux.fence_oplog_insert", "DROP TABLE aux.fence_value_v1",
                          "ALTER TABLE aux.fence_value_v1 RENAME TO gone",
                          "CREATE INDEX aux.more ON fence_oplog_v1(idx)",
                          "CREATE TRIGGER aux.mine BEFORE INSERT ON fence_oplog_v1 BEGIN SELECT "
                          "RAISE(IGNORE); END"}) {
    expect_unprepared(zombie, sql, auth, "not authorized");
  }
  ASSERT_OK(zombie, "DETACH aux");
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_MAINDBNAME, "renamed"), SQLITE_OK);
  for (const char* sql :
       {"DROP TRIGGER fence_oplog_insert", "DROP TRIGGER renamed.fence_meta_update",
        "DROP TABLE fence_value_v1", "ALTER TABLE fence_value_v1 RENAME TO gone"}) {
    expect_unprepared(zombie, sql, auth, "not authorized");
  }
  expect_unprepared(zombie, zombie_row, auth, "not authorized");
  expect_schema_unchanged();
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

// What the authorizer must not forbid.
TEST_F(SchemaChange, X_the_authorizer_leaves_the_rest_of_the_file_alone) {
  Database db(path, Setup::loaded);
  set_switches(db, Switches::authorizer);
  EXPECT_OK(db,
            "CREATE TABLE app(x); CREATE INDEX app_x ON app(x);"
            "CREATE TRIGGER app_t AFTER INSERT ON app BEGIN SELECT 1; END;"
            "CREATE TEMP TRIGGER app_u AFTER INSERT ON app BEGIN SELECT 1; END;"
            "INSERT INTO app VALUES (1); UPDATE app SET x = 2; ALTER TABLE app ADD COLUMN y;"
            "ALTER TABLE app RENAME TO app2; DROP TRIGGER app_t; DROP TRIGGER app_u;"
            "DROP INDEX app_x; DELETE FROM app2; DROP TABLE app2");
  EXPECT_OK(db,
            "PRAGMA writable_schema; PRAGMA schema_version; PRAGMA user_version = 7;"
            "ANALYZE; REINDEX; VACUUM; PRAGMA integrity_check");
  EXPECT_OK(db, "VACUUM INTO " + test::quoted(directory.file("copy.db")));
  accept_changes();  // VACUUM may number rows anew
  expect_owner_goes_on(db);
}

}  // namespace
}  // namespace fence::test
