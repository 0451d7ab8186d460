// The guard function replaced, removed or asked by somebody else.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

// What a zombie, or whoever wants the log back, would write. Without a guard the
// plain half of the triggers is all that stands.
const std::vector<std::string>& writes_of_a_zombie() {
  static const std::vector<std::string> writes = {
      zombie_row,
      forged(4, 1, "INSERT OR REPLACE"),
      forged(4, 1, "INSERT OR IGNORE"),
      forged(3, 1, "REPLACE"),
      "UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key = 'k' AND idx = 1",
      "UPDATE OR REPLACE fence_oplog_v1 SET idx = 3 WHERE key = 'k' AND idx = 2",
      "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3",
      "DELETE FROM fence_oplog_v1",
      lowered_record,
      "UPDATE fence_meta_v1 SET epoch = epoch - 1",
      "UPDATE fence_meta_v1 SET epoch = 'three'",
      "UPDATE fence_meta_v1 SET writer = randomblob(16)",
      "UPDATE fence_meta_v1 SET key = key || 'x'",
      "UPDATE fence_meta_v1 SET tail = -1 WHERE key = 'k'",
      "UPDATE OR REPLACE fence_meta_v1 SET key = 'k' WHERE key = 'own'",
      "REPLACE INTO fence_meta_v1 SELECT namespace, 'k', epoch, writer, deleted_at, tail, "
      "tail_seal,"
      " trimmed, trim_seal, late_sum, reset_last, published, seal FROM fence_meta_v1 WHERE key = "
      "'own'",
      "DELETE FROM fence_meta_v1 WHERE key = 'k'",
      "DELETE FROM fence_meta_v1",
      "UPDATE fence_control_v1 SET seal_key = zeroblob(16)",
      "DELETE FROM fence_control_v1",
      "REPLACE INTO fence_control_v1 SELECT * FROM fence_control_v1",
      "INSERT INTO fence_value_v1 SELECT namespace, key, 'name', epoch, writer, payload, seal"
      " FROM fence_oplog_v1 WHERE key = 'k' AND idx = 1",
      "DELETE FROM fence_setting_v1",
  };
  return writes;
}

// REPLACE removes the row that has the same rowid, and fires no DELETE trigger.
const char* const replaced_by_rowid[] = {
    "UPDATE OR REPLACE fence_meta_v1 SET rowid = (SELECT rowid FROM fence_meta_v1 WHERE key = 'k')"
    " WHERE key = 'own'",
    "REPLACE INTO fence_meta_v1(rowid, namespace, key, epoch, writer, deleted_at, tail, tail_seal,"
    " trimmed, trim_seal, late_sum, reset_last, published, seal) SELECT rowid, namespace, 'new', "
    "epoch, writer,"
    " deleted_at, tail, tail_seal, trimmed, trim_seal, late_sum, reset_last, published, seal FROM "
    "fence_meta_v1"
    " WHERE key = 'k'",
    "REPLACE INTO fence_oplog_v1(rowid, namespace, key, idx, epoch, writer, payload, late, seal)"
    " SELECT (SELECT rowid FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3), namespace, key, 2, "
    "epoch,"
    " writer, payload, late, seal FROM fence_oplog_v1 WHERE key = 'own'",
    "REPLACE INTO fence_value_v1(rowid, namespace, key, name, epoch, writer, value, seal)"
    " SELECT 1, namespace, key, 'name', epoch, writer, payload, seal FROM fence_oplog_v1"
    " WHERE key = 'k' AND idx = 1",
};

TEST_F(Attack, S30_a_stub_of_the_guard_without_the_extension_meets_the_plain_half) {
  for (const bool any_arity : {false, true}) {
    Database zombie(path, Setup::plain);
    stub_guard(zombie, any_arity);
    for (const std::string& sql : writes_of_a_zombie()) {
      expect_plain_refusal(zombie, sql);
    }
    ASSERT_OK(zombie, "PRAGMA recursive_triggers = 1");
    for (const std::string& sql : writes_of_a_zombie()) {
      expect_plain_refusal(zombie, sql);
    }
  }
  expect_owner_goes_on();
}

TEST_F(Attack, X_a_stub_of_the_guard_removes_no_row_by_its_rowid) {
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  for (const char* sql : replaced_by_rowid) {
    expect_plain_refusal(zombie, sql);
  }
  expect_owner_goes_on();
}

// An epoch that only rises passes the plain half: it looks like a claim. The seal
// says that it was none.
TEST_F(Attack, X_a_claim_forged_with_a_stub_of_the_guard_is_noticed) {
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  ASSERT_OK(zombie,
            "UPDATE fence_meta_v1 SET epoch = 3, writer = (SELECT writer FROM fence_oplog_v1 WHERE"
            " idx = 1 AND key = 'k') WHERE key = 'k'");
  Database loaded(path, Setup::loaded);
  accept_changes();
  EXPECT_REFUSED(loaded, append("k", 3, w1, 4, "late"), "ZF020", auth);
  EXPECT_REFUSED(loaded, claim("k", 4, w1), "ZF020", auth);
  expect_owner_alarmed();
}

TEST_P(Loaded, S31_a_stub_on_the_connection_of_fence_opens_nothing_to_a_zombie) {
  stub_guard(zombie);
  for (const std::string& sql : writes_of_a_zombie()) {
    if (GetParam() == Switches::not_defensive) {
      expect_plain_refusal(zombie, sql);
    } else {
      EXPECT_FALSE(attempt(zombie, sql).prepared) << sql;
      expect_untouched();
    }
  }
  expect_zombie_refused(zombie);
  expect_owner_goes_on();
}

