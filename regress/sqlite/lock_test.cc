// When a call takes the file's write lock, how long it waits for it, and that a
// stale caller hears "stale" rather than "busy" wherever that can be known.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

// Called by SQLite each time it finds the file locked: counts, and lets the other
// connection end its transaction at the chosen call. No clock is involved.
struct BusyHandler {
  BusyHandler(Database& waiting, Database& holder, int patience)
      : holder_(holder), patience_(patience) {
    sqlite3_busy_handler(waiting.get(), on_busy, this);
  }
  static int on_busy(void* self, int) {
    auto* handler = static_cast<BusyHandler*>(self);
    if (++handler->calls == handler->patience_) {
      EXPECT_OK(handler->holder_, "COMMIT");
    }
    return handler->calls < 10 ? 1 : 0;  // then SQLITE_BUSY
  }

  int calls = 0;

 private:
  Database& holder_;
  int patience_;
};

constexpr int never = 0;

class LockTest : public FileTest {
 protected:
  void set_up(const std::string& journal_mode) {
    ASSERT_OK(owner, "PRAGMA journal_mode = " + journal_mode);
    ASSERT_OK(owner, claim("k", 4, w1));
    ASSERT_OK(owner, claim("mine", 1, w1));
    ASSERT_OK(owner, "CREATE TABLE note(text)");
    ASSERT_OK(other, claim("k", 5, w2));
  }

  void other_writes() { ASSERT_OK(other, "BEGIN IMMEDIATE; INSERT INTO note VALUES ('other')"); }

  Database owner{path};
  Database other{path};
  const std::string stale = append("k", 4, w1, 1, "late");
  const std::string good = append("mine", 1, w1, 1, "good");
  const std::vector<std::string> good_entry = {"mine|1|1|good"};
  const std::vector<std::string> nothing = {};
};

