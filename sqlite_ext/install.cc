// fence_install(): Fence's tables, triggers and views in main.
#include "sqlite_ext/install.h"

#include "core/failpoint.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/write_scope.h"

namespace fence {

namespace scripts {
const char* const tables =
#include "sql/tables.inc"
    ;
const char* const triggers =
#include "sql/triggers.inc"
    ;
const char* const views =
#include "sql/views.inc"
    ;
}  // namespace scripts

namespace {

// After the triggers: SQLite reads the schema in this order, and newer ones refuse
// to read a trigger on what they know to be a shadow table.
constexpr const char* marker_sql = "CREATE VIRTUAL TABLE main.fence USING fence";

bool run_script(Connection* connection, const char* script, Failure* failure) noexcept {
  const bool outer_armed = connection->armed;
  connection->armed = true;
  const int rc = sqlite3_exec(connection->db, script, nullptr, nullptr, nullptr);
  connection->armed = outer_armed;
  if (rc != SQLITE_OK) {
    failure->pass_on(connection->db, rc);
    return false;
  }
  return true;
}

bool store_new_control(Connection* connection, Failure* failure) noexcept {
  Control control;
  sqlite3_randomness(sizeof control.seal_key.bytes, control.seal_key.bytes);
  return store_control(connection, control, false, failure);
}

// Reloading a dump puts the triggers behind the marker; some tools leave it out.
bool mend_marker(Connection* connection, Failure* failure) noexcept {
  bool stands = false;
  if (!marker_stands(connection, &stands, failure)) {
    return false;
  }
  return stands || (run_script(connection, "DROP TABLE IF EXISTS main.fence", failure) &&
                    run_script(connection, marker_sql, failure));
}

bool install_locked(Connection* connection, Failure* failure) noexcept {
  Installed installed = Installed::no;
  if (!find_installed(connection, &installed, failure)) {
    return false;
  }
  if (installed == Installed::yes) {
    return check_installed(connection, failure) && mend_marker(connection, failure);
  }
  if (installed == Installed::partly) {
    failure->refuse(reasons::partly_installed);
    return false;
  }
  return run_script(connection, scripts::tables, failure) &&
         run_script(connection, scripts::triggers, failure) &&
         run_script(connection, scripts::views, failure) &&
         run_script(connection, marker_sql, failure) && store_new_control(connection, failure);
}

}  // namespace

void fence_install(sqlite3_context* context, int, sqlite3_value**) {
  Connection* connection = connection_of(context);
  Failure failure;
  const CallScope scope(connection, &failure);
  const auto judge = [](Failure*) { return true; };
  const auto write = [&](WriteProgress*, Failure* failed) {
    return install_locked(connection, failed);
  };
  if (!scope.entered() || !check_alone(connection, &failure) ||
      !run_write(connection, judge, write, &failure)) {
    failure.raise(context);
    return;
  }
  if (connection->defensive_withheld) {
    connection->defensive_withheld = false;
    sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  }
  sqlite3_result_int64(context, file_format);
}

}  // namespace fence
