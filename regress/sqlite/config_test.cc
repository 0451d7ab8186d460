// fence_config, fence_capabilities, fence_version, fence_fingerprint (spec 2.5 and 2.6).
#include "regress/sqlite/owned_log.h"

namespace fence::test {
namespace {

// What is kept in the file: name, default, least, most. The contract's table.
constexpr struct {
  const char* name;
  int64_t fallback;
  int64_t least;
  int64_t most;
} settings[] = {
    {"evict_after", 1000, 100, 3600000},    {"commit_wait", 10000, 10, 3600000},
    {"recall_grace", 300, 0, 60000},        {"lease_skew", 200, 0, 10000},
    {"max_delegations", 10000, 1, 1000000}, {"max_delegations_per_holder", 2000, 1, 1000000},
    {"max_waiters", 16, 1, 1000},
};

std::string get(const std::string& name) { return "SELECT fence_config('" + name + "')"; }
std::string set(const std::string& name, const std::string& value) {
  return "SELECT fence_config('" + name + "', " + value + ")";
}

class Config : public FileTest {
 protected:
  Database db{path};
};

TEST_F(Config, has_the_promised_default_and_takes_both_ends_of_the_range_and_nothing_beyond) {
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting.name);
    EXPECT_EQ(db.value(get(setting.name)), std::to_string(setting.fallback));
    for (const int64_t value : {setting.least, setting.most, setting.fallback}) {
      EXPECT_EQ(db.value(set(setting.name, std::to_string(value))), std::to_string(value));
      EXPECT_EQ(db.value(get(setting.name)), std::to_string(value));
    }
    for (const int64_t value : {setting.least - 1, setting.most + 1, INT64_MAX, int64_t{-1}}) {
      expect_clean_refusal(db, set(setting.name, std::to_string(value)), "ZF010");
    }
    EXPECT_EQ(db.value(get(setting.name)), std::to_string(setting.fallback));
  }
}

TEST_F(Config, is_kept_in_the_file_and_seen_by_every_connection) {
  Database other(path);
  ASSERT_OK(db, set("evict_after", "2500"));
  ASSERT_OK(db, set("max_waiters", "'17'"));
  EXPECT_EQ(other.value(get("evict_after")), "2500");
  ASSERT_OK(other, set("evict_after", "3500"));
  EXPECT_EQ(db.value(get("evict_after")), "3500");
  Database later(path, Setup::loaded);
  EXPECT_EQ(later.value(get("evict_after")), "3500");
  EXPECT_EQ(later.value(get("max_waiters")), "17");
  EXPECT_EQ(later.value(get("commit_wait")), "10000") << "the others keep their default";
}

TEST_F(Config, is_part_of_the_transaction_that_it_is_called_in) {
  ASSERT_OK(db, "BEGIN");
  ASSERT_OK(db, set("evict_after", "2500"));
  EXPECT_EQ(db.value(get("evict_after")), "2500");
  ASSERT_OK(db, "ROLLBACK");
  EXPECT_EQ(db.value(get("evict_after")), "1000");
  ASSERT_OK(db, "BEGIN; " + set("evict_after", "2500") + "; COMMIT");
  EXPECT_EQ(db.value(get("evict_after")), "2500");
}

TEST_F(Config, refuses_unknown_names_and_what_is_no_name) {
  for (const char* name :
       {"'unknown'", "''", "'evict_after '", "'EVICT_AFTER'", "'fence.evict_after'", "NULL", "5",
        "x'6576'", "'evict_after' || char(0)"}) {
    expect_clean_refusal(db, std::string("SELECT fence_config(") + name + ")", "ZF010");
    expect_clean_refusal(db, std::string("SELECT fence_config(") + name + ", 1)", "ZF010");
  }
}

TEST_F(Config, refuses_values_that_are_no_numbers) {
  for (const char* name : {"evict_after", "authorizer", "defensive"}) {
    const std::string before = db.value(get(name));
    for (const char* value : {"NULL", "''", "'on'", "'1.0'", "' 1'", "0.5", "-1", "x'01'", "1e999",
                              "9223372036854775808", "CAST(x'3100' AS TEXT)"}) {
      expect_clean_refusal(db, set(name, value), "ZF010");
    }
    EXPECT_EQ(db.value(get(name)), before);
  }
}

TEST_F(Config, switches_authorizer_and_defensive_for_this_connection_only) {
  Database other(path);
  EXPECT_EQ(db.value(get("authorizer")), "0");
  EXPECT_EQ(db.value(get("defensive")), "1");
  EXPECT_EQ(db.value(set("authorizer", "1")), "1");
  EXPECT_EQ(db.value(set("defensive", "0")), "0");
  EXPECT_EQ(db.value(get("authorizer")), "1");
  EXPECT_EQ(db.value(get("defensive")), "0");
  EXPECT_EQ(other.value(get("authorizer")), "0");
  EXPECT_EQ(other.value(get("defensive")), "1");
  for (const char* name : {"authorizer", "defensive"}) {
    const std::string before = db.value(get(name));
    expect_clean_refusal(db, set(name, "2"), "ZF010");
    EXPECT_EQ(db.value(get(name)), before);
  }
  EXPECT_EQ(db.value(set("authorizer", "0")), "0");
  EXPECT_EQ(db.value(set("defensive", "1")), "1");
  ASSERT_OK(db, claim("k", 1, w1));
  EXPECT_OK(db, append("k", 1, w1, 1, "x"));
}

