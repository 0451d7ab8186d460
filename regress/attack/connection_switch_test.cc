// Switches of the connection: what an application can turn on and off between
// itself and the file.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

int allow_all(void*, int, const char*, const char*, const char*, const char*) { return SQLITE_OK; }

TEST_F(Attack, S35_defensive_switched_off_leaves_the_triggers) {
  Database zombie(path, Setup::loaded);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr),
            SQLITE_OK);
  EXPECT_EQ(zombie.value("SELECT fence_config('defensive')"), "0");
  expect_not_asserted(zombie, zombie_row);
  expect_not_asserted(zombie, owner_row);
  expect_not_asserted(zombie, lowered_record);
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_F(Attack, S36_the_authorizer_taken_out_leaves_the_rest) {
  for (const auto& instead : {&allow_all, static_cast<decltype(&allow_all)>(nullptr)}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, Switches::authorizer);
    ASSERT_EQ(sqlite3_set_authorizer(zombie.get(), instead, nullptr), SQLITE_OK);
    expect_unprepared(zombie, zombie_row, plain_error, "table fence_oplog_v1 may not be modified");
    expect_unprepared(zombie, lowered_record, plain_error,
                      "table fence_meta_v1 may not be modified");
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

TEST_F(Attack, S35_S36_both_switched_off_leave_the_triggers) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::authorizer_alone);
  ASSERT_EQ(sqlite3_set_authorizer(zombie.get(), nullptr, nullptr), SQLITE_OK);
  expect_not_asserted(zombie, zombie_row);
  expect_not_asserted(zombie, lowered_record);
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S43_no_append_without_a_journal) {
  // What the connection believes of the mode is from its last read.
  ASSERT_OK(zombie, "SELECT count(*) FROM oplog_status");
  zombie.exec("PRAGMA journal_mode = OFF");
  const std::string mode = zombie.value("PRAGMA journal_mode");
  if (is_defensive()) {
    EXPECT_EQ(mode, "wal");
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
    return;
  }
  ASSERT_EQ(mode, "off");
  for (const std::string& call : {append("k", 2, w2, 4, "x"), insert("k", 2, w2, 4, "x"),
                                  claim("k", 3, w2), append("k", 1, w1, 4, "x")}) {
    EXPECT_REFUSED(zombie, call, "ZF012", plain_error);
  }
  const std::string report = zombie.value("SELECT fence_capabilities()");
  EXPECT_NE(report.find("\"fencing\":false"), std::string::npos) << report;
  expect_untouched();
  expect_owner_goes_on();
}

TEST_P(Loaded, S44_the_owner_works_under_trusted_schema_off) {
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr), SQLITE_OK);
  ASSERT_EQ(zombie.value("PRAGMA trusted_schema"), "0");
  expect_shut(zombie_row);
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
  EXPECT_OK(zombie, claim("k", 3, w2));
  EXPECT_OK(zombie, claim("new", 1, w2));
  EXPECT_OK(zombie, "SELECT fence_config('max_waiters', 7)");
}

TEST_P(Loaded, S47_query_only_is_a_clean_read_only_error) {
  ASSERT_OK(zombie, "PRAGMA query_only = 1");
  for (const std::string& call :
       {append("k", 2, w2, 4, "x"), insert("k", 2, w2, 4, "x"), claim("k", 3, w2),
        append("k", 1, w1, 4, "x"), "BEGIN IMMEDIATE;" + append("k", 2, w2, 4, "x")}) {
    const Result result = zombie.exec(call);
    EXPECT_EQ(result.rc, SQLITE_READONLY) << call;
    EXPECT_EQ(result.message, "attempt to write a readonly database") << call;
    zombie.exec("ROLLBACK");
    expect_untouched();
  }
  ASSERT_OK(zombie, "PRAGMA query_only = 0");
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

TEST_F(Attack, S51_triggers_switched_off_without_the_extension_write_and_are_noticed) {
  Database zombie(path, Setup::plain);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  ASSERT_OK(zombie, zombie_row);
  expect_owner_alarmed();
}

TEST_F(Attack, S51_a_record_changed_with_triggers_switched_off_is_noticed) {
  Database zombie(path, Setup::plain);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  ASSERT_OK(zombie, lowered_record);
  expect_owner_alarmed();
  ASSERT_OK(zombie, "DELETE FROM fence_meta_v1 WHERE key = 'k'");
  expect_owner_alarmed();
}

TEST_P(Loaded, S51_an_append_with_triggers_switched_off_is_noticed_and_undone) {
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  if (GetParam() != Switches::not_defensive) {
    expect_shut(zombie_row);
  }
  expect_zombie_refused(zombie);
  expect_owner_alarmed(zombie);
  EXPECT_REFUSED(zombie, claim("k", 3, w2), "ZF020", auth);
  expect_untouched();
  expect_owner_goes_on();
}

TEST_P(Loaded, S52_no_depth_for_triggers_shuts_everything) {
  sqlite3_limit(zombie.get(), SQLITE_LIMIT_TRIGGER_DEPTH, 0);
  EXPECT_FALSE(zombie.exec(zombie_row).ok());
  expect_untouched();
  expect_zombie_refused(zombie);
  expect_owner_alarmed(zombie);
  expect_owner_goes_on();
}

// A limit may make a call fail, never make it forget what it checks.
TEST_P(Loaded, X_limits_of_the_connection_open_nothing) {
  const struct {
    int id;
    int value;
  } limits[] = {{SQLITE_LIMIT_LENGTH, 60},       {SQLITE_LIMIT_SQL_LENGTH, 70},
                {SQLITE_LIMIT_COLUMN, 3},        {SQLITE_LIMIT_EXPR_DEPTH, 2},
                {SQLITE_LIMIT_VDBE_OP, 8},       {SQLITE_LIMIT_FUNCTION_ARG, 3},
                {SQLITE_LIMIT_ATTACHED, 0},      {SQLITE_LIMIT_VARIABLE_NUMBER, 1},
                {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_COMPOUND_SELECT, 1}};
  for (const auto& limit : limits) {
    SCOPED_TRACE(limit.id);
    const int before = sqlite3_limit(zombie.get(), limit.id, limit.value);
    for (const std::string& sql :
         {zombie_row, lowered_record, append("k", 1, w1, 9, "x"), insert("k", 1, w1, 9, "x"),
          claim("k", 1, w1), "BEGIN;" + append("k", 1, w1, 9, "x")}) {
      EXPECT_FALSE(zombie.exec(sql).ok()) << sql;
      zombie.exec("COMMIT");
      zombie.exec("ROLLBACK");
    }
    sqlite3_limit(zombie.get(), limit.id, before);
    expect_untouched();
    expect_owner_goes_on(zombie);
  }
}

TEST_P(Loaded, X_views_switched_off_change_nothing) {
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr), SQLITE_OK);
  expect_zombie_refused(zombie);
  expect_owner_goes_on(zombie);
}

