// SQLite reads the schema of a file when it first needs it, and again whenever it
// may have changed. Newer versions refuse to read a trigger on a table that they
// know to be a shadow table (DEFENSIVE is on), so what they know at that moment
// decides whether the file can be used at all; and a table that they do not know
// to be one takes direct writes, up to the triggers.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

// Makes SQLite read the schema of a file again, and leaves no trace in it.
struct Reason {
  const char* name;
  const char* own;    // by the connection itself; $ is the schema
  const char* other;  // by a connection that does not know Fence
};

const Reason reasons[] = {
    {"nothing but opening it", "", ""},
    {"any SELECT", "SELECT 1", ""},
    {"a table of another connection", "", "CREATE TABLE more(x); DROP TABLE more"},
    {"VACUUM of another connection", "", "VACUUM"},
    {"ALTER TABLE of another connection", "",
     "ALTER TABLE app ADD COLUMN y; ALTER TABLE app DROP COLUMN y"},
    {"a table of its own", "CREATE TABLE $.more(x); DROP TABLE $.more", ""},
    {"VACUUM", "VACUUM $", ""},
    {"ALTER TABLE … COLUMN",
     "ALTER TABLE $.app ADD COLUMN y; ALTER TABLE $.app RENAME COLUMN y TO z;"
     "ALTER TABLE $.app DROP COLUMN z",
     ""},
    {"ALTER TABLE … RENAME", "ALTER TABLE $.app RENAME TO apple; ALTER TABLE $.apple RENAME TO app",
     ""},
    {"ROLLBACK of a table", "BEGIN; CREATE TABLE $.more(x); ROLLBACK", ""},
    {"ROLLBACK TO", "BEGIN; SAVEPOINT s; CREATE TABLE $.more(x); ROLLBACK TO s; COMMIT", ""},
    {"a TEMP table", "CREATE TEMP TABLE t(x); DROP TABLE temp.t", ""},
    {"temp_store", "PRAGMA temp_store = MEMORY; PRAGMA temp_store = FILE", ""},
    {"forgetting the schema", "PRAGMA writable_schema = RESET", ""},
    {"integrity_check", "PRAGMA $.integrity_check", ""},
};

std::string in_schema(std::string sql, const std::string& schema) {
  for (size_t at = sql.find('$'); at != std::string::npos; at = sql.find('$', at)) {
    sql.replace(at, 1, schema);
    at += schema.size();
  }
  return sql;
}

class SchemaReread : public FileTest {
 protected:
  SchemaReread() { make_file(path); }

  // A fenced file in which W1 owns the log k, with a table of the application.
  static void make_file(const std::string& file) {
    Database db(file);
    EXPECT_OK(db, "PRAGMA journal_mode = WAL; CREATE TABLE app(x); INSERT INTO app VALUES (1)");
    EXPECT_OK(db, claim("k", 1, w1));
    EXPECT_OK(db, append("k", 1, w1, 0, "first"));
  }

  // What an application does first after the schema has changed.
  static std::vector<std::string> first_statements(const std::string& schema) {
    return {"SELECT count(*) FROM " + schema + ".app", "DELETE FROM " + schema + ".fence_oplog_v1",
            append("k", 1, w1, 0, "first"), insert("k", 1, w1, 0, "first")};
  }

  // The file can be used, and takes no direct write: not even up to a trigger.
  static void expect_whole(Database& db, const std::string& schema = "main") {
    EXPECT_EQ(db.value("SELECT count(*) FROM " + schema + ".app"), "1");
    EXPECT_EQ(db.value("SELECT count(*) FROM " + schema + ".oplog_entries WHERE idx = 0"), "1");
    EXPECT_EQ(db.exec("DELETE FROM " + schema + ".fence_oplog_v1").message,
              "table fence_oplog_v1 may not be modified");
    EXPECT_EQ(db.exec("UPDATE " + schema + ".fence_meta_v1 SET epoch = 0").message,
              "table fence_meta_v1 may not be modified");
    EXPECT_EQ(db.exec("DROP TABLE " + schema + ".fence_value_v1").message,
              "table fence_value_v1 may not be dropped");
  }

