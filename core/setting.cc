#include "core/setting.h"

namespace fence {
namespace {

constexpr SettingRule rules[] = {
    // name, fallback, least, most
    {"evict_after", 1000, 100, 3600000},               // ms
    {"commit_wait", 10000, 10, 3600000},               // ms
    {"recall_grace", 300, 0, 60000},                   // ms
    {"lease_skew", 200, 0, 10000},                     // ms
    {"max_delegations", 10000, 1, 1000000},            // count
    {"max_delegations_per_holder", 2000, 1, 1000000},  // count
    {"max_waiters", 16, 1, 1000},                      // count
};

}  // namespace

SettingRules setting_rules() noexcept { return {rules, sizeof rules / sizeof rules[0]}; }

const SettingRule* find_setting(std::string_view name) noexcept {
  for (const SettingRule& rule : rules) {
    if (name == rule.name) return &rule;
  }
  return nullptr;
}

bool setting_in_range(const SettingRule& rule, int64_t value) noexcept {
  return value >= rule.least && value <= rule.most;
}

}  // namespace fence
