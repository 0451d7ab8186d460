// fence_verify after each attack that writes or destroys: DDL or editing, without the
// extension or with its switches off.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "regress/attack/scene.h"
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

const char* const a_twin =
    "CREATE TABLE fence_oplog_v1(namespace, key, idx, epoch, writer, payload, late, seal)";

// "error|object|problem|namespace|key|idx"
std::string of_schema(const std::string& object, const std::string& problem) {
  return "error|" + object + "|" + problem + "|NULL|NULL|NULL";
}
std::string missing(const std::string& object) { return of_schema(object, "is missing"); }
std::string of_entry(const std::string& problem, int idx, const std::string& key = "k") {
  return "error|entry|" + problem + "|n|" + key + "|" + std::to_string(idx);
}
std::string of_record(const std::string& problem, const std::string& key = "k") {
  return "error|record|" + problem + "|n|" + key + "|NULL";
}

const std::string changed = "is not as fence_install makes it";
const std::string entry_seal =
    "its seal is broken: it was not stored so by Fence, or not behind what stands before it";
const std::string own_seal = "its seal is broken: it was not stored so by Fence";
const std::string foreign_entry = "it was stored neither by the owner nor through Fence";

// What zombie_row puts behind the owner's entry 3.
const Rows zombie_entry = {
    of_entry("its epoch is below that of an earlier idx, and it was not stored late", 4),
    of_entry(foreign_entry, 4), of_entry(entry_seal, 4)};
// What lowered_record leaves.
const Rows lowered = {of_record(own_seal), of_entry("its epoch is above that of the record", 3)};

// Everything of the table that a twin has not.
Rows twin_of(const std::string& table) {
  const std::string name = "fence_" + table + "_v1";
  return {of_schema("table " + name, changed),
          missing("index sqlite_autoindex_" + name + "_1 on " + name),
          missing("index fence_" + table + "_noblob on " + name),
          missing("trigger fence_" + table + "_insert on " + name),
          missing("trigger fence_" + table + "_update on " + name),
          missing("trigger fence_" + table + "_delete on " + name)};
}

// And of the one that was renamed away, which its triggers and views have followed.
const Rows renamed_away = {of_schema("table fence_oplog_v1", changed),
                           missing("index sqlite_autoindex_fence_oplog_v1_1 on fence_oplog_v1"),
                           of_schema("index fence_oplog_noblob on gone", changed),
                           of_schema("trigger fence_oplog_insert on gone", changed),
                           of_schema("trigger fence_oplog_update on gone", changed),
                           of_schema("trigger fence_oplog_delete on gone", changed),
                           of_schema("trigger fence_meta_delete on fence_meta_v1", changed),
                           of_schema("view oplog_entries", changed),
                           of_schema("view oplog_status", changed)};

const std::string log_gone =
    "error|record|the log ends before the idx that the record says it reached|n|k|2";

Rows joined(Rows left, const Rows& right) {
  left.insert(left.end(), right.begin(), right.end());
  return sorted(left);
}

class Verified : public Attack {
 protected:
  void SetUp() override {
    Attack::SetUp();
    ASSERT_EQ(findings(path), Rows{});
  }
  void expect_found(const Rows& rows) { EXPECT_EQ(findings(path), sorted(rows)); }

  // The bytes of the file; nobody has it open.
  std::string bytes() {
    Database(path, Setup::plain).exec("PRAGMA journal_mode = DELETE");
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write_bytes(const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
};

TEST_F(Verified, S15_drop_trigger_then_insert) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert");
  expect_found({missing("trigger fence_oplog_insert on fence_oplog_v1")});
  ASSERT_OK(zombie, zombie_row);
  expect_found(joined({missing("trigger fence_oplog_insert on fence_oplog_v1")}, zombie_entry));
}

TEST_F(Verified, S17_triggers_deleted_through_writable_schema) {
  Rows triggers;
  for (const char* table : {"control", "setting", "namespace", "meta", "oplog", "value"}) {
    for (const char* what : {"insert", "update", "delete"}) {
      triggers.push_back(missing(std::string("trigger fence_") + table + "_" + what + " on fence_" +
                                 table + "_v1"));
    }
  }
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie,
            "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE type = 'trigger';"
            "PRAGMA writable_schema = RESET");
  ASSERT_OK(zombie, zombie_row);
  expect_found(joined(triggers, zombie_entry));
}

TEST_F(Verified, S27_the_log_renamed_away_and_an_empty_twin_in_its_place) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, std::string("ALTER TABLE fence_oplog_v1 RENAME TO gone; ") + a_twin);
  expect_found(joined(renamed_away, {log_gone}));
}

