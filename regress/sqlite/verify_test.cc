// fence_verify(namespace, key): a file that Fence alone has written gives no row of
// severity error, and each kind of damage is named.
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

const std::string entry_seal =
    "its seal is broken: it was not stored so by Fence, or not behind what stands before it";
const std::string own_seal = "its seal is broken: it was not stored so by Fence";
const std::string foreign_entry = "it was stored neither by the owner nor through Fence";
const std::string gap = "nothing stands at this idx, and no trim made the gap";
const std::string falls = "its epoch is below that of an earlier idx, and it was not stored late";

// A row about an entry of the namespace n.
std::string of_entry(const std::string& problem, int idx, const std::string& key = "k") {
  return "error|entry|" + problem + "|n|" + key + "|" + std::to_string(idx);
}
std::string of_record(const std::string& problem, const std::string& idx = "NULL") {
  return "error|record|" + problem + "|n|k|" + idx;
}
std::string info_entry(const std::string& problem, int idx) {
  return "info|entry|" + problem + "|n|k|" + std::to_string(idx);
}

class Verify : public VerifiedFile {
 protected:
  void expect(const std::string& sql, const Rows& rows) {
    EXPECT_EQ(found_after(sql), sorted(rows)) << sql;
  }
};

TEST_F(Verify, names_a_changed_entry) {
  const std::string set = "UPDATE fence_oplog_v1 SET ";
  expect(set + "payload = x'7a' WHERE key = 'k' AND idx = 3", {of_entry(entry_seal, 3)});
  expect(set + "payload = x'7a' WHERE key = 'k' AND idx = 6", {of_entry(entry_seal, 6)});
  expect(set + "payload = zeroblob(3000000) WHERE key = 'k' AND idx = 6",
         {of_entry(entry_seal, 6)});
  expect(set + "payload = x'' WHERE key = 'down' AND idx = 1", {of_entry(entry_seal, 1, "down")});
  expect(set + "epoch = 7 WHERE key = 'k' AND idx = 4",
         {of_entry(entry_seal, 4), of_entry("its epoch is above that of the record", 4),
          of_entry(falls, 8),
          info_entry("its epoch is below that of an earlier idx: a later owner "
                     "stored there",
                     6)});
  expect(set + "seal = randomblob(16) WHERE key = 'k' AND idx = 8",
         {of_entry(entry_seal, 8),
          "error|record|the entry that it has noted as the newest is another one|n|k|8"});
}

TEST_F(Verify, names_where_an_entry_was_taken_out) {
  const std::string from = "DELETE FROM fence_oplog_v1 WHERE key = 'k'";
  expect(from + " AND idx = 2", {of_entry(entry_seal, 3), info_entry(gap, 2)});
  expect(from + " AND idx = 3", {of_entry(entry_seal, 4), info_entry(gap, 3)});
  expect(from + " AND idx = 6",
         {of_record("the entries that were stored late are not those that it has noted")});
  expect(from + " AND idx = 8",
         {of_record("the log ends before the idx that the record says it reached", "8")});
  expect(from, {of_record("the log ends before the idx that the record says it reached", "8"),
                of_record("the entries that were stored late are not those that it has noted")});
  expect("UPDATE fence_oplog_v1 SET idx = 9 WHERE key = 'k' AND idx = 8",
         {of_record("the entry that it has noted as the newest is gone", "8"),
          of_entry(entry_seal, 9)});
}

TEST_F(Verify, names_an_entry_that_was_put_in) {
  const auto put_in = [](const std::string& key, int idx, const std::string& epoch = "epoch") {
    return "INSERT INTO fence_oplog_v1 SELECT namespace, '" + key + "', " + std::to_string(idx) +
           ", " + epoch +
           ", writer, payload, late, seal FROM fence_oplog_v1"
           " WHERE key = 'k' AND idx = 3";
  };
  expect(put_in("k", 9), {of_entry(entry_seal, 9), of_entry(foreign_entry, 9), of_entry(falls, 9)});
  expect(put_in("k", 9, "2"), {of_entry(entry_seal, 9), of_entry(foreign_entry, 9)});
  expect(put_in("k", 7, "2"), {of_entry(entry_seal, 7), of_entry(foreign_entry, 7)});
  expect(put_in("k", 1), {of_entry("it stands where the log was trimmed", 1)});
  expect(put_in("gone", 1), {of_entry("its key is deleted", 1, "gone")});
  expect(put_in("none", 5), {of_entry("has no record", 5, "none")});
}

