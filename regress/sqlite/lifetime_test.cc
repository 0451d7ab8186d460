// Loading and closing: nothing that an application does with its connections
// needs to know of Fence. Every Database of these tests also checks, when it goes,
// that sqlite3_close returns SQLITE_OK.
#include <thread>

#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

class Lifetime : public FileTest {
 protected:
  // Every statement that Fence keeps is prepared after these.
  void use_everything(Database& db) {
    ASSERT_OK(db, claim("k", 1, w1));
    ASSERT_OK(db, append("k", 1, w1, 1, "a"));
    ASSERT_OK(db, insert("k", 1, w1, 2, "b"));
    ASSERT_OK(db, "SELECT fenced_append_many('n', 'k', 1, " + quoted(w1) +
                      ", '[3,4]', fence_blobs('c', 'd'), 2)");
    ASSERT_OK(db, "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"l\",\"epoch\":1}]', " +
                      quoted(w1) + ")");
    ASSERT_OK(db, check("k", 1, w1));
    ASSERT_OK(db, "SELECT * FROM oplog_read('n', 'k')");
    ASSERT_OK(db, "SELECT fence_config('max_waiters', 17), fence_config('max_waiters', 18)");
    ASSERT_OK(db, "SELECT fence_config('authorizer'), fence_capabilities(), fence_version()");
    ASSERT_OK(db, "BEGIN;" + append("k", 1, w1, 5, "e") + "; ROLLBACK");
    EXPECT_FALSE(db.exec(append("k", 0, w1, 9, "x")).ok());
  }

  static void expect_fenced(Database& db) {
    EXPECT_OK(db, claim("fresh", 1, w1));
    EXPECT_OK(db, append("fresh", 1, w1, 1, "a"));
    EXPECT_REFUSED(db, append("fresh", 0, w1, 2, "x"), "ZF001", auth);
    EXPECT_FALSE(db.exec("INSERT INTO fence_setting_v1 VALUES ('x', 1)").ok());
  }
};

int load_as(Database& db, const char* entry_point) {
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  return sqlite3_load_extension(db.get(), extension_path().c_str(), entry_point, nullptr);
}

TEST_F(Lifetime, loading_twice_is_harmless) {
  Database db(path);
  use_everything(db);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(succeeded(db.load()));
  }
  EXPECT_EQ(load_as(db, "sqlite3_fence_init"), SQLITE_OK);
  EXPECT_EQ(load_as(db, "sqlite3_extension_init"), SQLITE_OK);
  sqlite3_enable_load_extension(db.get(), 1);  // as a function of SQL, too
  EXPECT_OK(db, "SELECT load_extension(" + quoted(extension_path()) + ")");
  expect_fenced(db);
}

TEST_F(Lifetime, loading_again_keeps_the_switches_of_the_connection) {
  Database db(path);
  for (const char* value : {"1", "0"}) {
    for (const char* name : {"authorizer", "defensive"}) {
      SCOPED_TRACE(std::string(name) + " = " + value);
      const std::string read = "SELECT fence_config(" + quoted(name) + ")";
      ASSERT_OK(db, "SELECT fence_config(" + quoted(name) + ", " + value + ")");
      ASSERT_TRUE(succeeded(db.load()));
      EXPECT_EQ(db.value(read), value);
    }
    expect_fenced(db);
  }
}

TEST_F(Lifetime, loading_again_in_a_transaction_leaves_it_as_it_is) {
  Database db(path);
  ASSERT_OK(db, claim("k", 1, w1));
  ASSERT_OK(db, "SELECT fence_config('authorizer', 1); BEGIN;" + append("k", 1, w1, 1, "a"));
  ASSERT_TRUE(succeeded(db.load()));
  EXPECT_REFUSED(db, append("k", 2, w1, 2, "x"), "ZF012", plain_error)
      << "the epochs of the transaction are still known";
  EXPECT_OK(db, append("k", 1, w1, 2, "b") + "; COMMIT");
  EXPECT_EQ(entries(db), (std::vector<std::string>{"k|1|1|a", "k|2|1|b"}));
}

