// A file to look at with fence_verify, and whoever edits it past every fence.
#ifndef FENCE_REGRESS_SQLITE_VERIFIED_FILE_H
#define FENCE_REGRESS_SQLITE_VERIFIED_FILE_H

#include <algorithm>
#include <filesystem>

#include "regress/sqlite/key_calls.h"

namespace fence::test {

using Rows = std::vector<std::string>;

// "severity|object|problem|namespace|key|idx", sorted.
inline Rows findings(Database& db, const std::string& arguments = "") {
  Rows rows = db.rows("SELECT * FROM fence_verify(" + arguments + ")");
  std::sort(rows.begin(), rows.end());
  return rows;
}
inline Rows findings(const std::string& path) {
  Database db(path, Setup::loaded);
  return findings(db);
}
inline Rows errors(Database& db) {
  Rows rows = findings(db);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const std::string& row) { return row.rfind("info|", 0) == 0; }),
             rows.end());
  return rows;
}
inline Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Writes without the extension and with triggers switched off: no object of the schema
// is touched.
inline void edit(const std::string& path, const std::string& sql) {
  Database editor(path, Setup::plain);
  ASSERT_EQ(sqlite3_db_config(editor.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), SQLITE_OK);
  ASSERT_OK(editor, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = 1; " + sql);
}

// The same where NOT NULL is in the way.
inline void edit_without_constraints(const std::string& path, const std::string& sql) {
  const auto replace = [&](const char* from, const char* to) {
    edit(path, std::string("PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql,"
                           " '") +
                   from + "', '" + to + "') WHERE type = 'table'; PRAGMA writable_schema = RESET");
  };
  replace(" NOT NULL", " /* null */");
  edit(path, sql);
  replace(" /* null */", " NOT NULL");
}

// Changes rows of a table and leaves its indexes as they are.
inline void edit_past_the_index(const std::string& path, const std::string& table,
                                const std::string& change) {
  Database editor(path, Setup::plain);
  const int root =
      std::stoi(editor.value("SELECT rootpage FROM sqlite_schema WHERE name = " + quoted(table)));
  const std::string columns =
      editor.value("SELECT group_concat(name) FROM pragma_table_info(" + quoted(table) + ")");
  ASSERT_EQ(sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, editor.get(), "main", 1, root),
            SQLITE_OK);
  ASSERT_OK(editor, "CREATE TABLE imposter(" + columns + ")");
  ASSERT_EQ(sqlite3_test_control(SQLITE_TESTCTRL_IMPOSTER, editor.get(), "main", 0, 0), SQLITE_OK);
  ASSERT_OK(editor, "UPDATE imposter SET " + change);
}

// 'k' was w1's at epoch 1 (entries 1 to 3, a value), then w2's at epoch 2 (entries 4, 8
// and, late, 6); its beginning is trimmed. 'gone' is deleted, 'free' was written by
// nobody, 'down' was reset.
class VerifiedFile : public FileTest {
 protected:
  void SetUp() override {
    Database db(path);
    ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, "one") + ";" +
                      append("k", 1, w1, 2, "two") + ";" + append("k", 1, w1, 3, "three"));
    ASSERT_OK(db, put("k", 1, w1, "state", "on"));
    ASSERT_OK(db, claim("k", 2, w2) + ";" + append("k", 2, w2, 4, "four") + ";" +
                      append("k", 2, w2, 8, "eight") + ";" + append("k", 2, w2, 6, "six"));
    ASSERT_OK(db, drop("k", 2, w2, 1));
    ASSERT_OK(db,
              claim("gone", 3, w1) + ";" + append("gone", 3, w1, 1, "x") + ";" + del("gone", 3));
    ASSERT_OK(db, claim("down", 9, w1) + ";" + append("down", 9, w1, 1, "x") + ";" +
                      reset("down", 4) + ";" + claim("down", 5, w2) + ";" +
                      append("down", 5, w2, 2, "y"));
    ASSERT_OK(db, set_mode("optional") + ";" + free_append("free", 1, "x"));
    ASSERT_EQ(findings(db), healthy);
  }

  // On a copy: what is found after an edit.
  Rows found_after(const std::string& sql,
                   void (*how)(const std::string&, const std::string&) = edit) {
    const std::string copy = directory.file("copy" + std::to_string(++copies_) + ".db");
    std::filesystem::copy_file(path, copy);
    how(copy, sql);
    Rows found = findings(copy);
    std::filesystem::remove(copy);
    for (const std::string& row : healthy) {
      const auto same = std::find(found.begin(), found.end(), row);
      if (same != found.end()) {
        found.erase(same);
      }
    }
    return found;
  }

  const Rows healthy = {"info|entry|nothing stands at this idx, and no trim made the gap|n|k|5"};

 private:
  int copies_ = 0;
};

}  // namespace fence::test

#endif