// The application's own authorizer may hide columns from Fence and forbid what it
// does: that ends in an error, and never makes the zombie the owner.
struct Hidden {
  int action = 0;
  const char* first = nullptr;   // nullptr: any
  const char* second = nullptr;  // nullptr: any
  int answer = SQLITE_DENY;
};
int hide(void* hidden, int action, const char* first, const char* second, const char*,
         const char*) {
  const auto* what = static_cast<const Hidden*>(hidden);
  const auto is = [](const char* wanted, const char* given) {
    return wanted == nullptr || (given != nullptr && std::string(wanted) == given);
  };
  return action == what->action && is(what->first, first) && is(what->second, second) ? what->answer
                                                                                      : SQLITE_OK;
}

class Hiding : public Attack {
 protected:
  // On a new connection (nothing prepared yet) and on one that has worked before.
  void expect_closed_under(Hidden hidden) {
    for (const bool warm : {false, true}) {
      Database zombie(path, Setup::loaded);
      ASSERT_OK(zombie, "CREATE TEMP TABLE note(text)");
      if (warm) {
        expect_owner_goes_on(zombie);
      }
      sqlite3_set_authorizer(zombie.get(), hide, &hidden);
      expect_zombie_fails(zombie);
      // What was prepared under it stays as it is when the authorizer is gone.
      sqlite3_set_authorizer(zombie.get(), nullptr, nullptr);
      zombie.exec("ROLLBACK");
      ASSERT_OK(zombie, "DELETE FROM note");
      expect_zombie_fails(zombie);
      expect_owner_goes_on();
    }
  }

 private:
  void expect_zombie_fails(Database& zombie) {
    EXPECT_FALSE(zombie.exec(append("k", 1, w1, next_idx, "x")).ok());
    EXPECT_FALSE(zombie.exec(insert("k", 1, w1, next_idx, "x")).ok());
    EXPECT_FALSE(zombie.exec(claim("k", 1, w1)).ok());
    zombie.exec("BEGIN; INSERT INTO note VALUES ('swallowed')");
    const Result refusal = zombie.exec(append("k", 1, w1, next_idx, "x"));
    EXPECT_FALSE(refusal.ok());
    zombie.exec("COMMIT");
    if (refusal.message.rfind("ZF001 ", 0) == 0) {
      EXPECT_NE(zombie.value("SELECT count(*) FROM note"), "1") << "a refusal was committed";
    }
    expect_untouched();
  }
};

TEST_F(Hiding, X_an_authorizer_that_hides_columns_makes_nobody_the_owner) {
  for (const char* column :
       {"epoch", "writer", "deleted_at", "tail", "tail_seal", "trimmed", "trim_seal", "late_sum",
        "reset_last", "published", "seal", "namespace", "key"}) {
    SCOPED_TRACE(column);
    expect_closed_under({SQLITE_READ, "fence_meta_v1", column, SQLITE_IGNORE});
  }
  for (const char* column : {"idx", "epoch", "seal", "key", "ROWID"}) {
    SCOPED_TRACE(column);
    expect_closed_under({SQLITE_READ, "fence_oplog_v1", column, SQLITE_IGNORE});
  }
  expect_closed_under({SQLITE_READ, "fence_control_v1", nullptr, SQLITE_IGNORE});
}

TEST_F(Hiding, X_an_authorizer_that_forbids_what_fence_does_makes_nobody_the_owner) {
  for (const int action :
       {SQLITE_TRANSACTION, SQLITE_SELECT, SQLITE_READ, SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE,
        SQLITE_PRAGMA, SQLITE_CREATE_VTABLE, SQLITE_SAVEPOINT, SQLITE_FUNCTION}) {
    SCOPED_TRACE(action);
    expect_closed_under({action, nullptr, nullptr, SQLITE_DENY});
  }
  // An ignored BEGIN, SELECT or INSERT would be one of the zombie's own.
  for (const int action : {SQLITE_UPDATE, SQLITE_DELETE, SQLITE_PRAGMA, SQLITE_CREATE_VTABLE}) {
    SCOPED_TRACE(action);
    expect_closed_under({action, nullptr, nullptr, SQLITE_IGNORE});
  }
}

}  // namespace
}  // namespace fence::test
