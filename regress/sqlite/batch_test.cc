// fenced_append_many and fence_blobs: the fast batch (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

class AppendMany : public OwnedLog {
 protected:
  // `@` stands for one argument; the others are good.
  static std::string with_idxs() {
    return "SELECT fenced_append_many('n', 'k', 7, " + quoted(w1) + ", @, fence_blobs('x'))";
  }
  static std::string with_payloads() {
    return "SELECT fenced_append_many('n', 'k', 7, " + quoted(w1) + ", '[3,4]', @)";
  }
  static std::string with_expected() { return append_many("k", 7, w1, "[3]", "'three'", "@"); }
};

TEST_F(AppendMany, L1_by_the_owner_stores_all_and_counts_them) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3,4,5]", "'three', 'four', 'five'")), "3");
  EXPECT_EQ(entries(db),
            (Rows{"k|1|7|one", "k|2|7|two", "k|3|7|three", "k|4|7|four", "k|5|7|five"}));
}

TEST_F(AppendMany, L2_at_a_stale_epoch_is_ZF001_and_stores_nothing) {
  ASSERT_OK(db, claim("k", 8, w2));
  const std::string batch = append_many("k", 7, w1, "[3,4,5]", "'three', 'four', 'five'");
  expect_clean_refusal(db, batch, "ZF001");
  const Result result = db.exec(batch);
  EXPECT_EQ(detail(result, "asserted_epoch"), "7");
  EXPECT_EQ(detail(result, "stored_epoch"), "8");
  EXPECT_EQ(entries(db), two);
}

TEST_F(AppendMany, L3_to_L6_asks_for_the_equal_epoch_and_writer_of_a_record) {
  expect_clean_refusal(db, append_many("k", 8, w1, "[3]", "'x'"), "ZF004");
  expect_clean_refusal(db, append_many("k", 7, w2, "[3]", "'x'"), "ZF002");
  expect_clean_refusal(db, append_many("absent", 0, w1, "[3]", "'x'"), "ZF003");
  EXPECT_EQ(entries(db), two);
}

TEST_F(AppendMany, L11_of_nothing_succeeds_at_any_epoch_and_creates_nothing) {
  const Rows before = contents(db);
  for (const std::string& sql : {
           append_many("k", 7, w1, "[]", ""),
           append_many("k", 6, w1, "[]", ""),
           append_many("k", 8, w2, "[]", ""),
           append_many("absent", 0, w1, " [ ] ", ""),
           append_many("k", 7, w1, "[]", "", "99"),
           append_many("k", 7, w1, "[]", "", "-1"),
       }) {
    EXPECT_EQ(db.value(sql), "0") << sql;
  }
  EXPECT_EQ(contents(db), before);
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata"), "1");
}

TEST_F(AppendMany, of_nothing_passes_only_after_ZF010_and_ZF012) {
  expect_clean_refusal(db, append_many("k", 7, w1, "[]", "'x'"), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, "no uuid", "[]", ""), "ZF010");
  expect_clean_refusal(db, append_many("", 7, w1, "[]", ""), "ZF010");
  expect_clean_refusal(db, append_many("k", -1, w1, "[]", ""), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, w1, "[]", "", "-2"), "ZF010");
  expect_clean_refusal(
      db, "SELECT fenced_append_many('n', 'k', NULL, " + quoted(w1) + ", '[]', x'')", "ZF012");
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, append_many("k", 7, w1, "[]", ""), "ZF012", plain_error);
}

TEST_F(AppendMany, L12_with_one_taken_idx_stores_nothing) {
  expect_clean_refusal(db, append_many("k", 7, w1, "[3,1,4]", "'three', 'other', 'four'"), "ZF013");
  expect_clean_refusal(db, append_many("k", 7, w1, "[3,4,2]", "'three', 'four', 'zwei'"), "ZF013");
  EXPECT_EQ(entries(db), two);
  EXPECT_EQ(db.value("SELECT length FROM oplog_status"), "2");
}

TEST_F(AppendMany, L12_stores_nothing_inside_a_transaction_either) {
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, append_many("k", 7, w1, "[3,1,4]", "'three', 'other', 'four'"), "ZF013",
                 conflict);
  EXPECT_EQ(entries(db), two);
  ASSERT_OK(db, append_many("k", 7, w1, "[3,4]", "'three', 'four'"));
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(db.value("SELECT length FROM oplog_status"), "4");
}

TEST_F(AppendMany, counts_only_what_was_not_there_yet) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[1,2,3,4]", "'one', 'two', 'three', 'four'")), "2");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[1,2,3,4]", "'one', 'two', 'three', 'four'")), "0");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[4,5]", "'four', 'five'")), "1");
  EXPECT_EQ(db.value("SELECT length FROM oplog_status"), "5");
}