TEST_F(Verify, names_a_changed_record) {
  const auto set = [](const std::string& assignment) {
    return "UPDATE fence_meta_v1 SET " + assignment + " WHERE key = 'k'";
  };
  const std::string seal = of_record(own_seal);
  expect(set("epoch = 3"), {seal});
  expect(set("epoch = 1"),
         {seal, of_entry(foreign_entry, 2), of_entry("its epoch is above that of the record", 4)});
  expect(set("writer = randomblob(16)"), {seal, of_entry(foreign_entry, 4)});
  expect(set("trimmed = 3"),
         {seal, of_entry("it stands where the log was trimmed", 2), of_entry(entry_seal, 4)});
  expect(set("deleted_at = 5"),
         {seal, of_entry("its key is deleted", 2), "error|value|its key is deleted|n|k|NULL"});
  expect(set("epoch = -1"), {of_record("its epoch cannot be"), seal,
                             of_entry("its epoch is above that of the record", 2)});
  expect(set("epoch = -2"), {of_record("its epoch cannot be")});
  expect(set("writer = x'00'"), {of_record("its writer cannot be")});
  for (const char* mark :
       {"tail = -2", "tail_seal = x''", "trimmed = 'x'", "trim_seal = 1.5",
        "late_sum = zeroblob(17)", "reset_last = 'x'", "published = x'00'", "deleted_at = 'x'"}) {
    expect(set(mark), {of_record("a mark of its log cannot be")});
  }
  expect("DELETE FROM fence_meta_v1 WHERE key = 'k'",
         {of_entry("has no record", 2), "error|value|has no record|n|k|NULL"});
  expect("DELETE FROM fence_meta_v1 WHERE key = 'gone'", {});  // as a purge would leave it
}

TEST_F(Verify, names_a_changed_value_setting_and_namespace) {
  const auto of_value = [](const std::string& problem) {
    return Rows{"error|value|" + problem + "|n|k|NULL"};
  };
  const std::string content = "its writer, value or seal cannot be";
  expect("UPDATE fence_value_v1 SET value = x'00'", of_value(own_seal));
  expect("UPDATE fence_value_v1 SET name = 'other'", of_value(own_seal));
  expect("UPDATE fence_value_v1 SET epoch = epoch + 1", of_value(own_seal));
  expect("UPDATE fence_value_v1 SET epoch = -2", of_value("its epoch cannot be"));
  expect("UPDATE fence_value_v1 SET epoch = -1", of_value(content));
  expect("UPDATE fence_value_v1 SET value = 'text'", of_value(content));
  expect("UPDATE fence_value_v1 SET seal = x''", of_value(content));
  expect("UPDATE fence_value_v1 SET name = ''", of_value("its name cannot be"));
  const auto of_namespace = [](const std::string& problem) {
    return Rows{"error|namespace|" + problem + "|n|NULL|NULL"};
  };
  expect("UPDATE fence_namespace_v1 SET mode = 'open'", of_namespace("its mode cannot be"));
  expect("UPDATE fence_namespace_v1 SET floor = -2", of_namespace("its floor cannot be"));
  expect("UPDATE fence_namespace_v1 SET shard_space = 's'",
         of_namespace("a value of it cannot be"));
  for (const char* change : {"mode = 'unfenced'", "floor = 7", "identical_repeat = 1"}) {
    expect(std::string("UPDATE fence_namespace_v1 SET ") + change, of_namespace(own_seal));
  }
  for (const char* row : {"'evict_after', 1", "'evict_after', 'x'", "'unknown', 1"}) {
    expect(std::string("INSERT INTO fence_setting_v1 VALUES (") + row + ")",
           {"error|setting|its name or value cannot be|NULL|NULL|NULL"});
  }
}

TEST_F(Verify, names_a_changed_control_row) {
  const auto of_control = [](const std::string& problem) {
    return Rows{"error|control row|" + problem + "|NULL|NULL|NULL"};
  };
  expect("DELETE FROM fence_control_v1", of_control("is missing"));
  expect("INSERT INTO fence_control_v1 SELECT 2, format, seal_key, 0 FROM fence_control_v1",
         of_control("there is more than one"));
  expect("UPDATE fence_control_v1 SET format = 2",
         of_control("its format is not one that this build knows: entries, values and seals were "
                    "not looked at"));
  expect("UPDATE fence_control_v1 SET seal_key = x'00'",
         of_control("its seal key cannot be: seals were not looked at"));
  expect("UPDATE fence_control_v1 SET generation = -1", of_control("its generation cannot be"));
}

