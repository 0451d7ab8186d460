#include "regress/attack/scene.h"

namespace fence::test {

namespace {

void agree(sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); }

void run_sql(sqlite3_context* context, int, sqlite3_value** values) {
  sqlite3* db = sqlite3_context_db_handle(context);
  const auto* sql = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  std::string answer = "0";
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    answer = std::to_string(sqlite3_extended_errcode(db)) + " " + sqlite3_errmsg(db);
  }
  sqlite3_result_text(context, answer.c_str(), -1, SQLITE_TRANSIENT);
}

INSTANTIATE_TEST_SUITE_P(Attack, Loaded,
                         ::testing::Values(Switches::usual, Switches::authorizer,
                                           Switches::not_defensive, Switches::authorizer_alone),
                         switches_name);

}  // namespace

std::string switches_name(const ::testing::TestParamInfo<Switches>& info) {
  switch (info.param) {
    case Switches::authorizer:
      return "authorizer";
    case Switches::not_defensive:
      return "not_defensive";
    case Switches::authorizer_alone:
      return "authorizer_alone";
    case Switches::usual:
      break;
  }
  return "usual";
}

void set_switches(Database& db, Switches switches) {
  if (switches == Switches::authorizer || switches == Switches::authorizer_alone) {
    ASSERT_EQ(db.value("SELECT fence_config('authorizer', 1)"), "1");
  }
  if (switches == Switches::not_defensive || switches == Switches::authorizer_alone) {
    ASSERT_EQ(db.value("SELECT fence_config('defensive', 0)"), "0");
  }
}

Attempt attempt(Database& db, const std::string& sql) {
  Attempt made;
  sqlite3_stmt* statement = nullptr;
  int rc = sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement, nullptr);
  made.prepared = rc == SQLITE_OK;
  while (made.prepared && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
  }
  if (rc != SQLITE_OK && rc != SQLITE_DONE) {
    made.result.rc = sqlite3_extended_errcode(db.get());
    made.result.message = sqlite3_errmsg(db.get());
  }
  sqlite3_finalize(statement);
  return made;
}

std::string forged(int idx, int like_idx, const std::string& verb) {
  return verb + " INTO fence_oplog_v1 SELECT namespace, key, " + std::to_string(idx) +
         ", epoch, writer, payload, late, seal FROM fence_oplog_v1 WHERE key = 'k' AND idx = " +
         std::to_string(like_idx);
}

const std::string zombie_row = forged(4, 1);
const std::string owner_row = forged(4, 3);
const std::string lowered_record =
    "UPDATE fence_meta_v1 SET (epoch, writer) ="
    " (SELECT epoch, writer FROM fence_oplog_v1 WHERE key = 'k' AND idx = 1) WHERE key = 'k'";

void stub_guard(Database& db, bool any) {
  const std::vector<int> arities =
      any ? std::vector<int>{-1} : std::vector<int>{1, 3, 4, 5, 7, 8, 9, 14};
  for (const int arity : arities) {
    ASSERT_EQ(
        sqlite3_create_function(db.get(), "fence_guard_v1", arity, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                nullptr, agree, nullptr, nullptr),
        SQLITE_OK);
  }
}

void add_run_function(Database& db) {
  ASSERT_EQ(
      sqlite3_create_function(db.get(), "run", 1, SQLITE_UTF8, nullptr, run_sql, nullptr, nullptr),
      SQLITE_OK);
}

std::string run(const std::string& sql) { return "SELECT run(" + quoted(sql) + ")"; }

void Attack::SetUp() {
  Database db(path);
  ASSERT_OK(db, "PRAGMA journal_mode = WAL");
  ASSERT_OK(db, claim("k", 1, w1) + ";" + append("k", 1, w1, 1, "one") + ";" +
                    append("k", 1, w1, 2, "two"));
  ASSERT_OK(db, claim("own", 1, w1) + ";" + append("own", 1, w1, 1, "mine"));
  ASSERT_OK(db, claim("k", 2, w2) + ";" + append("k", 2, w2, 3, "three"));
  ASSERT_OK(db, "SELECT fence_config('evict_after', 2000)");
  accept_changes();
}

std::vector<std::string> Attack::stored() const {
  Database observer(path, Setup::plain);
  std::vector<std::string> all;
  for (const char* table : {"fence_control_v1", "fence_setting_v1", "fence_namespace_v1",
                            "fence_meta_v1", "fence_oplog_v1", "fence_value_v1"}) {
    all.emplace_back(table);
    for (const std::string& row :
         observer.rows(std::string("SELECT rowid, * FROM ") + table + " ORDER BY rowid")) {
      all.push_back(row);
    }
  }
  return all;
}