TEST_F(AppendMany, takes_idxs_in_any_order_each_with_its_own_payload) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[9,3,\"5\",0]", "'nine', 'three', 'five', 'zero'")),
            "4");
  EXPECT_EQ(entries(db), (Rows{"k|0|7|zero", "k|1|7|one", "k|2|7|two", "k|3|7|three", "k|5|7|five",
                               "k|9|7|nine"}));
  EXPECT_EQ(db.value(claim("k", 8, w2)), "9");
  EXPECT_OK(db, append_many("k", 8, w2, "[7,4]", "'seven', 'four'")) << "only late ones";
  EXPECT_EQ(db.value(claim("k", 9, w1)), "9");
}

TEST_F(AppendMany, takes_empty_payloads_and_any_bytes) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3,4,5]", "'', x'00ff00', x''")), "3");
  EXPECT_EQ(db.rows("SELECT payload FROM oplog_read('n', 'k', 3)"),
            (Rows{"x''", "x'00ff00'", "x''"}));
}

TEST_F(AppendMany, expected_last_must_be_the_last_idx) {
  const struct {
    const char* expected;
    bool right;
  } cases[] = {
      {"1", false}, {"3", false}, {"0", false}, {"-1", false}, {"9223372036854775807", false},
      {"2", true}};
  for (const auto& c : cases) {
    if (c.right) {
      EXPECT_EQ(db.value(filled(with_expected(), c.expected)), "1");
    } else {
      expect_clean_refusal(db, filled(with_expected(), c.expected), "ZF013");
    }
  }
  EXPECT_EQ(entries(db).size(), 3U);
}

TEST_F(AppendMany, expected_last_is_minus_1_for_an_empty_log) {
  ASSERT_OK(db, claim("empty", 1, w1));
  const std::string batch = append_many("empty", 1, w1, "[0,1]", "'a', 'b'", "@");
  expect_clean_refusal(db, filled(batch, "0"), "ZF013");
  expect_clean_refusal(db, filled(batch, "5"), "ZF013");
  EXPECT_EQ(db.value(filled(batch, "-1")), "2");
}

// JavaScript has no integers: -1 arrives as REAL, from some drivers as text.
TEST_F(AppendMany, expected_last_takes_minus_1_as_every_driver_sends_it) {
  for (const char* empty : {"-1", "-1.0", "'-1'"}) {
    ASSERT_OK(db, claim(empty, 1, w1));
    EXPECT_EQ(db.value(append_many(empty, 1, w1, "[0]", "'a'", empty)), "1") << empty;
  }
  for (const char* wrong : {"-2", "-1.5", "' -1'", "'-1 '", "'-01'", "'-1.0'", "'--1'", "'-'",
                            "x'2d31'", "CAST(x'2d3100' AS TEXT)", "-2.0", "-1e300", "'-2'"}) {
    expect_clean_refusal(db, filled(with_expected(), wrong), "ZF010");
  }
}

TEST_F(AppendMany, expected_last_is_not_compared_where_it_is_NULL_or_missing) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3]", "'three'", "NULL")), "1");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[4]", "'four'")), "1");
}

// A resend after a lost reply: its own first attempt has moved the end.
TEST_F(AppendMany, expected_last_is_not_compared_when_the_whole_batch_is_stored) {
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3,4]", "'three', 'four'", "2")), "2");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3,4]", "'three', 'four'", "2")), "0");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[3,4]", "'three', 'four'", "-1")), "0");
  expect_clean_refusal(db, append_many("k", 7, w1, "[4,5]", "'four', 'five'", "2"), "ZF013");
  EXPECT_EQ(db.value(append_many("k", 7, w1, "[4,5]", "'four', 'five'", "4")), "1");
}

TEST_F(AppendMany, expected_last_says_where_the_log_ends) {
  const Result result = db.exec(filled(with_expected(), "1"));
  EXPECT_EQ(result.message.rfind("ZF013 index_conflict: the log ends at idx 2, ", 0), 0U)
      << result.message;
}

TEST_F(AppendMany, refuses_idxs_that_are_no_array_of_idx) {
  for (const char* idxs : {
           "'[-1]'",
           "'[1.5]'",
           "'[1e3]'",
           "'[null]'",
           "'[true]'",
           "'[[3]]'",
           "'[\"x\"]'",
           "'[007]'",
           "'[\" 5\"]'",
           "'[9223372036854775808]'",
           "'[18446744073709551615]'",
           "'[+5]'",
           "'[0x10]'",
           "'3'",
           "'{\"idx\":3}'",
           "''",
           "'['",
           "'[3'",
           "'[3]x'",
           "'[3,]'",
           "NULL",
           "3",
           "1.5",
           "x'5b335d'",
           "CAST(x'5b335d00' AS TEXT)",
       }) {
    expect_clean_refusal(db, filled(with_idxs(), idxs), "ZF010");
  }
}