TEST_F(Verify, compares_the_schema_with_what_fence_install_makes) {
  const auto row = [](const std::string& object, const std::string& problem,
                      const std::string& severity = "error") {
    return severity + "|" + object + "|" + problem + "|NULL|NULL|NULL";
  };
  const std::string misplaced = row(
      "table fence",
      "stands before Fence's triggers: SELECT fence_install() puts it where it belongs", "info");
  const std::string changed = "is not as fence_install makes it";
  expect("DROP TRIGGER fence_meta_insert",
         {row("trigger fence_meta_insert on fence_meta_v1", "is missing")});
  expect(
      "DROP TRIGGER fence_meta_insert; CREATE TRIGGER fence_meta_insert BEFORE INSERT ON"
      " fence_meta_v1 BEGIN SELECT 1; END",
      {row("trigger fence_meta_insert on fence_meta_v1", changed), misplaced});
  expect("CREATE TRIGGER mine BEFORE INSERT ON fence_oplog_v1 BEGIN SELECT 1; END",
         {row("trigger mine on fence_oplog_v1", "is not Fence's own")});
  expect("CREATE TRIGGER mine INSTEAD OF INSERT ON oplog_entries BEGIN SELECT 1; END",
         {row("trigger mine on oplog_entries", "is not Fence's own")});
  expect("CREATE INDEX mine ON fence_oplog_v1(epoch)",
         {row("index mine on fence_oplog_v1", "is not Fence's own", "info")});
  expect("DROP INDEX fence_oplog_noblob",
         {row("index fence_oplog_noblob on fence_oplog_v1", "is missing")});
  std::string letters;
  for (int i = 0; i < 60; ++i) {
    letters += i == 0 ? "aé" : "é";
  }
  expect("CREATE TRIGGER " + letters + " BEFORE INSERT ON fence_oplog_v1 BEGIN SELECT 1; END",
         {row("trigger " + letters.substr(0, 99) + " on fence_oplog_v1", "is not Fence's own")});
  expect("DROP VIEW oplog_status", {row("view oplog_status", "is missing")});
  expect("DROP VIEW oplog_status; CREATE TABLE oplog_status(x)",
         {row("view oplog_status", "is missing"),
          row("table oplog_status", "hides what Fence has under that name")});
  expect("CREATE TABLE fenced_append(x)",
         {row("table fenced_append", "hides what Fence has under that name")});
  expect("ALTER TABLE fence_oplog_v1 ADD COLUMN more", {row("table fence_oplog_v1", changed)});
  expect("PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'fence'",
         {row("table fence", "is missing")});
  expect(
      "CREATE TABLE mine(x); CREATE TRIGGER mine_t AFTER INSERT ON mine BEGIN SELECT 1; END;"
      "CREATE INDEX mine_i ON mine(x); CREATE VIEW mine_v AS SELECT * FROM oplog_entries",
      {});
}

TEST_F(Verify, names_temp_objects_of_this_connection) {
  Database db(path, Setup::loaded);
  ASSERT_OK(db, "SELECT fence_config('defensive', 0)");
  ASSERT_OK(db,
            "CREATE TEMP TABLE oplog_status(x); CREATE TEMP TABLE mine(x);"
            "CREATE TEMP TABLE fence_refusals(x);"
            "CREATE TEMP TRIGGER swallow BEFORE INSERT ON main.fence_oplog_v1"
            " BEGIN SELECT RAISE(IGNORE); END;"
            "CREATE TEMP TRIGGER mine_t AFTER INSERT ON mine BEGIN SELECT 1; END");
  // Fence's own TEMP table is no finding.
  ASSERT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, append("k", 1, w1, 20, "late"), "ZF001", auth);
  ASSERT_OK(db, "ROLLBACK; BEGIN");
  EXPECT_OK(db, append("k", 2, w2, 8, "eight"));
  ASSERT_OK(db, "COMMIT");
  ASSERT_EQ(db.value("SELECT count(*) FROM temp.sqlite_schema WHERE name = 'fence_transaction'"),
            "1");
  EXPECT_EQ(errors(db),
            (Rows{"error|table temp.fence_refusals|hides what Fence has under that name|NULL|NULL|"
                  "NULL",
                  "error|table temp.oplog_status|hides what Fence has under that name|NULL|NULL|"
                  "NULL",
                  "error|trigger temp.swallow on fence_oplog_v1|is not Fence's own|NULL|NULL|"
                  "NULL"}));
}