TEST_F(Config, of_the_file_needs_an_installed_file_and_switches_do_not) {
  Database bare(":memory:", Setup::loaded);
  EXPECT_REFUSED(bare, get("evict_after"), "ZF012", plain_error);
  EXPECT_REFUSED(bare, set("evict_after", "2000"), "ZF012", plain_error);
  EXPECT_EQ(bare.value(get("defensive")), "1");
  EXPECT_EQ(bare.value(set("defensive", "0")), "0");
}

// ---- what the database says of itself ----------------------------------------

std::string capability(Database& db, const std::string& member) {
  return db.value("SELECT json_extract(fence_capabilities(), '$." + member + "')");
}

TEST_F(Config, capabilities_have_the_members_of_the_contract) {
  const std::string members =
      "engine,engine_version,fence_version,format,fencing,reason,journal_mode,grant_flushes,"
      "authorizer,defensive";
  EXPECT_EQ(db.value("SELECT group_concat(key) FROM json_each(fence_capabilities())"), members);
  EXPECT_EQ(capability(db, "engine"), "sqlite");
  EXPECT_EQ(capability(db, "engine_version"), sqlite3_libversion());
  EXPECT_EQ(capability(db, "fence_version"), db.value("SELECT fence_version()"));
  EXPECT_EQ(capability(db, "format"), db.value("SELECT fence_install()"));
  EXPECT_EQ(capability(db, "fencing"), "1");
  EXPECT_EQ(capability(db, "reason"), "NULL");
  for (const char* flag : {"fencing", "grant_flushes", "authorizer", "defensive"}) {
    const std::string type =
        db.value(std::string("SELECT json_type(fence_capabilities(), '$.") + flag + "')");
    EXPECT_TRUE(type == "true" || type == "false") << flag << ": " << type;
  }
}

TEST_F(Config, capabilities_follow_the_journal_mode_and_the_switches) {
  EXPECT_EQ(capability(db, "journal_mode"), "delete");
  EXPECT_EQ(capability(db, "grant_flushes"), "1");
  ASSERT_OK(db, "PRAGMA journal_mode = WAL");
  EXPECT_EQ(capability(db, "journal_mode"), "wal");
  EXPECT_EQ(capability(db, "grant_flushes"), "0");
  EXPECT_EQ(capability(db, "authorizer"), "0");
  EXPECT_EQ(capability(db, "defensive"), "1");
  ASSERT_OK(db, set("authorizer", "1"));
  ASSERT_OK(db, set("defensive", "0"));
  EXPECT_EQ(capability(db, "authorizer"), "1");
  EXPECT_EQ(capability(db, "defensive"), "0");
  EXPECT_EQ(capability(db, "fencing"), "1");
}

TEST_F(Config, capabilities_of_a_file_that_cannot_fence_say_why) {
  Database bare(directory.file("bare.db"), Setup::loaded);
  EXPECT_EQ(capability(bare, "fencing"), "0");
  EXPECT_EQ(capability(bare, "format"), "NULL");
  EXPECT_EQ(capability(bare, "reason"), "Fence is not installed in this file");
  ASSERT_OK(db, "PRAGMA journal_mode = MEMORY");
  EXPECT_EQ(capability(db, "fencing"), "0");
  EXPECT_NE(capability(db, "reason").find("journal_mode MEMORY"), std::string::npos);
  EXPECT_EQ(capability(db, "format"), "1") << "it is installed all the same";
  ASSERT_OK(db, "PRAGMA journal_mode = DELETE");
  EXPECT_EQ(capability(db, "fencing"), "1");
}

TEST(Version, is_three_numbers_and_needs_no_installed_file) {
  Database db(":memory:", Setup::loaded);
  EXPECT_EQ(db.value("SELECT fence_version()"), FENCE_VERSION);
  EXPECT_EQ(db.value("SELECT fence_version() GLOB '[0-9]*.[0-9]*.[0-9]*'"), "1");
}

TEST(InstallCall, returns_the_format_and_is_harmless_when_repeated_by_anybody) {
  TemporaryDirectory directory;
  Database db(directory.file("fence.db"), Setup::loaded);
  EXPECT_EQ(db.value("SELECT fence_install()"), "1");
  ASSERT_OK(db, claim("k", 7, w1));
  const std::vector<std::string> before = contents(db);
  EXPECT_EQ(db.value("SELECT fence_install()"), "1");
  Database other(directory.file("fence.db"), Setup::loaded);
  EXPECT_EQ(other.value("SELECT fence_install()"), "1");
  EXPECT_EQ(contents(db), before);
}

TEST(Fingerprint, is_8_hex_digits_that_the_views_show_as_well) {
  Database db;
  EXPECT_EQ(db.value("SELECT fence_fingerprint(" + quoted(w1) + ")"), w1_fingerprint);
  EXPECT_EQ(db.value("SELECT fence_fingerprint(" + quoted(w2) + ")"), w2_fingerprint);
  ASSERT_OK(db, claim("k", 1, w1));
  EXPECT_EQ(db.value("SELECT count(*) FROM oplog_metadata WHERE writer = fence_fingerprint(" +
                     quoted(w1) + ")"),
            "1");
  EXPECT_EQ(db.value("SELECT typeof(fence_fingerprint(" + quoted(w1) + "))"), "text");
}

}  // namespace
}  // namespace fence::test
