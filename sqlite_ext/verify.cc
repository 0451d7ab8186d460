#include "sqlite_ext/verify.h"

#include "core/mode.h"
#include "core/setting.h"
#include "sqlite_ext/bytes.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

constexpr const char* control_sql =
    "SELECT format, seal_key, generation FROM main.fence_control_v1 ORDER BY rowid";
constexpr const char* settings_sql = "SELECT name, value FROM main.fence_setting_v1";
constexpr const char* namespaces_sql =
    "SELECT i.namespace, t.namespace, t.mode, t.identical_repeat, t.shard_space, t.floor, t.seal"
    " FROM main.fence_namespace_v1 i LEFT JOIN main.fence_namespace_v1 t ON t.rowid = i.rowid"
    " WHERE %s ORDER BY i.namespace";
enum NamespaceColumn : int {
  indexed_namespace,
  table_namespace,
  namespace_mode_column,
  namespace_repeat_column,
  namespace_space_column,
  namespace_floor_column,
  namespace_seal_column,
};

}  // namespace

Verifier::Verifier(Connection* connection, const VerifyRange& range) noexcept
    : connection_(connection) {
  range_.ns = copy_bytes(range.ns, names_);
  range_.key = copy_bytes(range.key, names_ + longest_name);
  report_.begin({}, {});
}

VerifyStep Verifier::next(Finding* finding, Failure* failure) noexcept {
  if (phase_ == Phase::schema) {
    const VerifyStep step = next_schema(finding, failure);
    if (step != VerifyStep::done) {
      return step;
    }
  }
  while (!report_.take(finding)) {
    if (phase_ == Phase::done) {
      return VerifyStep::done;
    }
    const VerifyStep step = run_phase(failure);
    if (step == VerifyStep::failed) {
      return step;
    }
    if (step == VerifyStep::done &&
        !start_phase(static_cast<Phase>(static_cast<int>(phase_) + 1), failure)) {
      return VerifyStep::failed;
    }
  }
  return VerifyStep::found;
}

VerifyStep Verifier::next_schema(Finding* finding, Failure* failure) noexcept {
  const VerifyStep step = schema_.next(finding, failure);
  if (step != VerifyStep::done) {
    return step;
  }
  if (!schema_.installed()) {
    phase_ = Phase::done;
    finding->severity = "error";
    finding->object = "file";
    finding->problem = "Fence is not installed in it";
    return VerifyStep::found;
  }
  return start_phase(Phase::control, failure) ? VerifyStep::done : VerifyStep::failed;
}

bool Verifier::start_phase(Phase phase, Failure* failure) noexcept {
  phase_ = phase;
  switch (phase) {
    case Phase::control:
      return walk_.start(connection_, control_sql, {}, failure);
    case Phase::settings:
      return walk_.start(connection_, settings_sql, {}, failure);
    case Phase::namespaces: {
      // Of one key alone it is not the question, as on PostgreSQL.
      const char* sql = namespaces_sql;
      return range_.key.empty() ? walk_.start(connection_, sql, range_, failure)
                                : (walk_.stop(), true);
    }
    case Phase::keys:
      walk_.stop();
      return keys_.start(connection_, range_, failure);
    case Phase::schema:
    case Phase::done:
      break;
  }
  return true;
}

VerifyStep Verifier::run_phase(Failure* failure) noexcept {
  switch (phase_) {
    case Phase::control:
      return check_control(failure);
    case Phase::settings:
      return check_settings(failure);
    case Phase::namespaces:
      return check_namespace(failure);
    case Phase::keys:
      return keys_.next(&report_, failure);
    case Phase::schema:
    case Phase::done:
      break;
  }
  return VerifyStep::done;
}

VerifyStep Verifier::check_control(Failure* failure) noexcept {
  report_.begin({}, {});
  if (!walk_.at_row()) {
    report_.add(walk_.readable() ? Problem::control_missing : Problem::control_unreadable);
    return VerifyStep::done;
  }
  int64_t format = 0;
  int64_t generation = 0;
  const bool known = read_integer(walk_.row(), 0, &format) && format == file_format;
  context_.seals_known = read_16_bytes(walk_.row(), 1, context_.seal_key.bytes);
  if (!context_.seals_known) {
    report_.add(Problem::seal_key_impossible);
  }
  if (!read_integer(walk_.row(), 2, &generation) || generation < 0) {
    report_.add(Problem::generation_impossible);
  }
  if (!walk_.advance(failure)) {
    return VerifyStep::failed;
  }
  if (walk_.at_row()) {
    report_.add(Problem::control_repeated);
  }
  if (!known) {
    report_.add(Problem::format_other);
    phase_ = Phase::keys;  // the last one
  }
  return VerifyStep::done;
}

VerifyStep Verifier::check_settings(Failure* failure) noexcept {
  report_.begin({}, {});
  while (walk_.at_row()) {
    std::string_view name;
    int64_t value = 0;
    const bool text = read_text(walk_.row(), 0, &name);
    const SettingRule* rule = text ? find_setting(name) : nullptr;
    if (rule == nullptr || !read_integer(walk_.row(), 1, &value) ||
        !setting_in_range(*rule, value)) {
      report_.add(Problem::setting_impossible);
    }
    if (!walk_.advance(failure)) {
      return VerifyStep::failed;
    }
  }
  if (!walk_.readable()) {
    report_.add(Problem::settings_unreadable);
  }
  return VerifyStep::done;
}

VerifyStep Verifier::check_namespace(Failure* failure) noexcept {
  report_.begin({}, {});
  if (!walk_.at_row()) {
    if (!walk_.readable()) {
      report_.add(Problem::namespaces_unreadable);
    }
    return VerifyStep::done;
  }
  sqlite3_stmt* row = walk_.row();
  std::string_view indexed;
  std::string_view ns;
  if (!read_text(row, indexed_namespace, &indexed) || check_name(indexed) != NameFault::none) {
    report_.add(Problem::namespace_name);
  } else {
    report_.begin(indexed, {});
    if (!read_text(row, table_namespace, &ns) || ns != indexed) {
      report_.add(Problem::namespace_index);
    } else {
      judge_rule(row, ns);
    }
  }
  return walk_.advance(failure) ? VerifyStep::found : VerifyStep::failed;
}

void Verifier::judge_rule(sqlite3_stmt* row, std::string_view ns) noexcept {
  NamespaceRule rule;
  std::string_view mode;
  int64_t repeat = 0;
  Seal seal{};
  const bool mode_known =
      read_text(row, namespace_mode_column, &mode) && parse_mode(mode, &rule.mode);
  const bool floor_known =
      read_integer(row, namespace_floor_column, &rule.floor) && rule.floor >= -1;
  const bool rest_known = read_integer(row, namespace_repeat_column, &repeat) && repeat >= 0 &&
                          repeat <= 1 &&
                          sqlite3_column_type(row, namespace_space_column) == SQLITE_NULL &&
                          read_16_bytes(row, namespace_seal_column, seal.bytes);
  if (!mode_known) {
    report_.add(Problem::namespace_mode);
  }
  if (!floor_known) {
    report_.add(Problem::namespace_floor);
  }
  if (!rest_known) {
    report_.add(Problem::namespace_values);
  }
  rule.identical_repeat = repeat == 1;
  if (mode_known && floor_known && rest_known && context_.seals_known &&
      seal != seal_namespace(context_.seal_key, ns, rule)) {
    report_.add(Problem::namespace_seal);
  }
}

}  // namespace fence