TEST_F(Verify, answers_of_a_file_without_fence) {
  Database db(":memory:", Setup::loaded);
  EXPECT_EQ(findings(db), Rows{"error|file|Fence is not installed in it|NULL|NULL|NULL"});
}

// Where a table is no more Fence's, the others are looked at all the same.
TEST_F(Verify, goes_on_without_a_table) {
  const Rows found =
      found_after("DROP TABLE fence_meta_v1; UPDATE fence_value_v1 SET value = x'00'");
  EXPECT_EQ(std::count(found.begin(), found.end(),
                       "error|table fence_meta_v1|cannot be read as Fence's own|NULL|NULL|NULL"),
            1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "error|value|" + own_seal + "|n|k|NULL"), 1);
  for (const std::string& row : found) {
    EXPECT_EQ(row.find("no record"), std::string::npos) << row;
  }
  for (const char* table : {"fence_oplog_v1", "fence_value_v1", "fence_control_v1",
                            "fence_setting_v1", "fence_namespace_v1"}) {
    const std::string row =
        std::string("error|table ") + table + "|cannot be read as Fence's own|NULL|NULL|NULL";
    const Rows without = found_after(std::string("DROP TABLE ") + table);
    EXPECT_EQ(std::count(without.begin(), without.end(), row), 1) << table;
    for (const std::string& other : without) {
      EXPECT_EQ(other.find("|record|"), std::string::npos) << table << ": " << other;
    }
  }
}

TEST_F(Verify, names_where_a_table_and_its_index_do_not_agree) {
  struct Change {
    const char* table;
    const char* change;
    std::string row;
  };
  const std::string differ = "the table and its index do not agree";
  for (const Change& one :
       {Change{"fence_meta_v1", "key = 'j' WHERE key = 'k'", of_record(differ)},
        Change{"fence_meta_v1", "key = NULL WHERE key = 'k'", of_record(differ)},
        Change{"fence_oplog_v1", "key = 'j' WHERE key = 'k' AND idx = 4", of_entry(differ, 4)},
        Change{"fence_oplog_v1", "namespace = 5 WHERE key = 'k' AND idx = 4", of_entry(differ, 4)},
        Change{"fence_oplog_v1", "idx = 5 WHERE key = 'k' AND idx = 4", of_entry(differ, 5)},
        Change{"fence_value_v1", "key = 'j'", "error|value|" + differ + "|n|k|NULL"},
        Change{"fence_value_v1", "name = 'j'", "error|value|" + differ + "|n|k|NULL"},
        Change{"fence_namespace_v1", "namespace = 'j'",
               "error|namespace|" + differ + "|n|NULL|NULL"}}) {
    const std::string copy = directory.file("copy.db");
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    edit_past_the_index(copy, one.table, one.change);
    const Rows found = findings(copy);
    EXPECT_EQ(std::count(found.begin(), found.end(), one.row), 1) << one.change;
  }
}

TEST_F(Verify, names_a_name_that_cannot_be) {
  const std::string bad = "its name cannot be";
  expect("UPDATE fence_meta_v1 SET key = x'00' WHERE key = 'gone'",
         {"error|record|" + bad + "|n|NULL|NULL"});
  expect("UPDATE fence_oplog_v1 SET namespace = '' WHERE key = 'down' AND idx = 2",
         {"error|entry|" + bad + "|NULL|down|2"});
  expect("UPDATE fence_value_v1 SET key = CAST(x'ff' AS TEXT)",
         {"error|value|" + bad + "|n|NULL|NULL"});
  expect("UPDATE fence_namespace_v1 SET namespace = x'00'",
         {"error|namespace|" + bad + "|NULL|NULL|NULL"});
}

// A table without its primary key takes the same row twice.
TEST_F(Verify, names_what_stands_there_twice) {
  const auto twice = [this](const std::string& table) {
    return found_after("CREATE TABLE kept AS SELECT * FROM " + table + "; DROP TABLE " + table +
                       "; CREATE TABLE " + table +
                       " AS SELECT * FROM kept UNION ALL SELECT * FROM kept WHERE key = 'k'");
  };
  const auto has = [](const Rows& found, const std::string& row) {
    return std::count(found.begin(), found.end(), row) == 1;
  };
  EXPECT_TRUE(has(twice("fence_meta_v1"), of_record("there is more than one of the key")));
  EXPECT_TRUE(has(twice("fence_oplog_v1"), of_entry("its idx is stored twice", 2)));
}

}  // namespace
}  // namespace fence::test
