// fenced_put, fenced_remove and the view fenced_values (spec 2.1).
#include "regress/sqlite/key_calls.h"

namespace fence::test {
namespace {

using Values = OwnedLog;
using Rows = std::vector<std::string>;

TEST_F(Values, are_stored_replaced_and_removed_by_the_owner) {
  EXPECT_EQ(db.value(put("k", 7, w1, "cursor", "a")), "1");
  EXPECT_EQ(db.value(put("k", 7, w1, "status", "")), "1");
  EXPECT_EQ(all_values(db), (Rows{"k|cursor|7|a", "k|status|7|"}));
  EXPECT_EQ(db.value(put("k", 7, w1, "cursor", "b")), "1");
  EXPECT_EQ(all_values(db), (Rows{"k|cursor|7|b", "k|status|7|"}));
  EXPECT_EQ(db.value(take("k", 7, w1, "cursor")), "1");
  EXPECT_EQ(db.value(take("k", 7, w1, "cursor")), "0") << "nothing is left to remove";
  EXPECT_EQ(all_values(db), Rows{"k|status|7|"});
  EXPECT_EQ(entries(db), two) << "the log is not touched";
}

TEST_F(Values, of_the_same_epoch_are_a_repeat_and_of_a_later_one_are_stored_anew) {
  EXPECT_EQ(db.value(put("k", 7, w1, "cursor", "a")), "1");
  const Rows before = contents(db);
  EXPECT_EQ(db.value(put("k", 7, w1, "cursor", "a")), "0");
  EXPECT_EQ(contents(db), before);
  ASSERT_OK(db, claim("k", 8, w2));
  EXPECT_EQ(db.value(put("k", 8, w2, "cursor", "a")), "1") << "it is now the new owner's";
  EXPECT_EQ(all_values(db), Rows{"k|cursor|8|a"});
  EXPECT_EQ(db.value(put("k", 8, w2, "cursor", "a")), "0");
}

TEST_F(Values, of_an_earlier_owner_can_be_removed_by_the_present_one) {
  ASSERT_OK(db, put("k", 7, w1, "cursor", "a"));
  ASSERT_OK(db, claim("k", 8, w2));
  EXPECT_EQ(db.value(take("k", 8, w2, "cursor")), "1");
  EXPECT_EQ(all_values(db), Rows{});
}

TEST_F(Values, are_refused_to_everybody_but_the_owner) {
  ASSERT_OK(db, script(put("k", 7, w1, "cursor", "a"), claim("k", 8, w2)));
  for (const std::string& sql :
       {put("k", 7, w1, "cursor", "late"), put("k", 7, w1, "new", "late"),
        put("k", 7, w1, "cursor", "a"), take("k", 7, w1, "cursor"), take("k", 7, w1, "none")}) {
    expect_clean_refusal(db, sql, "ZF001");
  }
  expect_clean_refusal(db, put("k", 9, w2, "cursor", "early"), "ZF004");
  expect_clean_refusal(db, take("k", 9, w2, "cursor"), "ZF004");
  expect_clean_refusal(db, put("k", 8, w1, "cursor", "x"), "ZF002");
  expect_clean_refusal(db, take("k", 8, w1, "cursor"), "ZF002");
  expect_clean_refusal(db, put("none", 0, w1, "cursor", "x"), "ZF003");
  expect_clean_refusal(db, take("none", 0, w1, "cursor"), "ZF003");
  EXPECT_EQ(all_values(db), Rows{"k|cursor|7|a"});
}

TEST_F(Values, refused_doom_the_transaction_as_an_append_does) {
  ASSERT_OK(db, script(claim("mine", 1, w1), claim("k", 8, w2)));
  for (const std::string& stale : {put("k", 7, w1, "name", "x"), take("k", 7, w1, "name")}) {
    ASSERT_OK(db, "BEGIN");
    ASSERT_OK(db, put("mine", 1, w1, "name", "x"));
    EXPECT_REFUSED(db, stale, "ZF001", auth);
    EXPECT_DOOMED(db, put("mine", 1, w1, "name", "y"), "ZF001");
    EXPECT_DOOMED(db, take("mine", 1, w1, "name"), "ZF001");
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
    EXPECT_EQ(all_values(db), Rows{});
  }
}

TEST_F(Values, M9_of_two_epochs_in_one_transaction_are_ZF012) {
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  EXPECT_REFUSED(db, put("k", 6, w1, "name", "y"), "ZF012", plain_error);
  EXPECT_REFUSED(db, take("k", 8, w1, "name"), "ZF012", plain_error);
  EXPECT_REFUSED(db, append("k", 6, w1, 3, "three"), "ZF012", plain_error);
  EXPECT_OK(db, "COMMIT");
  EXPECT_EQ(all_values(db), Rows{"k|name|7|x"});
}

TEST_F(Values, go_with_a_rolled_back_savepoint) {
  ASSERT_OK(db, put("k", 7, w1, "kept", "x"));
  ASSERT_OK(db, "BEGIN; SAVEPOINT s");
  ASSERT_OK(db, script(put("k", 7, w1, "kept", "y"), put("k", 7, w1, "new", "y"),
                       take("k", 7, w1, "kept")));
  ASSERT_OK(db, "ROLLBACK TO s; COMMIT");
  EXPECT_EQ(all_values(db), Rows{"k|kept|7|x"});
  EXPECT_EQ(db.value(put("k", 7, w1, "kept", "x")), "0");
}

TEST_F(Values, are_bytes_and_their_names_are_names) {
  const std::string with = "SELECT fenced_put('n', 'k', 7, " + quoted(w1) + ", ";
  EXPECT_EQ(db.value(with + "'empty', x'')"), "1");
  EXPECT_EQ(db.value(with + "'bytes', x'00ff0027')"), "1");
  EXPECT_EQ(db.value(with + "'€', 'text')"), "1");
  EXPECT_EQ(db.rows("SELECT name, value, typeof(value) FROM fenced_values ORDER BY name"),
            (Rows{"bytes|x'00ff0027'|blob", "empty|x''|blob", "€|x'74657874'|blob"}));
  for (const std::string& bad :
       {with + "'n', NULL)", with + "'n', 5)", with + "'n', 5.5)", with + "'', 'x')",
        with + "NULL, 'x')", with + "x'6e', 'x')", with + "5, 'x')",
        with + quoted(std::string(256, 'x')) + ", 'x')", with + "CAST(x'ff' AS TEXT), 'x')"}) {
    expect_clean_refusal(db, bad, "ZF010");
  }
  const std::string without = "SELECT fenced_remove('n', 'k', 7, " + quoted(w1) + ", ";
  for (const char* name : {"''", "NULL", "x'6e'", "5", "CAST(x'6100' AS TEXT)"}) {
    expect_clean_refusal(db, without + name + ")", "ZF010");
  }
  EXPECT_EQ(db.value(with + quoted(std::string(255, 'x')) + ", 'x')"), "1");
}

TEST_F(Values, L27_belong_to_one_key_of_one_namespace) {
  ASSERT_OK(db, claim("other", 7, w1));
  ASSERT_OK(db, "SELECT oplog_metadata_upsert('m', 'k', 7, " + quoted(w1) + ")");
  ASSERT_OK(db, put("k", 7, w1, "name", "n k"));
  ASSERT_OK(db, put("other", 7, w1, "name", "n other"));
  ASSERT_OK(db, "SELECT fenced_put('m', 'k', 7, " + quoted(w1) + ", 'name', 'm k')");
  ASSERT_OK(db, take("k", 7, w1, "name"));
  EXPECT_EQ(db.rows("SELECT namespace, key FROM fenced_values ORDER BY 1, 2"),
            (Rows{"m|k", "n|other"}));
}

// Somebody has written past the triggers: noticed when the value is read back.
TEST_F(Values, that_were_changed_unseen_are_ZF020_and_impossible_ones_ZF019) {
  ASSERT_OK(db, put("k", 7, w1, "name", "x"));
  ASSERT_OK(db, "SELECT fence_config('defensive', 0)");
  ASSERT_OK(db, "DROP TRIGGER fence_value_update");
  const std::pair<const char*, const char*> changes[] = {{"value = x'79'", "ZF020"},
                                                         {"epoch = 8", "ZF020"},
                                                         {"writer = randomblob(16)", "ZF020"},
                                                         {"seal = randomblob(16)", "ZF020"},
                                                         {"value = 'text'", "ZF019"},
                                                         {"epoch = -2", "ZF019"},
                                                         {"epoch = 'x'", "ZF019"},
                                                         {"writer = x''", "ZF019"},
                                                         {"seal = x''", "ZF019"}};
  for (const auto& [change, code] : changes) {
    SCOPED_TRACE(change);
    ASSERT_OK(db, "SAVEPOINT s");
    ASSERT_OK(db, std::string("UPDATE fence_value_v1 SET ") + change);
    const int rc = std::string(code) == "ZF020" ? auth : plain_error;
    EXPECT_REFUSED(db, put("k", 7, w1, "name", "x"), code, rc);
    ASSERT_OK(db, "ROLLBACK");
    ASSERT_OK(db, "SAVEPOINT s");
    ASSERT_OK(db, std::string("UPDATE fence_value_v1 SET ") + change);
    EXPECT_REFUSED(db, take("k", 7, w1, "name"), code, rc);
    ASSERT_OK(db, "ROLLBACK");
  }
}

}  // namespace
}  // namespace fence::test
