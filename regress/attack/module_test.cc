// Fence's modules replaced, dropped, loaded again and borrowed.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

const char* const own_modules[] = {"fence", "fenced_append", "fence_transaction",
                                   "fence_statements", "oplog_read"};

// A table that takes every write and keeps nothing.
struct Sink {
  static int connect(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char**) {
    *table = static_cast<sqlite3_vtab*>(sqlite3_malloc(sizeof(sqlite3_vtab)));
    **table = sqlite3_vtab{};
    return sqlite3_declare_vtab(db, "CREATE TABLE x(namespace, key, epoch, writer, idx, payload)");
  }
  static int create(sqlite3* db, void* data, int count, const char* const* arguments,
                    sqlite3_vtab** table, char** error) {
    return connect(db, data, count, arguments, table, error);
  }
  static int disconnect(sqlite3_vtab* table) {
    sqlite3_free(table);
    return SQLITE_OK;
  }
  static int best_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
  static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    *cursor = static_cast<sqlite3_vtab_cursor*>(sqlite3_malloc(sizeof(sqlite3_vtab_cursor)));
    **cursor = sqlite3_vtab_cursor{};
    return SQLITE_OK;
  }
  static int close(sqlite3_vtab_cursor* cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor*, int, const char*, int, sqlite3_value**) {
    return SQLITE_OK;
  }
  static int next(sqlite3_vtab_cursor*) { return SQLITE_OK; }
  static int eof(sqlite3_vtab_cursor*) { return 1; }
  static int column(sqlite3_vtab_cursor*, sqlite3_context*, int) { return SQLITE_OK; }
  static int rowid(sqlite3_vtab_cursor*, sqlite3_int64*) { return SQLITE_OK; }
  static int update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64* row) {
    *row = 1;
    return SQLITE_OK;
  }
};

const sqlite3_module* sink_module(bool eponymous) {
  static sqlite3_module modules[2];
  sqlite3_module& made = modules[eponymous ? 1 : 0];
  made.iVersion = 1;
  made.xCreate = eponymous ? nullptr : Sink::create;
  made.xConnect = Sink::connect;
  made.xBestIndex = Sink::best_index;
  made.xDisconnect = Sink::disconnect;
  made.xDestroy = Sink::disconnect;
  made.xOpen = Sink::open;
  made.xClose = Sink::close;
  made.xFilter = Sink::filter;
  made.xNext = Sink::next;
  made.xEof = Sink::eof;
  made.xColumn = Sink::column;
  made.xRowid = Sink::rowid;
  made.xUpdate = Sink::update;
  return &made;
}

class Modules : public Attack {
 protected:
  void override_module(Database& db, const char* name) {
    const bool eponymous = std::string(name) != "fence" && std::string(name) != "fence_transaction";
    ASSERT_EQ(sqlite3_create_module_v2(db.get(), name, sink_module(eponymous), nullptr, nullptr),
              SQLITE_OK);
  }

  // The zombie stores nothing, and what it wrote besides is not kept after a refusal.
  void expect_zombie_held(Database& db) {
    ASSERT_OK(db, "CREATE TABLE IF NOT EXISTS note(x)");
    db.exec(append("k", 1, w1, 9, "x"));
    db.exec(insert("k", 1, w1, 9, "x"));
    ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES (1)");
    const Result refusal = db.exec(append("k", 1, w1, 9, "x"));
    EXPECT_FALSE(refusal.ok());
    db.exec("COMMIT");
    db.exec("ROLLBACK");
    if (refusal.rc == auth) {
      EXPECT_EQ(db.value("SELECT count(*) FROM note"), "0") << refusal.message;
    }
    ASSERT_OK(db, "DELETE FROM note");
    EXPECT_FALSE(db.exec(zombie_row).ok());
    expect_untouched();
  }
};

TEST_F(Modules, S62_replaced_before_their_first_use_they_open_nothing) {
  for (const char* name : own_modules) {
    SCOPED_TRACE(name);
    Database zombie(path, Setup::loaded);
    override_module(zombie, name);
    expect_zombie_held(zombie);
    expect_owner_goes_on();
  }
}

TEST_F(Modules, S62_replaced_after_they_were_used_they_open_nothing) {
  for (const char* name : own_modules) {
    SCOPED_TRACE(name);
    Database zombie(path, Setup::loaded);
    expect_owner_goes_on(zombie);
    override_module(zombie, name);
    expect_zombie_held(zombie);
    expect_owner_goes_on();
  }
}

