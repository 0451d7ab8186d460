// M13. Fence acts on main. A fenced file that is attached can be read; writing to
// it is refused, and no call reaches it.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

class Attached : public FileTest {
 protected:
  void SetUp() override {
    Database db(other);
    ASSERT_OK(db, claim("k", 5, w1));
    ASSERT_OK(db, append("k", 5, w1, 1, "a"));
  }
  std::string attach() const { return "ATTACH " + quoted(other) + " AS aux"; }

  const std::string other = directory.file("other.db");
};

TEST_F(Attached, can_be_read) {
  Database db(path);
  ASSERT_OK(db, attach());
  EXPECT_EQ(db.value("SELECT key, idx, epoch, payload FROM aux.oplog_entries"), "k|1|5|x'61'");
  EXPECT_EQ(db.value("SELECT key, epoch, writer FROM aux.oplog_metadata"),
            std::string("k|5|") + w1_fingerprint);
  EXPECT_EQ(db.value("SELECT last_idx, length FROM aux.oplog_status"), "1|1");
  EXPECT_EQ(db.rows("SELECT * FROM main.oplog_entries"), std::vector<std::string>{});
  EXPECT_EQ(db.rows("SELECT * FROM oplog_read('n', 'k')"), std::vector<std::string>{})
      << "oplog_read reads main";
}

// SQLite gives a table that a module makes by itself no schema: any name before it
// means the one table that there is. What it writes to is main all the same.
TEST_F(Attached, has_no_calls_of_its_own) {
  Database db(path);
  ASSERT_OK(db, attach());
  const std::string into_aux =
      "INSERT INTO aux.fenced_append(namespace, key, epoch, writer, idx, payload) VALUES ('n', 'k',"
      " 5, " +
      quoted(w1) + ", 2, 'b')";
  EXPECT_REFUSED(db, into_aux, "ZF003", auth);
  EXPECT_EQ(db.rows("SELECT * FROM aux.oplog_read('n', 'k')"), std::vector<std::string>{});
  ASSERT_OK(db, claim("k", 5, w1) + ";" + into_aux);
  EXPECT_EQ(db.value("SELECT count(*) FROM aux.oplog_entries"), "1");
  EXPECT_EQ(entries(db), (std::vector<std::string>{"k|2|5|b"}));
}

TEST_F(Attached, is_not_what_a_call_writes_to) {
  Database db(path);
  ASSERT_OK(db, attach());
  EXPECT_REFUSED(db, append("k", 5, w1, 2, "b"), "ZF003", auth);
  EXPECT_OK(db, claim("k", 1, w2));
  EXPECT_OK(db, append("k", 1, w2, 7, "main"));
  EXPECT_EQ(db.value("SELECT epoch FROM aux.oplog_metadata"), "5");
  EXPECT_EQ(db.value("SELECT count(*) FROM aux.oplog_entries"), "1");
}

TEST_F(Attached, does_not_stand_in_for_a_main_without_fence) {
  for (const std::string& name : {path, std::string(":memory:")}) {
    Database db(name, Setup::loaded);
    ASSERT_OK(db, attach());
    EXPECT_REFUSED(db, append("k", 5, w1, 2, "b"), "ZF012", plain_error);
    EXPECT_REFUSED(db, insert("k", 5, w1, 2, "b"), "ZF012", plain_error);
    EXPECT_REFUSED(db, claim("k", 6, w1), "ZF012", plain_error);
    EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "0");
  }
}

TEST_F(Attached, takes_no_direct_write_whatever_is_switched_off) {
  Database db(path);
  ASSERT_OK(db, attach());
  for (const char* switches :
       {"SELECT 1", "SELECT fence_config('authorizer', 1)",
        "SELECT fence_config('authorizer', 0), fence_config('defensive', 0)"}) {
    for (const char* statement :
         {"INSERT INTO aux.fence_setting_v1 VALUES ('max_waiters', 9)",
          "REPLACE INTO aux.fence_oplog_v1 SELECT * FROM aux.fence_oplog_v1",
          "UPDATE aux.fence_oplog_v1 SET payload = 'b'", "DELETE FROM aux.fence_oplog_v1",
          "UPDATE aux.fence_meta_v1 SET epoch = 9", "DELETE FROM aux.fence_meta_v1",
          "UPDATE aux.fence_control_v1 SET generation = 1", "INSERT INTO aux.fence VALUES (1)"}) {
      SCOPED_TRACE(std::string(switches) + "; " + statement);
      ASSERT_OK(db, switches);
      EXPECT_FALSE(db.exec(statement).ok());
    }
  }
  EXPECT_EQ(db.rows("SELECT key, idx, epoch, payload FROM aux.oplog_entries"),
            (std::vector<std::string>{"k|1|5|x'61'"}));
}

// A transaction over both files: the guard that Fence arms for a row of main must
// not open the other file.
TEST_F(Attached, is_not_opened_by_a_good_append_to_main) {
  Database db(path);
  ASSERT_OK(db, attach() + "; SELECT fence_config('defensive', 0);" + claim("k", 5, w1));
  ASSERT_OK(db, "BEGIN;" + append("k", 5, w1, 2, "b"));
  EXPECT_FALSE(db.exec("INSERT INTO aux.fence_oplog_v1 SELECT * FROM main.fence_oplog_v1").ok());
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT count(*) FROM aux.oplog_entries"), "1");
}

TEST_F(Attached, is_detached_like_any_other) {
  Database db(path);
  ASSERT_OK(db, attach());
  ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, "a"));
  ASSERT_OK(db,
            "SELECT * FROM aux.oplog_entries; BEGIN;" + append("k", 1, w1, 2, "b") + "; COMMIT");
  EXPECT_OK(db, "DETACH aux");
  EXPECT_OK(db, append("k", 1, w1, 3, "c"));
}

}  // namespace
}  // namespace fence::test
