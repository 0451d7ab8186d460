// Small named values of a key: fenced_put and fenced_remove.
#include "core/argument.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/owner_write.h"
#include "sqlite_ext/value_store.h"

namespace fence {

namespace {

struct ValueCall {
  OwnerCall owner;
  std::string_view name;
  std::string_view value;
};

// (namespace, key, epoch, writer, name)
bool read_value_call(sqlite3_value** values, ValueCall* call, Failure* failure) noexcept {
  return read_owner_call(values, &call->owner, failure) &&
         read_name(values[4], reasons::bad_value_name, &call->name, failure);
}

// *changed false: it is a repeat, and nothing is stored.
bool put(Connection* connection, const ValueCall& call, bool* changed, Failure* failure) noexcept {
  const auto write = [&](LogState* log, WriteProgress* progress, Failure* refused) {
    const LogName& name = call.owner.name;
    const Claimant& owner = call.owner.claimant;
    FoundValue found;
    if (log->lives() &&
        !read_value(connection, name, log->seal_key, call.name, call.value, &found, refused)) {
      return false;
    }
    *changed = put_changes(found, owner.epoch);
    if (!*changed) {
      return true;
    }
    if (!bring_to_life(connection, call.owner, log, progress, refused)) {
      return false;
    }
    progress->partial = true;
    const StoredValue value{owner.epoch, owner.writer, call.value};
    return store_value(connection, name, log->seal_key, call.name, value, found.exists, refused);
  };
  return run_owner_write(connection, call.owner, write, failure);
}

bool remove(Connection* connection, const ValueCall& call, bool* changed,
            Failure* failure) noexcept {
  const auto write = [&](LogState* log, WriteProgress* progress, Failure* refused) {
    FoundValue found;
    if (!read_value(connection, call.owner.name, log->seal_key, call.name, {}, &found, refused)) {
      return false;
    }
    *changed = remove_changes(found);
    if (!*changed) {
      return true;
    }
    progress->partial = true;
    return remove_value(connection, call.owner.name, call.owner.claimant, call.name, refused);
  };
  return run_owner_write(connection, call.owner, write, failure);
}

// Ends the call with what became of it.
void answer(sqlite3_context* context, const ValueCall& call, bool done, bool changed,
            Failure* failure) noexcept {
  if (done) {
    sqlite3_result_int(context, changed ? 1 : 0);
    return;
  }
  failure->name_key(call.owner.name.ns, call.owner.name.key);
  failure->raise(context);
}

}  // namespace

void fenced_put(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  ValueCall call;
  bool changed = false;
  Failure failure;
  const CallScope scope(connection, &failure);
  const bool done = scope.entered() && read_value_call(values, &call, &failure) &&
                    read_bytes(values[5], reasons::bad_value, &call.value, &failure) &&
                    put(connection, call, &changed, &failure);
  answer(context, call, done, changed, &failure);
}

void fenced_remove(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  ValueCall call;
  bool changed = false;
  Failure failure;
  const CallScope scope(connection, &failure);
  const bool done = scope.entered() && read_value_call(values, &call, &failure) &&
                    remove(connection, call, &changed, &failure);
  answer(context, call, done, changed, &failure);
}

}  // namespace fence