TEST_F(Verified, S27_the_log_renamed_away_and_a_full_twin_in_its_place) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, std::string("ALTER TABLE fence_oplog_v1 RENAME TO gone; ") + a_twin);
  ASSERT_OK(zombie, "INSERT INTO fence_oplog_v1 SELECT * FROM gone");
  expect_found(renamed_away);
  ASSERT_OK(zombie, zombie_row);
  expect_found(joined(renamed_away, zombie_entry));
}

TEST_F(Verified, S29_the_log_dropped_and_made_again) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "CREATE TABLE kept AS SELECT * FROM fence_oplog_v1; DROP TABLE fence_oplog_v1");
  ASSERT_OK(zombie, a_twin);
  expect_found(joined(twin_of("oplog"), {log_gone}));
  ASSERT_OK(zombie, "INSERT INTO fence_oplog_v1 SELECT * FROM kept");
  expect_found(twin_of("oplog"));
  ASSERT_OK(zombie, zombie_row);
  expect_found(joined(twin_of("oplog"), zombie_entry));
}

TEST_F(Verified, S29_the_records_dropped_and_made_again) {
  Database zombie(path, Setup::plain);
  ASSERT_OK(zombie, "CREATE TABLE kept AS SELECT * FROM fence_meta_v1; DROP TABLE fence_meta_v1");
  ASSERT_OK(zombie, "CREATE TABLE fence_meta_v1 AS SELECT * FROM kept");
  ASSERT_OK(zombie, lowered_record);
  expect_found(joined(joined(twin_of("meta"), lowered),
                      {missing("index fence_meta_deleted on fence_meta_v1")}));
}

TEST_F(Verified, S37_all_off_and_the_trigger_dropped) {
  Database zombie(path, Setup::loaded);
  set_switches(zombie, Switches::not_defensive);
  ASSERT_OK(zombie, "DROP TRIGGER fence_oplog_insert");
  ASSERT_OK(zombie, zombie_row);
  const Rows rows = joined({missing("trigger fence_oplog_insert on fence_oplog_v1")}, zombie_entry);
  expect_found(rows);
  EXPECT_EQ(findings(zombie), rows);
}

TEST_F(Verified, S49_hex_edit_of_a_payload) {
  std::string file = bytes();
  const size_t at = file.find("three");
  ASSERT_NE(at, std::string::npos);
  file[at + 3] = 'a';
  write_bytes(file);
  expect_found({of_entry(entry_seal, 3)});
}

// The row says another key than the index that leads to it.
TEST_F(Verified, S49_hex_edit_of_a_key) {
  std::string file = bytes();
  // namespace, key, idx and epoch (a byte each), writer, payload
  const size_t at = file.find("three") - 19;
  ASSERT_EQ(file.substr(at - 1, 2), "nk");
  file[at] = 'j';
  write_bytes(file);
  expect_found({of_entry("the table and its index do not agree", 3), of_entry(entry_seal, 3)});
}

TEST_F(Verified, S49_hex_edit_of_an_idx) {
  std::string file = bytes();
  const size_t at = file.find("three") - 18;
  ASSERT_EQ(file[at], '\3');
  file[at] = '\5';
  write_bytes(file);
  expect_found({of_entry("the table and its index do not agree", 5), of_entry(entry_seal, 5),
                "info|entry|nothing stands at this idx, and no trim made the gap|n|k|3"});
}

TEST_F(Verified, S51_triggers_switched_off_without_the_extension) {
  Database zombie(path, Setup::plain);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  ASSERT_OK(zombie, zombie_row);
  expect_found(zombie_entry);
}

TEST_F(Verified, S51_a_record_changed_with_triggers_switched_off) {
  Database zombie(path, Setup::plain);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  ASSERT_OK(zombie, lowered_record);
  expect_found(lowered);
  ASSERT_OK(zombie, "DELETE FROM fence_meta_v1 WHERE key = 'k'");
  expect_found({of_entry("has no record", 1)});
}

TEST_F(Verified, S54_the_database_reset) {
  Database zombie(path, Setup::loaded);
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_RESET_DATABASE, 1, nullptr), SQLITE_OK);
  ASSERT_OK(zombie, "VACUUM");
  ASSERT_EQ(sqlite3_db_config(zombie.get(), SQLITE_DBCONFIG_RESET_DATABASE, 0, nullptr), SQLITE_OK);
  expect_found({of_schema("file", "Fence is not installed in it")});
  Database owner(path, Setup::loaded);
  EXPECT_REFUSED(owner, append("k", 2, w2, 4, "x"), "ZF012", plain_error);
}

