// A stored value that cannot be is ZF019: reported, never used, never taken for a
// fence (L17). Somebody without the extension has written past the triggers.
#include <filesystem>

#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

// Given the log of OwnedLog in a file, and copies of it that somebody has edited.
class Corrupt : public FileTest {
 protected:
  Corrupt() {
    Database db(path);
    EXPECT_OK(db, claim("k", 7, w1));
    EXPECT_OK(db, append("k", 7, w1, 2, "two"));
    EXPECT_OK(db, claim("whole", 7, w1));
  }
  // A copy of the file after sql was run on it, past every trigger; the triggers
  // are put back, as somebody would who does not want to be noticed.
  std::string edited(const std::string& sql) {
    const std::string copy = directory.file("copy" + std::to_string(++copies_) + ".db");
    std::filesystem::copy_file(path, copy);
    Database editor(copy, Setup::plain);
    const std::string triggers = " FROM sqlite_schema WHERE type = 'trigger'";
    const std::string script =
        "BEGIN;" + editor.value("SELECT group_concat('DROP TRIGGER ' || name, ';')" + triggers) +
        ";" + sql + ";" + editor.value("SELECT group_concat(sql, ';')" + triggers) + "; COMMIT";
    EXPECT_OK(editor, "PRAGMA synchronous = OFF; " + script);
    return copy;
  }
  std::string with_record(const std::string& assignment) {
    return edited("UPDATE fence_meta_v1 SET " + assignment + " WHERE key = 'k'");
  }

 private:
  int copies_ = 0;
};

// Every call that looks at a record, by its owner, somebody older, newer, other.
std::vector<std::string> all_calls() {
  std::vector<std::string> calls;
  for (const char* writer : {w1, w2}) {
    for (const int64_t epoch : {int64_t{0}, int64_t{7}, int64_t{8}, INT64_MAX}) {
      calls.push_back(claim("k", epoch, writer));
      calls.push_back("SELECT try_oplog_metadata_upsert('n', 'k', " + std::to_string(epoch) + ", " +
                      quoted(writer) + ")");
      calls.push_back(append("k", epoch, writer, 3, "x"));
      calls.push_back(insert("k", epoch, writer, 3, "x"));
      calls.push_back(append_many("k", epoch, writer, "[3]", "'x'"));
      calls.push_back(check("k", epoch, writer));
    }
    calls.push_back(
        "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":9},"
        "{\"key\":\"new\",\"epoch\":1}]', " +
        quoted(writer) + ")");
  }
  return calls;
}

void expect_corrupt(Database& db) {
  const std::vector<std::string> before = contents(db);
  for (const std::string& sql : all_calls()) {
    const Result result = db.exec(sql);
    EXPECT_TRUE(refused(result, "ZF019", plain_error, "ZF019")) << sql;
    EXPECT_EQ(detail(result, "stored_epoch"), "NULL") << "no evidence of any epoch: " << sql;
    EXPECT_EQ(detail(result, "stored_writer"), "NULL") << sql;
    EXPECT_EQ(detail(result, "key"), "k") << sql;
    EXPECT_TRUE(db.autocommit());
  }
  EXPECT_EQ(contents(db), before) << "the record must stay as it is";
  EXPECT_OK(db, check("whole", 7, w1)) << "other keys are served";
}

TEST_F(Corrupt, L17_negative_epoch_is_corruption_for_every_call_and_changes_nothing) {
  Database db(with_record("epoch = -5"), Setup::loaded);
  expect_corrupt(db);
}

TEST_F(Corrupt, L17_dooms_nothing_since_it_says_nothing_about_the_owner) {
  Database db(with_record("epoch = -1"), Setup::loaded);
  ASSERT_OK(db, "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)");
  EXPECT_REFUSED(db, append("k", 7, w1, 3, "x"), "ZF019", plain_error);
  EXPECT_REFUSED(db, insert("k", 7, w1, 3, "x"), "ZF019", plain_error);
  EXPECT_REFUSED(db, check("k", 7, w1), "ZF019", plain_error);
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT count(*) FROM t"), "1");
}

TEST_F(Corrupt, L17_can_still_be_looked_at) {
  Database db(with_record("epoch = -5"), Setup::loaded);
  EXPECT_EQ(db.value("SELECT epoch FROM oplog_metadata WHERE key = 'k'"), "-5");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_read('n', 'k')"), "1");
}

TEST_F(Corrupt, record_of_any_impossible_value_is_ZF019) {
  for (const char* assignment : {
           "epoch = -9223372036854775808",
           "epoch = 'seven'",
           "epoch = 7.5",
           "epoch = x'07'",
           "writer = x''",
           "writer = x'00'",
           "writer = zeroblob(17)",
           "writer = 'text'",
           "writer = 5",
           "deleted_at = 'never'",
           "deleted_at = 1.5",
           "tail = -2",
           "tail = 'x'",
           "tail_seal = x''",
           "tail_seal = zeroblob(15)",
           "trimmed = -2",
           "trimmed = 1.5",
           "trim_seal = 'text'",
           "late_sum = 5",
           "epoch = -1",
           "reset_last = -2",
           "reset_last = 'x'",
           "published = x'00'",
           "published = 'text'",
           "seal = x'00'",
           "seal = 'text'",
       }) {
    SCOPED_TRACE(assignment);
    Database db(with_record(assignment), Setup::loaded);
    expect_corrupt(db);
  }
}

TEST_F(Corrupt, newest_entry_with_an_impossible_value_is_ZF019) {
  for (const std::string assignment : {"epoch = -2", "epoch = 'seven'", "epoch = 8", "epoch = 1.5",
                                       "idx = 'two'", "idx = 2.5", "seal = x''", "seal = 'text'"}) {
    SCOPED_TRACE(assignment);
    Database db(edited("UPDATE fence_oplog_v1 SET " + assignment), Setup::loaded);
    expect_corrupt(db);
  }
}

// Both are wrong at once: a broken seal is ZF020, which comes after ZF019.
TEST_F(Corrupt, comes_before_a_broken_seal) {
  Database db(edited("UPDATE fence_oplog_v1 SET epoch = -2;"
                     "UPDATE fence_meta_v1 SET writer = zeroblob(16) WHERE key = 'k'"),
              Setup::loaded);
  expect_corrupt(db);
}

TEST_F(Corrupt, setting_is_ZF019_and_never_used_and_can_be_set_anew) {
  for (const std::string value : {"'soon'", "-1", "99", "3600001", "1.5", "x'00'"}) {
    SCOPED_TRACE(value);
    const std::string copy =
        edited("INSERT INTO fence_setting_v1 VALUES ('evict_after', " + value + ")");
    Database db(copy, Setup::loaded);
    EXPECT_REFUSED(db, "SELECT fence_config('evict_after')", "ZF019", plain_error);
    EXPECT_EQ(db.value("SELECT fence_config('commit_wait')"), "10000");
    EXPECT_EQ(db.value("SELECT fence_config('evict_after', 2000)"), "2000");
    EXPECT_EQ(db.value("SELECT fence_config('evict_after')"), "2000");
  }
}

}  // namespace
}  // namespace fence::test
