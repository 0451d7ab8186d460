// fence_namespace_set and what the modes let through (spec 2.1).
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;
using Namespace = OwnedLog;

std::string rules(Database& db) {
  return db.value(
      "SELECT mode, identical_repeat, shard_space, floor FROM fence_namespaces"
      " WHERE namespace = 'n'");
}

// Each kind of write with the owner's epoch, and without one.
Rows fenced_writes() {
  return {append("k", 7, w1, 3, "x"),
          insert("k", 7, w1, 4, "x"),
          append_many("k", 7, w1, "[5]", "'x'"),
          append_many("k", 7, w1, "[]", ""),
          drop("k", 7, w1, 1),
          put("k", 7, w1, "name", "x"),
          take("k", 7, w1, "name"),
          publish("k", 7, w1, "s", 1),
          del("k", 7)};
}
Rows unfenced_writes() {
  Rows writes = {free_append("k", 3, "x"),
                 drop("k", unfenced, "", 1),
                 put("k", unfenced, "", "name", "x"),
                 take("k", unfenced, "", "name"),
                 publish("k", unfenced, "", "s", 1),
                 del("k", unfenced)};
  writes.push_back(
      "INSERT INTO fenced_append(namespace, key, idx, payload) VALUES ('n', 'k', 4,"
      " 'x')");
  for (const char* idxs : {"'[5]', fence_blobs('x')", "'[]', fence_blobs()"}) {
    writes.push_back(std::string("SELECT fenced_append_many('n', 'k', NULL, NULL, ") + idxs + ")");
  }
  return writes;
}
// Calls that are about ownership itself; @ is the epoch.
Rows owner_calls(const std::string& epoch) {
  const std::string caller = "('n', 'k', " + epoch + ", " + quoted(w1) + ")";
  return {"SELECT oplog_metadata_upsert" + caller, "SELECT try_oplog_metadata_upsert" + caller,
          "SELECT fence_check" + caller};
}

TEST_F(Namespace, is_listed_once_it_was_set) {
  EXPECT_EQ(rules(db), "no row");
  EXPECT_EQ(db.value(set_mode("optional")), "NULL");
  EXPECT_EQ(rules(db), "optional|0|NULL|NULL");
  EXPECT_EQ(db.value(set_mode("unfenced", ", 1")), "NULL");
  EXPECT_EQ(rules(db), "unfenced|1|NULL|NULL");
  EXPECT_EQ(db.value(set_mode("required", ", 0, NULL")), "NULL");
  EXPECT_EQ(rules(db), "required|0|NULL|NULL");
  EXPECT_EQ(db.value("SELECT count(*) FROM fence_namespaces"), "1");
  EXPECT_EQ(db.value(set_mode("required", ", 1.0")), "NULL") << "a number of JavaScript's";
  EXPECT_EQ(rules(db), "required|1|NULL|NULL");
  EXPECT_EQ(db.value(set_mode("required", ", '0'")), "NULL");
  EXPECT_EQ(rules(db), "required|0|NULL|NULL");
}

TEST_F(Namespace, refuses_what_is_no_mode_or_flag_or_space) {
  for (const char* arguments :
       {"NULL, 'required'", "'', 'required'", "'n', NULL", "'n', ''", "'n', 'REQUIRED'",
        "'n', 'none'", "'n', 1", "'n', x'7265717569726564'", "'n', 'optional', NULL",
        "'n', 'optional', 2", "'n', 'optional', -1", "'n', 'optional', '2'", "'n', 'optional', 0.5",
        "'n', 'optional', 'true'"}) {
    expect_clean_refusal(db, std::string("SELECT fence_namespace_set(") + arguments + ")", "ZF010");
  }
  expect_clean_refusal(db, set_mode("optional", ", 0, 'space'"), "ZF012");
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, set_mode("optional"), "ZF012");
  ASSERT_OK(db, "COMMIT");
  EXPECT_EQ(rules(db), "no row");
}

