// fence_check: am I still the owner (spec 2.1); which code comes first (section 3).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

class Check : public OwnedLog {};

TEST_F(Check, answers_true_to_the_owner_and_raises_as_append_would) {
  EXPECT_EQ(db.value(check("k", 7, w1)), "1");
  const struct {
    std::string check;
    std::string append;
    const char* code;
  } cases[] = {
      {check("k", 6, w1), append("k", 6, w1, 3, "x"), "ZF001"},
      {check("k", 7, w2), append("k", 7, w2, 3, "x"), "ZF002"},
      {check("absent", 0, w1), append("absent", 0, w1, 3, "x"), "ZF003"},
      {check("k", 8, w1), append("k", 8, w1, 3, "x"), "ZF004"},
      {check("", 7, w1), append("", 7, w1, 3, "x"), "ZF010"},
  };
  for (const auto& c : cases) {
    expect_clean_refusal(db, c.check, c.code);
    const std::string of_check = db.exec(c.check).message;
    const std::string of_append = db.exec(c.append).message;
    EXPECT_EQ(of_check.substr(0, of_check.find('{')), of_append.substr(0, of_append.find('{')));
    for (const char* member : {"namespace", "key", "asserted_epoch", "stored_epoch",
                               "asserted_writer", "stored_writer", "deleted"}) {
      EXPECT_EQ(detail(db.exec(c.check), member), detail(db.exec(c.append), member)) << member;
    }
    EXPECT_EQ(detail(db.exec(c.check), "already_stored"), "NULL") << "nothing was to be stored";
  }
}

TEST_F(Check, needs_an_epoch_in_every_mode) {
  const std::string sql = "SELECT fence_check('n', 'k', NULL, " + quoted(w1) + ")";
  for (const char* mode : {"required", "optional", "unfenced"}) {
    ASSERT_OK(db, std::string("SELECT fence_namespace_set('n', '") + mode + "')");
    expect_clean_refusal(db, sql, "ZF012");
    EXPECT_NE(db.exec(sql).message.find("this call needs one in every mode"), std::string::npos);
  }
  EXPECT_REFUSED(db, check("k", 7, w1), "ZF012", plain_error);
  EXPECT_NE(db.exec(check("k", 7, w1)).message.find("nobody owns a key"), std::string::npos);
}

TEST_F(Check, refused_in_a_transaction_dooms_nothing) {
  ASSERT_OK(db, "BEGIN IMMEDIATE");
  ASSERT_OK(db, append("k", 7, w1, 3, "three"));
  for (const std::string& sql :
       {check("k", 6, w1), check("k", 7, w2), check("absent", 0, w1), check("k", 8, w1)}) {
    EXPECT_FALSE(db.exec(sql).ok()) << sql;
  }
  ASSERT_OK(db, append("k", 7, w1, 4, "four"));
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(entries(db).size(), 4U);
}

TEST_F(Check, asserts_nothing) {
  ASSERT_OK(db, claim("j", 3, w2));
  ASSERT_OK(db, "BEGIN IMMEDIATE");
  EXPECT_REFUSED(db, check("k", 6, w1), "ZF001", auth);
  EXPECT_OK(db, append("k", 7, w1, 3, "three")) << "6 was only asked about";
  EXPECT_OK(db, "COMMIT");
}

TEST_F(Check, is_good_after_BEGIN_IMMEDIATE_and_as_the_first_read_of_a_transaction) {
  ASSERT_OK(db, "BEGIN IMMEDIATE");
  EXPECT_EQ(db.value(check("k", 7, w1)), "1");
  EXPECT_EQ(db.value(check("k", 7, w1)), "1");
  ASSERT_OK(db, "COMMIT");
  ASSERT_OK(db, "BEGIN");
  EXPECT_EQ(db.value(check("k", 7, w1)), "1");
  ASSERT_OK(db, append("k", 7, w1, 3, "three"));
  EXPECT_EQ(db.value(check("k", 7, w1)), "1") << "writing, so nobody else is";
  ASSERT_OK(db, "COMMIT");
}

class CheckSnapshot : public FileTest {
 protected:
  CheckSnapshot() {
    EXPECT_OK(old_owner, "PRAGMA journal_mode = WAL");
    EXPECT_OK(old_owner, claim("k", 7, w1));
  }
  Database old_owner{path};
  Database new_owner{path};
};

// An effect outside the database must not rest on an answer of yesterday.
TEST_F(CheckSnapshot, that_may_be_old_is_ZF012_and_never_true) {
  ASSERT_OK(old_owner, "BEGIN");
  ASSERT_EQ(old_owner.value("SELECT epoch FROM oplog_metadata"), "7");
  EXPECT_REFUSED(old_owner, check("k", 7, w1), "ZF012", plain_error);
  ASSERT_OK(new_owner, claim("k", 8, w2));
  ASSERT_EQ(old_owner.value("SELECT epoch FROM oplog_metadata"), "7") << "the snapshot is old";
  const Result result = old_owner.exec(check("k", 7, w1));
  EXPECT_TRUE(refused(result, "ZF012", plain_error, "ZF012"));
  EXPECT_NE(result.message.find("BEGIN IMMEDIATE"), std::string::npos) << result.message;
  EXPECT_OK(old_owner, "COMMIT") << "dooms nothing";
  EXPECT_REFUSED(old_owner, check("k", 7, w1), "ZF001", auth);
}

