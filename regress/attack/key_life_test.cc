// Attacks on what keys live on: values, modes, floors, deleted and ownerless records.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

const std::string zeros = "x'00000000000000000000000000000000'";
const std::string zombie_hash =
    "(SELECT writer FROM fence_oplog_v1 WHERE key = 'k' AND epoch = 1 LIMIT 1)";
const std::string record_columns =
    "(namespace, key, epoch, writer, deleted_at, tail, tail_seal, trimmed, trim_seal, late_sum,"
    " reset_last, published, seal)";

std::string forged_record(const std::string& ns, const std::string& key, const std::string& epoch,
                          const std::string& writer, const std::string& verb = "INSERT") {
  return verb + " INTO fence_meta_v1" + record_columns + " VALUES ('" + ns + "', '" + key + "', " +
         epoch + ", " + writer + ", NULL, -1, zeroblob(16), -1, zeroblob(16), zeroblob(16), -1," +
         " NULL, zeroblob(16))";
}
std::string forged_entry(const std::string& ns, const std::string& key, int idx,
                         const std::string& epoch, const std::string& writer) {
  return "INSERT INTO fence_oplog_v1 VALUES ('" + ns + "', '" + key + "', " + std::to_string(idx) +
         ", " + epoch + ", " + writer + ", x'7a', 0, zeroblob(16))";
}
std::string forged_value(const std::string& ns, const std::string& key, const std::string& name,
                         const std::string& epoch, const std::string& writer,
                         const std::string& verb = "INSERT") {
  return verb + " INTO fence_value_v1 VALUES ('" + ns + "', '" + key + "', '" + name + "', " +
         epoch + ", " + writer + ", x'7a', zeroblob(16))";
}

// Given also: values of 'k', one from before the takeover; 'gone', deleted at epoch 5; the
// namespace 'open' in mode optional with a floor of 9 and an ownerless key; and 'reset',
// whose epoch was lowered to 3.
class KeyLife : public Attack {
 protected:
  void SetUp() override {
    Attack::SetUp();
    Database db(path, Setup::loaded);
    const std::string by_w1 = "', 1, " + test::quoted(w1);
    const std::string by_w2 = ", 2, " + test::quoted(w2);
    ASSERT_OK(db, "SELECT fenced_put('n', 'k'" + by_w2 + ", 'v', 'x')");
    ASSERT_OK(db, "SELECT fenced_put('n', 'own" + by_w1 + ", 'v', 'x')");
    ASSERT_OK(db, claim("gone", 5, w1) + "; SELECT fenced_delete('n', 'gone', 5, " +
                      test::quoted(w1) + ")");
    ASSERT_OK(db, claim("reset", 8, w1) + "; SELECT fence_reset('n', 'reset', 3)");
    ASSERT_OK(db, "SELECT fence_namespace_set('open', 'optional')");
    ASSERT_OK(db, "SELECT oplog_metadata_upsert('open', 'old', 9, " + test::quoted(w1) +
                      "); SELECT fenced_delete('open', 'old', 9, " + test::quoted(w1) +
                      "); SELECT fence_purge('open', 0)");
    ASSERT_OK(db, "SELECT fenced_append('open', 'free', NULL, NULL, 1, 'x')");
    ASSERT_OK(db, "SELECT fence_namespace_set('n', 'required')");
    accept_changes();
  }
};

struct Write {
  std::string table;
  std::string sql;
};

