// A call that is cancelled, at whatever point, has stored all of its entries or
// none, and leaves the connection as a plain statement would: in autocommit no
// transaction stays open behind it.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

enum class How : unsigned char {
  by_handler,    // the progress handler asks for it, now and ever after
  once,          // it asks for it once: a part of the call may still succeed
  by_interrupt,  // sqlite3_interrupt, which lasts until the outer statement ends
};

std::string name_of(How how) {
  return how == How::by_handler ? "by_handler" : how == How::once ? "once" : "by_interrupt";
}

// Cancels what runs on the connection after a number of SQLite's own steps.
class CancelAfter {
 public:
  CancelAfter(Database& db, How how, int steps) : db_(db), how_(how), left_(steps) {
    sqlite3_progress_handler(db.get(), 1, on_progress, this);
  }
  ~CancelAfter() { sqlite3_progress_handler(db_.get(), 0, nullptr, nullptr); }
  CancelAfter(const CancelAfter&) = delete;
  CancelAfter& operator=(const CancelAfter&) = delete;

  bool cancelled() const { return left_ < 0; }

 private:
  static int on_progress(void* object) {
    auto* self = static_cast<CancelAfter*>(object);
    const bool was_cancelled = self->cancelled();
    --self->left_;
    if (!self->cancelled() || (was_cancelled && self->how_ == How::once)) {
      return 0;
    }
    if (self->how_ == How::by_interrupt) {
      sqlite3_interrupt(self->db_.get());
      return 0;
    }
    return 1;
  }

  Database& db_;
  How how_;
  int left_;
};

struct Answer {
  Result result;
  bool cancelled;  // false: the call was through before it came to that
};

Answer run_cancelled(Database& db, const std::string& sql, How how, int steps) {
  const CancelAfter cancel(db, how, steps);
  const Result result = db.exec(sql);
  return {result, cancel.cancelled()};
}

// An error of SQLite's own. (Cancelled while a table is being connected it says
// "vtable constructor failed" rather than "interrupted".)
bool is_cancellation(const Result& result) {
  return !result.ok() && result.message.find("ZF0") == std::string::npos;
}

// Each call stores its entries from idx on.
struct Call {
  const char* name;
  std::string (*statement)(int64_t idx);
  size_t count;
};

const Call calls[] = {
    {"append", [](int64_t idx) { return append("k", 1, w1, idx, "x"); }, 1},
    {"insert", [](int64_t idx) { return insert("k", 1, w1, idx, "x"); }, 1},
    {"batch",
     [](int64_t idx) {
       return "SELECT fenced_append_many('n', 'k', 1, " + quoted(w1) + ", '[" +
              std::to_string(idx) + "," + std::to_string(idx + 1) + "]', fence_blobs('x', 'x'))";
     },
     2},
    {"bulk",
     [](int64_t idx) {
       return "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) SELECT 'n',"
              " 'k', 1, " +
              quoted(w1) + ", " + std::to_string(idx) + " + column1, 'x' FROM (VALUES (0), (1))";
     },
     2},
};

// A bound: no call here takes that many steps.
constexpr int many = 5000;

class CancelledAppend : public ::testing::TestWithParam<std::tuple<Call, How>> {
 protected:
  void SetUp() override {
    ASSERT_OK(db, "CREATE TABLE note(text);" + claim("k", 1, w1));
    ASSERT_OK(db, append("k", 1, w1, 0, "x"));
    if (call().count > 1) {
      // The TEMP table is there already; single appends make it each time.
      ASSERT_OK(db, "BEGIN;" + append("k", 1, w1, 0, "x") + "; COMMIT");
    }
  }

  // The call, with entries of its own each time, cancelled after so many steps.
  Answer run(int steps) {
    const std::string statement = call().statement(2 * (steps + 1));
    return run_cancelled(db, statement, std::get<How>(GetParam()), steps);
  }
  const Call& call() const { return std::get<Call>(GetParam()); }
  size_t stored() { return std::stoul(db.value("SELECT count(*) FROM oplog_entries")); }

  Database db;
};

std::string parameter_name(const ::testing::TestParamInfo<std::tuple<Call, How>>& parameter) {
  return std::get<Call>(parameter.param).name + ("_" + name_of(std::get<How>(parameter.param)));
}

const auto every_way = ::testing::Values(How::by_handler, How::once, How::by_interrupt);

INSTANTIATE_TEST_SUITE_P(Call, CancelledAppend,
                         ::testing::Combine(::testing::ValuesIn(calls), every_way), parameter_name);

// Cancelled at its very end it may be stored already: resending it is safe.
TEST_P(CancelledAppend, in_autocommit_is_over_and_stored_whole_or_not_at_all) {
  int steps = 0;
  for (bool cancelled = true; cancelled && steps < many; ++steps) {
    SCOPED_TRACE(steps);
    const size_t before = stored();
    const Answer answer = run(steps);
    cancelled = answer.cancelled;
    ASSERT_TRUE(db.autocommit()) << "no transaction is left open: " << answer.result.message;
    ASSERT_TRUE(answer.result.ok() || is_cancellation(answer.result)) << answer.result.message;
    const size_t fresh = stored() - before;
    ASSERT_TRUE(fresh == call().count || (!answer.result.ok() && fresh == 0)) << fresh;
  }
  EXPECT_GT(steps, 50) << "it was cancelled at many points";
  EXPECT_LT(steps, many) << "and came through in the end";
}

