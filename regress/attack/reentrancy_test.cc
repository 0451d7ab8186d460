// SQL that runs inside other SQL: functions, triggers and handlers of the
// application, and Fence's own statements in the hands of the application.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

// SQLite does not apply DEFENSIVE to what is prepared while a statement runs.
TEST_P(Loaded, S33_a_direct_write_from_inside_a_running_statement_is_refused) {
  add_run_function(zombie);
  for (const std::string& sql :
       {zombie_row, owner_row, lowered_record, forged(4, 1, "INSERT OR IGNORE"),
        std::string("DELETE FROM fence_oplog_v1"),
        std::string("UPDATE fence_oplog_v1 SET epoch = 1")}) {
    const std::string answer = zombie.value(run(sql));
    if (has_authorizer()) {
      EXPECT_EQ(answer, "23 not authorized") << sql;
    } else {
      EXPECT_EQ(answer.rfind("23 ZF005 not_asserted: ", 0), 0u) << sql << ": " << answer;
    }
    expect_untouched();
  }
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, S33_a_call_from_inside_a_running_statement_is_judged_like_any_other) {
  add_run_function(zombie);
  ASSERT_OK(zombie, "CREATE TABLE note(x)");
  for (const std::string& call : {append("k", 1, w1, 4, "x"), insert("k", 1, w1, 4, "x")}) {
    EXPECT_EQ(zombie.value(run(call)).rfind("23 ZF001 ", 0), 0u);
    EXPECT_EQ(
        zombie.value("SELECT run(" + quoted(call) + ") FROM fence_oplog_v1").rfind("23 ZF001 ", 0),
        0u);
  }
  // Inside a write the refused call dooms the statement around it.
  EXPECT_DOOMED(zombie, "INSERT INTO note " + run(append("k", 1, w1, 4, "x")), "ZF001");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
  expect_untouched();
  EXPECT_EQ(zombie.value(run(append("k", 2, w2, 4, "x"))), "0");
  next_idx = 5;
  accept_changes();
  expect_owner_goes_on(zombie);
}

TEST_P(Loaded, X_ddl_from_inside_a_running_statement_is_refused_or_noticed) {
  add_run_function(zombie);
  for (const char* sql : {"DROP TRIGGER fence_oplog_insert", "DROP TABLE fence_oplog_v1"}) {
    const std::string answer = zombie.value(run(sql));
    if (has_authorizer()) {
      EXPECT_EQ(answer, "23 not authorized");
      expect_owner_goes_on(zombie);
      continue;
    }
    EXPECT_EQ(answer, "0");
    expect_owner_alarmed();
    expect_owner_alarmed(zombie);
  }
}

// The trigger gone, DEFENSIVE not applied: two steps that the authorizer stops.
TEST_P(Loaded, X_a_write_from_inside_a_statement_after_drop_trigger_is_refused_or_noticed) {
  add_run_function(zombie);
  const Result dropped = zombie.exec("DROP TRIGGER fence_oplog_insert");
  EXPECT_EQ(dropped.ok(), !has_authorizer());
  const std::string answer = zombie.value(run(zombie_row));
  if (has_authorizer()) {
    EXPECT_EQ(answer, "23 not authorized");
    expect_untouched();
    expect_owner_goes_on(zombie);
  } else {
    EXPECT_EQ(answer, "0");
    expect_owner_alarmed();
  }
}

// What a trigger on Fence's table runs, while Fence stores a row, is recorded here.
class InsideFence : public Attack {
 protected:
  // Runs each statement before idx is stored; answers in that order.
  std::vector<std::string> answers(int idx, const std::vector<std::string>& statements,
                                   Switches switches = Switches::usual) {
    Database owner(path, Setup::plain);
    add_run_function(owner);
    std::string body;
    for (const std::string& sql : statements) {
      body += "INSERT INTO answer " + run(sql) + "; ";
    }
    EXPECT_OK(owner, "CREATE TEMP TABLE answer(text)");
    EXPECT_OK(owner,
              "CREATE TEMP TRIGGER inside BEFORE INSERT ON main.fence_oplog_v1 WHEN NEW.idx = " +
                  std::to_string(idx) + " BEGIN " + body + "END");
    EXPECT_TRUE(succeeded(owner.load()));
    set_switches(owner, switches);
    result = owner.exec(append("k", 2, w2, idx, "outer"));
    return owner.rows("SELECT text FROM temp.answer ORDER BY rowid");
  }

  Result result;
};

TEST_F(InsideFence, X_the_permission_of_a_row_is_good_for_that_row_only) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    const int idx = next_idx++;
    const std::vector<std::string> got =
        answers(idx, {forged(40, 1), forged(40, 3), lowered_record, "DELETE FROM fence_oplog_v1"},
                switches);
    ASSERT_EQ(got.size(), 4u) << result.message;
    for (const std::string& answer : got) {
      EXPECT_TRUE(answer.rfind("23 ZF005 ", 0) == 0 || answer == "23 not authorized") << answer;
    }
    EXPECT_TRUE(succeeded(result));
    Database observer(path, Setup::plain);
    EXPECT_EQ(observer.value("SELECT count(*) FROM fence_oplog_v1 WHERE idx = 40"), "0");
    EXPECT_EQ(observer.value("SELECT epoch FROM fence_meta_v1 WHERE key = 'k'"), "2");
    accept_changes();
  }
  expect_owner_goes_on();
}