// What a zombie would write; each of them finds a row to work on.
std::vector<Write> writes() {
  return {
      // Unfenced content where the mode wants an epoch, or of a key that nobody made.
      {"fence_oplog_v1", forged_entry("n", "k", 9, "-1", zeros)},
      {"fence_oplog_v1", forged_entry("n", "reset", 9, "-1", zeros)},
      {"fence_oplog_v1", forged_entry("open", "none", 9, "-1", zeros)},
      {"fence_oplog_v1", forged_entry("open", "free", 9, "-1", zombie_hash)},
      // The floor of an ownerless key is nobody's epoch.
      {"fence_oplog_v1", forged_entry("n", "reset", 9, "3", zeros)},
      {"fence_oplog_v1", forged_entry("n", "reset", 9, "3", zombie_hash)},
      {"fence_oplog_v1", forged_entry("n", "gone", 9, "5", zombie_hash)},
      {"fence_oplog_v1", "DELETE FROM fence_oplog_v1 WHERE namespace = 'open'"},
      {"fence_meta_v1", forged_record("n", "new", "-1", zeros)},
      {"fence_meta_v1", forged_record("n", "new", "4", zeros)},
      {"fence_meta_v1", forged_record("open", "new", "-1", zombie_hash)},
      {"fence_meta_v1", forged_record("open", "new", "-2", zeros)},
      {"fence_meta_v1", forged_record("open", "new", "9", zombie_hash)},
      {"fence_meta_v1", forged_record("n", "gone", "9", zombie_hash, "REPLACE")},
      // A lower epoch that is somebody's, a floor that somebody gets, a life that returns.
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET epoch = 1 WHERE key = 'k'"},
      {"fence_meta_v1",
       "UPDATE fence_meta_v1 SET epoch = -1, writer = " + zeros + " WHERE key = 'k'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET epoch = 1, writer = " + zeros +
                            ", deleted_at = 1 WHERE key = 'k'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET writer = " + zeros + " WHERE key = 'k'"},
      {"fence_meta_v1",
       "UPDATE fence_meta_v1 SET epoch = 9, writer = " + zeros + " WHERE key = 'k'"},
      {"fence_meta_v1",
       "UPDATE fence_meta_v1 SET writer = " + zombie_hash + " WHERE key = 'reset'"},
      {"fence_meta_v1",
       "UPDATE fence_meta_v1 SET epoch = 9, writer = " + zombie_hash + " WHERE key = 'free'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET deleted_at = NULL WHERE key = 'gone'"},
      {"fence_meta_v1",
       "UPDATE fence_meta_v1 SET deleted_at = NULL, writer = " + zeros + " WHERE key = 'gone'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET deleted_at = 1 WHERE key = 'gone'"},
      {"fence_meta_v1", "UPDATE fence_meta_v1 SET reset_last = -2 WHERE key = 'k'"},
      // Forgetting what is alive, or what no floor stands for.
      {"fence_meta_v1", "DELETE FROM fence_meta_v1 WHERE key = 'k'"},
      {"fence_meta_v1", "DELETE FROM fence_meta_v1 WHERE key = 'gone'"},
      {"fence_meta_v1", "DELETE FROM fence_meta_v1 WHERE key = 'free'"},
      {"fence_value_v1", forged_value("n", "k", "new", "1", zombie_hash)},
      {"fence_value_v1", forged_value("n", "k", "v", "1", zombie_hash, "REPLACE")},
      {"fence_value_v1", forged_value("n", "k", "new", "-1", zeros)},
      {"fence_value_v1", forged_value("n", "gone", "new", "5", zombie_hash)},
      {"fence_value_v1", forged_value("n", "reset", "new", "3", zeros)},
      {"fence_value_v1", "UPDATE fence_value_v1 SET value = x'7a', epoch = 1, writer = " +
                             zombie_hash + " WHERE key = 'k'"},
      {"fence_value_v1", "UPDATE fence_value_v1 SET key = 'k', name = 'new' WHERE key = 'own'"},
      {"fence_value_v1", "UPDATE OR REPLACE fence_value_v1 SET key = 'k' WHERE key = 'own'"},
      {"fence_value_v1",
       "UPDATE OR REPLACE fence_value_v1 SET rowid = (SELECT rowid FROM"
       " fence_value_v1 WHERE key = 'k') WHERE key = 'own'"},
      {"fence_value_v1", "DELETE FROM fence_value_v1 WHERE key = 'k'"},
      {"fence_value_v1", "DELETE FROM fence_value_v1"},
      {"fence_namespace_v1", "UPDATE fence_namespace_v1 SET floor = 8 WHERE namespace = 'open'"},
      {"fence_namespace_v1", "UPDATE fence_namespace_v1 SET floor = 'x'"},
      {"fence_namespace_v1", "UPDATE fence_namespace_v1 SET mode = 'none'"},
      {"fence_namespace_v1", "UPDATE fence_namespace_v1 SET namespace = 'm' WHERE namespace = 'n'"},
      {"fence_namespace_v1",
       "UPDATE OR REPLACE fence_namespace_v1 SET namespace = 'n' WHERE"
       " namespace = 'open'"},
      {"fence_namespace_v1",
       "REPLACE INTO fence_namespace_v1 SELECT namespace, 'unfenced', 0, NULL,"
       " floor, seal FROM fence_namespace_v1"},
      {"fence_namespace_v1",
       "REPLACE INTO fence_namespace_v1(rowid, namespace, mode,"
       " identical_repeat, floor, seal) SELECT rowid, 'm', mode, 0, -1, seal"
       " FROM fence_namespace_v1"},
      {"fence_namespace_v1", "DELETE FROM fence_namespace_v1 WHERE namespace = 'open'"},
  };
}