TEST_F(Namespace, L10_required_refuses_every_write_without_an_epoch) {
  for (const bool set : {false, true}) {
    if (set) {
      ASSERT_OK(db, set_mode("required"));
    }
    for (const std::string& sql : unfenced_writes()) {
      SCOPED_TRACE(sql);
      // A writer that is none is ZF010 where it is looked at.
      EXPECT_REFUSED(db, sql, "ZF010", plain_error);
    }
    const std::string caller = "('n', 'k', NULL, " + quoted(w1);
    for (const std::string& sql :
         {"SELECT fenced_append" + caller + ", 3, 'x')",
          "SELECT fenced_append_many" + caller + ", '[3]', fence_blobs('x'))",
          "SELECT fenced_append_many" + caller + ", '[]', fence_blobs())",
          "SELECT fenced_drop_prefix" + caller + ", 1)", "SELECT fenced_delete" + caller + ")",
          "SELECT fenced_put" + caller + ", 'name', 'x')",
          "SELECT fenced_remove" + caller + ", 'name')",
          "SELECT fenced_publish" + caller + ", 'n', 's', 1)"}) {
      expect_clean_refusal(db, sql, "ZF012");
    }
  }
  EXPECT_EQ(entries(db), two);
}

TEST_F(Namespace, L10_optional_takes_both) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("k", 3, "free"), append("k", 7, w1, 4, "owned")));
  EXPECT_EQ(entries(db), (Rows{"k|1|7|one", "k|2|7|two", "k|3|NULL|free", "k|4|7|owned"}));
  EXPECT_EQ(db.value("SELECT group_concat(quote(epoch)) FROM oplog_read('n', 'k')"), "7,7,NULL,7");
  expect_clean_refusal(db, append("k", 6, w1, 5, "x"), "ZF001");
  for (const std::string& sql : owner_calls("NULL")) expect_clean_refusal(db, sql, "ZF012");
  for (const std::string& sql : owner_calls("7")) EXPECT_OK(db, sql);
}

TEST_F(Namespace, M3_unfenced_takes_every_write_without_an_epoch_and_none_with_one) {
  ASSERT_OK(db, script(claim("s", 7, w1), append("s", 7, w1, 1, "staged")));
  ASSERT_OK(db, set_mode("unfenced"));
  for (const std::string& sql : fenced_writes()) expect_clean_refusal(db, sql, "ZF012");
  for (const std::string& sql : owner_calls("8")) expect_clean_refusal(db, sql, "ZF012");
  for (const std::string& sql : owner_calls("NULL")) expect_clean_refusal(db, sql, "ZF012");
  expect_clean_refusal(
      db,
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":8}]', " + quoted(w1) + ")",
      "ZF012");
  expect_clean_refusal(db, "SELECT oplog_metadata_upsert_many('n', '[]', " + quoted(w1) + ")",
                       "ZF012");
  for (const std::string& sql : unfenced_writes()) EXPECT_OK(db, sql);
}

TEST_F(Namespace, M3_unfenced_writes_assert_nothing) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, claim("k", 8, w2));
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db,
            script(free_append("k", 3, "a"), append("k", 8, w2, 4, "b"), free_append("k", 5, "c")));
  EXPECT_REFUSED(db, append("k", 7, w1, 6, "x"), "ZF012", plain_error) << "two epochs, 8 and 7";
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries"), "5");
}

TEST_F(Namespace, L14_other_bytes_at_a_taken_idx_are_a_conflict_without_an_epoch_too) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("free", 17, "old"), append("k", 7, w1, 17, "old")));
  expect_clean_refusal(db, free_append("free", 17, "new"), "ZF013");
  expect_clean_refusal(db, append("k", 7, w1, 17, "new"), "ZF013");
  expect_clean_refusal(db, free_append("k", 17, "new"), "ZF013");
  expect_clean_refusal(db, free_append("k", 17, "old"), "ZF013");
  EXPECT_OK(db, free_append("free", 17, "old")) << "a repeat";
  const Result result = db.exec(free_append("free", 17, "new"));
  EXPECT_EQ(detail(result, "asserted_epoch"), "NULL");
  EXPECT_EQ(detail(result, "asserted_writer"), "NULL");
  EXPECT_EQ(detail(result, "stored_epoch"), "NULL");
  EXPECT_EQ(detail(result, "stored_writer"), "NULL");
  EXPECT_EQ(db.value("SELECT payload FROM oplog_entries WHERE key = 'free'"), "x'6f6c64'");
}

