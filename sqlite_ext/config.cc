// fence_config(name) and fence_config(name, value): three settings of this
// connection, and those that are kept in the file.
#include "core/argument.h"
#include "core/setting.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/authorizer.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/write_scope.h"

namespace fence {

namespace {

bool refuse(Failure* failure, const Reason& reason) noexcept {
  failure->refuse(reason);
  return false;
}

const Reason corrupt_setting = {Code::corrupt, "the stored value of the setting cannot be",
                                "set it anew with fence_config"};

struct StoredSetting {
  bool there = false;  // false: the default holds
  bool sound = false;  // a number in range
  int64_t value = 0;
};

bool read_stored(Connection* connection, const SettingRule& rule, StoredSetting* stored,
                 Failure* failure) noexcept {
  Use use(connection, Sql::read_setting);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(rule.name));
  }
  if (use.step()) {
    stored->there = true;
    stored->value = sqlite3_column_int64(use.get(), 0);
    stored->sound = sqlite3_column_type(use.get(), 0) == SQLITE_INTEGER &&
                    setting_in_range(rule, stored->value);
    return true;
  }
  if (use.rc() != SQLITE_OK) {
    refuse_unreadable(connection, use.rc(), failure);
    return false;
  }
  return true;
}

bool current_value(Connection* connection, const SettingRule& rule, int64_t* value,
                   Failure* failure) noexcept {
  StoredSetting stored;
  if (!read_stored(connection, rule, &stored, failure)) {
    return false;
  }
  if (stored.there && !stored.sound) {
    return refuse(failure, corrupt_setting);
  }
  *value = stored.there ? stored.value : rule.fallback;
  return true;
}

bool write_stored(Connection* connection, const SettingRule& rule, int64_t value,
                  Failure* failure) noexcept {
  const auto judge = [](Failure*) { return true; };
  const auto write = [&](WriteProgress*, Failure* failed) {
    StoredSetting before;
    Control control;
    if (!read_control(connection, &control, failed) ||
        !read_stored(connection, rule, &before, failed)) {
      return false;
    }
    Row row;
    row.kind = "setting";
    row.add(text_field(rule.name));
    row.add(integer_field(value));
    return write_row(connection, before.there ? Sql::update_setting : Sql::insert_setting, row,
                     failed);
  };
  return run_write(connection, judge, write, failure);
}

// value: nullptr to read.
bool switch_defensive(Connection* connection, const int64_t* value, int64_t* now) noexcept {
  int state = 0;
  sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE,
                    value == nullptr ? -1 : static_cast<int>(*value), &state);
  connection->defensive_withheld = connection->defensive_withheld && value == nullptr;
  *now = state;
  return true;
}

bool switch_slot(Connection* connection, const int64_t* value, int64_t* now) noexcept {
  if (value != nullptr && (*value != 0) != connection->authorizer) {
    switch_authorizer(connection, *value != 0);
  }
  *now = connection->authorizer ? 1 : 0;
  return true;
}

bool set_min_generation(Connection* connection, const int64_t* value, int64_t* now) noexcept {
  if (value != nullptr) {
    connection->min_generation = *value;
  }
  *now = connection->min_generation;
  return true;
}

bool configure(Connection* connection, std::string_view name, const int64_t* value, int64_t* now,
               Failure* failure) noexcept {
  const bool is_authorizer = name == "authorizer";
  if (is_authorizer || name == "defensive") {
    if (value != nullptr && *value > 1) {
      return refuse(failure, reasons::setting_out_of_range);
    }
    return is_authorizer ? switch_slot(connection, value, now)
                         : switch_defensive(connection, value, now);
  }
  if (name == "min_generation") {
    return set_min_generation(connection, value, now);
  }
  const SettingRule* rule = find_setting(name);
  if (rule == nullptr) {
    return refuse(failure, reasons::setting_unknown);
  }
  if (value == nullptr) {
    return check_installed(connection, failure) && current_value(connection, *rule, now, failure);
  }
  if (!setting_in_range(*rule, *value)) {
    return refuse(failure, reasons::setting_out_of_range);
  }
  *now = *value;
  return write_stored(connection, *rule, *value, failure);
}

}  // namespace

void fence_config(sqlite3_context* context, int count, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  std::string_view name;
  int64_t value = 0;
  int64_t now = 0;
  Failure failure;
  const CallScope scope(connection, &failure,
                        count > 1 ? WhenDoomed::refused : WhenDoomed::answered);
  if (!scope.entered() || !read_name(values[0], reasons::setting_unknown, &name, &failure) ||
      (count > 1 && !read_number(values[1], reasons::setting_out_of_range, &value, &failure)) ||
      !configure(connection, name, count > 1 ? &value : nullptr, &now, &failure)) {
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, now);
}

}  // namespace fence