class Lock : public LockTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override { set_up(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Journal, Lock, ::testing::Values("wal", "delete"),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(Lock, an_append_in_autocommit_waits_for_the_other_writer) {
  for (const std::string& statement :
       {good, insert("mine", 1, w1, 1, "good"), claim("mine", 1, w1)}) {
    SCOPED_TRACE(statement);
    other_writes();
    BusyHandler busy(owner, other, 3);
    EXPECT_OK(owner, statement);
    EXPECT_EQ(busy.calls, 3);
  }
  EXPECT_EQ(entries(other), good_entry);
}

// Once a read is open SQLite never calls the busy handler: so the lock comes first.
TEST_P(Lock, an_append_as_the_first_statement_of_a_transaction_waits_for_the_other_writer) {
  for (const char* begin : {"BEGIN", "SAVEPOINT a"}) {
    SCOPED_TRACE(begin);
    other_writes();
    ASSERT_OK(owner, begin);
    BusyHandler busy(owner, other, 3);
    EXPECT_OK(owner, good);
    EXPECT_EQ(busy.calls, 3);
    EXPECT_OK(owner, "COMMIT");
  }
  EXPECT_EQ(entries(other), good_entry);
}

TEST_P(Lock, an_append_in_a_transaction_that_is_still_busy_can_be_tried_again_in_it) {
  other_writes();
  ASSERT_OK(owner, "BEGIN");
  const Result busy = owner.exec(good);
  EXPECT_EQ(busy.rc, SQLITE_BUSY) << busy.message;
  EXPECT_EQ(busy.message, "database is locked");
  EXPECT_EQ(sqlite3_txn_state(owner.get(), "main"), SQLITE_TXN_NONE) << "no snapshot is pinned";
  ASSERT_OK(other, "COMMIT");
  EXPECT_OK(owner, good + "; COMMIT");
  EXPECT_EQ(entries(other), good_entry);
}

// A fallback read there would pin a snapshot, and the retry would be 517.
TEST_P(Lock, a_stale_caller_in_a_transaction_that_is_busy_hears_busy_and_dooms_nothing) {
  other_writes();
  ASSERT_OK(owner, "BEGIN");
  EXPECT_EQ(owner.exec(stale).rc, SQLITE_BUSY);
  ASSERT_OK(other, "COMMIT");
  EXPECT_OK(owner, good + "; COMMIT");
  EXPECT_EQ(entries(other), good_entry);
}

TEST_P(Lock, a_stale_caller_in_autocommit_is_refused_though_another_writes) {
  other_writes();
  EXPECT_REFUSED(owner, stale, "ZF001", auth);
  EXPECT_REFUSED(owner, append("k", 5, w1, 1, "x"), "ZF002", auth);
  EXPECT_REFUSED(owner, claim("k", 4, w1), "ZF001", auth);
  EXPECT_TRUE(owner.autocommit());
  EXPECT_EQ(sqlite3_txn_state(owner.get(), "main"), SQLITE_TXN_NONE);
  ASSERT_OK(other, "COMMIT");
  EXPECT_OK(owner, good);
}

TEST_P(Lock, busy_stays_busy_for_the_owner) {
  other_writes();
  for (const std::string& statement :
       {good, claim("mine", 1, w1), claim("mine", 2, w1), insert("mine", 1, w1, 1, "good"),
        std::string("SELECT fence_config('max_waiters', 17)"),
        "SELECT try_oplog_metadata_upsert('n', 'mine', 2, " + quoted(w1) + ")"}) {
    const Result busy = owner.exec(statement);
    EXPECT_EQ(busy.rc, SQLITE_BUSY) << statement << ": " << busy.message;
    EXPECT_EQ(busy.message, "database is locked") << statement;
    EXPECT_TRUE(owner.autocommit());
  }
  ASSERT_OK(other, "COMMIT");
  EXPECT_EQ(entries(owner), nothing);
  EXPECT_OK(owner, good);
}

TEST_P(Lock, a_busy_handler_that_gives_up_is_heard) {
  other_writes();
  BusyHandler busy(owner, other, never);
  EXPECT_EQ(owner.exec(good).rc, SQLITE_BUSY);
  EXPECT_EQ(busy.calls, 10);
  ASSERT_OK(other, "ROLLBACK");
}

// In a snapshot that is open already, "stale" needs no lock: epochs only rise.
TEST_P(Lock, a_stale_caller_in_a_read_transaction_is_refused_at_once_and_holds_no_lock) {
  other_writes();
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  BusyHandler busy(owner, other, never);
  EXPECT_REFUSED(owner, stale, "ZF001", auth);
  EXPECT_EQ(busy.calls, 0);
  EXPECT_EQ(sqlite3_txn_state(owner.get(), "main"), SQLITE_TXN_READ);
  sqlite3_busy_handler(owner.get(), nullptr, nullptr);
  EXPECT_OK(other, "ROLLBACK; BEGIN IMMEDIATE; ROLLBACK") << "the doomed one is in nobody's way";
  EXPECT_DOOMED(owner, "COMMIT", "ZF001");
}

TEST_P(Lock, an_owner_in_a_read_transaction_that_is_still_fresh_may_write) {
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  EXPECT_OK(owner, good + "; COMMIT");
  EXPECT_EQ(entries(other), good_entry);
}

TEST_P(Lock, a_call_keeps_no_lock_after_a_refusal_in_autocommit) {
  EXPECT_REFUSED(owner, stale, "ZF001", auth);
  EXPECT_REFUSED(owner, insert("k", 4, w1, 1, "late"), "ZF001", auth);
  EXPECT_REFUSED(owner, claim("k", 4, w1), "ZF001", auth);
  EXPECT_EQ(sqlite3_txn_state(owner.get(), nullptr), SQLITE_TXN_NONE);
  EXPECT_OK(other, "BEGIN EXCLUSIVE; ROLLBACK");
}

TEST_P(Lock, fence_check_waits_for_nobody) {
  other_writes();
  BusyHandler busy(owner, other, never);
  EXPECT_EQ(owner.value(check("mine", 1, w1)), "1");
  EXPECT_REFUSED(owner, check("k", 4, w1), "ZF001", auth);
  EXPECT_EQ(busy.calls, 0);
  ASSERT_OK(other, "COMMIT");
}

// Snapshots that others overtake exist in WAL mode only: in the other modes a
// reader holds the writer's commit up instead.
class Snapshot : public LockTest {
 protected:
  void SetUp() override { set_up("wal"); }
};

TEST_F(Snapshot, an_owner_with_an_old_one_is_told_how_to_go_on) {
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  ASSERT_OK(other, "INSERT INTO note VALUES ('other')");
  BusyHandler busy(owner, other, never);
  const Result result = owner.exec(good);
  EXPECT_EQ(result.rc, SQLITE_BUSY_SNAPSHOT);
  EXPECT_NE(result.message.find("reads an old state of the file"), std::string::npos)
      << result.message;
  EXPECT_NE(result.message.find("ROLLBACK"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("then BEGIN IMMEDIATE"), std::string::npos) << result.message;
  EXPECT_EQ(result.message.find("ZF"), std::string::npos) << "it is no refusal";
  EXPECT_EQ(busy.calls, 0);
  EXPECT_OK(owner, "COMMIT") << "and dooms nothing";
  EXPECT_OK(owner, "BEGIN IMMEDIATE;" + good + "; COMMIT");
  EXPECT_EQ(entries(other), good_entry);
}

TEST_F(Snapshot, a_takeover_after_the_snapshot_lets_nothing_be_written_on_it) {
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  ASSERT_OK(other, claim("mine", 2, w2));
  for (const std::string& statement : {good, insert("mine", 1, w1, 1, "good")}) {
    const Result result = owner.exec(statement);
    EXPECT_EQ(result.rc, SQLITE_BUSY_SNAPSHOT) << statement << ": " << result.message;
  }
  EXPECT_REFUSED(owner, check("mine", 1, w1), "ZF012", plain_error);
  ASSERT_OK(owner, "ROLLBACK");
  EXPECT_REFUSED(owner, good, "ZF001", auth);
  EXPECT_EQ(entries(other), nothing);
}

TEST_F(Snapshot, a_stale_caller_with_an_old_one_is_refused_as_stale) {
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  ASSERT_OK(other, "INSERT INTO note VALUES ('other')");
  EXPECT_REFUSED(owner, stale, "ZF001", auth);
  EXPECT_DOOMED(owner, "COMMIT", "ZF001");
}

// fence_check dooms nothing and answers only what it can know.
TEST_F(Snapshot, fence_check_does_not_trust_an_open_one) {
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM note");
  EXPECT_REFUSED(owner, check("mine", 1, w1), "ZF012", plain_error);
  EXPECT_REFUSED(owner, check("k", 4, w1), "ZF001", auth);
  EXPECT_OK(owner, "COMMIT");
  EXPECT_EQ(owner.value(check("mine", 1, w1)), "1");
  ASSERT_OK(owner, "BEGIN IMMEDIATE");
  EXPECT_EQ(owner.value(check("mine", 1, w1)), "1");
  EXPECT_OK(owner, "COMMIT");
}

}  // namespace
}  // namespace fence::test