TEST_F(Namespace, M24_an_unfenced_append_at_a_trimmed_idx_is_ZF013) {
  ASSERT_OK(db, set_mode("optional"));
  EXPECT_EQ(db.value(drop("k", unfenced, "", 1)), "1");
  expect_clean_refusal(db, free_append("k", 1, "one"), "ZF013");
  EXPECT_EQ(db.value(drop("none", unfenced, "", 1)), "0");
  EXPECT_EQ(status(db, "none"), "no row") << "nothing is made by a trim";
  EXPECT_EQ(db.value(take("none", unfenced, "", "name")), "0");
  EXPECT_EQ(status(db, "none"), "no row");
}

TEST_F(Namespace, L38_identical_repeat_takes_the_same_bytes_of_any_epoch) {
  ASSERT_OK(db, claim("k", 8, w2));
  EXPECT_REFUSED(db, append("k", 8, w2, 1, "one"), "ZF013", conflict) << "of another epoch";
  ASSERT_OK(db, set_mode("required", ", 1"));
  const Rows before = contents(db);
  EXPECT_EQ(db.value(append("k", 8, w2, 1, "one")), "1");
  EXPECT_EQ(db.value(append_many("k", 8, w2, "[1,2]", "'one','two'")), "0");
  EXPECT_EQ(contents(db), before) << "nothing is stored twice";
  expect_clean_refusal(db, append("k", 8, w2, 1, "other"), "ZF013");
  expect_clean_refusal(db, append("k", 7, w1, 1, "one"), "ZF001");
  EXPECT_EQ(detail(db.exec(append("k", 7, w1, 1, "one")), "already_stored"), "1");
  ASSERT_OK(db, set_mode("optional", ", 1"));
  EXPECT_OK(db, free_append("k", 2, "two"));
  EXPECT_EQ(contents(db).size(), before.size());
}

TEST_F(Namespace, an_unfenced_write_makes_a_key_that_nobody_owns) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("a", 4, "x"), put("v", unfenced, "", "name", "x")));
  EXPECT_EQ(status(db, "a"), "NULL|NULL|4|4|1|0");
  EXPECT_EQ(status(db, "v"), "NULL|NULL|NULL|NULL|0|0");
  EXPECT_EQ(db.rows("SELECT key FROM oplog_metadata"), Rows{"k"});
  expect_clean_refusal(db, append("a", 0, w1, 5, "x"), "ZF003");
  expect_clean_refusal(db, check("a", 0, w1), "ZF003");
  EXPECT_EQ(db.value(claim("a", 0, w1)), "4") << "a claim goes on with the log";
  EXPECT_OK(db, append("a", 0, w1, 5, "owned"));
  EXPECT_EQ(db.rows("SELECT idx, epoch FROM oplog_entries WHERE key = 'a'"),
            (Rows{"4|NULL", "5|0"}));
  EXPECT_OK(db, take("v", unfenced, "", "name"));
}

TEST_F(Namespace, an_unfenced_write_on_a_deleted_key_begins_a_new_life_above_its_floor) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, del("k", 7));
  ASSERT_OK(db, free_append("k", 1, "new"));
  EXPECT_EQ(status(db), "7|NULL|1|1|1|0");
  expect_clean_refusal(db, append("k", 7, w1, 2, "late"), "ZF003");
  expect_clean_refusal(db, claim("k", 7, w1), "ZF001");
  EXPECT_EQ(db.value(claim("k", 8, w2)), "1");
  ASSERT_OK(db, del("k", 8, w2));
  ASSERT_OK(db, put("k", unfenced, "", "name", "x"));
  EXPECT_EQ(status(db), "8|NULL|NULL|NULL|0|0");
  EXPECT_EQ(db.value(del("k", unfenced)), "0") << "there was no entry";
  EXPECT_EQ(status(db), "8|NULL|NULL|NULL|0|1");
}