void Attack::expect_unprepared(Database& db, const std::string& sql, int rc,
                               const std::string& message) {
  const Attempt made = attempt(db, sql);
  EXPECT_FALSE(made.prepared) << sql;
  EXPECT_EQ(made.result.rc, rc) << sql;
  EXPECT_EQ(made.result.message, message) << sql;
  expect_untouched();
}

void Attack::expect_no_guard(Database& db, const std::string& sql) {
  expect_unprepared(db, sql, plain_error, "no such function: fence_guard_v1");
}

void Attack::expect_not_asserted(Database& db, const std::string& sql) {
  const Attempt made = attempt(db, sql);
  EXPECT_TRUE(refused(made.result, "ZF005", auth, "ZF005")) << sql;
  expect_untouched();
}

void Attack::expect_plain_refusal(Database& db, const std::string& sql) {
  const Result result = attempt(db, sql).result;
  EXPECT_EQ(result.rc, SQLITE_CONSTRAINT_TRIGGER) << sql << ": " << result.message;
  EXPECT_EQ(result.message.rfind("ZF005 not_asserted: ", 0), 0u) << sql << ": " << result.message;
  expect_untouched();
}

void Attack::expect_zombie_refused(Database& db) {
  EXPECT_REFUSED(db, append("k", 1, w1, next_idx, "late"), "ZF001", auth);
  EXPECT_REFUSED(db, insert("k", 1, w1, next_idx, "late"), "ZF001", auth);
  expect_untouched();
}

void Attack::expect_owner_goes_on(Database& db) {
  EXPECT_OK(db, append("k", 2, w2, next_idx, "scalar"));
  EXPECT_OK(db, insert("k", 2, w2, next_idx + 1, "insert"));
  EXPECT_OK(db, "BEGIN;" + append("k", 2, w2, next_idx + 2, "joined") + "; COMMIT");
  std::string newest;
  for (int idx = next_idx + 2; idx >= next_idx; --idx) {
    newest += std::to_string(idx) + (idx == next_idx ? "" : ",");
  }
  Database observer(path, Setup::plain);
  EXPECT_EQ(
      observer.value("SELECT group_concat(idx) FROM (SELECT idx FROM fence_oplog_v1 WHERE key ="
                     " 'k' AND epoch = 2 ORDER BY rowid DESC LIMIT 3)"),
      newest);
  next_idx += 3;
  accept_changes();
}

void Attack::expect_owner_goes_on() {
  Database owner(path, Setup::loaded);
  expect_owner_goes_on(owner);
}

void Attack::expect_owner_alarmed(Database& db) {
  accept_changes();
  EXPECT_REFUSED(db, append("k", 2, w2, 20, "scalar"), "ZF020", auth);
  EXPECT_REFUSED(db, insert("k", 2, w2, 20, "insert"), "ZF020", auth);
  EXPECT_OK(db, "BEGIN");
  EXPECT_REFUSED(db, append("k", 2, w2, 20, "joined"), "ZF020", auth);
  EXPECT_DOOMED(db, "COMMIT", "ZF020");
  expect_untouched();
}

void Attack::expect_owner_alarmed() {
  Database owner(path, Setup::loaded);
  expect_owner_alarmed(owner);
}

void Loaded::SetUp() {
  Attack::SetUp();
  set_switches(zombie, GetParam());
}

bool Loaded::has_authorizer() const {
  return GetParam() == Switches::authorizer || GetParam() == Switches::authorizer_alone;
}

bool Loaded::is_defensive() const {
  return GetParam() == Switches::usual || GetParam() == Switches::authorizer;
}

void Loaded::expect_shut(const std::string& sql, const std::string& table) {
  if (GetParam() == Switches::not_defensive) {
    expect_not_asserted(zombie, sql);
    return;
  }
  // SQLite asks the authorizer about an INSERT before it looks at the table, and
  // about UPDATE and DELETE afterwards.
  const Attempt made = attempt(zombie, sql);
  EXPECT_FALSE(made.prepared) << sql;
  if (!has_authorizer() || made.result.rc != auth) {
    EXPECT_TRUE(is_defensive()) << sql << ": " << made.result.message;
    EXPECT_EQ(made.result.rc, plain_error) << sql;
    EXPECT_EQ(made.result.message, "table " + table + " may not be modified") << sql;
  } else {
    EXPECT_EQ(made.result.message, "not authorized") << sql;
  }
  expect_untouched();
}

}  // namespace fence::test