TEST_F(AppendMany, says_which_element_is_no_idx_or_that_there_is_no_array) {
  const auto said = [&](const std::string& idxs) {
    const std::string message = db.exec(filled(with_idxs(), idxs)).message;
    return message.substr(0, message.find(';'));
  };
  for (const char* none : {"''", "'abc'", "'{}'", "'7'", "7", "NULL", "x'5b335d'"}) {
    EXPECT_EQ(said(none), "ZF010 out_of_range: idxs is not a JSON array of idx") << none;
  }
  for (const char* first : {"'['", "'[x]'", "'[-1]'", "' [,3]'", "'[3'"}) {
    EXPECT_EQ(said(first), "ZF010 out_of_range: element 1 of idxs is not an idx") << first;
  }
  for (const char* second : {"'[3,]'", "'[3,x]'", "'[3]x'"}) {
    EXPECT_EQ(said(second), "ZF010 out_of_range: element 2 of idxs is not an idx") << second;
  }
}

TEST_F(AppendMany, refuses_a_repeated_idx_before_anything_is_written) {
  expect_clean_refusal(db, append_many("k", 7, w1, "[3,3]", "'a', 'a'"), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, w1, "[3,4,\"3\"]", "'a', 'b', 'c'"), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, w1, "[1,1]", "'one', 'one'"), "ZF010");
  const Result result = db.exec(append_many("k", 7, w1, "[9,3,9]", "'a', 'b', 'c'"));
  EXPECT_NE(result.message.find("idx 9 stands twice"), std::string::npos) << result.message;
}

TEST_F(AppendMany, refuses_idxs_and_payloads_of_different_number) {
  expect_clean_refusal(db, append_many("k", 7, w1, "[3]", "'a', 'b'"), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, w1, "[3,4]", "'a'"), "ZF010");
  expect_clean_refusal(db, append_many("k", 7, w1, "[3]", ""), "ZF010");
}

TEST_F(AppendMany, refuses_payloads_that_are_no_whole_frames) {
  for (const char* payloads : {
           "NULL",
           "5",
           "'text'",
           "''",
           "x'00'",
           "x'000000'",
           "x'00000001'",
           "x'0000000161'",
           "x'00000001610000000162ff'",
           "x'000000016100000002ff'",
           "x'ffffffff61'",
           "x'0000000161ffffffff62'",
       }) {
    expect_clean_refusal(db, filled(with_payloads(), payloads), "ZF010");
  }
  EXPECT_EQ(db.value(filled(with_payloads(), "x'00000001610000000162'")), "2");
}

TEST_F(AppendMany, stores_10000_entries_at_once_and_the_rest_of_a_partial_repeat) {
  std::string idxs = "[";
  std::string frames;
  for (int i = 0; i < 10000; ++i) {
    idxs += (i == 0 ? "" : ",") + std::to_string(10000 - i);
    frames += std::string("\0\0\0\4", 4) + std::to_string(1000 + i % 9000);
  }
  ASSERT_OK(db, claim("big", 1, w1));
  const std::vector<Value> values = {Value::text("n"),        Value::text("big"),
                                     Value::integer(1),       Value::text(w1),
                                     Value::text(idxs + "]"), Value::blob(frames)};
  ASSERT_OK(db, append("big", 1, w1, 1, "1999")) << "the last of them";
  ASSERT_TRUE(succeeded(call(db, "fenced_append_many", values)));
  EXPECT_EQ(db.value("SELECT first_idx, last_idx, length FROM oplog_status WHERE key = 'big'"),
            "1|10000|10000");
  ASSERT_TRUE(succeeded(call(db, "fenced_append_many", values))) << "a repeat";
  EXPECT_EQ(db.value("SELECT length FROM oplog_status WHERE key = 'big'"), "10000");
  EXPECT_EQ(db.value("SELECT CAST(payload AS TEXT) FROM oplog_read('n', 'big', 10000)"), "1000");
  EXPECT_EQ(db.value(claim("big", 2, w2)), "10000");
}

TEST(FenceBlobs, frames_each_payload_with_its_length) {
  Database db(":memory:", Setup::loaded);
  EXPECT_EQ(db.value("SELECT fence_blobs()"), "x''");
  EXPECT_EQ(db.value("SELECT fence_blobs('')"), "x'00000000'");
  EXPECT_EQ(db.value("SELECT fence_blobs('ab', x'', x'ff00', '\xc3\xb6')"),
            "x'0000000261620000000000000002ff0000000002c3b6'");
  EXPECT_EQ(db.value("SELECT length(fence_blobs(zeroblob(70000))),"
                     " hex(substr(fence_blobs(zeroblob(70000)), 1, 4))"),
            "70004|00011170");
}

TEST(FenceBlobs, refuses_what_is_no_payload) {
  Database db(":memory:", Setup::loaded);
  for (const char* payloads : {"NULL", "5", "1.5", "'a', NULL", "NULL, 'a'", "'a', 5, 'b'"}) {
    const std::string sql = std::string("SELECT fence_blobs(") + payloads + ")";
    EXPECT_REFUSED(db, sql, "ZF010", plain_error);
  }
}

}  // namespace
}  // namespace fence::test
