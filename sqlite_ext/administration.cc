// fence_purge, which forgets deleted keys, and fence_reset, which lowers an epoch.
#include "core/argument.h"
#include "core/mode.h"
#include "core/name.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/bytes.h"
#include "sqlite_ext/clock.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/log_store.h"
#include "sqlite_ext/own_transaction.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

struct PurgeCall {
  std::string_view ns;
  int64_t age = 0;
  int64_t before = 0;                   // keys deleted after that time stay
  char refused_key[longest_name] = {};  // for a failure, which outlives the row it is from
};

// Does something with each key that may be purged.
template <typename Do>
bool for_each_purgeable(Connection* connection, PurgeCall* call, Do act,
                        Failure* failure) noexcept {
  Use use(connection, Sql::purgeable);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(call->ns));
    bind_field(use.get(), 2, integer_field(call->before));
    bind_field(use.get(), 3, integer_field(most_purged));
  }
  while (use.step()) {
    LogName name{call->ns, {}};
    if (!read_text(use.get(), 0, &name.key)) {
      failure->refuse(reasons::corrupt_record);
      return false;
    }
    if (!act(name)) {
      const std::string_view key = beginning_of(name.key, sizeof call->refused_key);
      failure->name_key(call->ns, copy_bytes(key, call->refused_key));
      return false;
    }
  }
  if (use.rc() != SQLITE_OK) {
    refuse_unreadable(connection, use.rc(), failure);
  }
  return use.rc() == SQLITE_OK;
}

// The namespace with the floors of those keys. Each record is read as for a claim: a
// floor that somebody else has lowered must not pass on.
bool merge_floors(Connection* connection, PurgeCall* call, NamespaceState* state, int64_t* count,
                  Failure* failure) noexcept {
  const auto merge = [&](const LogName& name) {
    OwnerCall key;
    key.name = name;
    LogState log;
    if (!read_log(connection, key, nullptr, &log, failure)) {
      return false;
    }
    state->rule.floor = merged_floor(state->rule.floor, log.record.epoch);
    ++*count;
    return true;
  };
  return read_namespace(connection, call->ns, state, failure) &&
         check_generation(connection, state->generation, failure) &&
         for_each_purgeable(connection, call, merge, failure);
}

bool purge_locked(Connection* connection, PurgeCall* call, int64_t* count,
                  Failure* failure) noexcept {
  call->before = purge_cutoff(now_ms(), call->age);
  const auto remove = [&](const LogName& name) {
    Row row;
    row.kind = "record gone";
    row.add(text_field(name.ns));
    row.add(text_field(name.key));
    return write_row(connection, Sql::delete_record, row, failure);
  };
  NamespaceState state;
  if (!merge_floors(connection, call, &state, count, failure)) {
    return false;
  }
  return *count == 0 || (store_namespace(connection, call->ns, &state, failure) &&
                         for_each_purgeable(connection, call, remove, failure));
}

// What stands there is lowered to epoch; *before: what it was.
bool reset_locked(Connection* connection, const LogName& name, int64_t epoch, int64_t* before,
                  Failure* failure) noexcept {
  OwnerCall key;
  key.name = name;
  LogState log;
  if (!read_log(connection, key, nullptr, &log, failure)) {
    return false;
  }
  const Reason* reason = judge_reset(log.ownership(), epoch);
  if (reason != nullptr) {
    failure->refuse(ownership_refusal(reason, log.ownership(), {epoch, {}}));
    return false;
  }
  *before = log.record.epoch;
  note_tail(&log);
  log.record.epoch = epoch;
  log.record.writer = nobody.writer;
  log.record.reset_last = log.end.last_ever();
  return store_record(connection, name, &log, failure);
}

void log_reset(const LogName& name, int64_t before, int64_t epoch) noexcept {
  sqlite3_log(SQLITE_NOTICE, "fence_reset: epoch %lld lowered to %lld, namespace %.*s, key %.*s",
              static_cast<long long>(before), static_cast<long long>(epoch),
              static_cast<int>(name.ns.size()), name.ns.data(), static_cast<int>(name.key.size()),
              name.key.data());
}

}  // namespace

// (namespace, older_than_ms)
void fence_purge(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  PurgeCall call;
  int64_t count = 0;
  Failure failure;
  const CallScope scope(connection, &failure);
  const auto write = [&](WriteProgress*, Failure* refused) {
    return purge_locked(connection, &call, &count, refused);
  };
  if (!scope.entered() || !read_name(values[0], reasons::bad_namespace, &call.ns, &failure) ||
      !read_number(values[1], reasons::bad_age, &call.age, &failure) ||
      !run_alone(connection, write, &failure)) {
    if (failure.refusal().ns.empty()) {
      failure.name_key(call.ns, {});
    }
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, count);
}

// (namespace, key, epoch)
void fence_reset(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  LogName name;
  int64_t epoch = 0;
  int64_t before = 0;
  Failure failure;
  const CallScope scope(connection, &failure);
  const auto write = [&](WriteProgress*, Failure* refused) {
    return reset_locked(connection, name, epoch, &before, refused);
  };
  if (!scope.entered() || !read_name(values[0], reasons::bad_namespace, &name.ns, &failure) ||
      !read_name(values[1], reasons::bad_key, &name.key, &failure) ||
      !read_number(values[2], reasons::bad_epoch, &epoch, &failure) ||
      !run_alone(connection, write, &failure)) {
    failure.name_key(name.ns, name.key);
    failure.raise(context);
    return;
  }
  log_reset(name, before, epoch);
  sqlite3_result_int64(context, before);
}

}  // namespace fence
