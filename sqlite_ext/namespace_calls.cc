// fence_namespace_set: how the writes to a namespace are fenced.
#include "core/argument.h"
#include "core/mode.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/namespace_store.h"
#include "sqlite_ext/own_transaction.h"

namespace fence {

namespace {

struct NamespaceCall {
  std::string_view ns;
  NamespaceRule rule;  // all but its floor
  bool in_shard_space = false;
};

bool refuse(Failure* failure, const Reason& reason) noexcept {
  failure->refuse(reason);
  return false;
}

// (namespace, mode[, identical_repeat[, shard_space]])
bool read_call(int count, sqlite3_value** values, NamespaceCall* call, Failure* failure) noexcept {
  std::string_view mode;
  if (!read_name(values[0], reasons::bad_namespace, &call->ns, failure)) {
    return false;
  }
  if (sqlite3_value_type(values[1]) != SQLITE_TEXT ||
      !read_bytes(values[1], reasons::bad_mode, &mode, failure) ||
      !parse_mode(mode, &call->rule.mode)) {
    return refuse(failure, reasons::bad_mode);
  }
  if (count > 2) {
    int64_t number = 0;
    if (!read_number(values[2], reasons::bad_identical_repeat, &number, failure) || number > 1) {
      return refuse(failure, reasons::bad_identical_repeat);
    }
    call->rule.identical_repeat = number == 1;
  }
  call->in_shard_space = count > 3 && sqlite3_value_type(values[3]) != SQLITE_NULL;
  return true;
}

bool set_namespace(Connection* connection, const NamespaceCall& call, Failure* failure) noexcept {
  if (call.in_shard_space) {
    return refuse(failure, reasons::no_shard_space);
  }
  const auto write = [&](WriteProgress*, Failure* refused) {
    NamespaceState state;
    if (!read_namespace(connection, call.ns, &state, refused) ||
        !check_generation(connection, state.generation, refused)) {
      return false;
    }
    const int64_t floor = state.rule.floor;
    state.rule = call.rule;
    state.rule.floor = floor;
    return store_namespace(connection, call.ns, &state, refused);
  };
  return run_alone(connection, write, failure);
}

}  // namespace

void fence_namespace_set(sqlite3_context* context, int count, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  NamespaceCall call;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !read_call(count, values, &call, &failure) ||
      !set_namespace(connection, call, &failure)) {
    failure.name_key(call.ns, {});
    failure.raise(context);
  }
}

}  // namespace fence
