// fence_purge: the floors of deleted keys become one floor of the namespace.
#include <ctime>

#include "regress/sqlite/key_calls.h"

namespace {

int64_t clock_ahead = 0;  // seconds

}  // namespace

// The extension asks this program for the time: the Makefile exports the function.
extern "C" int timespec_get(std::timespec* time, int base) noexcept {
  clock_gettime(CLOCK_REALTIME, time);
  time->tv_sec += clock_ahead;
  return base;
}

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;
using Purge = OwnedLog;

std::string floor_of(Database& db, const std::string& ns = "n") {
  return db.value("SELECT mode, floor FROM fence_namespaces WHERE namespace = " + quoted(ns));
}

TEST_F(Purge, forgets_deleted_keys_and_keeps_their_highest_epoch) {
  ASSERT_OK(db, script(claim("a", 9, w1), del("a", 9), claim("b", 3, w1), del("b", 3)));
  EXPECT_EQ(db.value(purge()), "2");
  EXPECT_EQ(floor_of(db), "required|9");
  EXPECT_EQ(status(db, "a"), "no row");
  EXPECT_EQ(db.rows("SELECT key FROM oplog_status"), Rows{"k"}) << "what lives is left alone";
  EXPECT_EQ(db.value(purge()), "0");
}

TEST_F(Purge, of_age_0_takes_keys_that_were_deleted_under_a_clock_that_was_ahead) {
  clock_ahead = 3600;
  ASSERT_OK(db, script(claim("a", 9, w1), del("a", 9)));
  clock_ahead = 0;
  EXPECT_EQ(db.value(purge(1)), "0");
  EXPECT_EQ(db.value(purge(0)), "1");
}

TEST_F(Purge, from_then_on_a_first_claim_must_exceed_the_floor) {
  ASSERT_OK(db, script(claim("a", 9, w1), del("a", 9), purge()));
  for (const std::string& key : {std::string("a"), std::string("new")}) {
    for (const int64_t epoch : {0, 8, 9}) {
      const Result result = db.exec(claim(key, epoch, w1));
      EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001")) << key << epoch;
      EXPECT_NE(result.message.find("purged up to epoch 9"), std::string::npos) << result.message;
      EXPECT_EQ(detail(result, "stored_epoch"), "9") << "what to exceed";
      EXPECT_EQ(detail(result, "deleted"), "0");
    }
    EXPECT_OK(db, claim(key, 10, w1));
  }
  EXPECT_OK(db, claim("k", 8, w2)) << "a key with a record has its own floor";
  EXPECT_EQ(db.value("SELECT json_extract(try_oplog_metadata_upsert('n', 'x', 9, " + quoted(w1) +
                     "), '$.owned')"),
            "0");
  EXPECT_OK(db, "SELECT oplog_metadata_upsert('m', 'a', 0, " + quoted(w1) + ")");
}

TEST_F(Purge, floor_holds_for_a_key_that_unfenced_writes_have_made) {
  ASSERT_OK(db, script(claim("a", 9, w1), del("a", 9), purge(), set_mode("optional")));
  EXPECT_EQ(floor_of(db), "optional|9") << "a change of the mode keeps it";
  ASSERT_OK(db, free_append("a", 1, "x"));
  expect_clean_refusal(db, claim("a", 9, w1), "ZF001");
  EXPECT_EQ(db.value(claim("a", 10, w1)), "1");
}

TEST_F(Purge, never_lowers_the_floor) {
  ASSERT_OK(db, script(claim("a", 9, w1), del("a", 9), purge()));
  ASSERT_OK(db, script(claim("b", 10, w1), del("b", 10), reset("b", 4)));
  EXPECT_EQ(db.value(purge()), "1");
  EXPECT_EQ(floor_of(db), "required|9");
}

TEST_F(Purge, leaves_keys_that_were_deleted_more_recently) {
  ASSERT_OK(db, del("k", 7));
  EXPECT_EQ(db.value(purge(3600000)), "0");
  EXPECT_EQ(db.value(purge(INT64_MAX)), "0");
  EXPECT_EQ(floor_of(db), "no row");
  EXPECT_EQ(status(db), std::string("7|") + w1_fingerprint + "|NULL|NULL|0|1");
  EXPECT_EQ(db.value(purge(0)), "1");
}

TEST_F(Purge, takes_one_namespace_and_at_most_1000_keys_a_call) {
  std::string claims;
  for (int i = 0; i < 1003; ++i) {
    claims += std::string(claims.empty() ? "" : ",") + "{\"key\":\"" + std::to_string(i) +
              "\",\"epoch\":" + std::to_string(i) + "}";
  }
  ASSERT_OK(db, "SELECT oplog_metadata_upsert_many('n', '[" + claims + "]', " + quoted(w1) + ")");
  for (int i = 0; i < 1003; ++i) ASSERT_OK(db, del(std::to_string(i), i));
  ASSERT_OK(db, "SELECT oplog_metadata_upsert('m', 'k', 7, " + quoted(w1) + ");" +
                    "SELECT fenced_delete('m', 'k', 7, " + quoted(w1) + ")");
  EXPECT_EQ(db.value(purge()), "1000");
  EXPECT_EQ(db.value(purge()), "3");
  EXPECT_EQ(db.value(purge()), "0");
  EXPECT_EQ(floor_of(db), "required|1002");
  EXPECT_EQ(db.rows("SELECT namespace, key FROM oplog_status ORDER BY 1"), (Rows{"m|k", "n|k"}));
  EXPECT_EQ(floor_of(db, "m"), "no row");
}

TEST_F(Purge, takes_keys_that_nobody_ever_owned) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("free", 1, "x"), del("free", unfenced)));
  EXPECT_EQ(db.value(purge()), "1");
  EXPECT_EQ(floor_of(db), "optional|NULL");
  EXPECT_EQ(db.value(claim("free", 0, w1)), "NULL");
}

TEST_F(Purge, refuses_what_cannot_be_and_an_open_transaction) {
  for (const char* arguments : {"NULL, 0", "'', 0", "'n', NULL", "'n', -1", "'n', 'x'", "'n', 1.5",
                                "'n', 9223372036854775808"}) {
    expect_clean_refusal(db, std::string("SELECT fence_purge(") + arguments + ")", "ZF010");
  }
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, purge(), "ZF012");
  ASSERT_OK(db, "COMMIT");
}

// Else a lowered floor would pass on to the namespace, sealed.
TEST_F(Purge, of_a_record_that_was_changed_unseen_is_ZF020_and_forgets_nothing) {
  ASSERT_OK(db, script(del("k", 7), claim("a", 1, w1), del("a", 1)));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_meta_update");
  ASSERT_OK(db, "UPDATE fence_meta_v1 SET epoch = 2 WHERE key = 'k'");
  const Rows before = contents(db);
  const Result result = db.exec(purge());
  EXPECT_TRUE(refused(result, "ZF020", auth, "ZF020"));
  EXPECT_EQ(detail(result, "key"), "k");
  EXPECT_EQ(contents(db), before);
}

TEST_F(Purge, of_a_key_with_values_that_somebody_put_there_is_refused) {
  ASSERT_OK(db, del("k", 7));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_value_insert");
  ASSERT_OK(db, "INSERT INTO fence_value_v1 VALUES ('n', 'k', 'v', 7, x'', x'', x'')");
  const Rows before = contents(db);
  EXPECT_REFUSED(db, purge(), "ZF020", auth);
  EXPECT_EQ(contents(db), before);
}

}  // namespace
}  // namespace fence::test
