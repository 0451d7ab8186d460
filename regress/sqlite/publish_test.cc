// fenced_publish: a staged log gets its final name, for exactly one of many.
#include <thread>

#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Rows = std::vector<std::string>;

// Given the staged log 's' with idx 1..3 and the free final name 'k', both (7,W1).
class Publish : public FileTest {
 protected:
  void SetUp() override {
    ASSERT_OK(db, "PRAGMA journal_mode = WAL");
    ASSERT_OK(db, script(claim("s", 7, w1), claim("k", 7, w1)));
    for (const int idx : {1, 2, 3}) ASSERT_OK(db, append("s", 7, w1, idx, "p"));
    ASSERT_OK(db, put("s", 7, w1, "name", "x"));
  }

  Database db{path};
  const Rows staged = {"s|1|7|p", "s|2|7|p", "s|3|7|p"};
  const Rows published = {"k|1|7|p", "k|2|7|p", "k|3|7|p"};
};

TEST_F(Publish, moves_the_log_and_deletes_the_staged_key) {
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "1");
  EXPECT_EQ(entries(db), published);
  EXPECT_EQ(all_values(db), Rows{}) << "values of the staged key go with it";
  EXPECT_EQ(status(db), std::string("7|") + w1_fingerprint + "|1|3|3|0");
  EXPECT_EQ(status(db, "s"), std::string("7|") + w1_fingerprint + "|NULL|NULL|0|1");
  EXPECT_REFUSED(db, claim("s", 7, w1), "ZF001", auth) << "the floor is kept";
  EXPECT_OK(db, append("k", 7, w1, 4, "next"));
  EXPECT_EQ(db.value(claim("k", 8, w2)), "4");
}

TEST_F(Publish, gives_entries_the_epoch_of_the_publisher) {
  ASSERT_OK(db, claim("k", 9, w2));
  ASSERT_OK(db, claim("s", 9, w2));
  EXPECT_EQ(db.value(publish("k", 9, w2, "s", 3)), "1");
  EXPECT_EQ(entries(db), (Rows{"k|1|9|p", "k|2|9|p", "k|3|9|p"}));
  EXPECT_EQ(db.value("SELECT count(*) FROM fence_oplog_v1 WHERE lower(hex(substr(writer, 1, 4)))"
                     " = '" +
                     std::string(w2_fingerprint) + "'"),
            "3");
}

TEST_F(Publish, L32_repeated_by_the_winner_is_true_and_changes_nothing) {
  ASSERT_OK(db, publish("k", 7, w1, "s", 3));
  const Rows before = contents(db);
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "1");
  EXPECT_EQ(contents(db), before);
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 2)), "0") << "that is another call";
  ASSERT_OK(db, claim("other", 7, w1));
  const Result result = db.exec(publish("other", 7, w1, "s", 3));
  EXPECT_TRUE(refused(result, "ZF013", conflict, "ZF013")) << "published, but to another name";
  EXPECT_EQ(detail(result, "key"), "s");
}

TEST_F(Publish, L32_loser_gets_false_and_its_stage_stays_readable) {
  ASSERT_OK(db, claim("s2", 7, w1));
  ASSERT_OK(db, append("s2", 7, w1, 1, "late"));
  ASSERT_OK(db, publish("k", 7, w1, "s", 3));
  const Rows before = contents(db);
  EXPECT_EQ(db.value(publish("k", 7, w1, "s2", 1)), "0");
  EXPECT_EQ(contents(db), before);
}

TEST_F(Publish, L33_and_an_append_of_the_same_idx_exactly_one_succeeds) {
  ASSERT_OK(db, append("k", 7, w1, 1, "mine"));
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "0");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries"), "4");
  ASSERT_OK(db, claim("k2", 7, w1));
  ASSERT_OK(db, publish("k2", 7, w1, "s", 3));
  EXPECT_REFUSED(db, append("k2", 7, w1, 1, "mine"), "ZF013", conflict);
}

TEST_F(Publish, to_a_log_that_was_trimmed_to_nothing_is_false) {
  ASSERT_OK(db, script(append("k", 7, w1, 1, "x"), drop("k", 7, w1, 1)));
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "0");
}