TEST_F(KeyLife, X_no_write_prepares_without_the_extension) {
  Database zombie(path, Setup::plain);
  for (const Write& write : writes()) expect_no_guard(zombie, write.sql);
  expect_owner_goes_on();
}

TEST_F(KeyLife, X_a_stub_of_the_guard_meets_the_plain_half) {
  for (const char* recursive : {"0", "1"}) {
    Database zombie(path, Setup::plain);
    stub_guard(zombie);
    ASSERT_OK(zombie, std::string("PRAGMA recursive_triggers = ") + recursive);
    for (const Write& write : writes()) expect_plain_refusal(zombie, write.sql);
  }
  expect_owner_goes_on();
}

TEST_F(KeyLife, X_with_the_extension_every_write_is_refused) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    for (const Write& write : writes()) {
      SCOPED_TRACE(write.sql);
      if (switches == Switches::not_defensive) {
        expect_not_asserted(zombie, write.sql);
      } else {
        EXPECT_FALSE(attempt(zombie, write.sql).prepared);
        expect_untouched();
      }
    }
    expect_zombie_refused(zombie);
  }
  expect_owner_goes_on();
}

// A value goes in two steps, the first of which says who takes it away.
TEST_F(KeyLife, X_a_value_marked_to_go_by_a_zombie_stays) {
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  expect_plain_refusal(zombie, "UPDATE fence_value_v1 SET seal = x'', epoch = 1, writer = " +
                                   zombie_hash + " WHERE key = 'k'");
  expect_plain_refusal(zombie, "DELETE FROM fence_value_v1 WHERE key = 'k'");
}

// What looks like fence_reset passes the plain half, since it leaves nobody as owner. The
// seal says that it was none.
TEST_F(KeyLife, X_a_reset_forged_with_a_stub_of_the_guard_is_noticed) {
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  ASSERT_OK(zombie, "UPDATE fence_meta_v1 SET epoch = 0, writer = " + zeros + " WHERE key = 'k'");
  accept_changes();
  Database loaded(path, Setup::loaded);
  EXPECT_REFUSED(loaded, claim("k", 1, w1), "ZF020", auth);
  EXPECT_REFUSED(loaded, "SELECT fence_reset('n', 'k', 0)", "ZF020", auth);
  expect_owner_alarmed();
}

