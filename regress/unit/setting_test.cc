#include "core/setting.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace fence::test {
namespace {

// The contract's table, written out a second time.
const SettingRule promised[] = {
    {"evict_after", 1000, 100, 3600000},               // ms
    {"commit_wait", 10000, 10, 3600000},               // ms
    {"recall_grace", 300, 0, 60000},                   // ms
    {"lease_skew", 200, 0, 10000},                     // ms
    {"max_delegations", 10000, 1, 1000000},            // count
    {"max_delegations_per_holder", 2000, 1, 1000000},  // count
    {"max_waiters", 16, 1, 1000},                      // count
};

TEST(Setting, has_the_promised_default_and_range) {
  for (const SettingRule& expected : promised) {
    const SettingRule* const rule = find_setting(expected.name);
    ASSERT_NE(rule, nullptr) << expected.name;
    EXPECT_STREQ(rule->name, expected.name);
    EXPECT_EQ(rule->fallback, expected.fallback) << expected.name;
    EXPECT_EQ(rule->least, expected.least) << expected.name;
    EXPECT_EQ(rule->most, expected.most) << expected.name;
  }
}

TEST(Setting, is_listed_once_and_no_other_is) {
  std::set<std::string> names;
  for (const SettingRule& rule : setting_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(find_setting(rule.name), &rule) << rule.name;
    EXPECT_TRUE(setting_in_range(rule, rule.fallback)) << rule.name;
  }
  std::set<std::string> expected;
  for (const SettingRule& rule : promised) expected.insert(rule.name);
  EXPECT_EQ(names, expected);
}

TEST(Setting, takes_both_ends_of_its_range_and_nothing_beyond) {
  for (const SettingRule& rule : promised) {
    EXPECT_TRUE(setting_in_range(rule, rule.least)) << rule.name;
    EXPECT_TRUE(setting_in_range(rule, rule.most)) << rule.name;
    EXPECT_FALSE(setting_in_range(rule, rule.least - 1)) << rule.name;
    EXPECT_FALSE(setting_in_range(rule, rule.most + 1)) << rule.name;
    EXPECT_FALSE(setting_in_range(rule, std::numeric_limits<int64_t>::min())) << rule.name;
    EXPECT_FALSE(setting_in_range(rule, std::numeric_limits<int64_t>::max())) << rule.name;
  }
}

TEST(FindSetting, compares_the_whole_name_byte_by_byte) {
  const std::string nul_behind("evict_after\0", 12);
  for (const std::string& name :
       {std::string(), std::string("evict_afte"), std::string("evict_after_"),
        std::string("EVICT_AFTER"), std::string("fence.evict_after"), std::string(" evict_after"),
        std::string("max_delegations_per"), nul_behind}) {
    EXPECT_EQ(find_setting(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace fence::test