TEST_F(Namespace, an_unfenced_batch_is_all_or_nothing) {
  ASSERT_OK(db, set_mode("unfenced"));
  const std::string many = "SELECT fenced_append_many('n', 'f', NULL, NULL, ";
  EXPECT_EQ(db.value(many + "'[1,2]', fence_blobs('a','b'), -1)"), "2");
  expect_clean_refusal(db, many + "'[3,1]', fence_blobs('c','other'))", "ZF013");
  expect_clean_refusal(db, many + "'[3]', fence_blobs('c'), 1)", "ZF013");
  EXPECT_EQ(db.value(many + "'[2,3]', fence_blobs('b','c'), 2)"), "1");
  EXPECT_EQ(db.value("SELECT fenced_append_many('n', 'none', NULL, NULL, '[]', fence_blobs())"),
            "0");
  EXPECT_EQ(status(db, "none"), "no row");
}

TEST_F(Namespace, a_mode_acts_from_the_next_call_on_and_for_its_namespace_only) {
  ASSERT_OK(db, "SELECT fence_namespace_set('m', 'unfenced')");
  EXPECT_OK(db, append("k", 7, w1, 3, "x")) << "n is still required";
  EXPECT_OK(db, "SELECT fenced_append('m', 'k', NULL, 5, 1, 'x')") << "any writer will do";
  ASSERT_OK(db, set_mode("unfenced"));
  EXPECT_REFUSED(db, append("k", 7, w1, 4, "x"), "ZF012", plain_error);
  ASSERT_OK(db, set_mode("required"));
  EXPECT_OK(db, append("k", 7, w1, 4, "x"));
}

TEST(NamespaceFile, a_mode_that_changed_meanwhile_is_seen_under_the_lock) {
  TemporaryDirectory directory;
  Database one(directory.file("x.db"));
  ASSERT_OK(one, "PRAGMA journal_mode = WAL");
  ASSERT_OK(one, script(claim("k", 7, w1), append("k", 7, w1, 1, "x")));
  Database two(directory.file("x.db"), Setup::loaded);
  ASSERT_OK(two, append("k", 7, w1, 2, "x"));
  ASSERT_OK(one, set_mode("unfenced"));
  EXPECT_REFUSED(two, append("k", 7, w1, 3, "x"), "ZF012", plain_error);
  ASSERT_OK(two, "BEGIN; CREATE TABLE t(x)");
  EXPECT_REFUSED(two, append("k", 7, w1, 3, "x"), "ZF012", plain_error);
  EXPECT_OK(two, "COMMIT") << "a wrong mode dooms nothing";
}

// A mode that somebody edits opens the fence, so it is sealed.
TEST_F(Namespace, a_rule_that_was_changed_unseen_is_ZF020_and_an_impossible_one_ZF019) {
  ASSERT_OK(db, set_mode("required"));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_namespace_update");
  const std::pair<const char*, const char*> changes[] = {{"mode = 'optional'", "ZF020"},
                                                         {"identical_repeat = 1", "ZF020"},
                                                         {"floor = 0", "ZF020"},
                                                         {"seal = zeroblob(16)", "ZF020"},
                                                         {"mode = 'none'", "ZF019"},
                                                         {"mode = 5", "ZF019"},
                                                         {"identical_repeat = 2", "ZF019"},
                                                         {"floor = -2", "ZF019"},
                                                         {"floor = 'x'", "ZF019"},
                                                         {"shard_space = 'x'", "ZF019"},
                                                         {"seal = x''", "ZF019"}};
  for (const auto& [change, code] : changes) {
    SCOPED_TRACE(change);
    ASSERT_OK(db, std::string("BEGIN; UPDATE fence_namespace_v1 SET ") + change);
    const int rc = std::string(code) == "ZF020" ? auth : plain_error;
    EXPECT_REFUSED(db, check("k", 7, w1), code, rc);
    EXPECT_REFUSED(db, free_append("k", 3, "x"), code, rc);
    ASSERT_OK(db, "ROLLBACK");
  }
  ASSERT_OK(db, "UPDATE fence_namespace_v1 SET mode = 'optional'");
  for (const std::string& sql :
       {append("k", 7, w1, 3, "x"), free_append("k", 3, "x"), claim("k", 8, w2),
        set_mode("required"), purge(), reset("k", 1), del("k", 7), claim("new", 1, w1)}) {
    EXPECT_REFUSED(db, sql, "ZF020", auth);
  }
  EXPECT_EQ(entries(db), two);
}

}  // namespace
}  // namespace fence::test
