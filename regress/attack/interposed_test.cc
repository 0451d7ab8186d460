// Triggers and tables of others that stand between Fence and its rows.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

// What newer versions of SQLite answer under DEFENSIVE, before they ask the authorizer.
const char on_shadow[] = "cannot create triggers on shadow tables";

// Made before the extension is loaded: afterwards those versions refuse it.
class Interposed : public Attack {
 protected:
  void load() { ASSERT_TRUE(succeeded(owner.load())); }

  Database owner{path, Setup::plain};
};

TEST_F(Interposed, S23_a_temp_trigger_that_swallows_the_append_is_noticed) {
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER mine BEFORE INSERT ON main.fence_oplog_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  load();
  expect_owner_alarmed(owner);
  ASSERT_OK(owner, "DROP TRIGGER IF EXISTS mine");
  expect_owner_goes_on(owner);
}

TEST_F(Interposed, S23_a_temp_trigger_that_swallows_the_claim_is_noticed) {
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER mine BEFORE UPDATE ON main.fence_meta_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER also BEFORE INSERT ON main.fence_meta_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  load();
  EXPECT_REFUSED(owner, claim("k", 3, w2), "ZF020", auth);
  EXPECT_REFUSED(owner, claim("new", 1, w2), "ZF020", auth);
  expect_untouched();
  expect_owner_goes_on(owner);
}

TEST_P(Loaded, S23_the_authorizer_refuses_a_temp_trigger) {
  const Result made = zombie.exec(
      "CREATE TEMP TRIGGER mine BEFORE INSERT ON main.fence_oplog_v1 BEGIN"
      " SELECT RAISE(IGNORE); END");
  if (has_authorizer()) {
    EXPECT_TRUE(made.message == "not authorized" || made.message == on_shadow) << made.message;
  }
  if (made.ok()) {
    expect_owner_alarmed(zombie);
  } else {
    expect_owner_goes_on(zombie);
  }
  expect_owner_goes_on();
}