TEST_F(Publish, L31_of_a_log_that_is_not_whole_is_ZF013_and_leaves_it_whole) {
  ASSERT_OK(db, script(claim("empty", 7, w1), claim("gap", 7, w1), claim("shifted", 7, w1)));
  for (const int idx : {1, 3}) ASSERT_OK(db, append("gap", 7, w1, idx, "p"));
  for (const int idx : {2, 3}) ASSERT_OK(db, append("shifted", 7, w1, idx, "p"));
  const std::pair<const char*, int> cases[] = {
      {"none", 1},    {"none", 0},    {"empty", 0}, {"empty", 1}, {"gap", 3}, {"gap", 2},
      {"shifted", 3}, {"shifted", 2}, {"s", 0},     {"s", 2},     {"s", 4}};
  for (const auto& [key, last] : cases) {
    SCOPED_TRACE(key);
    expect_clean_refusal(db, publish("k", 7, w1, key, last), "ZF013");
    EXPECT_EQ(detail(db.exec(publish("k", 7, w1, key, last)), "key"), key);
  }
  EXPECT_EQ(status(db), std::string("7|") + w1_fingerprint + "|NULL|NULL|0|0");
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "1");
}

TEST_F(Publish, L31_of_a_staged_log_that_was_trimmed_is_ZF013) {
  ASSERT_OK(db, drop("s", 7, w1, 1));
  expect_clean_refusal(db, publish("k", 7, w1, "s", 3), "ZF013");
}

TEST_F(Publish, takes_late_entries_along) {
  ASSERT_OK(db, claim("late", 7, w1));
  for (const int idx : {3, 1, 2}) ASSERT_OK(db, append("late", 7, w1, idx, std::to_string(idx)));
  EXPECT_EQ(db.value(publish("k", 7, w1, "late", 3)), "1");
  EXPECT_EQ(db.rows("SELECT payload, late FROM fence_oplog_v1 WHERE key = 'k' ORDER BY idx"),
            (Rows{"x'31'|0", "x'32'|0", "x'33'|0"}));
}

TEST_F(Publish, by_a_stale_owner_of_the_target_names_the_target) {
  ASSERT_OK(db, claim("k", 8, w2));
  expect_clean_refusal(db, publish("k", 7, w1, "s", 3), "ZF001");
  EXPECT_EQ(detail(db.exec(publish("k", 7, w1, "s", 3)), "key"), "k");
  expect_clean_refusal(db, publish("k", 9, w2, "s", 3), "ZF004");
  expect_clean_refusal(db, publish("k", 8, w1, "s", 3), "ZF002");
  expect_clean_refusal(db, publish("none", 7, w1, "s", 3), "ZF003");
  EXPECT_EQ(entries(db), staged);
}

TEST_F(Publish, of_what_somebody_else_has_staged_names_the_staged_key) {
  ASSERT_OK(db, claim("s", 8, w2));
  expect_clean_refusal(db, publish("k", 7, w1, "s", 3), "ZF001");
  EXPECT_EQ(detail(db.exec(publish("k", 7, w1, "s", 3)), "key"), "s");
  ASSERT_OK(db, claim("k", 9, w1));
  expect_clean_refusal(db, publish("k", 9, w1, "s", 3), "ZF004");
  ASSERT_OK(db, claim("k", 10, w1));
  ASSERT_OK(db, claim("s", 10, w2));
  expect_clean_refusal(db, publish("k", 10, w1, "s", 3), "ZF002");
  ASSERT_OK(db, append("k", 10, w1, 1, "x"));
  expect_clean_refusal(db, publish("k", 10, w1, "s", 3), "ZF002");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries WHERE key = 's'"), "3");
}

TEST_F(Publish, of_a_log_that_nobody_owns_is_open_to_the_owner_of_the_target) {
  ASSERT_OK(db, reset("s", 3));
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "1");
  EXPECT_EQ(entries(db), published);
  EXPECT_EQ(status(db, "s"), "3|NULL|NULL|NULL|0|1");
}

