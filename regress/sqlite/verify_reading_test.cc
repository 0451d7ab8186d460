// How fence_verify reads: which keys, one snapshot, no lock, and any file whatever.
#include <set>

#include "regress/sqlite/failing_memory.h"
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

const std::string own_seal = "its seal is broken: it was not stored so by Fence";
const std::string entry_seal =
    "its seal is broken: it was not stored so by Fence, or not behind what stands before it";

std::string of_entry(const std::string& problem, int idx, const std::string& key = "k") {
  return "error|entry|" + problem + "|n|" + key + "|" + std::to_string(idx);
}

using VerifyReading = VerifiedFile;

TEST_F(VerifyReading, looks_at_one_namespace_or_one_key) {
  edit(path,
       "UPDATE fence_oplog_v1 SET payload = x'7a' WHERE key IN ('k', 'down');"
       "UPDATE fence_namespace_v1 SET floor = 3");
  Database db(path, Setup::loaded);
  const std::string on_k = of_entry(entry_seal, 2);
  const std::string on_down = of_entry(entry_seal, 1, "down");
  const std::string on_n = "error|namespace|" + own_seal + "|n|NULL|NULL";
  const Rows all = sorted({on_k, on_down, on_n, healthy[0]});
  EXPECT_EQ(findings(db), all);
  EXPECT_EQ(findings(db, "NULL, NULL"), all);
  EXPECT_EQ(findings(db, "'n'"), all);
  EXPECT_EQ(findings(db, "'n', 'k'"), sorted({on_k, healthy[0]}));
  EXPECT_EQ(findings(db, "'n', 'down'"), Rows{on_down});
  EXPECT_EQ(findings(db, "NULL, 'down'"), Rows{on_down});
  EXPECT_EQ(findings(db, "'n', 'none'"), Rows{});
  EXPECT_EQ(findings(db, "'m'"), Rows{});
  EXPECT_EQ(db.rows("SELECT idx FROM fence_verify WHERE key = 'down'"), Rows{"1"});
  EXPECT_EQ(db.rows("SELECT v.idx FROM (SELECT 'down' AS k) JOIN fence_verify('n', k) v"),
            Rows{"1"});
  for (const char* bad : {"''", "5", "'n', x'00'", "x'00'"}) {
    EXPECT_REFUSED(db, std::string("SELECT * FROM fence_verify(") + bad + ")", "ZF010",
                   plain_error);
  }
}

struct Column {
  const char* table;
  const char* name;
  bool may_be_null;
};

TEST_F(VerifyReading, gives_its_rows_in_the_order_that_is_asked_for) {
  edit(path, "UPDATE fence_value_v1 SET value = x'00'");
  Database db(path, Setup::loaded);
  EXPECT_EQ(db.rows("SELECT severity FROM fence_verify"), (Rows{"info", "error"}));
  EXPECT_EQ(db.rows("SELECT severity FROM fence_verify ORDER BY severity"),
            (Rows{"error", "info"}));
}

// Any value of any type in any column: named, and never a crash.
TEST_F(VerifyReading, finds_every_value_of_every_column_that_was_changed) {
  const std::vector<Column> columns = {{"control", "format", false},
                                       {"control", "seal_key", false},
                                       {"namespace", "namespace", false},
                                       {"namespace", "mode", false},
                                       {"namespace", "floor", false},
                                       {"namespace", "identical_repeat", false},
                                       {"namespace", "shard_space", true},
                                       {"namespace", "seal", false},
                                       {"meta", "namespace", false},
                                       {"meta", "key", false},
                                       {"meta", "epoch", false},
                                       {"meta", "writer", false},
                                       {"meta", "deleted_at", true},
                                       {"meta", "tail", false},
                                       {"meta", "tail_seal", false},
                                       {"meta", "trimmed", false},
                                       {"meta", "trim_seal", false},
                                       {"meta", "late_sum", false},
                                       {"meta", "reset_last", false},
                                       {"meta", "published", true},
                                       {"meta", "seal", false},
                                       {"oplog", "namespace", false},
                                       {"oplog", "key", false},
                                       {"oplog", "idx", false},
                                       {"oplog", "epoch", false},
                                       {"oplog", "writer", false},
                                       {"oplog", "payload", false},
                                       {"oplog", "late", false},
                                       {"oplog", "seal", false},
                                       {"value", "namespace", false},
                                       {"value", "key", false},
                                       {"value", "name", false},
                                       {"value", "epoch", false},
                                       {"value", "writer", false},
                                       {"value", "value", false},
                                       {"value", "seal", false}};
  for (const Column& column : columns) {
    for (const std::string value :
         {"NULL", "-7", "9223372036854775807", "0.5", "'x'", "x''", "randomblob(16)",
          "zeroblob(100000)", "CAST(x'ff00' AS TEXT)"}) {
      if (value == "NULL" && column.may_be_null) {
        continue;
      }
      const std::string table = std::string("fence_") + column.table + "_v1";
      const std::string sql = "UPDATE " + table + " SET " + column.name + " = " + value +
                              " WHERE rowid = (SELECT max(rowid) FROM " + table +
                              (std::string(column.table) == "meta" ? " WHERE key = 'k')" : ")");
      const Rows found = found_after(sql, value == "NULL" ? edit_without_constraints : edit);
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string& row) {
        return row.rfind("error|", 0) == 0;
      })) << sql;
      for (const std::string& row : found) {
        EXPECT_NE(row.rfind("error: ", 0), 0u) << sql << ": " << row;
      }
    }
  }
}

