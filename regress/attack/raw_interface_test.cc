// Interfaces of SQLite that write without a statement of SQL: incremental blobs
// and changesets.
#include "regress/attack/scene.h"

namespace fence::test {
namespace {

struct Column {
  const char* table;
  const char* name;
};

// Every column that a blob handle could reach, and one of its rows.
const Column blob_columns[] = {
    {"fence_oplog_v1", "payload"}, {"fence_oplog_v1", "seal"},       {"fence_oplog_v1", "writer"},
    {"fence_oplog_v1", "key"},     {"fence_meta_v1", "writer"},      {"fence_meta_v1", "seal"},
    {"fence_meta_v1", "late_sum"}, {"fence_meta_v1", "tail_seal"},   {"fence_meta_v1", "trim_seal"},
    {"fence_meta_v1", "key"},      {"fence_control_v1", "seal_key"}, {"fence_setting_v1", "name"},
};

class RawBlob : public Attack {
 protected:
  // The result code of opening the column of the table's first row for writing.
  // A handle that does open writes, so that a hole shows in the stored rows.
  int open_for_writing(Database& db, const Column& column, const char* schema) {
    sqlite3_blob* blob = nullptr;
    const sqlite3_int64 row =
        std::stoll(db.value("SELECT min(rowid) FROM " + std::string(schema) + "." + column.table));
    const int rc = sqlite3_blob_open(db.get(), schema, column.table, column.name, row, 1, &blob);
    message = sqlite3_errmsg(db.get());
    if (rc == SQLITE_OK) {
      sqlite3_blob_write(blob, "z", 1, 0);
    }
    sqlite3_blob_close(blob);
    return rc;
  }
  void expect_shut(Database& db, const char* schema = "main") {
    for (const Column& column : blob_columns) {
      SCOPED_TRACE(std::string(column.table) + "." + column.name);
      EXPECT_EQ(open_for_writing(db, column, schema), SQLITE_ERROR);
      EXPECT_EQ(message, "cannot open indexed column for writing");
      expect_untouched();
    }
  }

  std::string message;
};

TEST_F(RawBlob, S18_cannot_be_opened_for_writing_without_the_extension) {
  Database zombie(path, Setup::plain);
  expect_shut(zombie);
  stub_guard(zombie);
  expect_shut(zombie);
  expect_owner_goes_on();
}

TEST_F(RawBlob, S19_cannot_be_opened_for_writing) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    expect_shut(zombie);
    ASSERT_OK(zombie, "ATTACH " + test::quoted(path) + " AS aux");
    expect_shut(zombie, "aux");
    ASSERT_OK(zombie, "DETACH aux");
    expect_owner_goes_on(zombie);
  }
}

TEST_F(RawBlob, X_a_handle_for_reading_stays_one) {
  Database zombie(path, Setup::plain);
  sqlite3_blob* blob = nullptr;
  ASSERT_EQ(sqlite3_blob_open(zombie.get(), "main", "fence_oplog_v1", "payload", 1, 0, &blob),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_blob_write(blob, "z", 1, 0), SQLITE_READONLY);
  ASSERT_EQ(sqlite3_blob_reopen(blob, 2), SQLITE_OK);
  EXPECT_EQ(sqlite3_blob_write(blob, "z", 1, 0), SQLITE_READONLY);
  sqlite3_blob_close(blob);
  expect_untouched();
  expect_owner_goes_on();
}

// What a conflict handler may answer, and how often it was asked.
struct Conflicts {
  int answer = SQLITE_CHANGESET_OMIT;
  int asked = 0;
};
int on_conflict(void* conflicts, int type, sqlite3_changeset_iter*) {
  auto* handler = static_cast<Conflicts*>(conflicts);
  ++handler->asked;
  const bool may_replace = type == SQLITE_CHANGESET_DATA || type == SQLITE_CHANGESET_CONFLICT;
  return handler->answer == SQLITE_CHANGESET_REPLACE && !may_replace ? SQLITE_CHANGESET_OMIT
                                                                     : handler->answer;
}