TEST_F(Publish, without_an_epoch_moves_unfenced_entries_and_makes_the_target_live) {
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("free", 1, "u"), free_append("free", 2, "u")));
  EXPECT_EQ(db.value(publish("new", unfenced, "", "free", 2)), "1");
  EXPECT_EQ(db.rows("SELECT key, idx, epoch FROM oplog_entries WHERE key = 'new'"),
            (Rows{"new|1|NULL", "new|2|NULL"}));
  EXPECT_EQ(status(db, "new"), "NULL|NULL|1|2|2|0");
  EXPECT_EQ(status(db, "free"), "NULL|NULL|NULL|NULL|0|1");
  EXPECT_EQ(db.value(publish("new", unfenced, "", "free", 2)), "1") << "a repeat";
  EXPECT_EQ(db.value(publish("k", unfenced, "", "s", 3)), "1") << "no verdict on owners at all";
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries WHERE key = 'k' AND epoch IS NULL"), "3");
}

TEST_F(Publish, asks_the_mode_of_both_namespaces_where_there_is_no_epoch) {
  const std::string to = "SELECT fenced_publish('@', 't', NULL, NULL, ";
  ASSERT_OK(db, "SELECT fence_namespace_set('open', 'optional')");
  ASSERT_OK(db, "SELECT fenced_append('open', 's', NULL, NULL, 1, 'x')");
  expect_clean_refusal(db, "SELECT fenced_publish('open', 't', NULL, NULL, 'n', 's', 3)", "ZF012");
  EXPECT_EQ(detail(db.exec("SELECT fenced_publish('open', 't', NULL, NULL, 'n', 's', 3)"), "key"),
            "s");
  expect_clean_refusal(
      db, "SELECT fenced_publish('n', 't', NULL, " + quoted(w1) + ", 'open', 's', 1)", "ZF012");
  EXPECT_EQ(db.value("SELECT fenced_publish('n', 'k', 7, " + quoted(w1) + ", 'open', 's', 1)"), "1")
      << "with an epoch only the target's mode counts";
  ASSERT_OK(db, set_mode("unfenced"));
  expect_clean_refusal(db, publish("k", 7, w1, "s", 3), "ZF012");
}

TEST_F(Publish, is_forgotten_by_a_later_claim_or_unfenced_write_of_the_staged_key) {
  ASSERT_OK(db, publish("k", 7, w1, "s", 3));
  ASSERT_OK(db, script(claim("s", 8, w1), del("s", 8)));
  EXPECT_EQ(db.value(publish("k", 7, w1, "s", 3)), "0");
  ASSERT_OK(db, script(claim("s2", 7, w1), append("s2", 7, w1, 1, "x"), claim("k2", 7, w1)));
  ASSERT_OK(db, publish("k2", 7, w1, "s2", 1));
  ASSERT_OK(db, set_mode("optional"));
  ASSERT_OK(db, script(free_append("s2", 1, "y"), del("s2", unfenced)));
  EXPECT_EQ(db.value(publish("k2", 7, w1, "s2", 1)), "0");
}

TEST_F(Publish, M5_in_an_open_transaction_is_ZF012) {
  ASSERT_OK(db, "BEGIN");
  expect_clean_refusal(db, publish("k", 7, w1, "s", 3), "ZF012");
  expect_clean_refusal(db, publish("k", unfenced, "", "s", 3), "ZF010");
  EXPECT_OK(db, "COMMIT");
}

TEST_F(Publish, refuses_arguments_that_cannot_be) {
  const std::string writer = quoted(w1);
  for (const char* arguments : {"NULL, 'k', 7, @, 'n', 's', 3", "'n', '', 7, @, 'n', 's', 3",
                                "'n', 'k', 'x', @, 'n', 's', 3", "'n', 'k', 7, NULL, 'n', 's', 3",
                                "'n', 'k', 7, @, NULL, 's', 3", "'n', 'k', 7, @, 'n', NULL, 3",
                                "'n', 'k', 7, @, '', 's', 3", "'n', 'k', 7, @, 'n', '', 3",
                                "'n', 'k', 7, @, 'n', 's', NULL", "'n', 'k', 7, @, 'n', 's', -1",
                                "'n', 'k', 7, @, 'n', 's', 1.5", "'n', 'k', 7, @, 'n', 'k', 3"}) {
    expect_clean_refusal(
        db, filled(std::string("SELECT fenced_publish(") + arguments + ")", writer), "ZF010");
  }
}

