// oplog_metadata_upsert: taking ownership (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

std::string record(Database& db, const std::string& key = "k") {
  return db.value("SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = " +
                  quoted(key));
}

std::string owned(int64_t epoch, const std::string& fingerprint) {
  return std::to_string(epoch) + "|" + fingerprint;
}

TEST(Claim, of_a_key_that_never_existed_takes_any_epoch_from_0_up) {
  Database db;
  for (const int64_t epoch :
       {int64_t{0}, int64_t{1}, int64_t{4}, (int64_t{1} << 53) + 1, INT64_MAX - 1, INT64_MAX}) {
    const std::string key = "k" + std::to_string(epoch);
    EXPECT_EQ(db.value(claim(key, epoch, w1)), "NULL") << "there never was an entry";
    EXPECT_EQ(record(db, key), owned(epoch, w1_fingerprint));
  }
}

TEST(Claim, L5_of_an_equal_epoch_by_another_writer_is_ZF002_and_changes_nothing) {
  Database db;
  ASSERT_OK(db, claim("k", 4, w1));
  expect_clean_refusal(db, claim("k", 4, w2), "ZF002");
  EXPECT_EQ(record(db), owned(4, w1_fingerprint));
}

TEST(Claim, L6_after_it_only_the_owner_writes) {
  Database db;
  ASSERT_OK(db, claim("k", 4, w1));
  EXPECT_REFUSED(db, claim("k", 4, w2), "ZF002", auth);
  const Result result = db.exec(append("k", 4, w2, 1, "theirs"));
  EXPECT_TRUE(refused(result, "ZF002", auth, "ZF002"));
  EXPECT_EQ(detail(result, "stored_writer"), w1_fingerprint);
  EXPECT_OK(db, append("k", 4, w1, 1, "ours"));
  EXPECT_EQ(entries(db), std::vector<std::string>{"k|1|4|ours"});
}

TEST(Claim, L7_can_be_repeated_by_the_owner) {
  Database db;
  EXPECT_EQ(db.value(claim("k", 4, w1)), "NULL");
  const std::vector<std::string> before = contents(db);
  EXPECT_EQ(db.value(claim("k", 4, w1)), "NULL");
  EXPECT_EQ(contents(db), before) << "a re-open is harmless";
  EXPECT_EQ(db.value(append("k", 4, w1, 9, "nine")), "9");
  EXPECT_EQ(db.value(claim("k", 4, w1)), "9");
  EXPECT_OK(db, append("k", 4, w1, 10, "ten"));
}

TEST(Claim, L8_of_a_higher_epoch_fences_the_former_owner) {
  Database db;
  ASSERT_OK(db, claim("k", 4, w1));
  ASSERT_OK(db, claim("k", 5, w2));
  ASSERT_OK(db, append("k", 5, w2, 1, "new"));
  const Result result = db.exec(append("k", 4, w1, 2, "old"));
  EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << "a stale epoch, not a conflict";
  EXPECT_EQ(detail(result, "asserted_epoch"), "4");
  EXPECT_EQ(detail(result, "stored_epoch"), "5");
  EXPECT_EQ(detail(result, "asserted_writer"), w1_fingerprint);
  EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint);
  EXPECT_EQ(entries(db), std::vector<std::string>{"k|1|5|new"});
}

TEST(Claim, L9_moves_forward_only) {
  Database db;
  for (const int64_t epoch : {5, 5, 9}) EXPECT_OK(db, claim("k", epoch, w1));
  expect_clean_refusal(db, claim("k", 8, w1), "ZF001");
  const Result result = db.exec(claim("k", 8, w2));
  EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001"));
  EXPECT_EQ(detail(result, "stored_epoch"), "9");
  EXPECT_EQ(detail(result, "deleted"), "0");
  EXPECT_EQ(detail(result, "already_stored"), "NULL");
  EXPECT_EQ(record(db), owned(9, w1_fingerprint));
  EXPECT_OK(db, append("k", 9, w1, 1, "at 9"));
  EXPECT_REFUSED(db, append("k", 8, w1, 2, "at 8"), "ZF001", auth);
}

