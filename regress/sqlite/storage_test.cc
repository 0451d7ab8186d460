// On which files Fence gives its promise, and what it says on the others.
#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

class Storage : public FileTest {
 protected:
  // Everything that needs main to be a file that can be fenced.
  static std::vector<std::string> calls() {
    return {
        "SELECT fence_install()",
        claim("k", 1, w1),
        claim("k", 2, w1),
        "SELECT oplog_metadata_upsert_many('n', '[{\"key\":\"k\",\"epoch\":2}]', " + quoted(w1) +
            ")",
        "SELECT try_oplog_metadata_upsert('n', 'k', 2, " + quoted(w1) + ")",
        append("k", 1, w1, 9, "x"),
        insert("k", 1, w1, 9, "x"),
        "SELECT fenced_append_many('n', 'k', 1, " + quoted(w1) + ", '[9]', fence_blobs('x'))",
        "SELECT fenced_append_many('n', 'k', 1, " + quoted(w1) + ", '[]', x'')",
        check("k", 1, w1),
        "SELECT fence_config('max_waiters', 17)",
    };
  }

  // The file as most tests want to find it.
  void make_file(const char* journal_mode = "delete") {
    Database db(path);
    ASSERT_OK(db, std::string("PRAGMA journal_mode = ") + journal_mode);
    ASSERT_OK(db, claim("k", 1, w1));
    ASSERT_OK(db, append("k", 1, w1, 1, "a"));
  }

  static void expect_refused(Database& db, const std::string& call, const std::string& words) {
    const Result result = db.exec(call);
    EXPECT_TRUE(refused(result, "ZF012", plain_error, "ZF012")) << call;
    EXPECT_NE(result.message.find(words), std::string::npos) << call << ": " << result.message;
    EXPECT_TRUE(db.autocommit()) << call;
  }

  static void expect_unfenced(Database& db, const std::string& words) {
    for (const std::string& call : calls()) {
      expect_refused(db, call, words);
    }
    EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "0");
    EXPECT_NE(db.value("SELECT json_extract(fence_capabilities(), '$.reason')").find(words),
              std::string::npos);
  }

  static void expect_readable(Database& db) {
    EXPECT_EQ(entries(db), (std::vector<std::string>{"k|1|1|a"}));
    EXPECT_EQ(db.value("SELECT key, epoch, writer FROM oplog_metadata"),
              std::string("k|1|") + w1_fingerprint);
    EXPECT_EQ(db.value("SELECT idx, epoch, payload FROM oplog_read('n', 'k')"), "1|1|x'61'");
    EXPECT_EQ(db.value("SELECT last_idx, length FROM oplog_status"), "1|1");
  }
};

TEST_F(Storage, a_database_in_memory_is_served) {
  for (const char* name : {":memory:", ""}) {
    SCOPED_TRACE(name);
    Database db(name);
    EXPECT_OK(db, claim("k", 1, w1));
    EXPECT_OK(db, append("k", 1, w1, 1, "a"));
    EXPECT_REFUSED(db, append("k", 0, w1, 2, "x"), "ZF001", auth);
    EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "1");
    expect_readable(db);
  }
}

TEST_F(Storage, every_journal_mode_that_a_crash_survives_is_served) {
  Database db(path);
  int64_t epoch = 0;
  for (const char* mode : {"delete", "truncate", "persist", "wal", "delete"}) {
    SCOPED_TRACE(mode);
    ASSERT_EQ(db.value(std::string("PRAGMA journal_mode = ") + mode), mode);
    ++epoch;
    EXPECT_EQ(db.value("SELECT fence_install()"), "1");
    EXPECT_OK(db, claim("k", epoch, w1));
    EXPECT_OK(db, append("k", epoch, w1, epoch, "a"));
    EXPECT_REFUSED(db, append("k", epoch - 1, w1, 99, "x"), "ZF001", auth);
    EXPECT_EQ(db.value(check("k", epoch, w1)), "1");
    EXPECT_EQ(db.value("PRAGMA journal_mode"), mode) << "no call changes the mode";
    EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.journal_mode')"), mode);
    EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "1");
  }
  EXPECT_EQ(db.value("SELECT length FROM oplog_status"), "5");
}

