#include "sqlite_ext/authorizer.h"

#include <cstring>

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace {

constexpr const char* own_tables[] = {
    "fence",         "fence_control_v1", "fence_setting_v1", "fence_namespace_v1",
    "fence_meta_v1", "fence_oplog_v1",   "fence_value_v1"};
// Each of them would let a write pass unchecked.
constexpr const char* guarded_pragmas[] = {"writable_schema", "ignore_check_constraints",
                                           "schema_version"};

bool is_own_table(const char* name) noexcept {
  for (const char* own : own_tables) {
    if (name != nullptr && sqlite3_stricmp(name, own) == 0) {
      return true;
    }
  }
  return false;
}

bool is_own_object(const char* name) noexcept {
  return name != nullptr && sqlite3_strnicmp(name, "fence_", 6) == 0;
}

bool is_guarded_pragma(const char* name) noexcept {
  for (const char* guarded : guarded_pragmas) {
    if (name != nullptr && sqlite3_stricmp(name, guarded) == 0) {
      return true;
    }
  }
  return false;
}

bool is_write(int action) noexcept {
  return action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
}

// Is it main, under whatever name? SQLITE_DBCONFIG_MAINDBNAME renames it, and its
// file can be attached a second time. VACUUM copies into a file of its own.
bool is_main(sqlite3* db, const char* database) noexcept {
  if (database == nullptr || sqlite3_stricmp(database, "main") == 0) {
    return true;
  }
  const char* file = sqlite3_db_filename(db, database);
  const char* own = sqlite3_db_filename(db, "main");
  return file != nullptr && own != nullptr && *own != '\0' && std::strcmp(file, own) == 0;
}

// May the application do this? What the arguments mean depends on the action:
// https://www.sqlite.org/c3ref/c_alter_table.html
bool application_may(sqlite3* db, int action, const char* first, const char* second,
                     const char* database) noexcept {
  // Another file that is attached has its triggers. A TEMP trigger on a table of
  // main counts as TEMP.
  const bool in_main = is_main(db, database);
  switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VTABLE:
      return !in_main || !is_own_table(first);
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_INDEX:
      return !in_main || !is_own_table(second);
    case SQLITE_CREATE_TEMP_TRIGGER:
      return !is_own_table(second);
    case SQLITE_ALTER_TABLE:  // (schema, table)
      return !is_own_table(second) || !is_main(db, first);
    case SQLITE_PRAGMA:
      return second == nullptr || !is_guarded_pragma(first);
    default:
      return true;
  }
}

int authorize(void* data, int action, const char* first, const char* second, const char* database,
              const char* trigger) noexcept {
  const auto* connection = static_cast<const Connection*>(data);
  if (connection->armed) {
    // Fence's own statement; but a foreign trigger may have slipped in below it.
    const bool foreign =
        is_write(action) && is_own_table(first) && trigger != nullptr && !is_own_object(trigger);
    return foreign ? SQLITE_DENY : SQLITE_OK;
  }
  return application_may(connection->db, action, first, second, database) ? SQLITE_OK : SQLITE_DENY;
}

}  // namespace

void switch_authorizer(Connection* connection, bool on) noexcept {
  const bool install = on && layer(Layer::authorizer);
  sqlite3_set_authorizer(connection->db, install ? authorize : nullptr,
                         install ? connection : nullptr);
  connection->authorizer = on;
}

}  // namespace fence
