// fence_version() and fence_capabilities().
#include <cstring>

#include "core/lineage.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/json_text.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

struct Capabilities {
  bool fencing = false;
  Maybe<int64_t> format;
  char reason[message_capacity] = {0};  // why main is not, or not wholly, fenced
  JournalMode journal;
  bool defensive = false;
};

void put_reason(const Reason& reason, int64_t number, Capabilities* found) noexcept {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.number = number;
  TextSink sink(found->reason, sizeof found->reason);
  render_text(refusal, &sink);
}

bool read_capabilities(Connection* connection, Capabilities* found, Failure* failure) noexcept {
  int defensive = 0;
  sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
  found->defensive = defensive != 0;
  Installed installed = Installed::no;
  if (!read_journal_mode(connection, &found->journal, failure) ||
      !find_installed(connection, &installed, failure)) {
    return false;
  }
  const Reason* fault = storage_fault(connection, found->journal);
  int64_t format = 0;
  if (installed == Installed::yes && !read_format(connection, &format, failure)) {
    return false;
  }
  if (installed == Installed::yes) {
    found->format = format;
  }
  if (fault == nullptr && installed != Installed::yes) {
    fault = installed == Installed::no ? &reasons::not_installed : &reasons::partly_installed;
  }
  int64_t number = format;
  if (fault == nullptr && format != file_format) {
    fault = &reasons::other_format;
  }
  if (fault == nullptr) {
    Control control;
    if (!look_at_control(connection, &control, failure)) {
      return false;
    }
    number = control.generation;
    fault = judge_generation(control.generation, connection->min_generation);
  }
  found->fencing = fault == nullptr;
  bool stands = true;
  if (fault == nullptr && !marker_stands(connection, &stands, failure)) {
    return false;
  }
  if (fault != nullptr) {
    put_reason(*fault, number, found);
  } else if (!stands) {
    put_reason(reasons::marker_missing, 0, found);
  }
  return true;
}

void put_flag(JsonText* json, const char* member, bool value) noexcept {
  json->put(member);
  json->put(value ? "true" : "false");
}

void put_text_or_null(JsonText* json, const char* member, const char* text) noexcept {
  json->put(member);
  if (*text == '\0') {
    json->put("null");
  } else {
    json->put_name(text);
  }
}

void put_capabilities(const Connection& connection, const Capabilities& found,
                      JsonText* json) noexcept {
  json->put("{\"engine\":\"sqlite\"");
  put_text_or_null(json, ",\"engine_version\":", sqlite3_libversion());
  put_text_or_null(json, ",\"fence_version\":", FENCE_VERSION);
  json->put(",\"format\":");
  json->put_number_or_null(found.format);
  put_flag(json, ",\"fencing\":", found.fencing);
  put_text_or_null(json, ",\"reason\":", found.reason);
  put_text_or_null(json, ",\"journal_mode\":", found.journal.name);
  // A grant need not be flushed where a crash of the process loses nothing and a
  // power cut loses it together with its holder: only in WAL mode.
  put_flag(json, ",\"grant_flushes\":", std::strcmp(found.journal.name, "wal") != 0);
  put_flag(json, ",\"authorizer\":", connection.authorizer);
  put_flag(json, ",\"defensive\":", found.defensive);
  json->put("}");
}

}  // namespace

void fence_version(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_text(context, FENCE_VERSION, -1, SQLITE_STATIC);
}

void fence_capabilities(sqlite3_context* context, int, sqlite3_value**) {
  Connection* connection = connection_of(context);
  Capabilities found;
  Failure failure;
  const CallScope scope(connection, &failure, WhenDoomed::answered);
  if (!scope.entered() || !read_capabilities(connection, &found, &failure)) {
    failure.raise(context);
    return;
  }
  JsonText json(context);
  put_capabilities(*connection, found, &json);
  json.finish();
}

}  // namespace fence
