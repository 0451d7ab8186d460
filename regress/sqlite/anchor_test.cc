// fence_anchor() and min_generation: an application notices that the whole file went back
// in time.
#include "regress/sqlite/counting_vfs.h"
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

std::string least(const std::string& generation) {
  return "SELECT fence_config('min_generation', " + generation + ")";
}
const std::string anchor = "SELECT fence_anchor()";

class Anchor : public OwnedLog {};

TEST_F(Anchor, rises_by_one_and_is_kept_in_the_file) {
  EXPECT_EQ(db.value(anchor), "1");
  EXPECT_EQ(db.value(anchor), "2");
  EXPECT_EQ(db.value("SELECT generation FROM fence_control_v1"), "2");
  EXPECT_OK(db, append("k", 7, w1, 3, "x"));
}

TEST_F(Anchor, is_a_transaction_of_its_own) {
  for (const char* begin : {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s"}) {
    ASSERT_OK(db, begin);
    EXPECT_REFUSED(db, anchor, "ZF012", plain_error);
    ASSERT_OK(db, "ROLLBACK");
  }
  EXPECT_EQ(db.value(anchor), "1");
}

TEST_F(Anchor, needs_fence_and_a_generation_that_can_be) {
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, anchor, "ZF012", plain_error);
  EXPECT_REFUSED(db, "SELECT fence_config('min_generation', -1)", "ZF010", plain_error);
  EXPECT_REFUSED(db, "SELECT fence_config('min_generation', 9223372036854775808)", "ZF010",
                 plain_error);
  EXPECT_REFUSED(db, "SELECT fence_config('min_generation', NULL)", "ZF010", plain_error);
}

TEST_F(Anchor, min_generation_is_of_the_connection) {
  EXPECT_EQ(db.value("SELECT fence_config('min_generation')"), "0");
  EXPECT_EQ(db.value(least("9223372036854775807")), "9223372036854775807");
  EXPECT_EQ(db.value("SELECT fence_config('min_generation')"), "9223372036854775807");
  Database bare(":memory:", Setup::loaded);
  EXPECT_EQ(bare.value("SELECT fence_config('min_generation')"), "0");
  EXPECT_EQ(bare.value(least("5")), "5") << "also before fence_install";
  ASSERT_OK(bare, "SELECT fence_install()");
  EXPECT_REFUSED(bare, claim("k", 1, w1), "ZF007", auth);
}

// Every call that acts or checks, by its owner.
std::vector<std::string> calls() {
  const std::string names = "'n', 'k', 7, " + quoted(w1);
  return {
      claim("k", 8, w1),
      claim("k", 7, w1),
      "SELECT try_oplog_metadata_upsert('n', 'k', 8, " + quoted(w1) + ")",
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":8}]', " + quoted(w1) + ")",
      append("k", 7, w1, 3, "x"),
      append("k", 7, w1, 1, "one"),
      insert("k", 7, w1, 3, "x"),
      append_many("k", 7, w1, "[3]", "'x'"),
      drop("k", 7, w1, 1),
      put("k", 7, w1, "name", "x"),
      take("k", 7, w1, "name"),
      del("k", 7, w1),
      publish("k", 7, w1, "staged", 1),
      check("k", 7, w1),
      reset("k", 1),
      purge(),
      set_mode("optional"),
      "SELECT fence_config('max_waiters', 3)",
      anchor};
}

TEST_F(Anchor, every_call_on_an_older_file_is_ZF007) {
  ASSERT_EQ(db.value(anchor), "1");
  ASSERT_OK(db, least("2"));
  const Rows before = contents(db);
  for (const std::string& sql : calls()) {
    const Result result = db.exec(sql);
    EXPECT_TRUE(refused(result, "ZF007", auth, "ZF007")) << sql;
    EXPECT_NE(result.message.find("the file is of generation 1,"), std::string::npos);
    EXPECT_EQ(contents(db), before) << sql;
  }
  ASSERT_OK(db, least("1"));
  for (const std::string& sql : calls()) {
    EXPECT_EQ(db.exec(sql).message.find("ZF007"), std::string::npos) << sql;
  }
}

TEST_F(Anchor, an_older_file_can_still_be_looked_at) {
  ASSERT_OK(db, least("1"));
  EXPECT_EQ(entries(db), two);
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_read('n', 'k')"), "2");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_keys('n')"), "1");
  EXPECT_EQ(db.value("SELECT epoch FROM oplog_metadata"), "7");
  EXPECT_EQ(db.value("SELECT fence_config('max_waiters')"), "16");
  EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "0");
  EXPECT_NE(db.value("SELECT json_extract(fence_capabilities(), '$.reason')").find("generation 0"),
            std::string::npos);
  EXPECT_EQ(findings(db), Rows{});
  EXPECT_EQ(db.value("SELECT fence_install()"), "1");
}