  // The owner goes on, in both forms, alone and in a transaction.
  static void expect_owner_goes_on(Database& db) {
    const int next = 1 + std::stoi(db.value("SELECT max(idx) FROM main.oplog_entries"));
    EXPECT_OK(db, append("k", 1, w1, next, "scalar"));
    EXPECT_OK(db, insert("k", 1, w1, next + 1, "insert"));
    EXPECT_OK(db, "BEGIN IMMEDIATE; " + append("k", 1, w1, next + 2, "joined") + "; COMMIT");
    EXPECT_REFUSED(db, append("k", 0, w1, next + 3, "stale"), "ZF001", auth);
  }

  void happen(Database& db, const Reason& reason, const std::string& schema,
              const std::string& file) {
    ASSERT_OK(db, in_schema(reason.own, schema));
    Database other(file, Setup::plain);
    ASSERT_OK(other, reason.other);
  }
};

TEST_F(SchemaReread, whatever_it_is_read_for_the_file_stays_usable_and_shut) {
  for (const Reason& reason : reasons) {
    SCOPED_TRACE(reason.name);
    for (const std::string& first : first_statements("main")) {
      SCOPED_TRACE(first);
      Database db(path, Setup::loaded);
      happen(db, reason, "main", path);
      db.exec(first);
      expect_whole(db);
      happen(db, reason, "main", path);
      expect_whole(db);
    }
    Database db(path, Setup::loaded);
    happen(db, reason, "main", path);
    expect_owner_goes_on(db);
  }
}

// Whichever of the two is read first, the other one's marker is known by then.
TEST_F(SchemaReread, a_second_fenced_file_on_the_connection_spoils_neither) {
  const std::string second = directory.file("second.db");
  make_file(second);
  for (const Reason& reason : reasons) {
    SCOPED_TRACE(reason.name);
    for (const char* changed : {"main", "aux"}) {
      SCOPED_TRACE(changed);
      for (const std::string& first : first_statements(changed)) {
        SCOPED_TRACE(first);
        Database db(path, Setup::loaded);
        ASSERT_OK(db, "ATTACH " + test::quoted(second) + " AS aux");
        expect_whole(db, "aux");
        happen(db, reason, changed, std::string(changed) == "main" ? path : second);
        db.exec(first);
        expect_whole(db);
        expect_whole(db, "aux");
      }
    }
    Database db(path, Setup::loaded);
    ASSERT_OK(db, "ATTACH " + test::quoted(second) + " AS aux");
    happen(db, reason, "aux", second);
    expect_owner_goes_on(db);
    EXPECT_EQ(db.value("SELECT count(*) FROM aux.oplog_entries"), "1");
  }
}

TEST_F(SchemaReread, two_fenced_files_are_usable_without_defensive_and_take_no_direct_write) {
  const std::string second = directory.file("second.db");
  make_file(second);
  for (const Reason& reason : reasons) {
    SCOPED_TRACE(reason.name);
    Database db(path, Setup::loaded);
    ASSERT_OK(db,
              "SELECT fence_config('defensive', 0); ATTACH " + test::quoted(second) + " AS aux");
    for (const char* changed : {"main", "aux"}) {
      SCOPED_TRACE(changed);
      happen(db, reason, changed, std::string(changed) == "main" ? path : second);
      for (const std::string schema : {"main", "aux"}) {
        EXPECT_EQ(db.value("SELECT count(*) FROM " + schema + ".app"), "1");
        EXPECT_REFUSED(db, "DELETE FROM " + schema + ".fence_oplog_v1", "ZF005", auth);
        EXPECT_REFUSED(db, "UPDATE " + schema + ".fence_meta_v1 SET epoch = 0", "ZF005", auth);
      }
    }
    expect_owner_goes_on(db);
  }
}

