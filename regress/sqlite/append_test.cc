// fenced_append, in its scalar and its INSERT form (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

class Append : public OwnedLog {};

// Both forms keep every promise; a test says which by its parameter.
class AppendForm : public OwnedLog, public ::testing::WithParamInterface<bool> {
 protected:
  static std::string form(const std::string& key, int64_t epoch, const std::string& writer,
                          int64_t idx, const std::string& payload) {
    return GetParam() ? insert(key, epoch, writer, idx, payload)
                      : append(key, epoch, writer, idx, payload);
  }
  // `@` is the idx.
  static std::string at_idx() {
    const std::string values = "('n', 'k', 7, " + quoted(w1) + ", @, 'x')";
    return GetParam() ? "INSERT INTO fenced_append VALUES " + values
                      : "SELECT fenced_append" + values;
  }
};

INSTANTIATE_TEST_SUITE_P(Both, AppendForm, ::testing::Bool(),
                         [](const auto& form) { return form.param ? "insert" : "scalar"; });

TEST_F(Append, L1_by_the_owner_is_stored) {
  EXPECT_EQ(db.value(append("k", 7, w1, 3, "three")), "3") << "returns the idx";
  EXPECT_EQ(entries(db), (std::vector<std::string>{"k|1|7|one", "k|2|7|two", "k|3|7|three"}));
  EXPECT_EQ(db.value("SELECT length FROM oplog_status"), "3");
}

TEST_P(AppendForm, L2_at_a_stale_epoch_is_ZF001_and_stores_nothing) {
  ASSERT_OK(db, claim("k", 8, w2));
  expect_clean_refusal(db, form("k", 7, w1, 3, "late"), "ZF001");
  const Result result = db.exec(form("k", 7, w1, 3, "late"));
  EXPECT_EQ(detail(result, "asserted_epoch"), "7");
  EXPECT_EQ(detail(result, "stored_epoch"), "8");
  EXPECT_EQ(detail(result, "asserted_writer"), w1_fingerprint);
  EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint);
  EXPECT_EQ(entries(db), two);
}

TEST_P(AppendForm, L3_ahead_of_the_record_is_ZF004_since_equality_is_asked_for) {
  expect_clean_refusal(db, form("k", 8, w1, 3, "ahead"), "ZF004");
  const Result result = db.exec(form("k", 8, w1, 3, "ahead"));
  EXPECT_EQ(detail(result, "stored_epoch"), "7");
  EXPECT_EQ(entries(db), two);
}

TEST_P(AppendForm, L4_to_a_key_without_a_record_is_ZF003_since_absent_is_not_zero) {
  for (const int64_t epoch : {int64_t{0}, int64_t{7}, INT64_MAX}) {
    expect_clean_refusal(db, form("absent", epoch, w1, 1, "x"), "ZF003");
  }
  const Result result = db.exec(form("absent", 0, w1, 1, "x"));
  EXPECT_EQ(detail(result, "stored_epoch"), "NULL");
  EXPECT_EQ(detail(result, "stored_writer"), "NULL");
  EXPECT_EQ(detail(result, "deleted"), "0");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata WHERE key = 'absent'"), "0");
}

TEST_P(AppendForm, L6_by_another_writer_is_ZF002) {
  expect_clean_refusal(db, form("k", 7, w2, 3, "theirs"), "ZF002");
  EXPECT_EQ(entries(db), two);
}

TEST_P(AppendForm, L10_without_an_epoch_is_ZF012_in_mode_required) {
  const std::string values = "('n', 'k', NULL, " + quoted(w1) + ", 3, 'x')";
  expect_clean_refusal(
      db,
      GetParam() ? "INSERT INTO fenced_append VALUES " + values : "SELECT fenced_append" + values,
      "ZF012");
}

TEST_P(AppendForm, L14_at_a_taken_idx_with_other_bytes_is_ZF013_and_keeps_the_old_bytes) {
  ASSERT_OK(db, form("k", 7, w1, 17, "old"));
  for (const char* payload : {"new", "old ", "Old", "ol", ""}) {
    expect_clean_refusal(db, form("k", 7, w1, 17, payload), "ZF013");
  }
  EXPECT_EQ(db.value("SELECT CAST(payload AS TEXT) FROM oplog_entries WHERE idx = 17"), "old");
}

TEST_P(AppendForm, L15_with_an_idx_beyond_2_to_the_63_is_ZF010) {
  for (const char* idx : {"9223372036854775808", "18446744073709551615", "'9223372036854775808'",
                          "'18446744073709551615'"}) {
    expect_clean_refusal(db, filled(at_idx(), idx), "ZF010");
  }
  EXPECT_OK(db, filled(at_idx(), "9223372036854775807"));
  EXPECT_EQ(db.value("SELECT max(idx) FROM oplog_entries"), "9223372036854775807");
}

TEST_P(AppendForm, L27_acts_on_one_namespace_only) {
  ASSERT_OK(db, "SELECT oplog_metadata_upsert('m', 'k', 7, " + quoted(w2) + ")");
  const std::string values = "('m', 'k', 7, " + quoted(w2) + ", 1, 'm')";
  ASSERT_OK(db, GetParam() ? "INSERT INTO fenced_append VALUES " + values
                           : "SELECT fenced_append" + values);
  EXPECT_EQ(db.rows("SELECT namespace, idx, CAST(payload AS TEXT) FROM oplog_entries"
                    " ORDER BY namespace, idx"),
            (std::vector<std::string>{"m|1|m", "n|1|one", "n|2|two"}));
  EXPECT_REFUSED(db, form("k", 7, w2, 3, "x"), "ZF002", auth) << "n is still W1's";
}