TEST(Claim, L16_ends_at_2_to_the_63_minus_1) {
  Database db;
  const std::string at = "SELECT oplog_metadata_upsert('n', 'k', @, " + quoted(w1) + ")";
  expect_clean_refusal(db, filled(at, "9223372036854775808"), "ZF010");
  EXPECT_EQ(record(db), "no row");
  EXPECT_OK(db, filled(at, "9223372036854775807"));
  EXPECT_EQ(record(db), owned(INT64_MAX, w1_fingerprint));
  expect_clean_refusal(db, claim("k", INT64_MAX, w2), "ZF002");
  expect_clean_refusal(db, claim("k", INT64_MAX - 1, w1), "ZF001");
  EXPECT_OK(db, claim("k", INT64_MAX, w1));
}

TEST(Claim, L27_acts_on_one_namespace_only) {
  Database db;
  const std::string in = "SELECT oplog_metadata_upsert('@', 'k', 4, " + quoted(w1) + ")";
  const std::string over = "SELECT oplog_metadata_upsert('@', 'k', 9, " + quoted(w2) + ")";
  ASSERT_OK(db, filled(in, "n1"));
  ASSERT_OK(db, filled(in, "n2"));
  ASSERT_OK(db, "SELECT fenced_append('n1', 'k', 4, " + quoted(w1) + ", 1, 'one')");
  ASSERT_OK(db, filled(over, "n1"));
  EXPECT_EQ(db.rows("SELECT * FROM oplog_metadata ORDER BY namespace"),
            (std::vector<std::string>{std::string("n1|k|9|") + w2_fingerprint,
                                      std::string("n2|k|4|") + w1_fingerprint}));
  EXPECT_EQ(db.value(filled(in, "n2")), "NULL") << "the entry is n1's";
  EXPECT_OK(db, "SELECT fenced_append('n2', 'k', 4, " + quoted(w1) + ", 1, 'other')");
}

TEST(Claim, tells_names_apart_that_read_alike) {
  Database db;
  const std::vector<std::pair<std::string, std::string>> names = {
      {"a", "b:c"}, {"a:b", "c"}, {"a", "B:c"},       {"A", "b:c"},      {"a ", "b:c"},
      {"a", "bc"},  {"ab", "c"},  {"e\xcc\x81", "k"}, {"\xc3\xa9", "k"},
  };
  int64_t epoch = 1;
  for (const auto& [ns, key] : names) {
    EXPECT_OK(db, "SELECT oplog_metadata_upsert(" + quoted(ns) + ", " + quoted(key) + ", " +
                      std::to_string(epoch++) + ", " + quoted(w1) + ")");
  }
  EXPECT_EQ(db.value("SELECT count(*), count(DISTINCT epoch) FROM oplog_metadata"), "9|9");
}

TEST(Claim, returns_the_greatest_idx_ever_stored_and_NULL_if_there_never_was_one) {
  Database db;
  EXPECT_EQ(db.value(claim("k", 1, w1)), "NULL");
  ASSERT_OK(db, append("k", 1, w1, 0, "zero"));
  EXPECT_EQ(db.value(claim("k", 2, w2)), "0") << "idx 0 is an entry";
  ASSERT_OK(db, append("k", 2, w2, 8, "eight"));
  ASSERT_OK(db, append("k", 2, w2, 4, "late"));
  EXPECT_EQ(db.value(claim("k", 3, w1)), "8") << "not the newest, the greatest";
  ASSERT_OK(db, append("k", 3, w1, INT64_MAX, "end"));
  EXPECT_EQ(db.value("SELECT typeof(oplog_metadata_upsert('n', 'k', 4, " + quoted(w2) +
                     ")), oplog_metadata_upsert('n', 'k', 4, " + quoted(w2) + ")"),
            "integer|9223372036854775807");
}

TEST(Claim, refused_names_key_epochs_and_writers_and_what_to_do) {
  Database db;
  ASSERT_OK(db, claim("k", 8, w1));
  const Result result = db.exec(claim("k", 7, w2));
  EXPECT_EQ(result.message,
            "ZF001 stale_epoch: epoch 7 is claimed, the record is already at epoch 8, held by "
            "writer bc40076d; hint: this process was superseded: stop it, or claim an epoch above "
            "8 {\"code\":\"ZF001\",\"namespace\":\"n\",\"key\":\"k\",\"asserted_epoch\":\"7\","
            "\"stored_epoch\":\"8\",\"asserted_writer\":\"aa1ac979\",\"stored_writer\":"
            "\"bc40076d\",\"already_stored\":null,\"deleted\":false}");
  EXPECT_EQ(result.rc, SQLITE_AUTH);
}