class Changeset : public Attack {
 protected:
  ~Changeset() override { sqlite3_free(bytes_); }

  // Records what the statement does to a copy of the tables without any trigger.
  void record(const std::string& sql) {
    Database copy(":memory:", Setup::plain);
    ASSERT_OK(copy, "ATTACH " + test::quoted(path) + " AS original");
    for (const char* table : {"fence_oplog_v1", "fence_meta_v1"}) {
      ASSERT_OK(copy, copy.value("SELECT sql FROM original.sqlite_schema WHERE name = '" +
                                 std::string(table) + "'"));
      ASSERT_OK(copy,
                std::string("INSERT INTO main.") + table + " SELECT * FROM original." + table);
    }
    ASSERT_OK(copy, "DETACH original");
    sqlite3_session* session = nullptr;
    ASSERT_EQ(sqlite3session_create(copy.get(), "main", &session), SQLITE_OK);
    sqlite3session_attach(session, nullptr);
    EXPECT_OK(copy, sql);
    sqlite3_free(bytes_);
    bytes_ = nullptr;
    EXPECT_EQ(sqlite3session_changeset(session, &size_, &bytes_), SQLITE_OK);
    sqlite3session_delete(session);
    ASSERT_GT(size_, 0) << sql;
  }

  // With each answer of the conflict handler: an error, or every change left out.
  void expect_not_applied(Database& db) {
    for (const int answer :
         {SQLITE_CHANGESET_OMIT, SQLITE_CHANGESET_REPLACE, SQLITE_CHANGESET_ABORT}) {
      Conflicts conflicts{answer};
      const int rc =
          sqlite3changeset_apply(db.get(), size_, bytes_, nullptr, on_conflict, &conflicts);
      EXPECT_TRUE(rc != SQLITE_OK || conflicts.asked > 0) << "applied";
      expect_untouched();
      EXPECT_TRUE(db.autocommit());
    }
  }

  void expect_refused_by_all(Database& db) {
    record(forged(next_idx, 1));
    expect_not_applied(db);
    record("UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key = 'k' AND idx = 1");
    expect_not_applied(db);
    record("DELETE FROM fence_oplog_v1 WHERE key = 'k'");
    expect_not_applied(db);
    record(lowered_record);
    expect_not_applied(db);
    record("DELETE FROM fence_meta_v1 WHERE key = 'k'");
    expect_not_applied(db);
  }

 private:
  void* bytes_ = nullptr;
  int size_ = 0;
};

TEST_F(Changeset, S20_is_not_applied_without_the_extension) {
  Database zombie(path, Setup::plain);
  expect_refused_by_all(zombie);
  expect_owner_goes_on();
}

TEST_F(Changeset, S20_is_not_applied_with_a_stub_of_the_guard) {
  Database zombie(path, Setup::plain);
  stub_guard(zombie);
  expect_refused_by_all(zombie);
  expect_owner_goes_on();
}

TEST_F(Changeset, S21_is_not_applied) {
  for (const Switches switches : {Switches::usual, Switches::authorizer, Switches::not_defensive,
                                  Switches::authorizer_alone}) {
    Database zombie(path, Setup::loaded);
    set_switches(zombie, switches);
    expect_refused_by_all(zombie);
    expect_zombie_refused(zombie);
    expect_owner_goes_on(zombie);
  }
}

// A changeset of what the owner itself does is no way to store it elsewhere.
TEST_F(Changeset, X_of_a_legitimate_append_is_not_applied) {
  record(
      "INSERT INTO fence_oplog_v1 SELECT namespace, key, 4, epoch, writer, payload, late, seal"
      " FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3");
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  expect_not_applied(zombie);
  Database plain(path, Setup::plain);
  expect_not_applied(plain);
  expect_owner_goes_on();
}

}  // namespace
}  // namespace fence::test