TEST_P(AppendForm, L28_leaves_gaps_where_the_caller_wants_them) {
  ASSERT_OK(db, claim("g", 1, w1));
  ASSERT_OK(db, form("g", 1, w1, 8, "eight"));
  ASSERT_OK(db, form("g", 1, w1, 4, "four"));
  const std::string from = "SELECT idx FROM oplog_read('n', 'g', @, NULL, 1)";
  EXPECT_EQ(db.value(filled(from, "3")), "4");
  EXPECT_EQ(db.value(filled(from, "4")), "4");
  EXPECT_EQ(db.value(filled(from, "6")), "8");
  EXPECT_EQ(db.value(filled(from, "9")), "no row");
  EXPECT_EQ(db.value("SELECT first_idx, last_idx, length FROM oplog_status WHERE key = 'g'"),
            "4|8|2");
  EXPECT_EQ(db.value(claim("g", 1, w1)), "8");
}

TEST_P(AppendForm, below_the_newest_entry_is_stored_like_any_other) {
  ASSERT_OK(db, claim("o", 1, w1));
  for (const int64_t idx : {5, 9, 0, 7, 100, 50, 6, 1}) {
    EXPECT_OK(db, form("o", 1, w1, idx, std::to_string(idx)));
  }
  EXPECT_EQ(
      db.rows("SELECT idx, CAST(payload AS TEXT) FROM oplog_read('n', 'o')"),
      (std::vector<std::string>{"0|0", "1|1", "5|5", "6|6", "7|7", "9|9", "50|50", "100|100"}));
  EXPECT_OK(db, form("o", 1, w1, 50, "50")) << "a repeat of a late one";
  EXPECT_REFUSED(db, form("o", 1, w1, 50, "other"), "ZF013", conflict);
  EXPECT_EQ(db.value(claim("o", 2, w2)), "100") << "the record has followed";
  EXPECT_OK(db, form("o", 2, w2, 60, "sixty"));
}

TEST_P(AppendForm, by_the_former_owner_stays_refused_whatever_it_tries) {
  ASSERT_OK(db, claim("k", 8, w2));
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_REFUSED(db, form("k", 7, w1, 3, "again"), "ZF001", auth);
  }
  EXPECT_REFUSED(db, form("k", 8, w1, 3, "their epoch"), "ZF002", auth);
  EXPECT_REFUSED(db, form("k", 9, w1, 3, "a higher one"), "ZF004", auth);
  EXPECT_EQ(entries(db), two);
}

TEST_P(AppendForm, takes_payloads_of_every_kind_byte_for_byte) {
  const struct {
    const char* what;
    Value payload;
    const char* stored;
  } cases[] = {
      {"text as its UTF-8 bytes", Value::text("sch\xc3\xb6n"), "x'736368c3b66e'"},
      {"text with NUL", Value::text(std::string("a\0b", 3)), "x'610062'"},
      {"empty text", Value::text(""), "x''"},
      {"bytes", Value::blob(std::string("\0\xff\0", 3)), "x'00ff00'"},
      {"empty bytes", Value::blob(""), "x''"},
      {"text that is no UTF-8", Value::text("\xff\xfe"), "x'fffe'"},
  };
  int64_t idx = 100;
  for (const auto& c : cases) {
    const std::vector<Value> values = {Value::text("n"), Value::text("k"),    Value::integer(7),
                                       Value::text(w1),  Value::integer(idx), c.payload};
    const std::string sql = GetParam() ? "INSERT INTO fenced_append VALUES (?, ?, ?, ?, ?, ?)"
                                       : "SELECT fenced_append(?, ?, ?, ?, ?, ?)";
    EXPECT_TRUE(succeeded(run(db, sql, values))) << c.what;
    EXPECT_TRUE(succeeded(run(db, sql, values))) << "a repeat: " << c.what;
    EXPECT_EQ(db.value("SELECT typeof(payload), payload FROM oplog_entries WHERE idx = " +
                       std::to_string(idx)),
              std::string("blob|") + c.stored)
        << c.what;
    ++idx;
  }
}

TEST_F(Append, text_and_bytes_of_the_same_content_are_the_same_entry) {
  EXPECT_OK(db, "SELECT fenced_append('n', 'k', 7, " + quoted(w1) + ", 1, x'6f6e65')");
  EXPECT_EQ(entries(db), two);
}

TEST_F(Append, in_a_database_of_utf16_is_the_same) {
  Database wide(":memory:", Setup::loaded);
  ASSERT_OK(wide, "PRAGMA encoding = 'UTF-16le'; SELECT fence_install()");
  const std::string name = "sch\xc3\xb6n \xf0\x9f\x94\x92";
  ASSERT_OK(wide, claim(name, 7, w1));
  ASSERT_OK(wide, append(name, 7, w1, 1, name));
  ASSERT_OK(wide, insert(name, 7, w1, 1, name)) << "a repeat";
  EXPECT_EQ(wide.rows("SELECT key, idx, epoch, payload FROM oplog_entries"),
            std::vector<std::string>{name + "|1|7|x'736368c3b66e20f09f9492'"})
      << "the payload is the text's UTF-8 bytes";
  EXPECT_EQ(wide.value(claim(name, 8, w2)), "1");
  EXPECT_REFUSED(wide, append(name, 7, w1, 2, "late"), "ZF001", auth);
}

}  // namespace
}  // namespace fence::test