// Its ROLLBACK undoes Fence's TEMP table too, and SQLite forgets every schema.
void refuse_transactions(Database& db) {
  ASSERT_OK(db, "BEGIN; INSERT INTO app VALUES (2)");
  EXPECT_REFUSED(db, append("k", 0, w1, 1, "stale"), "ZF001", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF001");
  ASSERT_OK(db, "BEGIN; SAVEPOINT s");
  EXPECT_REFUSED(db, append("k", 0, w1, 1, "stale"), "ZF001", auth);
  ASSERT_OK(db, "ROLLBACK TO s; ROLLBACK");
}

TEST_F(SchemaReread, a_refused_transaction_leaves_the_file_usable_and_shut) {
  Database db(path, Setup::loaded);
  refuse_transactions(db);
  expect_whole(db);
  refuse_transactions(db);
  expect_owner_goes_on(db);
  expect_whole(db);
}

TEST_F(SchemaReread, a_refused_transaction_leaves_two_files_usable_and_shut) {
  const std::string second = directory.file("second.db");
  make_file(second);
  Database db(path, Setup::loaded);
  ASSERT_OK(db, "ATTACH " + test::quoted(second) + " AS aux");
  refuse_transactions(db);
  expect_whole(db, "aux");
  expect_whole(db);
  refuse_transactions(db);
  expect_owner_goes_on(db);
}

TEST_F(SchemaReread, a_fenced_file_beside_a_main_without_fence_is_usable_and_shut) {
  for (const Reason& reason : reasons) {
    SCOPED_TRACE(reason.name);
    Database db(directory.file("plain.db"), Setup::loaded);
    ASSERT_OK(db, "CREATE TABLE IF NOT EXISTS app(x); ATTACH " + test::quoted(path) + " AS aux");
    happen(db, reason, "aux", path);
    expect_whole(db, "aux");
    happen(db, reason, "main", directory.file("plain.db"));
    expect_whole(db, "aux");
  }
}

TEST_F(SchemaReread, fence_install_beside_a_fenced_file_spoils_neither) {
  Database db(directory.file("plain.db"), Setup::loaded);
  ASSERT_OK(db, "ATTACH " + test::quoted(path) + " AS aux");
  ASSERT_OK(db, "CREATE TABLE main.app(x); INSERT INTO main.app VALUES (1)");
  ASSERT_OK(db, "SELECT fence_install(); " + claim("k", 1, w1) + ";" + append("k", 1, w1, 0, "x"));
  ASSERT_OK(db, "PRAGMA writable_schema = RESET");
  expect_whole(db);
  expect_whole(db, "aux");
}

// Newer versions ask virtual tables about their shadow tables.
TEST_F(SchemaReread, the_checks_of_sqlite_find_nothing_wrong_with_fences_tables) {
  const std::string second = directory.file("second.db");
  make_file(second);
  for (const test::Setup setup : {test::Setup::plain, test::Setup::loaded}) {
    Database db(path, setup);
    ASSERT_OK(db, "ATTACH " + test::quoted(second) + " AS aux");
    for (const char* pragma : {"integrity_check", "quick_check", "main.integrity_check",
                               "aux.integrity_check", "integrity_check(fence_oplog_v1)"}) {
      EXPECT_EQ(db.value(std::string("PRAGMA ") + pragma), "ok") << pragma;
    }
  }
}

TEST_F(SchemaReread, a_file_that_is_locked_while_the_extension_is_loaded_is_shut_all_the_same) {
  const std::string second = directory.file("second.db");
  make_file(second);
  Database other(second, Setup::plain);
  ASSERT_OK(other, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  Database db(second, Setup::loaded);
  EXPECT_TRUE(succeeded(db.load())) << "and a second time";
  ASSERT_OK(other, "COMMIT");
  expect_whole(db);
  expect_owner_goes_on(db);
}

// The statements that the sqlite3 shell's .dump prints: first the tables with their
// rows, a virtual table as a row of sqlite_schema, and the triggers at the end.
std::string dump(Database& db) {
  std::string script = "BEGIN; PRAGMA writable_schema = ON;";
  for (const std::string& name :
       db.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")) {
    const std::string sql = db.value(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = " + test::quoted(name));
    if (sql.rfind("CREATE VIRTUAL", 0) == 0) {
      script += "INSERT INTO sqlite_schema VALUES ('table', " + test::quoted(name) + ", " +
                test::quoted(name) + ", 0, " + test::quoted(sql) + ");";
      continue;
    }
    script += sql + ";";
    const std::string values = db.value(
        "SELECT group_concat('quote(' || name || ')', '||'',''||')"
        " FROM pragma_table_info(" +
        test::quoted(name) + ")");
    for (const std::string& row : db.rows("SELECT " + values + " FROM " + name)) {
      script += "INSERT INTO " + name + " VALUES (" + row + ");";
    }
  }
  for (const std::string& sql : db.rows("SELECT sql FROM sqlite_schema WHERE type <> 'table'"
                                        " AND sql IS NOT NULL ORDER BY rowid")) {
    script += sql + ";";
  }
  return script + "PRAGMA writable_schema = OFF; COMMIT";
}

TEST_F(SchemaReread, a_reloaded_dump_is_usable_and_fence_install_shuts_it) {
  const std::string reloaded = directory.file("reloaded.db");
  {
    Database from(path, Setup::plain);
    Database to(reloaded, Setup::plain);
    ASSERT_OK(to, dump(from));
  }
  Database db(reloaded, Setup::loaded);
  EXPECT_EQ(db.value("SELECT count(*) FROM app"), "1");
  EXPECT_NE(db.value("SELECT json_extract(fence_capabilities(), '$.reason')"), "NULL");
  EXPECT_FALSE(db.exec("DELETE FROM fence_oplog_v1").ok());
  expect_owner_goes_on(db);
  Database earlier(reloaded, Setup::loaded);

  EXPECT_OK(db, "SELECT fence_install()");
  expect_whole(db);
  EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.reason')"), "NULL");
  EXPECT_EQ(db.value("SELECT fence_config('defensive')"), "1");
  expect_owner_goes_on(db);
  Database later(reloaded, Setup::loaded);
  expect_whole(later);
  EXPECT_EQ(earlier.value("SELECT count(*) FROM app"), "1");
  expect_owner_goes_on(earlier);
}

// Made by a connection without the extension. Newer versions of SQLite then cannot
// read the schema of this file while DEFENSIVE is on.
TEST_F(SchemaReread, a_foreign_trigger_stops_the_owner_until_it_is_dropped) {
  Database db(path, Setup::loaded);
  expect_owner_goes_on(db);
  const std::vector<std::string> before = entries(db);
  Database other(path, Setup::plain);
  ASSERT_OK(other,
            "CREATE TRIGGER mine BEFORE INSERT ON fence_oplog_v1 BEGIN"
            " SELECT RAISE(IGNORE); END");
  EXPECT_REFUSED(db, append("k", 1, w1, 50, "swallowed"), "ZF020", auth);
  const std::string app = db.value("SELECT count(*) FROM app");
  EXPECT_TRUE(app == "1" || app ==
                                "error: malformed database schema (mine) - cannot create"
                                " triggers on shadow tables")
      << app;
  EXPECT_FALSE(db.exec("DELETE FROM fence_oplog_v1").ok());
  EXPECT_EQ(entries(other), before);

  // It puts the marker behind that trigger, too: the file can be read again.
  EXPECT_OK(db, "SELECT fence_install()");
  expect_whole(db);
  EXPECT_REFUSED(db, append("k", 1, w1, 50, "swallowed"), "ZF020", auth);
  ASSERT_OK(db, "DROP TRIGGER mine");
  expect_whole(db);
  expect_owner_goes_on(db);
}

}  // namespace
}  // namespace fence::test