TEST_P(Loaded, S31_a_stub_on_the_connection_of_the_owner_is_noticed_and_undone) {
  stub_guard(zombie);
  expect_owner_alarmed(zombie);
  EXPECT_REFUSED(zombie, claim("k", 3, w2), "ZF020", auth);
  EXPECT_REFUSED(zombie, claim("new", 1, w2), "ZF020", auth);
  EXPECT_REFUSED(zombie, "SELECT fence_config('max_waiters', 1)", "ZF020", auth);
  expect_untouched();
  expect_owner_goes_on();
}

TEST_P(Loaded, S31_a_stub_in_place_when_the_statements_are_cached_is_noticed_as_well) {
  expect_owner_goes_on(zombie);
  stub_guard(zombie);
  expect_owner_alarmed(zombie);
  expect_owner_goes_on();
}

TEST_F(Attack, S34_a_statement_prepared_before_the_extension_was_loaded_is_refused) {
  for (const std::string& sql :
       {zombie_row, owner_row, lowered_record, std::string("DELETE FROM fence_oplog_v1")}) {
    Database zombie(path, Setup::plain);
    stub_guard(zombie);
    Statement early(zombie, sql);
    ASSERT_TRUE(succeeded(zombie.load()));
    EXPECT_NE(early.step(), SQLITE_DONE) << sql;
    EXPECT_EQ(sqlite3_reset(early.get()), SQLITE_ERROR);
    EXPECT_NE(std::string(sqlite3_errmsg(zombie.get())).find(" may not be modified"),
              std::string::npos)
        << sqlite3_errmsg(zombie.get());
    expect_untouched();
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, S34_a_statement_prepared_before_the_switches_were_set_is_refused) {
  Database db(path, Setup::loaded);
  set_switches(db, Switches::not_defensive);
  Statement early(db, owner_row);
  ASSERT_EQ(db.value("SELECT fence_config('defensive', 1)"), "1");
  set_switches(db, GetParam());
  EXPECT_NE(early.step(), SQLITE_DONE);
  EXPECT_NE(sqlite3_reset(early.get()), SQLITE_OK);
  expect_untouched();
}

TEST_P(Loaded, X_a_guard_that_was_removed_shuts_everything) {
  for (const int arity : {1, 3, 4, 5, 7, 8, 9, 14}) {
    ASSERT_EQ(sqlite3_create_function(zombie.get(), "fence_guard_v1", arity, SQLITE_UTF8, nullptr,
                                      nullptr, nullptr, nullptr),
              SQLITE_OK);
  }
  EXPECT_FALSE(attempt(zombie, zombie_row).prepared);
  expect_zombie_refused(zombie);
  expect_owner_alarmed(zombie);
  expect_owner_goes_on();
}

// A name that SQLite was only told to expect is no function.
TEST_F(Attack, X_an_overloaded_guard_is_no_guard) {
  Database zombie(path, Setup::plain);
  for (const int arity : {1, 3, 4, 5, 7, 8, 9, 14}) {
    ASSERT_EQ(sqlite3_overload_function(zombie.get(), "fence_guard_v1", arity), SQLITE_OK);
  }
  for (const std::string& sql : {zombie_row, owner_row, lowered_record}) {
    EXPECT_FALSE(zombie.exec(sql).ok()) << sql;
    expect_untouched();
  }
  expect_owner_goes_on();
}

TEST_P(Loaded, X_the_guard_agrees_to_nobody_who_asks) {
  for (const char* question :
       {"SELECT fence_guard_v1('never')", "SELECT fence_guard_v1(NULL)",
        "SELECT fence_guard_v1('entry', namespace, key, idx, epoch, writer, payload, late, seal)"
        " FROM fence_oplog_v1",
        "SELECT fence_guard_v1('setting', 'evict_after', 1)"}) {
    EXPECT_REFUSED(zombie, question, "ZF005", auth);
  }
  expect_untouched();
  expect_owner_goes_on(zombie);
}

// Whoever uses up the permission of a row cannot store another one with it.
TEST_F(Attack, X_a_trigger_that_uses_up_the_permission_gains_nothing) {
  Database owner(path, Setup::loaded);
  set_switches(owner, Switches::not_defensive);
  ASSERT_OK(
      owner,
      "CREATE TEMP TRIGGER thief BEFORE INSERT ON main.fence_oplog_v1 BEGIN"
      " SELECT fence_guard_v1('entry', NEW.namespace, NEW.key, NEW.idx, NEW.epoch, NEW.writer,"
      " NEW.payload, NEW.late, NEW.seal); END");
  expect_owner_alarmed(owner);
  ASSERT_OK(owner, "DROP TRIGGER thief");
  expect_owner_goes_on(owner);
}

// Names and keys are compared in indexes, which do not ask a collation for BINARY;
// epochs and writers are compared by Fence itself.
int all_alike(void*, int, const void*, int, const void*) { return 0; }

TEST_P(Loaded, X_a_replaced_collation_makes_nobody_the_owner) {
  for (const char* name : {"BINARY", "NOCASE", "RTRIM"}) {
    ASSERT_EQ(sqlite3_create_collation(zombie.get(), name, SQLITE_UTF8, nullptr, all_alike),
              SQLITE_OK);
  }
  expect_zombie_refused(zombie);
  EXPECT_REFUSED(zombie, claim("k", 1, w1), "ZF001", auth);
  EXPECT_REFUSED(zombie, append("own", 2, w2, 4, "x"), "ZF004", auth);
  EXPECT_FALSE(zombie.exec(zombie_row).ok());
  EXPECT_FALSE(zombie.exec(lowered_record).ok());
  expect_untouched();
  expect_owner_goes_on(zombie);
}

}  // namespace
}  // namespace fence::test
