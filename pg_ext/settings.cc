#include "pg_ext/settings.h"

#include "core/setting.h"
#include "pg_ext/server.h"

extern "C" {
#include "utils/guc.h"
}

namespace fence {

Settings settings;

namespace {

// name: with the prefix, as the server knows it; its default and range are core's.
void define_duration(const char* name, const char* meaning, int* value) {
  const SettingRule* rule = find_setting(name + sizeof "fence." - 1);
  Assert(rule != nullptr);
  DefineCustomIntVariable(name, meaning, nullptr, value, static_cast<int>(rule->fallback),
                          static_cast<int>(rule->least), static_cast<int>(rule->most), PGC_SUSET,
                          GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

}  // namespace

void define_settings() {
  define_duration("fence.evict_after",
                  "How long a session may keep a claim waiting while it waits for its own client.",
                  &settings.evict_after);
  define_duration("fence.commit_wait",
                  "How long a commit waits for a claim of one of its keys that is under way.",
                  &settings.commit_wait);
  DefineCustomBoolVariable(
      "fence.log_refusals", "Writes a line to the server's log for each refusal of ownership.",
      nullptr, &settings.log_refusals, true, PGC_SUSET, 0, nullptr, nullptr, nullptr);
  MarkGUCPrefixReserved("fence");
}

}  // namespace fence
