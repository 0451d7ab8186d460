// A claim is on the disk when it returns, whatever PRAGMA synchronous says: one
// that a power cut takes back would let the old owner write again. Everything
// else keeps the application's setting.
#include "regress/sqlite/counting_vfs.h"
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

struct Level {
  const char* journal_mode;
  const char* synchronous;
};

class Durability : public FileTest, public ::testing::WithParamInterface<Level> {
 protected:
  void SetUp() override {
    ASSERT_OK(db, std::string("PRAGMA journal_mode = ") + GetParam().journal_mode);
    ASSERT_OK(db, claim("mine", 1, w1));
    ASSERT_OK(db, std::string("PRAGMA synchronous = ") + GetParam().synchronous);
    ASSERT_OK(db, "CREATE TABLE note(text)");
    level = db.value("PRAGMA synchronous");
    vfs.reset();
  }

  bool below_full() const { return level == "0" || level == "1"; }

  CountingVfs vfs;
  Database db{path, Setup::installed, Database::usual_flags, CountingVfs::name()};
  std::string level;
};

INSTANTIATE_TEST_SUITE_P(Level, Durability,
                         ::testing::Values(Level{"wal", "OFF"}, Level{"wal", "NORMAL"},
                                           Level{"wal", "FULL"}, Level{"wal", "EXTRA"},
                                           Level{"delete", "OFF"}, Level{"delete", "NORMAL"},
                                           Level{"delete", "FULL"}, Level{"truncate", "OFF"},
                                           Level{"persist", "OFF"}, Level{"persist", "NORMAL"}),
                         [](const auto& parameter) {
                           return std::string(parameter.param.journal_mode) + "_" +
                                  parameter.param.synchronous;
                         });

TEST_P(Durability, a_claim_is_flushed_when_it_returns) {
  const std::string claims[] = {
      claim("k", 1, w1),
      claim("k", 2, w2),
      "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":3},{\"key\":\"l\","
      "\"epoch\":3}]', " +
          quoted(w1) + ")",
      "SELECT try_oplog_metadata_upsert('n', 'k', 4, " + quoted(w1) + ")",
  };
  for (const std::string& statement : claims) {
    SCOPED_TRACE(statement);
    ASSERT_OK(db, "INSERT INTO note VALUES ('not flushed at OFF')");
    vfs.reset();
    EXPECT_OK(db, statement);
    EXPECT_GE(vfs.syncs(), 1);
    EXPECT_EQ(vfs.unflushed(), "");
    EXPECT_EQ(db.value("PRAGMA synchronous"), level) << "the application's setting is back";
  }
}

// What they take away, or make room for, must not come back either.
TEST_P(Durability, calls_that_are_a_transaction_of_their_own_are_flushed_as_a_claim_is) {
  const std::string owner = quoted(w1) + ")";
  ASSERT_OK(db, claim("gone", 1, w1) + ";" + claim("staged", 1, w1) + ";" +
                    append("staged", 1, w1, 1, "x"));
  const std::string calls[] = {
      "SELECT fence_namespace_set('n', 'optional')",
      "SELECT fenced_delete('n', 'gone', 1, " + owner,
      "SELECT fenced_publish('n', 'mine', 1, " + quoted(w1) + ", 'n', 'staged', 1)",
      "SELECT fence_purge('n', 0)",
      "SELECT fence_reset('n', 'mine', 0)",
  };
  for (const std::string& statement : calls) {
    SCOPED_TRACE(statement);
    ASSERT_OK(db, "INSERT INTO note VALUES ('not flushed at OFF')");
    vfs.reset();
    EXPECT_OK(db, statement);
    EXPECT_GE(vfs.syncs(), 1);
    EXPECT_EQ(vfs.unflushed(), "");
    EXPECT_EQ(db.value("PRAGMA synchronous"), level) << "the application's setting is back";
  }
}

int cancel_once(void* steps_left) { return --*static_cast<int*>(steps_left) == 0 ? 1 : 0; }

// A progress handler that cancels one of Fence's own steps fails the claim. Should
// the claim succeed in spite of it, it is as good as any other.
TEST_P(Durability, a_claim_that_was_disturbed_is_flushed_if_it_succeeds) {
  int steps = 0;
  for (int left = 0; left <= 0 && steps < 1000; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_OK(db, "INSERT INTO note VALUES ('not flushed at OFF')");
    left = steps + 1;
    sqlite3_progress_handler(db.get(), 1, cancel_once, &left);
    const Result result = db.exec(claim("k", steps, w1));
    sqlite3_progress_handler(db.get(), 0, nullptr, nullptr);
    if (result.ok()) {
      ASSERT_EQ(vfs.unflushed(), "");
    }
    ASSERT_EQ(db.value("PRAGMA synchronous"), level);
  }
  EXPECT_GT(steps, 50) << "it was disturbed at many points";
  EXPECT_LT(steps, 1000) << "and came through in the end";
}

TEST_P(Durability, a_claim_that_fails_leaves_the_setting_alone_too) {
  EXPECT_REFUSED(db, claim("mine", 0, w1), "ZF001", auth);
  EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  EXPECT_REFUSED(db, claim("mine", 1, w2), "ZF002", auth);
  EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  EXPECT_OK(db, "SELECT try_oplog_metadata_upsert('n', 'mine', 0, " + quoted(w1) + ")");
  EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, claim("mine", 2, w1), "ZF012", plain_error);
  ASSERT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  Database other(path);
  ASSERT_OK(other, "BEGIN IMMEDIATE");
  EXPECT_EQ(db.exec(claim("mine", 2, w1)).rc, SQLITE_BUSY);
  EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  ASSERT_OK(other, "ROLLBACK");
}

TEST_P(Durability, an_append_is_flushed_as_the_application_has_set_it) {
  ASSERT_OK(db, "INSERT INTO note VALUES ('a')");
  vfs.reset();
  ASSERT_OK(db, "INSERT INTO note VALUES ('b')");
  const int by_hand = vfs.syncs();
  for (const std::string& statement : {append("mine", 1, w1, 1, "a"), insert("mine", 1, w1, 2, "b"),
                                       "BEGIN;" + append("mine", 1, w1, 3, "c") + "; COMMIT"}) {
    SCOPED_TRACE(statement);
    vfs.reset();
    ASSERT_OK(db, statement);
    EXPECT_EQ(vfs.syncs(), by_hand) << "as many flushes as a plain INSERT";
    EXPECT_EQ(db.value("PRAGMA synchronous"), level);
  }
  if (std::string(GetParam().journal_mode) == "wal") {
    EXPECT_EQ(by_hand, below_full() ? 0 : 1);
  }
}

TEST_P(Durability, a_refused_append_flushes_nothing) {
  EXPECT_REFUSED(db, append("mine", 0, w1, 1, "x"), "ZF001", auth);
  EXPECT_REFUSED(db, insert("mine", 1, w2, 1, "x"), "ZF002", auth);
  EXPECT_EQ(vfs.syncs(), 0);
}

}  // namespace
}  // namespace fence::test