// Whatever bytes the file has: rows or an error of SQLite, never a crash.
TEST_F(VerifyReading, survives_a_file_of_any_bytes) {
  {
    Database db(path, Setup::plain);
    ASSERT_OK(db, "PRAGMA journal_mode = DELETE");
  }
  unsigned seed = 7;
  const auto next = [&seed](size_t bound) {
    seed = seed * 1103515245 + 12345;
    return static_cast<size_t>(seed >> 8) % bound;
  };
  const auto size = static_cast<size_t>(std::filesystem::file_size(path));
  for (int round = 0; round < 200; ++round) {
    const std::string copy = directory.file("bytes.db");
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    FILE* file = std::fopen(copy.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    for (size_t i = 0; i <= next(8); ++i) {
      std::fseek(file, static_cast<long>(100 + next(size - 100)), SEEK_SET);
      std::fputc(static_cast<int>(next(256)), file);
    }
    std::fclose(file);
    Database db(copy, Setup::plain);
    if (db.load().ok()) {
      findings(db);
    }
  }
}

TEST_F(VerifyReading, reads_one_snapshot_and_holds_nobody_up) {
  {
    Database db(path, Setup::plain);
    ASSERT_OK(db, "PRAGMA journal_mode = WAL");
  }
  edit(path,
       "UPDATE fence_value_v1 SET value = x'00'; INSERT INTO fence_setting_v1 VALUES ('x', 1)");
  Database reader(path, Setup::loaded);
  Database owner(path, Setup::loaded);
  Statement verify(reader, "SELECT object FROM fence_verify");
  ASSERT_EQ(verify.step(), SQLITE_ROW);  // the setting
  edit(path, "UPDATE fence_oplog_v1 SET payload = x'00'");
  ASSERT_OK(owner, claim("other", 5, w1) + ";" + append("other", 5, w1, 1, "x"));
  Rows rest;
  int rc = SQLITE_ROW;
  while ((rc = verify.step()) == SQLITE_ROW) {
    rest.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(verify.get(), 0)));
  }
  EXPECT_EQ(rc, SQLITE_DONE);
  EXPECT_EQ(rest, (Rows{"entry", "value"})) << "the gap, and the value that was changed before";
  verify.finalize();
  EXPECT_GT(findings(reader).size(), 3u);
}

TEST_F(VerifyReading, takes_no_write_lock_and_changes_nothing) {
  Database writer(path, Setup::loaded);
  Database reader(path, Setup::loaded);
  {
    Database db(path, Setup::plain);
    ASSERT_OK(db, "PRAGMA journal_mode = WAL");
  }
  const Rows before = contents(writer);
  ASSERT_OK(writer, "BEGIN IMMEDIATE");
  EXPECT_EQ(findings(reader), healthy);
  ASSERT_OK(writer, "ROLLBACK");
  EXPECT_EQ(contents(writer), before);
  Database read_only(path, Setup::loaded, SQLITE_OPEN_READONLY);
  EXPECT_EQ(findings(read_only), healthy);
  ASSERT_OK(reader, "BEGIN");
  EXPECT_REFUSED(reader, append("k", 1, w1, 20, "late"), "ZF001", auth);
  EXPECT_EQ(findings(reader), healthy) << "also in a doomed transaction";
  ASSERT_OK(reader, "ROLLBACK");
}

TEST_F(VerifyReading, compares_names_as_the_file_orders_them) {
  for (const char* encoding : {"UTF-16le", "UTF-16be", "UTF-8"}) {
    Database db(":memory:", Setup::loaded);
    ASSERT_OK(db, std::string("PRAGMA encoding = '") + encoding + "'; SELECT fence_install()");
    for (const char* key : {"b", "é", "a", "ă", "😀", "\xef\xbf\xbd", "a1"}) {
      ASSERT_OK(db, claim(key, 1, w1) + ";" + append(key, 1, w1, 1, "x") + ";" +
                        put(key, 1, w1, "😀", "x"));
    }
    EXPECT_EQ(findings(db), Rows{}) << encoding;
  }
}

TEST(VerifyMemory, that_runs_out_is_an_error_and_never_a_finding) {
  FailingMemory memory;
  std::set<std::string> seen;
  for (const char* encoding : {"UTF-8", "UTF-16"}) {
    Database db(":memory:", Setup::loaded);
    ASSERT_OK(db, std::string("PRAGMA encoding = '") + encoding + "'; SELECT fence_install()");
    ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, std::string(3000, 'x')) + ";" +
                      put("k", 1, w1, "a", "x") + ";" + set_mode("optional"));
    for (const bool forever : {false, true}) {
      bool failed = true;
      for (int after = 0; failed && after < 100000; after += 1 + after / 60) {
        memory.fail_after(after, forever);
        const Rows rows = db.rows("SELECT * FROM fence_verify");
        failed = memory.failed();
        memory.stop();
        if (!rows.empty()) {
          seen.insert(rows.front());
        }
      }
      EXPECT_FALSE(failed) << "more allocations than that?";
    }
    EXPECT_EQ(findings(db), Rows{});
  }
  EXPECT_EQ(seen, (std::set<std::string>{"error: out of memory"}));
}

}  // namespace
}  // namespace fence::test
