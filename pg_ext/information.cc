// What this is and how it stands: fence_version, fence_capabilities.
#include "pg_ext/arguments.h"
#include "pg_ext/json_text.h"
#include "pg_ext/lineage.h"

extern "C" {
#include "utils/guc.h"
}

namespace fence {

namespace {

// The layout of Fence's tables; a change needs a step in migrations/.
constexpr int64_t format = 1;

}  // namespace

FENCE_FUNCTION(fence_pg_version) {
  static_cast<void>(fcinfo);
  PG_RETURN_DATUM(CStringGetTextDatum(FENCE_VERSION));
}

FENCE_FUNCTION(fence_pg_capabilities) {
  static_cast<void>(fcinfo);
  JsonText json;
  json.put("{\"engine\":\"postgresql\",\"engine_version\":");
  json.put_text(GetConfigOption("server_version", false, false));
  json.put(",\"fence_version\":\"" FENCE_VERSION "\",\"format\":");
  json.put_number_or_null(format);
  const Reason* away = whereabouts().away;
  json.put(",\"fencing\":");
  json.put(away == nullptr ? "true,\"reason\":null" : "false,\"reason\":");
  if (away != nullptr) {
    json.put_text(away->text);
  }
  json.put(",\"journal_mode\":null,\"grant_flushes\":null,\"authorizer\":null,\"defensive\":null}");
  PG_RETURN_DATUM(json.as_jsonb());
}

}  // namespace fence