TEST_F(Verified, S55_an_imposter_table_on_the_records) {
  Database zombie(path, Setup::loaded);
  const int root =
      std::stoi(zombie.value("SELECT rootpage FROM sqlite_schema WHERE name = 'fence_meta_v1'"));
  ASSERT_EQ(sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, zombie.get(), "main", 1, root),
            SQLITE_OK);
  ASSERT_OK(zombie,
            "CREATE TABLE imposter(namespace, key, epoch, writer, deleted_at, tail, tail_seal,"
            " trimmed, trim_seal, late_sum, reset_last, published, seal)");
  ASSERT_EQ(sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, zombie.get(), "main", 0, 0), SQLITE_OK);
  ASSERT_OK(zombie,
            "UPDATE imposter SET (epoch, writer) = (SELECT epoch, writer FROM fence_oplog_v1"
            " WHERE key = 'k' AND idx = 1) WHERE key = 'k'");
  expect_found(lowered);
}

TEST_F(Verified, X_the_newest_entries_removed_and_the_trigger_put_back) {
  edit(path, "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx > 1");
  expect_found({log_gone});
}

// Only what the record has noted is missed: at most 63 of the newest entries.
TEST_F(Verified, X_the_newest_entry_removed_before_it_was_noted_is_not_found) {
  edit(path, "DELETE FROM fence_oplog_v1 WHERE key = 'k' AND idx = 3");
  expect_found({});
}

// The whole file goes back to when w2 owned the key at epoch 2; meanwhile w1 had taken it
// over at epoch 3. Nothing in the file can tell.
class OlderImage : public Verified {
 protected:
  void SetUp() override {
    Verified::SetUp();
    old_path = directory.file("old.db");
    ASSERT_OK(Database(path, Setup::plain), "VACUUM INTO " + test::quoted(old_path));
    Database owner(path, Setup::loaded);
    ASSERT_OK(owner, claim("k", 3, w1) + ";" + append("k", 3, w1, 4, "four"));
    generation = owner.value("SELECT fence_anchor()");
    ASSERT_EQ(generation, "1");
  }
  // The application knows better than the file.
  void expect_noticed(Database& db) {
    EXPECT_EQ(findings(db), Rows{}) << "nothing in the file is wrong";
    EXPECT_OK(db, append("k", 2, w2, 3, "three")) << "and the old owner would go on";
    EXPECT_OK(db, "SELECT fence_config('min_generation', " + generation + ")");
    for (const std::string& sql : {append("k", 2, w2, 4, "late"), append("k", 3, w1, 5, "five"),
                                   check("k", 2, w2), claim("k", 3, w1), claim("k", 4, w1)}) {
      EXPECT_REFUSED(db, sql, "ZF007", auth);
    }
    EXPECT_EQ(db.value("SELECT max(idx) FROM oplog_read('n', 'k')"), "3");
    EXPECT_EQ(findings(db), Rows{});
  }

  std::string old_path;
  std::string generation;
};

// Puts main of source in the place of the file.
void restore(Database& source, const std::string& path) {
  Database target(path, Setup::plain);
  sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
}

TEST_F(OlderImage, S41_restored_by_the_backup_interface_is_noticed_by_its_generation) {
  {
    Database old(old_path, Setup::plain);
    restore(old, path);
  }
  Database db(path, Setup::loaded);
  expect_noticed(db);
}

// What was deserialized keeps its journal in memory, and older versions of SQLite let it look
// like a file: then it is not served. Put back into the file it is as any older image.
TEST_F(OlderImage, S42_deserialized_is_noticed_by_its_generation) {
  sqlite3_int64 size = 0;
  unsigned char* image = nullptr;
  {
    Database old(old_path, Setup::plain);
    image = sqlite3_serialize(old.get(), "main", &size, 0);
    ASSERT_NE(image, nullptr);
  }
  {
    // Before the extension is loaded: on a connection in use SQLite 3.40 reads freed memory.
    Database db(":memory:", Setup::plain);
    ASSERT_EQ(sqlite3_deserialize(db.get(), "main", image, size, size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
              SQLITE_OK);
    ASSERT_TRUE(succeeded(db.load()));
    EXPECT_EQ(findings(db), Rows{});
    if (db.value("SELECT json_extract(fence_capabilities(), '$.fencing')") == "0") {
      EXPECT_REFUSED(db, append("k", 2, w2, 4, "late"), "ZF012", plain_error);
    }
    restore(db, path);
  }
  Database db(path, Setup::loaded);
  expect_noticed(db);
}

TEST_F(OlderImage, X_the_newest_file_goes_on_at_its_generation) {
  Database db(path, Setup::loaded);
  ASSERT_OK(db, "SELECT fence_config('min_generation', " + generation + ")");
  EXPECT_OK(db, append("k", 3, w1, 5, "five"));
  EXPECT_OK(db, "SELECT fence_anchor()");
  EXPECT_OK(db, append("k", 3, w1, 6, "six"));
}

}  // namespace
}  // namespace fence::test