TEST_F(CheckSnapshot, that_already_shows_the_loss_is_believed) {
  ASSERT_OK(new_owner, claim("k", 8, w2));
  ASSERT_OK(old_owner, "BEGIN");
  ASSERT_EQ(old_owner.value("SELECT epoch FROM oplog_metadata"), "8");
  EXPECT_REFUSED(old_owner, check("k", 7, w1), "ZF001", auth);
  EXPECT_OK(old_owner, "COMMIT");
}

TEST_F(CheckSnapshot, of_a_statement_that_reads_a_table_is_one_too) {
  EXPECT_REFUSED(old_owner,
                 "SELECT fence_check('n', 'k', 7, " + quoted(w1) + ") FROM oplog_metadata", "ZF012",
                 plain_error);
}

TEST_F(CheckSnapshot, in_autocommit_is_new_each_time) {
  EXPECT_EQ(old_owner.value(check("k", 7, w1)), "1");
  ASSERT_OK(new_owner, claim("k", 8, w2));
  EXPECT_REFUSED(old_owner, check("k", 7, w1), "ZF001", auth);
}

// Section 3, "when several apply, the first of".
class Rank : public OwnedLog {};

TEST_F(Rank, ZF010_comes_before_everything) {
  const std::string bad_writer = "SELECT fenced_append('n', 'k', NULL, 'no uuid', 3, 'x')";
  expect_clean_refusal(db, bad_writer, "ZF010");
  expect_clean_refusal(db, append("absent\x01", 0, "no uuid", 3, "x"), "ZF010");
  expect_clean_refusal(db, "SELECT fenced_append('n', 'absent', 7, " + quoted(w1) + ", -1, 'x')",
                       "ZF010");
  expect_clean_refusal(db, "SELECT fenced_append('n', 'k', 6, " + quoted(w1) + ", 3, NULL)",
                       "ZF010");
  expect_clean_refusal(db, append_many("k", 6, w1, "[3,3]", "'a', 'b'"), "ZF010");
  expect_clean_refusal(db, append_many("absent", 6, w2, "[3]", ""), "ZF010");
  expect_clean_refusal(db, append_many("k", 6, w2, "[1]", "'zwei'", "-2"), "ZF010");
  Database bare(":memory:", Setup::loaded);
  expect_clean_refusal(bare, claim("k", 1, "no uuid"), "ZF010");
  expect_clean_refusal(bare, append("", 1, w1, 3, "x"), "ZF010");
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, claim("k", 8, "no uuid"), "ZF010");
  EXPECT_OK(db, "COMMIT");
}

TEST_F(Rank, ZF012_comes_before_what_the_record_says) {
  const std::string no_epoch = "SELECT fenced_append('n', '@', NULL, " + quoted(w2) + ", 1, 'x')";
  expect_clean_refusal(db, filled(no_epoch, "absent"), "ZF012");
  expect_clean_refusal(db, filled(no_epoch, "k"), "ZF012");
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, claim("k", 6, w2), "ZF012");
  expect_clean_refusal(db, claim("k", 7, w2), "ZF012");
  ASSERT_OK(db, append("k", 7, w1, 3, "three"));
  expect_clean_refusal(db, append("k", 6, w2, 1, "zwei"), "ZF012");
  expect_clean_refusal(db, append("k", 8, w2, 1, "zwei"), "ZF012");
  expect_clean_refusal(db, append_many("k", 6, w1, "[1]", "'zwei'"), "ZF012");
  EXPECT_OK(db, "COMMIT") << "M9: the second epoch fails its statement only";
  EXPECT_EQ(entries(db).size(), 3U);
}

TEST_F(Rank, the_epoch_comes_before_the_writer_and_both_before_the_idx) {
  ASSERT_OK(db, claim("k", 8, w1));
  const struct {
    const char* what;
    std::string sql;
    const char* code;
  } cases[] = {
      {"no record, before taken idx", append("absent", 8, w2, 1, "zwei"), "ZF003"},
      {"stale and other writer", append("k", 7, w2, 3, "x"), "ZF001"},
      {"stale, other writer, other bytes", append("k", 7, w2, 1, "zwei"), "ZF001"},
      {"stale, wrong last", append_many("k", 7, w1, "[3]", "'x'", "0"), "ZF001"},
      {"ahead and other writer", append("k", 9, w2, 3, "x"), "ZF004"},
      {"ahead and other bytes", append("k", 9, w1, 1, "zwei"), "ZF004"},
      {"other writer and other bytes", append("k", 8, w2, 1, "zwei"), "ZF002"},
      {"other writer and wrong last", append_many("k", 8, w2, "[3]", "'x'", "0"), "ZF002"},
      {"claim: lower and other writer", claim("k", 7, w2), "ZF001"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    expect_clean_refusal(db, c.sql, c.code);
  }
}

}  // namespace
}  // namespace fence::test