TEST_F(Lifetime, another_version_beside_a_loaded_one_is_refused) {
  Database db(path, Setup::plain);
  const auto other_version = [](sqlite3_context* context, int, sqlite3_value**) {
    sqlite3_result_text(context, "0.0.1", -1, SQLITE_STATIC);
  };
  sqlite3_create_function_v2(db.get(), "fence_version", 0, SQLITE_UTF8, nullptr, other_version,
                             nullptr, nullptr, nullptr);
  const Result result = db.load();
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.message.find("ZF012 configuration: another version"), std::string::npos)
      << result.message;
  EXPECT_EQ(db.value("SELECT fence_install()"), "error: no such function: fence_install");
}

TEST_F(Lifetime, loading_switches_defensive_on_and_touches_no_file) {
  Database db(path, Setup::plain);
  int defensive = -1;
  ASSERT_TRUE(succeeded(db.load()));
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
  EXPECT_EQ(defensive, 1);
  EXPECT_EQ(db.value("SELECT count(*) FROM sqlite_schema"), "0");
  EXPECT_EQ(db.value("PRAGMA page_count"), "0") << "the file is still empty";
  EXPECT_EQ(db.value("SELECT count(*) FROM temp.sqlite_schema"), "0");
}

TEST_F(Lifetime, close_works_with_statements_cached) {
  Database db(path);
  use_everything(db);
  EXPECT_NE(sqlite3_next_stmt(db.get(), nullptr), nullptr) << "there are some";
  EXPECT_EQ(db.close(), SQLITE_OK);
}

TEST_F(Lifetime, close_works_with_a_transaction_open_and_keeps_nothing_of_it) {
  for (const std::string begin : {"BEGIN", "SAVEPOINT a", "BEGIN; SAVEPOINT a"}) {
    SCOPED_TRACE(begin);
    Database db(path);
    ASSERT_OK(db, claim("k", 1, w1) + ";" + begin);
    ASSERT_OK(db, append("k", 1, w1, 1, "a"));
    ASSERT_OK(db, insert("k", 1, w1, 2, "b"));
    EXPECT_EQ(db.close(), SQLITE_OK);
    Database again(path);
    EXPECT_EQ(entries(again), std::vector<std::string>{});
  }
}

TEST_F(Lifetime, close_without_ever_using_fence_works) {
  Database db(path, Setup::loaded);
  EXPECT_EQ(db.close(), SQLITE_OK);
  Database unused(path, Setup::plain);
  EXPECT_EQ(unused.close(), SQLITE_OK);
}

TEST_F(Lifetime, close_waits_for_a_cursor_of_oplog_read_as_for_any_statement) {
  Database db(path);
  use_everything(db);
  Statement cursor(db, "SELECT idx FROM oplog_read('n', 'k')");
  ASSERT_EQ(cursor.step(), SQLITE_ROW);
  EXPECT_EQ(db.close(), SQLITE_BUSY) << "the application's own statement";
  EXPECT_EQ(cursor.step(), SQLITE_ROW) << "which still works";
  EXPECT_EQ(sqlite3_column_int(cursor.get(), 0), 2);
  EXPECT_EQ(cursor.finalize(), SQLITE_OK);
  EXPECT_EQ(db.close(), SQLITE_OK);
}

TEST_F(Lifetime, a_close_that_failed_leaves_the_connection_usable) {
  Database db(path);
  use_everything(db);
  Statement cursor(db, "SELECT 1");
  ASSERT_EQ(cursor.step(), SQLITE_ROW);
  ASSERT_EQ(db.close(), SQLITE_BUSY);
  EXPECT_OK(db, append("k", 1, w1, 5, "e"));
  expect_fenced(db);
  cursor.finalize();
}