TEST_F(Storage, a_file_without_a_journal_that_survives_is_refused_and_readable) {
  make_file();
  Database db(path);
  ASSERT_EQ(db.value("SELECT fence_config('defensive', 0)"), "0");
  for (const std::string mode : {"off", "memory"}) {
    SCOPED_TRACE(mode);
    ASSERT_EQ(db.value("PRAGMA journal_mode = " + mode), mode);
    expect_unfenced(db, mode == "off" ? "journal_mode OFF" : "journal_mode MEMORY");
    expect_readable(db);
    ASSERT_EQ(db.value("PRAGMA journal_mode = delete"), "delete");
    EXPECT_OK(db, claim("k", 1, w1)) << "the mode is looked at in each call";
  }
  expect_readable(db);
}

TEST_F(Storage, a_new_file_without_such_a_journal_is_not_installed_into) {
  for (const char* mode : {"off", "memory"}) {
    SCOPED_TRACE(mode);
    Database db(directory.file(mode), Setup::loaded);
    ASSERT_OK(db, "SELECT fence_config('defensive', 0)");
    ASSERT_EQ(db.value(std::string("PRAGMA journal_mode = ") + mode), mode);
    EXPECT_REFUSED(db, "SELECT fence_install()", "ZF012", plain_error);
    EXPECT_EQ(db.value("SELECT count(*) FROM sqlite_schema"), "0");
  }
}

TEST_F(Storage, defensive_keeps_the_journal_from_being_switched_off) {
  make_file();
  Database db(path);
  EXPECT_EQ(db.value("PRAGMA journal_mode = off"), "delete");
  EXPECT_OK(db, claim("k", 1, w1));
}

TEST_F(Storage, a_journal_mode_switched_inside_the_transaction_fails_the_call_alone) {
  make_file();
  Database db(path);
  ASSERT_OK(db, "CREATE TABLE note(text); BEGIN IMMEDIATE; PRAGMA journal_mode = memory");
  ASSERT_EQ(db.value("PRAGMA journal_mode"), "memory");
  EXPECT_REFUSED(db, append("k", 1, w1, 2, "b"), "ZF012", plain_error);
  EXPECT_REFUSED(db, insert("k", 1, w1, 2, "b"), "ZF012", plain_error);
  EXPECT_OK(db, "INSERT INTO note VALUES ('kept'); COMMIT");
  EXPECT_EQ(db.value("SELECT text FROM note"), "kept");
  expect_readable(db);
}

// SQLite lets the mode change as long as no page was written, so also after a call
// that only took the lock.
TEST_F(Storage, a_journal_mode_switched_between_two_calls_of_a_transaction_is_seen) {
  make_file();
  Database db(path);
  ASSERT_OK(db, "BEGIN;" + append("k", 1, w1, 1, "a") + "; PRAGMA journal_mode = memory");
  ASSERT_EQ(db.value("PRAGMA journal_mode"), "memory");
  EXPECT_REFUSED(db, append("k", 1, w1, 2, "b"), "ZF012", plain_error);
  EXPECT_OK(db, "COMMIT");
  expect_readable(db);
}

TEST_F(Storage, a_file_opened_without_locks_is_refused_and_readable) {
  make_file();
  const struct {
    std::string name;
    const char* vfs;
    const char* words;
  } cases[] = {
      {"file:" + path + "?nolock=1", nullptr, "without file locks"},
      {"file:" + path + "?vfs=unix-none", nullptr, "without file locks"},
      {path, "unix-none", "without file locks"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name + (one.vfs == nullptr ? "" : one.vfs));
    Database db(one.name, Setup::loaded, Database::usual_flags, one.vfs);
    expect_unfenced(db, one.words);
    expect_readable(db);
  }
}

TEST_F(Storage, an_immutable_file_is_refused_and_readable) {
  make_file();
  Database db("file:" + path + "?immutable=1", Setup::loaded);
  for (const std::string& call : calls()) {
    if (call.compare(0, 6, "INSERT") != 0) {
      expect_refused(db, call, "immutable");
    }
  }
  // SQLite does not even ask: it starts the write of an INSERT by itself.
  EXPECT_EQ(db.exec(insert("k", 1, w1, 9, "x")).rc, SQLITE_READONLY);
  EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "0");
  expect_readable(db);
}