TEST_F(Attack, S24_a_trigger_made_without_the_extension_that_swallows_the_append_is_noticed) {
  ASSERT_OK(Database(path, Setup::plain),
            "CREATE TRIGGER mine BEFORE INSERT ON fence_oplog_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  expect_owner_alarmed();
  Database strict(path, Setup::loaded);
  set_switches(strict, Switches::authorizer);
  expect_owner_alarmed(strict);
  ASSERT_OK(Database(path, Setup::plain), "DROP TRIGGER IF EXISTS mine");
  expect_owner_goes_on(strict);
}

TEST_F(Attack, S24_a_trigger_made_without_the_extension_that_swallows_the_claim_is_noticed) {
  ASSERT_OK(Database(path, Setup::plain),
            "CREATE TRIGGER mine BEFORE UPDATE ON fence_meta_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  Database owner(path, Setup::loaded);
  EXPECT_REFUSED(owner, claim("k", 3, w2), "ZF020", auth);
  expect_untouched();
}

TEST_P(Loaded, S24_the_authorizer_refuses_a_trigger) {
  const Result made = zombie.exec(
      "CREATE TRIGGER mine BEFORE INSERT ON fence_oplog_v1 BEGIN"
      " SELECT RAISE(IGNORE); END");
  if (has_authorizer()) {
    EXPECT_TRUE(made.message == "not authorized" || made.message == on_shadow) << made.message;
  }
  if (made.ok()) {
    expect_owner_alarmed(zombie);
    expect_owner_alarmed();
  } else {
    expect_owner_goes_on();
  }
}

TEST_F(Interposed, S25_temp_tables_named_like_ours_mislead_nobody) {
  for (const char* table : {"fence_control_v1", "fence_setting_v1", "fence_namespace_v1",
                            "fence_meta_v1", "fence_oplog_v1", "fence_value_v1"}) {
    ASSERT_OK(owner, std::string("CREATE TEMP TABLE ") + table + " AS SELECT * FROM main." + table);
  }
  ASSERT_OK(owner, "CREATE TEMP TABLE fence(x); CREATE TEMP TABLE fence_statements(x)");
  ASSERT_OK(owner,
            "UPDATE temp.fence_meta_v1 SET epoch = 1; UPDATE temp.fence_control_v1 SET format = 9");
  load();
  expect_zombie_refused(owner);
  expect_owner_goes_on(owner);
  EXPECT_EQ(owner.value("SELECT epoch FROM main.oplog_metadata WHERE key = 'k'"), "2");
  EXPECT_EQ(owner.value("SELECT count(*) FROM temp.fence_oplog_v1"), "4");
  EXPECT_OK(owner, claim("k", 3, w1));
}

TEST_F(Interposed, X_temp_views_named_like_ours_mislead_nobody) {
  ASSERT_OK(owner,
            "CREATE TEMP VIEW fence_meta_v1 AS SELECT namespace, key, 1 AS epoch, writer,"
            " NULL AS deleted_at, tail, tail_seal, trimmed, trim_seal, late_sum, reset_last, "
            "published, seal"
            " FROM main.fence_meta_v1");
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER mine INSTEAD OF INSERT ON fence_meta_v1 BEGIN SELECT 1; END");
  ASSERT_OK(owner, "CREATE TEMP VIEW fence_oplog_v1 AS SELECT 1 FROM main.fence_oplog_v1 WHERE 0");
  load();
  expect_zombie_refused(owner);
  expect_owner_goes_on(owner);
  EXPECT_OK(owner, claim("new", 1, w1));
}

// What comes after the row was stored, and would take it away again.
TEST_F(Interposed, X_a_trigger_that_undoes_the_append_is_noticed) {
  const std::string undoing[] = {
      "AFTER INSERT ON main.fence_oplog_v1 BEGIN DELETE FROM fence_oplog_v1 WHERE rowid = "
      "NEW.rowid; END",
      "AFTER INSERT ON main.fence_oplog_v1 BEGIN UPDATE fence_oplog_v1 SET payload = x'7a'; END",
      "AFTER INSERT ON main.fence_oplog_v1 BEGIN UPDATE fence_meta_v1 SET epoch = 1; END",
      "AFTER INSERT ON main.fence_oplog_v1 BEGIN SELECT RAISE(FAIL, 'no'); END",
      "BEFORE INSERT ON main.fence_oplog_v1 BEGIN SELECT RAISE(FAIL, 'no'); END",
      std::string("BEFORE INSERT ON main.fence_oplog_v1 BEGIN INSERT INTO fence_oplog_v1 SELECT") +
          " namespace, key, 9, epoch, writer, payload, late, seal FROM fence_oplog_v1" +
          " WHERE key = 'k' AND idx = 1; END",
  };
  for (const std::string& body : undoing) {
    SCOPED_TRACE(body);
    Database db(path, Setup::plain);
    ASSERT_OK(db, "CREATE TEMP TRIGGER mine " + body);
    ASSERT_TRUE(succeeded(db.load()));
    expect_owner_alarmed(db);
    expect_owner_goes_on();
  }
}

// RAISE(ROLLBACK) ends the application's transaction: an error, nothing kept.
TEST_F(Interposed, X_a_trigger_that_rolls_back_leaves_nothing) {
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER mine AFTER INSERT ON main.fence_oplog_v1 BEGIN"
            " SELECT RAISE(ROLLBACK, 'no'); END");
  load();
  EXPECT_REFUSED(owner, append("k", 2, w2, 4, "x"), "ZF020", auth);
  ASSERT_OK(owner, "BEGIN");
  EXPECT_REFUSED(owner, append("k", 2, w2, 4, "x"), "ZF020", auth);
  EXPECT_TRUE(owner.autocommit());
  expect_untouched();
  ASSERT_OK(owner, "DROP TRIGGER IF EXISTS mine");
  expect_owner_goes_on(owner);
}

// A trigger that changes nothing is none of Fence's business.
TEST_F(Interposed, X_a_trigger_that_only_looks_on_is_left_alone) {
  ASSERT_OK(owner,
            "CREATE TEMP TABLE seen(idx); CREATE TEMP TRIGGER mine AFTER INSERT ON"
            " main.fence_oplog_v1 BEGIN INSERT INTO seen VALUES (NEW.idx);"
            " SELECT RAISE(IGNORE); END");
  load();
  expect_zombie_refused(owner);
  expect_owner_goes_on(owner);
  EXPECT_EQ(owner.value("SELECT group_concat(idx) FROM seen"), "4,5,6");
}

}  // namespace
}  // namespace fence::test
