// The situation that the tests of transactions begin with: 'k' was taken over by
// another process, 'mine' is still owned, and the application has a table.
#ifndef FENCE_REGRESS_SQLITE_TRANSACTION_H
#define FENCE_REGRESS_SQLITE_TRANSACTION_H

#include <string>
#include <vector>

#include "regress/sqlite/harness.h"

namespace fence::test {

class TransactionTest : public FileTest {
 protected:
  void SetUp() override {
    ASSERT_OK(db, claim("k", 4, w1));
    ASSERT_OK(db, claim("k", 5, w2));
    ASSERT_OK(db, claim("mine", 1, w1));
    ASSERT_OK(db, "CREATE TABLE note(text)");
  }

  // A transaction with a write of each kind that was then refused (ZF001).
  void doom_transaction() {
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('before')");
    ASSERT_OK(db, good);
    EXPECT_REFUSED(db, stale, "ZF001", auth);
  }

  // What another process sees: the notes, then the entries.
  std::vector<std::string> stored() {
    Database observer(path, Setup::plain);
    std::vector<std::string> all = observer.rows("SELECT text FROM note");
    for (const std::string& entry : entries(observer)) {
      all.push_back(entry);
    }
    return all;
  }

  Database db{path};
  const std::string stale = append("k", 4, w1, 1, "late");
  const std::string good = append("mine", 1, w1, 1, "good");
  const std::vector<std::string> nothing = {};
};

}  // namespace fence::test

#endif