TEST(Claim, in_an_open_transaction_is_ZF012_names_the_key_and_dooms_nothing) {
  Database db;
  ASSERT_OK(db, claim("other", 1, w1));
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db, append("other", 1, w1, 1, "kept"));
  for (const std::string function : {"oplog_metadata_upsert", "try_oplog_metadata_upsert"}) {
    const Result result = db.exec("SELECT " + function + "('n', 'k', 1, " + quoted(w1) + ")");
    EXPECT_TRUE(refused(result, "ZF012", plain_error, "ZF012")) << function;
    EXPECT_EQ(detail(result, "namespace"), "n") << function;
    EXPECT_EQ(detail(result, "key"), "k") << function;
  }
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(entries(db), std::vector<std::string>{"other|1|1|kept"});
  EXPECT_EQ(record(db), "no row");
}

TEST(Claim, on_a_file_without_fence_is_ZF012_with_the_way_out) {
  Database db(":memory:", Setup::loaded);
  const Result result = db.exec(claim("k", 1, w1));
  EXPECT_TRUE(refused(result, "ZF012", plain_error, "ZF012"));
  EXPECT_NE(result.message.find("fence_install()"), std::string::npos) << result.message;
  EXPECT_OK(db, "SELECT fence_install()");
  EXPECT_OK(db, claim("k", 1, w1));
}

TEST(TryClaim, answers_owned_with_the_last_idx) {
  Database db;
  const std::string at = "SELECT try_oplog_metadata_upsert('n', 'k', @, " + quoted(w1) + ")";
  EXPECT_EQ(db.value(filled(at, "7")), R"({"owned":true,"last":null})");
  EXPECT_EQ(record(db), owned(7, w1_fingerprint));
  ASSERT_OK(db, append("k", 7, w1, INT64_MAX, "end"));
  EXPECT_EQ(db.value(filled(at, "7")), R"({"owned":true,"last":"9223372036854775807"})");
  EXPECT_EQ(db.value(filled(at, "8")), R"({"owned":true,"last":"9223372036854775807"})");
}

TEST(TryClaim, answers_not_owned_with_the_detail_instead_of_raising) {
  Database db;
  ASSERT_OK(db, claim("k", 7, w1));
  const std::vector<std::string> before = contents(db);
  const std::string at = "SELECT try_oplog_metadata_upsert('n', 'k', @, " + quoted(w2) + ")";
  EXPECT_EQ(db.value(filled(at, "6")),
            R"({"owned":false,"code":"ZF001","namespace":"n","key":"k","asserted_epoch":"6",)"
            R"("stored_epoch":"7","asserted_writer":"aa1ac979","stored_writer":"bc40076d",)"
            R"("already_stored":null,"deleted":false})");
  EXPECT_EQ(db.value(filled(at, "7")),
            R"({"owned":false,"code":"ZF002","namespace":"n","key":"k","asserted_epoch":"7",)"
            R"("stored_epoch":"7","asserted_writer":"aa1ac979","stored_writer":"bc40076d",)"
            R"("already_stored":null,"deleted":null})");
  EXPECT_EQ(contents(db), before);
  EXPECT_TRUE(db.autocommit());
}

TEST(TryClaim, raises_what_is_no_answer_about_ownership) {
  Database db;
  ASSERT_OK(db, claim("k", 7, w1));
  const std::string at = "SELECT try_oplog_metadata_upsert('n', 'k', @, " + quoted(w1) + ")";
  expect_clean_refusal(db, filled(at, "-1"), "ZF010");
  expect_clean_refusal(db, filled(at, "NULL"), "ZF012");
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, filled(at, "8"), "ZF012");
  ASSERT_OK(db, "COMMIT");
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, filled(at, "8"), "ZF012", plain_error);
}

TEST(TryClaim, answers_a_value_that_json_functions_take_as_json) {
  Database db;
  EXPECT_EQ(
      db.value("SELECT json_array(try_oplog_metadata_upsert('n', 'k', 1, " + quoted(w1) + "))"),
      R"([{"owned":true,"last":null}])");
}

}  // namespace
}  // namespace fence::test
