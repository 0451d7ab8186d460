#include "sqlite_ext/namespace_store.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace reasons {
const Reason corrupt_namespace = {Code::corrupt,
                                  "what is stored for the namespace has a value that cannot be",
                                  "restore the file from a backup"};
const Reason namespace_seal_broken = {
    Code::guard_broken, "what is stored for the namespace was changed by somebody else than Fence",
    "find out who writes to the file without the extension"};
}  // namespace reasons

namespace {

enum Column : int {
  col_format,
  col_seal_key,
  col_generation,
  col_mode,
  col_identical_repeat,
  col_shard_space,
  col_floor,
  col_seal,
  column_count,
};
static_assert(column_count == namespace_columns, "those that both statements begin with");

// Any value will do: an authorizer may hide some of them.
bool has_rule(sqlite3_stmt* row) noexcept {
  for (int column = col_mode; column < column_count; ++column) {
    if (sqlite3_column_type(row, column) != SQLITE_NULL) {
      return true;
    }
  }
  return false;
}

bool read_rule(sqlite3_stmt* row, NamespaceRule* rule, Seal* seal) noexcept {
  std::string_view mode;
  int64_t identical = 0;
  if (!read_text(row, col_mode, &mode) || !parse_mode(mode, &rule->mode) ||
      !read_integer(row, col_identical_repeat, &identical) || identical < 0 || identical > 1 ||
      sqlite3_column_type(row, col_shard_space) != SQLITE_NULL ||
      !read_integer(row, col_floor, &rule->floor) || rule->floor < -1) {
    return false;
  }
  rule->identical_repeat = identical == 1;
  return read_16_bytes(row, col_seal, seal->bytes);
}

}  // namespace

bool take_namespace(sqlite3_stmt* row, std::string_view ns, NamespaceState* state,
                    Failure* failure) noexcept {
  if (!check_format(sqlite3_column_int64(row, col_format), failure)) {
    return false;
  }
  const Reason* fault = nullptr;
  Seal seal{};
  if (!read_16_bytes(row, col_seal_key, state->seal_key.bytes) ||
      !read_integer(row, col_generation, &state->generation) || state->generation < 0) {
    fault = &reasons::corrupt_control;
  } else if (has_rule(row)) {
    state->stored = true;
    if (!read_rule(row, &state->rule, &seal)) {
      fault = &reasons::corrupt_namespace;
    } else if (layer(Layer::record_seal) &&
               seal != seal_namespace(state->seal_key, ns, state->rule)) {
      fault = &reasons::namespace_seal_broken;
    }
  }
  if (fault != nullptr) {
    failure->refuse(*fault);
  }
  return fault == nullptr;
}

bool read_namespace(Connection* connection, std::string_view ns, NamespaceState* state,
                    Failure* failure) noexcept {
  Use use(connection, Sql::read_namespace);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(ns));
  }
  if (use.step()) {
    return take_namespace(use.get(), ns, state, failure);
  }
  refuse_missing_row(connection, use.rc(), failure);
  return false;
}

bool store_namespace(Connection* connection, std::string_view ns, NamespaceState* state,
                     Failure* failure) noexcept {
  const NamespaceRule& rule = state->rule;
  const Seal seal = seal_namespace(state->seal_key, ns, rule);
  Row row;
  row.kind = "namespace";
  row.add(text_field(ns));
  row.add(text_field(mode_name(rule.mode)));
  row.add(integer_field(rule.identical_repeat ? 1 : 0));
  row.add(Field());
  row.add(integer_field(rule.floor));
  row.add(blob_field(seal.bytes, sizeof seal.bytes));
  const Sql sql = state->stored ? Sql::update_namespace : Sql::insert_namespace;
  if (!write_row(connection, sql, row, failure)) {
    return false;
  }
  state->stored = true;
  return true;
}

bool check_mode(Connection* connection, const OwnerCall& call, ModeRule rule,
                Failure* failure) noexcept {
  NamespaceState state;
  if (!read_namespace(connection, call.name.ns, &state, failure)) {
    return false;
  }
  const Reason* reason = judge_mode_of(call, rule, state.rule.mode);
  if (reason != nullptr) {
    failure->refuse(*reason);
  }
  return reason == nullptr;
}

bool check_writer(Connection* connection, const OwnerCall& call, Failure* failure) noexcept {
  return call.writer_sound || check_mode(connection, call, judge_mode, failure);
}

}  // namespace fence
