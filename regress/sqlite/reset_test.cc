// fence_reset: lowers the epoch of a key that was claimed too high by mistake.
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;
using Reset = OwnedLog;

TEST_F(Reset, lowers_the_epoch_and_leaves_nobody_as_owner) {
  ASSERT_OK(db, claim("k", INT64_MAX, w2));
  EXPECT_EQ(db.value(reset("k", 7)), std::to_string(INT64_MAX));
  EXPECT_EQ(status(db), "7|NULL|1|2|2|0");
  EXPECT_EQ(db.rows("SELECT * FROM oplog_metadata"), Rows{});
  EXPECT_EQ(entries(db), two) << "the log is kept";
  for (const auto& [epoch, writer] : {std::pair<int64_t, const char*>{7, w1}, {INT64_MAX, w2}}) {
    const Result result = db.exec(append("k", epoch, writer, 3, "x"));
    EXPECT_TRUE(refused(result, "ZF003", auth, "ZF003"));
    EXPECT_EQ(detail(result, "stored_epoch"), "7");
    EXPECT_EQ(detail(result, "stored_writer"), "NULL");
    EXPECT_EQ(detail(result, "deleted"), "0");
  }
  EXPECT_REFUSED(db, check("k", 7, w1), "ZF003", auth);
  const Result result = db.exec(claim("k", 7, w1));
  EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001"));
  EXPECT_EQ(detail(result, "deleted"), "0");
  EXPECT_EQ(db.value(claim("k", 8, w1)), "2") << "and goes on from there";
  EXPECT_OK(db, append("k", 8, w1, 3, "three"));
}

TEST_F(Reset, entries_of_higher_epochs_are_no_damage_afterwards) {
  ASSERT_OK(db, script(claim("k", 100, w1), append("k", 100, w1, 3, "three"), reset("k", 8)));
  EXPECT_EQ(db.value(claim("k", 9, w2)), "3");
  EXPECT_OK(db, append("k", 9, w2, 4, "four"));
  EXPECT_OK(db, check("k", 9, w2));
  EXPECT_EQ(entries(db), (Rows{"k|1|7|one", "k|2|7|two", "k|3|100|three", "k|4|9|four"}));
  EXPECT_EQ(db.value("SELECT reset_last FROM fence_meta_v1"), "3");
  ASSERT_OK(db, drop("k", 9, w2, 3));
  EXPECT_OK(db, append("k", 9, w2, 5, "five"));
}

TEST_F(Reset, of_a_deleted_key_lowers_its_floor) {
  ASSERT_OK(db, del("k", 7));
  EXPECT_EQ(db.value(reset("k", 3)), "7");
  EXPECT_EQ(status(db), "3|NULL|NULL|NULL|0|1");
  expect_clean_refusal(db, del("k", 7), "ZF003");
  expect_clean_refusal(db, claim("k", 3, w1), "ZF001");
  EXPECT_EQ(db.value(claim("k", 4, w1)), "NULL");
}

TEST_F(Reset, only_lowers_and_only_what_there_is) {
  for (const int64_t epoch : {int64_t{7}, int64_t{8}, INT64_MAX}) {
    const Result result = db.exec(reset("k", epoch));
    EXPECT_TRUE(refused(result, "ZF010", plain_error, "ZF010"));
    EXPECT_EQ(detail(result, "stored_epoch"), "7");
    EXPECT_EQ(detail(result, "asserted_epoch"), std::to_string(epoch));
    EXPECT_EQ(detail(result, "asserted_writer"), "NULL");
  }
  expect_clean_refusal(db, reset("none", 0), "ZF003");
  ASSERT_OK(db, script(set_mode("optional"), free_append("free", 1, "x")));
  expect_clean_refusal(db, reset("free", 0), "ZF003");
  EXPECT_EQ(db.value(reset("k", 0)), "7");
  expect_clean_refusal(db, reset("k", 0), "ZF010");
  EXPECT_EQ(db.value(claim("k", 1, w1)), "2");
}

TEST_F(Reset, refuses_arguments_that_cannot_be_and_an_open_transaction) {
  for (const char* arguments : {"NULL, 'k', 1", "'n', NULL, 1", "'n', '', 1", "'n', 'k', NULL",
                                "'n', 'k', -1", "'n', 'k', 'x'", "'n', 'k', 1.5"}) {
    expect_clean_refusal(db, std::string("SELECT fence_reset(") + arguments + ")", "ZF010");
  }
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, reset("k", 1), "ZF012");
  ASSERT_OK(db, "COMMIT");
}

TEST_F(Reset, in_any_mode_and_an_unfenced_write_may_follow) {
  ASSERT_OK(db, set_mode("unfenced"));
  EXPECT_EQ(db.value(reset("k", 2)), "7");
  EXPECT_OK(db, free_append("k", 3, "x"));
  EXPECT_EQ(status(db), "2|NULL|1|3|3|0");
  ASSERT_OK(db, set_mode("optional"));
  EXPECT_EQ(db.value(claim("k", 3, w1)), "3");
}

// An entry with the epoch of the floor that is left is nobody's.
TEST_F(Reset, makes_room_for_no_entry_of_somebody_else) {
  ASSERT_OK(db, reset("k", 3));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(db,
            "INSERT INTO fence_oplog_v1 VALUES ('n', 'k', 3, 3, zeroblob(16), x'', 0,"
            " zeroblob(16))");
  EXPECT_REFUSED(db, claim("k", 4, w1), "ZF020", auth);
}

// The owner that was reset cannot write from a snapshot of before.
TEST(ResetFile, leaves_no_way_in_through_an_old_snapshot) {
  TemporaryDirectory directory;
  Database administrator(directory.file("x.db"));
  ASSERT_OK(administrator, "PRAGMA journal_mode = WAL");
  ASSERT_OK(administrator, claim("k", 9, w2));
  Database owner(directory.file("x.db"), Setup::loaded);
  ASSERT_OK(owner, "BEGIN; SELECT count(*) FROM oplog_status");
  ASSERT_OK(administrator, reset("k", 3));
  EXPECT_EQ(owner.exec(append("k", 9, w2, 1, "x")).rc, SQLITE_BUSY_SNAPSHOT);
  ASSERT_OK(owner, "ROLLBACK");
  EXPECT_REFUSED(owner, append("k", 9, w2, 1, "x"), "ZF003", auth);
}

}  // namespace
}  // namespace fence::test