TEST_F(Lifetime, close_works_after_somebody_finalized_every_statement) {
  for (const char* begin : {"SELECT 1", "BEGIN"}) {
    SCOPED_TRACE(begin);
    Database db(directory.file(begin));
    use_everything(db);
    ASSERT_OK(db, std::string(begin) + ";" + append("k", 1, w1, 5, "e"));
    while (sqlite3_stmt* statement = sqlite3_next_stmt(db.get(), nullptr)) {
      sqlite3_finalize(statement);
    }
    EXPECT_EQ(db.close(), SQLITE_OK);
  }
}

TEST_F(Lifetime, a_deferred_close_ends_with_the_last_cursor) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  ASSERT_EQ(sqlite3_load_extension(handle, extension_path().c_str(), nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, ("SELECT fence_install();" + claim("k", 1, w1)).c_str(), nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_stmt* cursor = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(handle, "SELECT key FROM oplog_metadata", -1, &cursor, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(cursor), SQLITE_ROW);
  EXPECT_EQ(sqlite3_close_v2(handle), SQLITE_OK);
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(cursor, 0)), "k");
  EXPECT_EQ(sqlite3_finalize(cursor), SQLITE_OK);
}

TEST_F(Lifetime, two_connections_of_one_process_know_nothing_of_each_other) {
  Database one(path);
  ASSERT_OK(one, "PRAGMA journal_mode = WAL;" + claim("k", 4, w1));
  ASSERT_OK(one, claim("k", 5, w1) + ";" + claim("mine", 1, w1));
  auto two = std::make_unique<Database>(path);
  ASSERT_OK(one, "BEGIN; SELECT * FROM oplog_metadata");
  EXPECT_REFUSED(one, append("k", 4, w1, 1, "x"), "ZF001", auth);
  EXPECT_OK(*two, "BEGIN;" + append("mine", 1, w1, 1, "a") + "; COMMIT");
  two.reset();
  EXPECT_DOOMED(one, "COMMIT", "ZF001");
  EXPECT_OK(one, append("mine", 1, w1, 2, "b"));
}

TEST_F(Lifetime, many_connections_come_and_go_and_leave_no_memory_behind) {
  const auto come_and_go = [&] {
    Database db(path);
    ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, "a"));
    ASSERT_OK(db, "BEGIN;" + append("k", 1, w1, 2, "b"));
  };
  come_and_go();
  const sqlite3_int64 before = sqlite3_memory_used();
  for (int i = 0; i < 100; ++i) {
    come_and_go();
  }
  EXPECT_EQ(sqlite3_memory_used(), before);
}

TEST_F(Lifetime, threads_with_a_connection_each_do_not_disturb_each_other) {
  constexpr int count = 50;
  {
    Database db(path);
    ASSERT_OK(db, "PRAGMA journal_mode = WAL");
  }
  const auto work = [&](const char* key, const char* writer) {
    Database db(path, Setup::loaded);
    sqlite3_busy_timeout(db.get(), 60000);
    EXPECT_OK(db, claim(key, 1, writer));
    for (int idx = 0; idx < count; ++idx) {
      EXPECT_OK(db, append(key, 1, writer, idx, "x"));
      EXPECT_REFUSED(db, append(key, 0, writer, idx, "x"), "ZF001", auth);
    }
  };
  std::thread one(work, "one", w1);
  std::thread two(work, "two", w2);
  one.join();
  two.join();
  Database db(path);
  EXPECT_EQ(db.rows("SELECT key, last_idx, length FROM oplog_status ORDER BY key"),
            (std::vector<std::string>{"one|49|50", "two|49|50"}));
}

TEST_F(Lifetime, a_schema_changed_by_another_connection_disturbs_no_call) {
  Database db(path);
  use_everything(db);
  Database other(path);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(other, "CREATE TABLE t" + std::to_string(i) + "(x)");
    EXPECT_OK(db, append("k", 1, w1, 10 + i, "x"));
    ASSERT_OK(other, "VACUUM");
    EXPECT_OK(db, insert("k", 1, w1, 20 + i, "x"));
  }
}

}  // namespace
}  // namespace fence::test