// Whoever has changed a staged entry past the triggers gets no seal for it.
TEST_F(Publish, of_an_entry_that_was_changed_unseen_is_ZF020) {
  ASSERT_OK(db, script(append("s", 7, w1, 5, "x"), append("s", 7, w1, 4, "late")));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_oplog_update");
  for (const char* change :
       {"UPDATE fence_oplog_v1 SET payload = 'z' WHERE key = 's' AND idx = 2",
        "UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key = 's' AND idx = 2",
        "UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key = 's' AND idx = 4",
        "UPDATE fence_oplog_v1 SET seal = randomblob(16) WHERE key = 's' AND idx = 1",
        "UPDATE fence_oplog_v1 SET epoch = 6 WHERE key = 's' AND idx = 1"}) {
    SCOPED_TRACE(change);
    TemporaryDirectory copy;
    ASSERT_OK(db, "VACUUM INTO " + quoted(copy.file("c.db")));
    Database changed(copy.file("c.db"), Setup::loaded);
    ASSERT_OK(changed, std::string("SELECT fence_config('defensive', 0);") + change);
    const Rows before = contents(changed);
    const bool typed = std::string(change).find("'z'") != std::string::npos;
    EXPECT_REFUSED(changed, publish("k", 7, w1, "s", 5), typed ? "ZF019" : "ZF020",
                   typed ? plain_error : auth);
    EXPECT_EQ(contents(changed), before);
  }
}

// The seal of a late entry names no predecessor: one of an earlier life of the key, put
// back in its place, is whole. The sum in the record tells.
TEST_F(Publish, of_a_late_entry_of_an_earlier_life_is_ZF020) {
  ASSERT_OK(db, script(append("s", 7, w1, 5, "x"), append("s", 7, w1, 4, "old")));
  ASSERT_OK(db,
            "CREATE TABLE kept AS SELECT epoch, writer, payload, late, seal FROM fence_oplog_v1"
            " WHERE key = 's' AND idx = 4");
  ASSERT_OK(db, script(del("s", 7), claim("s", 8, w1), claim("k", 8, w1)));
  for (const int idx : {1, 2, 3, 5, 4}) ASSERT_OK(db, append("s", 8, w1, idx, "new"));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0); DROP TRIGGER fence_oplog_update");
  ASSERT_OK(db,
            "UPDATE fence_oplog_v1 SET (epoch, writer, payload, late, seal) ="
            " (SELECT * FROM kept) WHERE key = 's' AND idx = 4");
  const Rows before = contents(db);
  EXPECT_REFUSED(db, publish("k", 8, w1, "s", 5), "ZF020", auth);
  EXPECT_EQ(contents(db), before);
}

TEST_F(Publish, L32_of_two_publishers_at_once_exactly_one_wins) {
  constexpr int count = 8;
  for (int i = 0; i < count; ++i) {
    const std::string key = "stage" + std::to_string(i);
    ASSERT_OK(db, claim(key, 7, w1));
    ASSERT_OK(db, append(key, 7, w1, 1, key));
  }
  std::vector<std::string> answers(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      Database mine(path, Setup::loaded);
      sqlite3_busy_timeout(mine.get(), 10000);
      answers[i] = mine.value(publish("k", 7, w1, "stage" + std::to_string(i), 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(answers.begin(), answers.end());
  std::vector<std::string> expected(count, "0");
  expected.back() = "1";
  EXPECT_EQ(answers, expected);
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries WHERE key = 'k'"), "1");
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_entries WHERE key LIKE 'stage%'"),
            std::to_string(count - 1));
}

}  // namespace
}  // namespace fence::test
