// oplog_metadata_upsert_many: many keys, one flush, all or nothing (spec 2.1).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

std::string claim_many(const std::string& claims, const std::string& writer = w1) {
  return "SELECT oplog_metadata_upsert_many('n', " + quoted(claims) + ", " + quoted(writer) + ")";
}

std::vector<std::string> records(Database& db) {
  return db.rows("SELECT key, epoch, writer FROM oplog_metadata ORDER BY key");
}

TEST(ClaimMany, takes_all_keys_and_answers_in_the_order_of_the_claims) {
  Database db;
  ASSERT_OK(db, claim("b", 1, w1));
  ASSERT_OK(db, append("b", 1, w1, 0, "zero"));
  ASSERT_OK(db, append("b", 1, w1, INT64_MAX, "end"));
  ASSERT_OK(db, claim("a", 1, w1));
  ASSERT_OK(db, append("a", 1, w1, 0, "zero"));
  EXPECT_EQ(db.value(claim_many(R"([{"key":"c","epoch":5},{"key":"a","epoch":2},)"
                                R"({"epoch":"3","key":"b"}])",
                                w2)),
            R"([{"key":"c","last":null},{"key":"a","last":"0"},)"
            R"({"key":"b","last":"9223372036854775807"}])");
  const std::string w2_holds = std::string("|") + w2_fingerprint;
  EXPECT_EQ(records(db),
            (std::vector<std::string>{"a|2" + w2_holds, "b|3" + w2_holds, "c|5" + w2_holds}));
}

TEST(ClaimMany, takes_an_epoch_as_a_number_or_as_text) {
  const struct {
    const char* epoch;
    const char* stored;
  } cases[] = {
      {"0", "0"},
      {"\"0\"", "0"},
      {"9007199254740993", "9007199254740993"},
      {"\"9007199254740993\"", "9007199254740993"},
      {"9223372036854775807", "9223372036854775807"},
      {"\"9223372036854775807\"", "9223372036854775807"},
  };
  for (const auto& c : cases) {
    Database db;
    EXPECT_OK(db, claim_many(filled(R"([{"key":"k","epoch":@}])", c.epoch)));
    EXPECT_EQ(records(db), std::vector<std::string>{filled("k|@|", c.stored) + w1_fingerprint});
  }
}

TEST(ClaimMany, of_nothing_answers_an_empty_list_and_writes_nothing) {
  Database db;
  const std::vector<std::string> before = contents(db);
  EXPECT_EQ(db.value(claim_many("[]")), "[]");
  EXPECT_EQ(db.value(claim_many(" \n[ \t]\r ")), "[]");
  EXPECT_EQ(contents(db), before);
}

TEST(ClaimMany, of_nothing_still_needs_an_installed_file_and_no_transaction) {
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, claim_many("[]"), "ZF012", plain_error);
  Database db;
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, claim_many("[]"), "ZF012", plain_error);
  EXPECT_OK(db, "COMMIT");
}

TEST(ClaimMany, reopens_and_takes_over_in_one_call) {
  Database db;
  ASSERT_OK(db, claim("a", 4, w1));
  ASSERT_OK(db, claim("b", 4, w2));
  EXPECT_OK(db, claim_many(R"([{"key":"a","epoch":4},{"key":"b","epoch":5}])"));
  EXPECT_EQ(records(db), (std::vector<std::string>{std::string("a|4|") + w1_fingerprint,
                                                   std::string("b|5|") + w1_fingerprint}));
}

TEST(ClaimMany, with_one_refusal_takes_nothing_and_names_the_key) {
  Database db;
  ASSERT_OK(db, claim("taken", 4, w2));
  ASSERT_OK(db, claim("higher", 9, w2));
  const struct {
    const char* claims;
    const char* code;
    const char* key;
  } cases[] = {
      {R"([{"key":"new","epoch":1},{"key":"taken","epoch":4}])", "ZF002", "taken"},
      {R"([{"key":"taken","epoch":4},{"key":"new","epoch":1}])", "ZF002", "taken"},
      {R"([{"key":"new","epoch":1},{"key":"higher","epoch":8},{"key":"new2","epoch":1}])", "ZF001",
       "higher"},
      {R"([{"key":"taken","epoch":5},{"key":"higher","epoch":8}])", "ZF001", "higher"},
  };
  for (const auto& c : cases) {
    expect_clean_refusal(db, claim_many(c.claims), c.code);
    const Result result = db.exec(claim_many(c.claims));
    EXPECT_EQ(detail(result, "namespace"), "n") << c.claims;
    EXPECT_EQ(detail(result, "key"), c.key) << c.claims;
    EXPECT_EQ(detail(result, "stored_writer"), w2_fingerprint) << c.claims;
  }
}

TEST(ClaimMany, refuses_a_repeated_key_however_it_is_spelled) {
  Database db;
  for (const char* claims : {
           R"([{"key":"a","epoch":1},{"key":"a","epoch":1}])",
           R"([{"key":"a","epoch":1},{"key":"b","epoch":1},{"key":"a","epoch":2}])",
           R"([{"key":"a","epoch":1},{"key":"\u0061","epoch":1}])",
       }) {
    expect_clean_refusal(db, claim_many(claims), "ZF010");
  }
  EXPECT_OK(db, claim_many(R"([{"key":"a","epoch":1},{"key":"A","epoch":1}])"));
}