// The marker is then dropped by the module that replaced it: the triggers remain.
TEST_F(Modules, S62_a_marker_dropped_by_a_replaced_module_leaves_the_triggers) {
  Database zombie(path, Setup::loaded);
  override_module(zombie, "fence");
  ASSERT_OK(zombie, "DROP TABLE fence");
  for (Database* db : {&zombie}) {
    EXPECT_FALSE(db->exec(zombie_row).ok());
    EXPECT_FALSE(db->exec(lowered_record).ok());
  }
  Database again(path, Setup::loaded);
  expect_not_asserted(again, zombie_row);
  expect_not_asserted(again, lowered_record);
  expect_zombie_refused(again);
  expect_owner_goes_on(again);
}

TEST_F(Modules, S62_the_authorizer_keeps_the_marker_from_a_replaced_module) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::authorizer);
  override_module(zombie, "fence");
  expect_unprepared(zombie, "DROP TABLE fence", auth, "not authorized");
  expect_owner_goes_on();
}

TEST_F(Modules, S63_dropped_they_open_nothing) {
  for (const bool used : {false, true}) {
    Database zombie(path, Setup::loaded);
    if (used) {
      expect_owner_goes_on(zombie);
    }
    ASSERT_EQ(sqlite3_drop_modules(zombie.get(), nullptr), SQLITE_OK);
    expect_zombie_held(zombie);
    ASSERT_OK(zombie, "PRAGMA writable_schema = RESET");
    expect_zombie_held(zombie);
    EXPECT_FALSE(zombie.exec(lowered_record).ok());
    expect_owner_goes_on();
  }
}

TEST_F(Modules, S64_loading_twice_changes_nothing) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    ASSERT_TRUE(succeeded(zombie.load()));
    expect_zombie_refused(zombie);
    EXPECT_FALSE(zombie.exec(zombie_row).ok());
    expect_untouched();
    expect_owner_goes_on(zombie);
    ASSERT_TRUE(succeeded(zombie.load()));
    expect_owner_goes_on(zombie);
    expect_zombie_refused(zombie);
    EXPECT_OK(zombie, claim("own", 1, w1));
  }
}

TEST_F(Modules, S64_loading_again_in_a_doomed_transaction_does_not_save_it) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::authorizer);
  ASSERT_OK(zombie, "CREATE TABLE note(x); BEGIN; INSERT INTO note VALUES (1)");
  EXPECT_REFUSED(zombie, append("k", 1, w1, 4, "x"), "ZF001", auth);
  ASSERT_TRUE(succeeded(zombie.load()));
  EXPECT_DOOMED(zombie, "COMMIT", "ZF001");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
  expect_owner_goes_on(zombie);
}

TEST_F(Modules, S65_the_table_that_dooms_cannot_be_dropped) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  ASSERT_OK(zombie, "CREATE TABLE note(x)");
  for (const char* sql :
       {"DROP TABLE temp.fence_transaction", "DROP TABLE fence_transaction",
        "ALTER TABLE temp.fence_transaction RENAME TO gone", "PRAGMA temp_store = MEMORY",
        "SAVEPOINT s; DROP TABLE temp.fence_transaction; RELEASE s", "DETACH temp"}) {
    SCOPED_TRACE(sql);
    ASSERT_OK(zombie, "BEGIN; INSERT INTO note VALUES (1)");
    EXPECT_REFUSED(zombie, append("k", 1, w1, next_idx, "x"), "ZF001", auth);
    zombie.exec(sql);
    EXPECT_DOOMED(zombie, "COMMIT", "ZF001");
    EXPECT_TRUE(zombie.autocommit());
    EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
    expect_owner_goes_on(zombie);
  }
}

TEST_F(Modules, S65_the_schema_of_temp_emptied_by_hand_does_not_save_a_doomed_transaction) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  ASSERT_OK(zombie, "CREATE TABLE note(x); BEGIN; INSERT INTO note VALUES (1)");
  EXPECT_REFUSED(zombie, append("k", 1, w1, 4, "x"), "ZF001", auth);
  zombie.exec("PRAGMA writable_schema = 1; DELETE FROM temp.sqlite_schema");
  zombie.exec("PRAGMA writable_schema = RESET; DROP TABLE temp.fence_transaction");
  EXPECT_DOOMED(zombie, "COMMIT", "ZF001");
  EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
  expect_untouched();
  expect_owner_goes_on();
}

