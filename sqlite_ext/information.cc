// fence_version() and fence_capabilities().
#include <cstring>

#include "sqlite_ext/functions.h"
#include "sqlite_ext/json_text.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

struct Capabilities {
  const Reason* fault = nullptr;  // why main is not fenced; nullptr: it is
  bool installed = false;
  JournalMode journal;
  bool defensive = false;
};

bool read_capabilities(Connection* connection, Capabilities* found, Failure* failure) noexcept {
  found->journal = journal_mode(connection);
  found->fault = storage_fault(connection);
  int defensive = 0;
  sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
  found->defensive = defensive != 0;
  Installed installed = Installed::no;
  if (!find_installed(connection, &installed, failure)) {
    return false;
  }
  found->installed = installed == Installed::yes;
  if (found->fault == nullptr && !found->installed) {
    found->fault =
        installed == Installed::no ? &reasons::not_installed : &reasons::partly_installed;
  }
  if (found->installed && found->fault == nullptr) {
    Failure other_format;
    if (!check_installed(connection, &other_format)) {
      found->fault = other_format.refusal().reason;
    }
  }
  return true;
}

void put_flag(JsonText* json, const char* member, bool value) noexcept {
  json->put(member);
  json->put(value ? "true" : "false");
}

void put_text_or_null(JsonText* json, const char* member, const char* text) noexcept {
  json->put(member);
  if (text == nullptr || *text == '\0') {
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
  json->put_number_or_null(found.installed ? Maybe<int64_t>(file_format) : Maybe<int64_t>());
  put_flag(json, ",\"fencing\":", found.fault == nullptr);
  put_text_or_null(json, ",\"reason\":", found.fault == nullptr ? nullptr : found.fault->text);
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
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !read_capabilities(connection, &found, &failure)) {
    failure.raise(context);
    return;
  }
  JsonText json(context);
  put_capabilities(*connection, found, &json);
  json.finish();
}

}  // namespace fence