TEST_F(Anchor, a_write_that_is_ZF007_dooms_its_transaction_and_a_check_does_not) {
  ASSERT_OK(db, least("1") + "; BEGIN");
  EXPECT_REFUSED(db, check("k", 7, w1), "ZF007", auth);
  EXPECT_OK(db, "COMMIT; BEGIN; CREATE TABLE t(x)");
  EXPECT_REFUSED(db, append("k", 7, w1, 3, "x"), "ZF007", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF007");
  EXPECT_EQ(db.value("SELECT count(*) FROM sqlite_schema WHERE name = 't'"), "0");
}

// ZF010, ZF012, ZF019, ZF020, ZF007, ZF003, ZF001, …: in that order.
TEST_F(Anchor, ZF007_has_its_place_among_the_codes) {
  ASSERT_OK(db, least("1"));
  EXPECT_REFUSED(db, append("k", 1, w2, 3, "x"), "ZF007", auth) << "not ZF001";
  EXPECT_REFUSED(db, append("k", 7, w2, 3, "x"), "ZF007", auth) << "not ZF002";
  EXPECT_REFUSED(db, append("none", 7, w1, 3, "x"), "ZF007", auth) << "not ZF003";
  EXPECT_REFUSED(db, append("k", 9, w1, 3, "x"), "ZF007", auth) << "not ZF004";
  EXPECT_REFUSED(db, append("k", 7, w1, 1, "x"), "ZF007", auth) << "not ZF013";
  EXPECT_REFUSED(db, claim("k", 1, w1), "ZF007", auth) << "not ZF001";
  EXPECT_REFUSED(db, append("k", -1, w1, 3, "x"), "ZF010", plain_error);
  EXPECT_REFUSED(db, "SELECT fenced_append('n', 'k', NULL, " + quoted(w1) + ", 3, 'x')", "ZF012",
                 plain_error);
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, claim("k", 8, w1), "ZF012", plain_error);
  ASSERT_OK(db, "ROLLBACK");
  EXPECT_OK(db, append_many("k", 7, w1, "[]", "")) << "an empty batch asks for nothing";
}

class AnchoredFile : public FileTest {};

TEST_F(AnchoredFile, damage_comes_before_ZF007) {
  {
    Database db(path);
    ASSERT_OK(db, claim("k", 7, w1) + ";" + claim("l", 7, w1));
  }
  edit(path,
       "UPDATE fence_meta_v1 SET epoch = -5 WHERE key = 'k';"
       "UPDATE fence_meta_v1 SET epoch = 6 WHERE key = 'l'");
  Database db(path, Setup::loaded);
  ASSERT_OK(db, least("1"));
  EXPECT_REFUSED(db, append("k", 7, w1, 1, "x"), "ZF019", plain_error);
  EXPECT_REFUSED(db, append("l", 7, w1, 1, "x"), "ZF020", auth);
  EXPECT_REFUSED(db, append("m", 7, w1, 1, "x"), "ZF007", auth);
}

TEST_F(AnchoredFile, a_generation_that_cannot_be_is_ZF019) {
  {
    Database db(path);
    ASSERT_OK(db, claim("k", 7, w1));
  }
  for (const char* value : {"-1", "'x'", "0.5", "x'00'"}) {
    edit(path, std::string("UPDATE fence_control_v1 SET generation = ") + value);
    Database db(path, Setup::loaded);
    for (const std::string& sql : {append("k", 7, w1, 1, "x"), claim("k", 8, w1), anchor}) {
      EXPECT_REFUSED(db, sql, "ZF019", plain_error);
    }
  }
  edit(path, "UPDATE fence_control_v1 SET generation = 9223372036854775807");
  Database db(path, Setup::loaded);
  EXPECT_REFUSED(db, anchor, "ZF019", plain_error);
  EXPECT_OK(db, append("k", 7, w1, 1, "x"));
}

// With the guard replaced by one that always agrees, the plain half of the trigger is all
// that stands between somebody and a generation of his choice.
TEST_F(AnchoredFile, only_fence_raises_the_generation_and_by_one) {
  Database owner(path);
  ASSERT_EQ(owner.value(anchor), "1");
  Database db(path, Setup::plain);
  EXPECT_FALSE(db.exec("UPDATE fence_control_v1 SET generation = 2").ok());
  ASSERT_EQ(
      sqlite3_create_function(
          db.get(), "fence_guard_v1", -1, SQLITE_UTF8 | SQLITE_INNOCUOUS, nullptr,
          [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); },
          nullptr, nullptr),
      SQLITE_OK);
  ASSERT_OK(db, "PRAGMA ignore_check_constraints = 1");
  for (const char* change :
       {"generation = 0", "generation = 1", "generation = 3", "generation = 2.5",
        "generation = '3'", "generation = 9223372036854775807", "generation = 2, format = 2",
        "generation = 2, seal_key = zeroblob(16)", "generation = 2, id = 2"}) {
    const Result result = db.exec(std::string("UPDATE fence_control_v1 SET ") + change);
    EXPECT_EQ(result.rc & 0xff, SQLITE_CONSTRAINT) << change << ": " << result.message;
  }
  EXPECT_EQ(db.value("SELECT id, format, generation FROM fence_control_v1"), "1|1|1");
}

TEST_F(AnchoredFile, an_anchor_is_flushed_when_it_returns) {
  CountingVfs vfs;
  Database db(path, Setup::installed, Database::usual_flags, CountingVfs::name());
  for (const char* mode : {"WAL", "DELETE"}) {
    ASSERT_OK(db, std::string("PRAGMA journal_mode = ") + mode + "; PRAGMA synchronous = OFF");
    vfs.reset();
    EXPECT_OK(db, anchor);
    EXPECT_GE(vfs.syncs(), 1) << mode;
    EXPECT_EQ(vfs.unflushed(), "") << mode;
    EXPECT_EQ(db.value("PRAGMA synchronous"), "0") << mode;
  }
}

}  // namespace
}  // namespace fence::test
