// The settings that are kept in the database, with their defaults and ranges.
#ifndef FENCE_CORE_SETTING_H
#define FENCE_CORE_SETTING_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fence {

// One setting. Durations are milliseconds, caps are counts; the range includes both ends.
struct SettingRule {
  const char* name;
  int64_t fallback;  // holds until another value is set
  int64_t least;
  int64_t most;
};

// All settings, to be gone through with a for loop.
struct SettingRules {
  const SettingRule* first;
  size_t count;

  const SettingRule* begin() const noexcept { return first; }
  const SettingRule* end() const noexcept { return first + count; }
};

SettingRules setting_rules() noexcept;

// The setting of exactly that name, or null.
const SettingRule* find_setting(std::string_view name) noexcept;

// Whether the setting can take the value; if not: ZF010.
bool setting_in_range(const SettingRule& rule, int64_t value) noexcept;

}  // namespace fence

#endif