TEST(ClaimMany, takes_keys_of_every_kind_and_gives_them_back) {
  Database db;
  const struct {
    const char* json;
    std::string key;
  } cases[] = {
      {R"("it's")", "it's"},
      {R"("say \"hello\"")", "say \"hello\""},
      {R"("back\\slash")", "back\\slash"},
      {R"("\u0001\t")", "\x01\t"},
      {R"("\\u0000")", "\\u0000"},
      {R"("sch\u00f6n")", "sch\xc3\xb6n"},
      {"\"sch\xc3\xb6n 2\"", "sch\xc3\xb6n 2"},
      {R"("\ud83d\udd12")", "\xf0\x9f\x94\x92"},
      {R"("{}[],:")", "{}[],:"},
      {R"("null")", "null"},
  };
  for (const auto& c : cases) {
    const std::string answer = db.value(claim_many(filled(R"([{"key":@,"epoch":1}])", c.json)));
    EXPECT_EQ(db.value("SELECT json_extract(" + quoted(answer) + ", '$[0].key')"), c.key);
    EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata WHERE key = " + quoted(c.key)), "1")
        << c.json;
  }
  const std::string longest(255, 'k');
  EXPECT_OK(db, claim_many(filled(R"([{"key":"@","epoch":1}])", longest)));
  expect_clean_refusal(db, claim_many(filled(R"([{"key":"@","epoch":1}])", longest + "k")),
                       "ZF010");
}

// One good claim stands before each bad element: it must not be taken either.
TEST(ClaimMany, refuses_an_element_that_is_no_claim) {
  Database db;
  for (const char* element : {
           "null",
           "true",
           "1",
           "\"k\"",
           "[]",
           "[\"k\",1]",
           "{}",
           R"({"key":"k"})",
           R"({"epoch":1})",
           R"({"key":null,"epoch":1})",
           R"({"key":5,"epoch":1})",
           R"({"key":true,"epoch":1})",
           R"({"key":["k"],"epoch":1})",
           R"({"key":{"k":1},"epoch":1})",
           R"({"key":"","epoch":1})",
           R"({"Key":"k","epoch":1})",
           R"({"key":"a\u0000b","epoch":1})",
           R"({"key":"\u0000","epoch":1})",
           R"({"key":"\ud800","epoch":1})",
           "{\"key\":\"\xff\",\"epoch\":1}",
           R"({"key":"k","epoch":-1})",
           R"({"key":"k","epoch":1.5})",
           R"({"key":"k","epoch":9223372036854775808})",
           R"({"key":"k","epoch":true})",
           R"({"key":"k","epoch":false})",
           R"({"key":"k","epoch":[1]})",
           R"({"key":"k","epoch":{"epoch":1}})",
           R"({"key":"k","epoch":""})",
           R"({"key":"k","epoch":"-1"})",
           R"({"key":"k","epoch":"007"})",
           R"({"key":"k","epoch":" 5"})",
           R"({"key":"k","epoch":"9223372036854775808"})",
       }) {
    expect_clean_refusal(db, claim_many(filled(R"([{"key":"good","epoch":1},@])", element)),
                         "ZF010");
  }
}

TEST(ClaimMany, says_which_element_is_not_usable) {
  Database db;
  const Result result = db.exec(claim_many(R"([{"key":"a","epoch":1},{"key":"b"},7])"));
  EXPECT_TRUE(refused(result, "ZF010", plain_error, "ZF010"));
  EXPECT_NE(result.message.find("element 2 of the claims"), std::string::npos) << result.message;
  EXPECT_EQ(detail(result, "namespace"), "n");
}

TEST(ClaimMany, refuses_what_is_not_one_json_array) {
  Database db;
  for (const char* claims : {
           "",
           " ",
           "null",
           "1",
           "\"[]\"",
           "{}",
           R"({"key":"k","epoch":1})",
           "[",
           "]",
           "[[]",
           R"([{"key":"k","epoch":1})",
           R"([{"key":"k","epoch":1}]])",
           R"([{"key":"k","epoch":1},])",
           R"([{"key":"k","epoch":1}] x)",
           R"([{"key":"k","epoch":1}{"key":"l","epoch":1}])",
           R"([{'key':'k','epoch':1}])",
           R"([{key:"k",epoch:1}])",
           R"([{"key":"k","epoch":+1}])",
           R"([{"key":"k","epoch":01}])",
           R"([{"key":"k","epoch":0x1}])",
           "[{\"key\":\"k\"",
           "\xef\xbb\xbf[]",
       }) {
    expect_clean_refusal(db, claim_many(claims), "ZF010");
  }
  const std::string with_writer = "SELECT oplog_metadata_upsert_many('n', @, " + quoted(w1) + ")";
  for (const char* value :
       {"NULL", "5", "1.5", "x'5b5d'", "CAST(x'5b5d00' AS TEXT)", "CAST(x'5b005d' AS TEXT)"}) {
    expect_clean_refusal(db, filled(with_writer, value), "ZF010");
  }
}

TEST(ClaimMany, of_a_thousand_keys_is_one_transaction) {
  TemporaryDirectory directory;
  Database db(directory.file("fence.db"));
  int commits = 0;
  sqlite3_commit_hook(
      db.get(), [](void* count) { return ++*static_cast<int*>(count), 0; }, &commits);
  std::string claims = "[";
  for (int i = 0; i < 1000; ++i) {
    claims += (i == 0 ? "" : ",") + filled(R"({"key":"k@","epoch":1})", std::to_string(i));
  }
  EXPECT_OK(db, claim_many(claims + "]"));
  sqlite3_commit_hook(db.get(), nullptr, nullptr);
  EXPECT_EQ(commits, 1);
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata"), "1000");
}

}  // namespace
}  // namespace fence::test
