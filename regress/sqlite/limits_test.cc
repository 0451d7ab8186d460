// Limits of the connection (sqlite3_limit) as SQLite's own advice has them for programs that
// run SQL of others: Fence's calls work, and the limits stay as they are.
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

class Limits : public OwnedLog {
 protected:
  // Every kind of write once.
  void expect_everything_works(const std::string& key) {
    EXPECT_OK(db, claim(key, 1, w1));
    EXPECT_OK(db, append(key, 1, w1, 1, "x"));
    EXPECT_OK(db, insert(key, 1, w1, 2, "y"));
    EXPECT_OK(db,
              "SELECT fenced_append_many('n', " + owner(key, 1) +
                  ", '[3,4,5,6,7,8,9,10,11]', "
                  "x'000000016100000001610000000161000000016100000001610000000161000000016100000001"
                  "610000000161')");
    EXPECT_OK(db, put(key, 1, w1, "name", "value"));
    EXPECT_OK(db, take(key, 1, w1, "name"));
    EXPECT_OK(db, drop(key, 1, w1, 3));
    EXPECT_OK(db, check(key, 1, w1));
    EXPECT_OK(db, del(key, 1, w1));
    EXPECT_EQ(findings(db), Rows{});
  }
};

TEST_F(Limits, that_are_low_leave_room_for_what_fence_does) {
  const struct {
    int id;
    int value;
  } limits[] = {{SQLITE_LIMIT_VARIABLE_NUMBER, 2},
                {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
                {SQLITE_LIMIT_EXPR_DEPTH, 10},
                {SQLITE_LIMIT_COLUMN, 10},
                {SQLITE_LIMIT_FUNCTION_ARG, 8}};
  const TemporaryDirectory directory;
  const std::string path = directory.file("fence.db");
  const Database installed(path);
  int number = 0;
  for (const auto& limit : limits) {
    SCOPED_TRACE(limit.id);
    // On a new connection nothing is prepared yet.
    Database fresh(path, Setup::loaded);
    const int before = sqlite3_limit(fresh.get(), limit.id, limit.value);
    EXPECT_OK(fresh, claim("fresh" + std::to_string(++number), 1, w1));
    EXPECT_EQ(sqlite3_limit(fresh.get(), limit.id, before), limit.value) << "it was put back";

    sqlite3_limit(db.get(), limit.id, limit.value);
    expect_everything_works("key" + std::to_string(number));
    EXPECT_EQ(sqlite3_limit(db.get(), limit.id, before), limit.value);
  }
  EXPECT_EQ(db.value(purge()), std::to_string(number));
}

// Without a depth for triggers nothing can be checked: refused, and no word of a backup.
TEST_F(Limits, that_shut_out_the_triggers_are_named_as_a_possible_cause) {
  sqlite3_limit(db.get(), SQLITE_LIMIT_TRIGGER_DEPTH, 0);
  const Result result = db.exec(append("k", 7, w1, 9, "x"));
  EXPECT_TRUE(refused(result, "ZF020", auth, "ZF020"));
  EXPECT_NE(result.message.find("a limit"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace fence::test