TEST_F(Storage, other_ways_to_lock_are_served) {
  make_file();
  for (const char* vfs : {"unix-dotfile", "unix-excl"}) {
    SCOPED_TRACE(vfs);
    Database db(path, Setup::installed, Database::usual_flags, vfs);
    EXPECT_OK(db, claim("k", 1, w1));
    EXPECT_OK(db, append("k", 1, w1, 1, "a"));
  }
}

TEST_F(Storage, a_read_only_file_is_read_and_writes_say_read_only) {
  for (const char* mode : {"delete", "wal"}) {
    SCOPED_TRACE(mode);
    make_file(mode);
    const int read_only = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    for (const std::string& name : {path, "file:" + path + "?mode=ro"}) {
      Database db(name, Setup::loaded, name == path ? read_only : Database::usual_flags);
      for (const std::string& statement :
           {claim("k", 2, w1), append("k", 1, w1, 2, "b"), insert("k", 1, w1, 2, "b"),
            "BEGIN;" + append("k", 1, w1, 2, "b"), "BEGIN;" + insert("k", 1, w1, 2, "b"),
            std::string("SELECT fence_config('max_waiters', 17)")}) {
        const Result result = db.exec(statement);
        EXPECT_EQ(result.rc & 0xff, SQLITE_READONLY) << statement << ": " << result.message;
        db.exec("ROLLBACK");
        EXPECT_TRUE(db.autocommit());
      }
      EXPECT_EQ(db.value("SELECT fence_install()"), "1") << "it is installed";
      EXPECT_EQ(db.value(check("k", 1, w1)), "1");
      EXPECT_REFUSED(db, check("k", 0, w1), "ZF001", auth);
      expect_readable(db);
    }
  }
}

TEST_F(Storage, a_read_only_file_that_is_not_installed_stays_so) {
  {
    Database db(path, Setup::plain);
    ASSERT_OK(db, "CREATE TABLE note(text)");
  }
  Database db(path, Setup::loaded, SQLITE_OPEN_READONLY);
  EXPECT_EQ(db.exec("SELECT fence_install()").rc & 0xff, SQLITE_READONLY);
  EXPECT_REFUSED(db, claim("k", 1, w1), "ZF012", plain_error);
}

TEST_F(Storage, query_only_is_obeyed) {
  make_file();
  Database db(path);
  ASSERT_OK(db, "PRAGMA query_only = 1");
  for (const std::string& statement :
       {claim("k", 2, w1), append("k", 1, w1, 2, "b"), insert("k", 1, w1, 2, "b"),
        "BEGIN;" + append("k", 1, w1, 2, "b")}) {
    const Result result = db.exec(statement);
    EXPECT_EQ(result.rc & 0xff, SQLITE_READONLY) << statement << ": " << result.message;
    db.exec("ROLLBACK");
  }
  EXPECT_EQ(db.value(check("k", 1, w1)), "1");
  expect_readable(db);
  EXPECT_EQ(db.value("PRAGMA query_only"), "1");
  ASSERT_OK(db, "PRAGMA query_only = 0");
  EXPECT_OK(db, append("k", 1, w1, 2, "b"));
}

TEST_F(Storage, a_database_in_utf_16_is_served) {
  for (const char* encoding : {"UTF-16le", "UTF-16be"}) {
    SCOPED_TRACE(encoding);
    Database db(directory.file(encoding), Setup::loaded);
    ASSERT_OK(db, std::string("PRAGMA encoding = '") + encoding + "'; SELECT fence_install()");
    ASSERT_EQ(db.value("PRAGMA encoding"), encoding);
    const std::string key = "ключ \xF0\x9F\x94\x92";
    EXPECT_OK(db, claim(key, 1, w1));
    EXPECT_OK(db, claim(key, 2, w2));
    EXPECT_OK(db, append(key, 2, w2, 1, "é"));
    EXPECT_EQ(db.value("SELECT key, idx, epoch, payload FROM oplog_entries"), key + "|1|2|x'c3a9'")
        << "the payload is UTF-8 there, too";
    EXPECT_EQ(db.value("SELECT payload FROM oplog_read('n', " + quoted(key) + ")"), "x'c3a9'");
    const Result result = db.exec(append(key, 1, w1, 2, "x"));
    EXPECT_TRUE(refused(result, "ZF001", auth, "ZF001"));
    EXPECT_EQ(detail(result, "key"), key);
    ASSERT_OK(db, "BEGIN");
    EXPECT_REFUSED(db, append(key, 1, w1, 2, "x"), "ZF001", auth);
    EXPECT_DOOMED(db, "COMMIT", "ZF001");
  }
}