TEST_F(InsideFence, X_no_call_runs_inside_another) {
  const std::vector<std::string> got = answers(
      4, {append("own", 1, w1, 2, "x"), insert("own", 1, w1, 2, "x"), append("k", 2, w2, 40, "x"),
          claim("k", 3, w2), "SELECT fence_install()", "SELECT fence_config('max_waiters', 1)"});
  ASSERT_EQ(got.size(), 6u) << result.message;
  for (const std::string& answer : got) {
    EXPECT_EQ(answer.rfind("1 ZF012 configuration: this call runs inside another", 0), 0u)
        << answer;
  }
  EXPECT_TRUE(succeeded(result));
  accept_changes();
  next_idx = 5;
  expect_owner_goes_on();
}

TEST_F(InsideFence, X_a_commit_inside_an_append_commits_nothing) {
  const std::vector<std::string> got = answers(4, {"COMMIT", "BEGIN", "SAVEPOINT s"});
  for (const std::string& answer : got) {
    EXPECT_NE(answer, "0");
  }
  Database observer(path, Setup::plain);
  EXPECT_EQ(observer.value("SELECT count(*) FROM fence_oplog_v1"), result.ok() ? "5" : "4");
}

TEST_F(InsideFence, X_a_rollback_inside_an_append_is_an_error_of_the_append) {
  answers(4, {"ROLLBACK"});
  EXPECT_FALSE(result.ok());
  expect_untouched();
  expect_owner_goes_on();
}

// Fence's statements are found by sqlite3_next_stmt, like all others.
class BorrowedStatements : public Loaded {
 protected:
  // Binds what would suit the zombie, steps each once and leaves it there.
  void step_all(const char* key, bool reset) {
    for (sqlite3_stmt* one = sqlite3_next_stmt(zombie.get(), nullptr); one != nullptr;
         one = sqlite3_next_stmt(zombie.get(), one)) {
      sqlite3_reset(one);
      for (int i = 1; i <= sqlite3_bind_parameter_count(one); ++i) {
        sqlite3_bind_int(one, i, 1);
      }
      sqlite3_bind_text(one, 1, "n", -1, SQLITE_STATIC);
      sqlite3_bind_text(one, 2, key, -1, SQLITE_STATIC);
      sqlite3_step(one);
      if (reset) {
        sqlite3_reset(one);
      }
    }
    if (sqlite3_get_autocommit(zombie.get()) == 0) {
      zombie.exec("ROLLBACK");
    }
  }
  void prepare_all() {
    expect_owner_goes_on(zombie);
    expect_zombie_refused(zombie);
    EXPECT_OK(zombie, claim("k", 2, w2));
    EXPECT_OK(zombie, claim("own", 1, w1));
    EXPECT_FALSE(zombie.exec(append("k", 2, w2, 1, "other bytes")).ok());
    EXPECT_OK(zombie, "SELECT fence_config('evict_after', 2000)");
    accept_changes();
  }
};

TEST_P(BorrowedStatements, X_stepped_by_the_application_they_store_nothing) {
  prepare_all();
  for (const char* key : {"k", "own", "new"}) {
    step_all(key, true);
    expect_untouched();
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

TEST_P(BorrowedStatements, X_left_unfinished_by_the_application_they_mislead_nobody) {
  prepare_all();
  for (const char* key : {"own", "k"}) {
    step_all(key, false);
    expect_untouched();
    EXPECT_REFUSED(zombie, append("k", 1, w1, next_idx, "late"), "ZF001", auth);
    expect_untouched();
    step_all(key, false);
    EXPECT_OK(zombie, append("k", 2, w2, next_idx, "on time"));
    ++next_idx;
    accept_changes();
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

INSTANTIATE_TEST_SUITE_P(Attack, BorrowedStatements,
                         ::testing::Values(Switches::usual, Switches::authorizer_alone),
                         switches_name);

// A progress handler that writes. That is misuse of SQLite's interface, and must not
// be a way in.
struct Handler {
  sqlite3* db;
  const std::string* sql;
  bool running;
  int written;
};
int write_in_progress(void* data) {
  auto* handler = static_cast<Handler*>(data);
  if (!handler->running) {
    handler->running = true;
    if (sqlite3_exec(handler->db, handler->sql->c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
      handler->written += sqlite3_changes(handler->db);
    }
    handler->running = false;
  }
  return 0;
}

TEST_F(Attack, S40_sql_in_a_progress_handler_stores_nothing) {
  if (sqlite3_libversion_number() < 3053000) {
    GTEST_SKIP() << "before 3.53, SQL in a progress handler crashes SQLite itself while it reads"
                    " the schema; this is "
                 << sqlite3_libversion();
  }
  for (const std::string& sql : {zombie_row, owner_row, lowered_record}) {
    Database owner(path, Setup::loaded);
    set_switches(owner, Switches::authorizer);
    Handler handler{owner.get(), &sql, false, 0};
    sqlite3_progress_handler(owner.get(), 1, write_in_progress, &handler);
    owner.exec(append("k", 2, w2, next_idx, "x"));
    sqlite3_progress_handler(owner.get(), 0, nullptr, nullptr);
    EXPECT_EQ(handler.written, 0);
    Database observer(path, Setup::plain);
    EXPECT_EQ(observer.value("SELECT count(*) - count(DISTINCT seal) FROM fence_oplog_v1"), "0");
    EXPECT_EQ(observer.value("SELECT epoch FROM fence_meta_v1 WHERE key = 'k'"), "2");
    next_idx += 1;
    accept_changes();
    expect_owner_goes_on();
  }
}

}  // namespace
}  // namespace fence::test