// SQLite rolls back a transaction that is cancelled while it writes. Where it does
// not, what the application then commits must not hold a part of the call.
TEST_P(CancelledAppend, in_a_transaction_is_committed_whole_or_not_at_all) {
  int steps = 0;
  for (bool cancelled = true; cancelled && steps < many; ++steps) {
    SCOPED_TRACE(steps);
    const size_t before = stored();
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
    const Answer answer = run(steps);
    cancelled = answer.cancelled;
    ASSERT_TRUE(answer.result.ok() || is_cancellation(answer.result)) << answer.result.message;
    const bool open = !db.autocommit();
    const bool committed = open && db.exec("COMMIT").ok();
    ASSERT_TRUE(db.autocommit());
    ASSERT_EQ(db.value("SELECT count(*) FROM note"), committed ? "1" : "0");
    const size_t fresh = stored() - before;
    ASSERT_TRUE(fresh == 0 || (committed && fresh == call().count)) << fresh;
    ASSERT_TRUE(fresh > 0 || !answer.result.ok());
    ASSERT_OK(db, "DELETE FROM note");
  }
  EXPECT_GT(steps, 50);
  EXPECT_LT(steps, many);
}

TEST_P(CancelledAppend, of_a_stale_caller_is_never_forgiven) {
  ASSERT_OK(db, claim("k", 2, w2));
  int steps = 0;
  for (bool cancelled = true; cancelled && steps < many; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
    const Answer answer = run(steps);
    cancelled = answer.cancelled;
    // Cancelled while it ends with the refusal, it keeps the text.
    const bool was_refused = answer.result.message.find("ZF001 ") == 0;
    ASSERT_TRUE(was_refused || is_cancellation(answer.result)) << answer.result.message;
    const bool open = !db.autocommit();
    const bool committed = open && db.exec("COMMIT").ok();
    ASSERT_FALSE(was_refused && committed) << "the refused transaction cannot commit";
    ASSERT_TRUE(db.autocommit());
    ASSERT_EQ(stored(), 1u);
    ASSERT_OK(db, "DELETE FROM note");
  }
  EXPECT_GT(steps, 20);
  EXPECT_LT(steps, many);
}

class CancelledClaim : public ::testing::TestWithParam<How> {};

INSTANTIATE_TEST_SUITE_P(How, CancelledClaim, every_way,
                         [](const auto& parameter) { return name_of(parameter.param); });

TEST_P(CancelledClaim, is_over_and_has_taken_everything_or_nothing) {
  Database db;
  ASSERT_OK(db, claim("k", 0, w1) + "; PRAGMA synchronous = NORMAL");
  const char record[] = "SELECT epoch, writer FROM oplog_metadata";
  std::string before = db.value(record);
  int steps = 0;
  for (bool cancelled = true; cancelled && steps < many; ++steps) {
    SCOPED_TRACE(steps);
    const int64_t epoch = steps + 1;
    const char* writer = steps % 2 == 0 ? w2 : w1;
    const Answer answer = run_cancelled(db, claim("k", epoch, writer), GetParam(), steps);
    cancelled = answer.cancelled;
    ASSERT_TRUE(db.autocommit()) << "no transaction is left open: " << answer.result.message;
    ASSERT_TRUE(answer.result.ok() || is_cancellation(answer.result)) << answer.result.message;
    ASSERT_EQ(db.value("PRAGMA synchronous"), "1") << "the application's setting is back";
    const std::string after = db.value(record);
    const std::string taken =
        std::to_string(epoch) + "|" + (writer == w1 ? w1_fingerprint : w2_fingerprint);
    ASSERT_TRUE(after == taken || (!answer.result.ok() && after == before)) << after;
    before = after;
  }
  EXPECT_GT(steps, 50);
  EXPECT_LT(steps, many);
}

TEST(CancelledInstall, is_over_and_has_made_everything_or_nothing) {
  for (const How how : {How::by_handler, How::once, How::by_interrupt}) {
    SCOPED_TRACE(name_of(how));
    int steps = 0;
    for (bool cancelled = true; cancelled && steps < many; steps += 101) {
      SCOPED_TRACE(steps);
      Database db(":memory:", Setup::loaded);
      const Answer answer = run_cancelled(db, "SELECT fence_install()", how, steps);
      cancelled = answer.cancelled;
      ASSERT_TRUE(db.autocommit()) << answer.result.message;
      if (!answer.result.ok()) {
        ASSERT_TRUE(is_cancellation(answer.result)) << answer.result.message;
        ASSERT_OK(db, "SELECT fence_install()") << "it can be repeated";
      }
      ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, "a"));
    }
    EXPECT_GT(steps, 50);
    EXPECT_LT(steps, many);
  }
}

}  // namespace
}  // namespace fence::test