// Other versions of Fence, and files that somebody took apart.

TEST_F(Storage, a_file_without_fence_says_what_is_missing) {
  Database db(path, Setup::loaded);
  ASSERT_OK(db, "CREATE TABLE note(text)");
  for (const std::string& call : calls()) {
    if (call == "SELECT fence_install()") {
      continue;
    }
    expect_refused(db, call, "hint: SELECT fence_install()");
  }
  EXPECT_EQ(db.value("SELECT * FROM oplog_read('n', 'k')").find("error: ZF012 "), 0u);
  EXPECT_EQ(db.value("SELECT * FROM oplog_entries"), "error: no such table: oplog_entries");
  EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.fencing')"), "0");
  EXPECT_EQ(db.value("SELECT name FROM sqlite_schema"), "note") << "nothing is made by itself";
  ASSERT_OK(db, "BEGIN; INSERT INTO note VALUES ('kept')");
  EXPECT_REFUSED(db, append("k", 1, w1, 1, "x"), "ZF012", plain_error);
  EXPECT_OK(db, "COMMIT") << "nothing is doomed";
}

TEST_F(Storage, a_file_of_another_format_is_refused) {
  make_file();
  for (const char* format : {"2", "0", "9223372036854775807"}) {
    SCOPED_TRACE(format);
    {
      Database newer(path, Setup::plain);
      ASSERT_OK(newer, "DROP TRIGGER IF EXISTS fence_control_update");
      ASSERT_OK(newer, std::string("UPDATE fence_control_v1 SET format = ") + format);
    }
    Database db(path, Setup::loaded);
    expect_unfenced(db, "format");
  }
}

TEST_F(Storage, a_file_that_lost_a_table_is_reported_as_broken) {
  for (const char* table : {"fence_control_v1", "fence_meta_v1", "fence_oplog_v1"}) {
    SCOPED_TRACE(table);
    TemporaryDirectory own;
    path = own.file("fence.db");
    make_file();
    {
      Database vandal(path, Setup::plain);
      ASSERT_OK(vandal, std::string("DROP TABLE ") + table);
    }
    Database db(path, Setup::loaded);
    for (const std::string& call : {claim("k", 2, w1), append("k", 1, w1, 9, "x"),
                                    insert("k", 1, w1, 9, "x"), check("k", 1, w1)}) {
      EXPECT_REFUSED(db, call, "ZF020", auth);
    }
  }
}

TEST_F(Storage, fence_install_does_not_make_up_for_a_lost_table) {
  for (const char* table : {"fence_control_v1", "fence_setting_v1", "fence_namespace_v1",
                            "fence_meta_v1", "fence_oplog_v1", "fence_value_v1"}) {
    SCOPED_TRACE(table);
    TemporaryDirectory own;
    path = own.file("fence.db");
    make_file();
    {
      Database vandal(path, Setup::plain);
      ASSERT_OK(vandal, std::string("DROP TABLE ") + table);
    }
    Database db(path, Setup::loaded);
    EXPECT_REFUSED(db, "SELECT fence_install()", "ZF020", auth);
    EXPECT_EQ(db.value(std::string("SELECT count(*) FROM ") + table),
              std::string("error: no such table: ") + table);
  }
}

TEST_F(Storage, a_file_that_lost_its_control_row_is_reported_as_broken) {
  make_file();
  {
    Database vandal(path, Setup::plain);
    ASSERT_OK(vandal, "DROP TRIGGER fence_control_delete; DELETE FROM fence_control_v1");
  }
  Database db(path, Setup::loaded);
  EXPECT_REFUSED(db, "SELECT fence_install()", "ZF020", auth);
  EXPECT_REFUSED(db, append("k", 1, w1, 9, "x"), "ZF020", auth);
  EXPECT_REFUSED(db, claim("k", 2, w1), "ZF020", auth);
}

}  // namespace
}  // namespace fence::test
