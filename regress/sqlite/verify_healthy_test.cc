// fence_verify finds no error in a file that was used as it should be, whatever the calls
// were and however the file was copied.
#include "regress/sqlite/verified_file.h"

namespace fence::test {
namespace {

class Healthy : public FileTest {
 protected:
  Healthy() { EXPECT_OK(db, "PRAGMA synchronous = OFF"); }

  // No error, after each of the statements.
  void expect_healthy(const std::vector<std::string>& statements) {
    for (const std::string& sql : statements) {
      ASSERT_OK(db, sql);
      ASSERT_EQ(errors(db), Rows{}) << "after " << sql;
    }
  }
  void use_everything();

  Database db{path};
};

std::string many(const std::string& key, int64_t epoch, const std::string& writer, int from,
                 int to) {
  std::string idxs;
  std::string payloads;
  for (int idx = from; idx <= to; ++idx) {
    idxs += (idx == from ? "" : ",") + std::to_string(idx);
    payloads += (idx == from ? "'p" : ",'p") + std::to_string(idx) + "'";
  }
  return append_many(key, epoch, writer, "[" + idxs + "]", payloads);
}

void Healthy::use_everything() {
  expect_healthy({claim("k", 1, w1), append("k", 1, w1, 5, "x"), append("k", 1, w1, 2, "late"),
                  append("k", 1, w1, 2, "late"), many("k", 1, w1, 6, 20),
                  many("k", 1, w1, 100, 200), many("k", 1, w1, 201, 300), append("k", 1, w1, 0, ""),
                  "SELECT fenced_append_many('n', 'k', 1, " + quoted(w1) +
                      ", '[4,301,3]', fence_blobs('a', 'b', 'c'))",
                  drop("k", 1, w1, 4), drop("k", 1, w1, 50), append("k", 1, w1, 60, "late"),
                  drop("k", 1, w1, 59), drop("k", 1, w1, 60)});
  // Other owners, who store late as well.
  expect_healthy({claim("k", 1, w1), claim("k", 3, w2), append("k", 3, w2, 90, "late"),
                  append("k", 3, w2, 302, "x"), claim("k", 4, w1), append("k", 4, w1, 91, "late"),
                  append("k", 4, w1, 303, "x"), drop("k", 4, w1, 95), drop("k", 4, w1, INT64_MAX),
                  append("k", 4, w1, 304, "x"), claim("k", 5, w2), append("k", 5, w2, 400, "x"),
                  drop("k", 5, w2, 400), claim("k", 6, w2), append("k", 6, w2, 401, "x")});
  for (int idx = 402; idx < 600; ++idx) {
    ASSERT_OK(db, append("k", 6, w2, idx, "one by one"));
  }
  // Values, an end and new lives.
  expect_healthy({put("k", 6, w2, "a", "1"), put("k", 6, w2, "a", "2"), put("k", 6, w2, "b", ""),
                  take("k", 6, w2, "b"), claim("k", 7, w1), put("k", 7, w1, "c", "3"),
                  take("k", 7, w1, "a"), del("k", 7), claim("k", 8, w1), append("k", 8, w1, 0, "x"),
                  append("k", 8, w1, INT64_MAX, "last"), append("k", 8, w1, 7, "late"),
                  drop("k", 8, w1, 6)});
  // Epochs that were lowered.
  expect_healthy({claim("r", INT64_MAX, w1), append("r", INT64_MAX, w1, 4, "x"),
                  append("r", INT64_MAX, w1, 2, "late"), put("r", INT64_MAX, w1, "a", "1"),
                  reset("r", 10), claim("r", 11, w2), append("r", 11, w2, 3, "late"),
                  append("r", 11, w2, 9, "x"), reset("r", 2), claim("r", 3, w1),
                  append("r", 3, w1, 1, "late"), append("r", 3, w1, 12, "x"), claim("r", 11, w1),
                  append("r", 11, w1, 13, "x"), drop("r", 11, w1, 5), del("r", 11, w1),
                  reset("r", 5), claim("r", 6, w1), append("r", 6, w1, 1, "x")});
  // Publishing, with and without a repeat; purging.
  expect_healthy({claim("t", 1, w1), claim("s", 1, w1), many("s", 1, w1, 1, 9),
                  put("s", 1, w1, "a", "1"), publish("t", 1, w1, "s", 9),
                  publish("t", 1, w1, "s", 9), append("t", 1, w1, 10, "x"), claim("s", 2, w1),
                  append("s", 2, w1, 1, "x"), del("s", 2), purge(), claim("s", 3, w1)});
  // Without epochs, alone and mixed.
  expect_healthy({set_mode("optional", ", 1"),
                  free_append("k", 8, "free"),
                  free_append("f", 3, "x"),
                  free_append("f", 1, "late"),
                  claim("f", 4, w1),
                  append("f", 4, w1, 5, "x"),
                  free_append("f", 4, "late"),
                  free_append("f", 6, "x"),
                  put("f", unfenced, w1, "v", "1"),
                  append("f", 4, w1, 1, "late"),
                  claim("f", 5, w2),
                  append("f", 5, w2, 7, "x"),
                  drop("f", unfenced, w1, 2),
                  del("f", unfenced),
                  free_append("f", 1, "x"),
                  claim("f", 6, w1),
                  append("f", 6, w1, 2, "x"),
                  set_mode("unfenced"),
                  free_append("u", 1, "x"),
                  del("u", unfenced),
                  purge(),
                  set_mode("required"),
                  claim("u", 9, w1)});
  expect_healthy({"SELECT fence_anchor()", "SELECT fence_config('max_waiters', 3)"});
}

TEST_F(Healthy, after_every_kind_of_call) { use_everything(); }

TEST_F(Healthy, in_and_after_transactions_and_savepoints) {
  expect_healthy({claim("k", 1, w1), "BEGIN", many("k", 1, w1, 1, 9), append("k", 1, w1, 20, "x"),
                  "SAVEPOINT s", append("k", 1, w1, 15, "late"), put("k", 1, w1, "a", "1"),
                  drop("k", 1, w1, 5), "ROLLBACK TO s", append("k", 1, w1, 16, "late"), "RELEASE s",
                  take("k", 1, w1, "a"), "COMMIT", "BEGIN", drop("k", 1, w1, 9),
                  append("k", 1, w1, 21, "x"), "ROLLBACK", append("k", 1, w1, 22, "x")});
  ASSERT_OK(db, "BEGIN; CREATE TABLE t(x)");
  ASSERT_OK(db, append("k", 1, w1, 30, "x"));
  EXPECT_REFUSED(db, append("other", 0, w2, 31, "x"), "ZF003", auth);
  EXPECT_EQ(errors(db), Rows{});
  EXPECT_DOOMED(db, "COMMIT", "ZF003");
  EXPECT_REFUSED(db, append("k", 1, w1, 22, "other"), "ZF013", conflict);
  EXPECT_EQ(errors(db), Rows{});
}

TEST_F(Healthy, after_every_way_to_copy_a_file) {
  use_everything();
  ASSERT_OK(db, "VACUUM; ANALYZE; REINDEX");
  EXPECT_EQ(errors(db), Rows{});
  const std::string vacuumed = directory.file("vacuumed.db");
  ASSERT_OK(db, "VACUUM INTO " + quoted(vacuumed));
  const std::string backed_up = directory.file("backup.db");
  {
    Database target(backed_up, Setup::plain);
    sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", db.get(), "main");
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  }
  // The shell of the system has no Fence, and needs none for that.
  const std::string reloaded = directory.file("reloaded.db");
  const std::string shell = "env -u LD_PRELOAD -u LD_LIBRARY_PATH sqlite3 ";
  const std::string command = shell + path + " .dump | " + shell + reloaded;
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (const std::string& copy : {vacuumed, backed_up, reloaded}) {
    Database other(copy, Setup::loaded);
    EXPECT_EQ(errors(other), Rows{}) << copy;
    ASSERT_OK(other, append("r", 6, w1, 2, "x"));
    EXPECT_EQ(errors(other), Rows{}) << copy;
  }
  Database other(reloaded, Setup::loaded);
  const std::string misplaced =
      "info|table fence|stands before Fence's triggers: SELECT fence_install() puts it where it "
      "belongs|NULL|NULL|NULL";
  const Rows found = findings(other);
  EXPECT_EQ(std::count(found.begin(), found.end(), misplaced), 1);
  ASSERT_OK(other, "SELECT fence_install()");
  const Rows mended = findings(other);
  EXPECT_EQ(std::count(mended.begin(), mended.end(), misplaced), 0);
  EXPECT_EQ(mended.size() + 1, found.size());
}

}  // namespace
}  // namespace fence::test