// A second table of that module would hear of the transaction, too, and must not
// make it forget.
TEST_F(Modules, X_a_second_table_of_the_module_that_dooms_saves_nothing) {
  Database zombie(path, Setup::loaded);
  ASSERT_OK(zombie, "CREATE TABLE note(x)");
  ASSERT_OK(zombie, "BEGIN;" + append("own", 1, w1, 2, "x") + "; COMMIT");
  accept_changes();
  zombie.exec("ALTER TABLE temp.fence_transaction RENAME TO second");
  zombie.exec("CREATE VIRTUAL TABLE temp.third USING fence_transaction");
  zombie.exec("CREATE VIRTUAL TABLE main.fourth USING fence_transaction");
  for (const char* table : {"temp.second", "temp.third", "main.fourth"}) {
    SCOPED_TRACE(table);
    ASSERT_OK(zombie, "BEGIN; INSERT INTO note VALUES (1)");
    EXPECT_REFUSED(zombie, append("k", 1, w1, 4, "x"), "ZF001", auth);
    zombie.exec(std::string("DELETE FROM ") + table + " WHERE 0");
    EXPECT_DOOMED(zombie, "COMMIT", "ZF001");
    EXPECT_EQ(zombie.value("SELECT count(*) FROM note"), "0");
    expect_untouched();
  }
  expect_owner_goes_on(zombie);
}

// A table of somebody else under the name of the one that owns the statements: calls
// may fail, and say why.
TEST_F(Modules, X_a_table_in_the_place_of_the_statement_owner_opens_nothing) {
  ASSERT_OK(Database(path, Setup::plain), "CREATE TABLE fence_statements(x)");
  Database zombie(path, Setup::loaded);
  expect_zombie_held(zombie);
  const Result result = zombie.exec(append("k", 2, w2, 4, "x"));
  EXPECT_TRUE(result.ok() || result.message.rfind("ZF", 0) == 0) << result.message;
  ASSERT_OK(Database(path, Setup::plain), "DROP TABLE fence_statements");
  accept_changes();
  next_idx = 5;
  expect_owner_goes_on();
}

// An application that replaces the INSERT form by a table of its own writes there,
// and not into the log. That is its own affair, and never an entry.
TEST_F(Modules, X_a_table_in_the_place_of_the_insert_form_is_no_way_into_the_log) {
  ASSERT_OK(Database(path, Setup::plain),
            "CREATE TABLE fenced_append(namespace, key, epoch, writer, idx, payload)");
  Database zombie(path, Setup::loaded);
  zombie.exec(insert("k", 1, w1, 4, "x"));
  zombie.exec(insert("k", 2, w2, 4, "x"));
  EXPECT_REFUSED(zombie, append("k", 1, w1, 4, "x"), "ZF001", auth);
  expect_untouched();
  EXPECT_OK(zombie, append("k", 2, w2, 4, "x"));
}

// SQLite unloads a library whose entry point fails: nothing of it may be called
// again. In a process of its own, in which no connection holds the library.
[[noreturn]] void load_beside_a_statement() {
  Database db(":memory:", Setup::plain);
  stub_guard(db);
  {
    Statement running(db, "SELECT 1 UNION SELECT 2");
    running.step();
    if (db.load().ok()) {
      std::exit(1);  // a function cannot be replaced while a statement runs
    }
  }
  std::exit(db.close());
}

TEST(FailedLoad, X_leaves_a_connection_that_can_be_closed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(load_beside_a_statement(), ::testing::ExitedWithCode(0), "");
}

// Everything that Fence has registered is taken away while its authorizer is in
// place. used: the table that dooms was made, and still holds what it refers to.
TEST_F(Modules, X_everything_removed_leaves_nothing_dangling) {
  for (const bool used : {false, true}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, Switches::authorizer);
    ASSERT_OK(zombie, append("k", 2, w2, next_idx++, "x"));
    accept_changes();
    if (used) {
      expect_owner_goes_on(zombie);
    }
    ASSERT_EQ(sqlite3_drop_modules(zombie.get(), nullptr), SQLITE_OK);
    for (const char* name :
         {"fence_install", "fence_version", "fence_capabilities", "fence_config",
          "fence_fingerprint", "fence_check", "fence_blobs", "fence_key", "oplog_metadata_upsert",
          "oplog_metadata_upsert_many", "try_oplog_metadata_upsert", "fenced_append",
          "fenced_append_many", "fence_guard_v1"}) {
      for (int arity = -1; arity <= 12; ++arity) {
        sqlite3_create_function(zombie.get(), name, arity, SQLITE_UTF8, nullptr, nullptr, nullptr,
                                nullptr);
      }
    }
    EXPECT_FALSE(zombie.exec(zombie_row).ok());
    EXPECT_OK(zombie, "CREATE TABLE IF NOT EXISTS note(x); INSERT INTO note VALUES (1)");
    expect_untouched();
    sqlite3_set_authorizer(zombie.get(), nullptr, nullptr);
    ASSERT_TRUE(succeeded(zombie.load()));
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

}  // namespace
}  // namespace fence::test