TEST_F(KeyLife, X_a_namespace_opened_with_a_stub_of_the_guard_is_noticed) {
  for (const char* sql :
       {"UPDATE fence_namespace_v1 SET mode = 'unfenced' WHERE namespace = 'n'",
        "UPDATE fence_namespace_v1 SET identical_repeat = 1 WHERE namespace = 'n'",
        "UPDATE fence_namespace_v1 SET floor = 100 WHERE namespace = 'n'"}) {
    SCOPED_TRACE(sql);
    Database zombie(path, Setup::plain);
    stub_guard(zombie);
    ASSERT_OK(zombie, sql);
    accept_changes();
    Database loaded(path, Setup::loaded);
    EXPECT_REFUSED(loaded, "SELECT fenced_append('n', 'k', NULL, NULL, 4, 'x')", "ZF020", auth);
    EXPECT_REFUSED(loaded, "SELECT fence_namespace_set('n', 'required')", "ZF020", auth);
    expect_owner_alarmed();
  }
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  ASSERT_OK(zombie,
            "INSERT INTO fence_namespace_v1 VALUES ('m', 'unfenced', 0, NULL, -1, zeroblob(16))");
  Database loaded(path, Setup::loaded);
  EXPECT_REFUSED(loaded, "SELECT fenced_append('m', 'k', NULL, NULL, 4, 'x')", "ZF020", auth);
}

TEST_F(KeyLife, X_a_value_of_the_zombie_and_the_trigger_put_back) {
  Database zombie(path, Setup::plain);
  const std::string trigger =
      zombie.value("SELECT sql FROM sqlite_schema WHERE name = 'fence_value_update'");
  ASSERT_OK(zombie, "DROP TRIGGER fence_value_update; UPDATE fence_value_v1 SET value = x'7a'");
  ASSERT_OK(zombie, trigger);
  Database owner(path, Setup::loaded);
  const std::string by_owner = "'n', 'k', 2, " + test::quoted(w2) + ", 'v'";
  EXPECT_REFUSED(owner, "SELECT fenced_put(" + by_owner + ", 'x')", "ZF020", auth);
  EXPECT_REFUSED(owner, "SELECT fenced_remove(" + by_owner + ")", "ZF020", auth);
}

// A trim or a delete that is stopped half-way would leave entries that nobody knows of.
TEST_F(KeyLife, X_a_trigger_that_keeps_rows_from_going_is_noticed_and_undone) {
  const std::string by_owner = "('n', 'k', 2, " + test::quoted(w2);
  for (const char* table : {"fence_oplog_v1", "fence_value_v1"}) {
    SCOPED_TRACE(table);
    Database owner(path, Setup::plain);
    ASSERT_OK(owner, std::string("CREATE TEMP TRIGGER keep BEFORE DELETE ON main.") + table +
                         " BEGIN SELECT RAISE(IGNORE); END");
    ASSERT_TRUE(succeeded(owner.load()));
    EXPECT_REFUSED(owner, "SELECT fenced_delete" + by_owner + ")", "ZF020", auth);
    expect_untouched();
    if (std::string(table) == "fence_oplog_v1") {
      EXPECT_REFUSED(owner, "SELECT fenced_drop_prefix" + by_owner + ", 3)", "ZF020", auth);
    } else {
      EXPECT_REFUSED(owner, "SELECT fenced_remove" + by_owner + ", 'v')", "ZF020", auth);
    }
    expect_untouched();
  }
  expect_owner_goes_on();
}

TEST_F(KeyLife, X_a_trigger_that_stores_again_what_goes_is_noticed) {
  const std::string by_owner = "('n', 'k', 2, " + test::quoted(w2);
  Database owner(path, Setup::plain);
  ASSERT_OK(owner,
            "CREATE TEMP TRIGGER again AFTER DELETE ON main.fence_oplog_v1 BEGIN INSERT INTO"
            " fence_oplog_v1 VALUES (OLD.namespace, OLD.key, OLD.idx, OLD.epoch, OLD.writer,"
            " OLD.payload, OLD.late, OLD.seal); END");
  ASSERT_TRUE(succeeded(owner.load()));
  EXPECT_REFUSED(owner, "SELECT fenced_drop_prefix" + by_owner + ", 3)", "ZF020", auth);
  EXPECT_REFUSED(owner, "SELECT fenced_delete" + by_owner + ")", "ZF020", auth);
  expect_untouched();
}

}  // namespace
}  // namespace fence::test
