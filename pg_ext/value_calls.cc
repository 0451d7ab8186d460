// fenced_put and fenced_remove: small named values of a key.
#include "core/argument.h"
#include "core/value.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/value_store.h"

namespace fence {

namespace {

// value nullptr: removes it. Returns whether that changed anything.
bool change(OwnedWrite* write, std::string_view value_name, const std::string_view* value) {
  const OwnerCall& owner = write->owner();
  write->exclude_other_sessions();
  write->check_owner();
  const StoredValue stored = find_value(owner.name, write->record(), value_name);
  const FoundValue found{stored.exists, stored.epoch, value != nullptr && stored.value == *value};
  if (!(value != nullptr ? put_changes(found, owner.claimant.epoch) : remove_changes(found))) {
    return false;
  }
  if (write_value(owner.name, owner.claimant.epoch, value_name, stored, value) ==
      ValueChange::busy) {
    write->check_owner();
    raise_busy();
  }
  return true;
}

}  // namespace

// (namespace, key, epoch, writer, name, value)
FENCE_FUNCTION(fence_pg_put) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const OwnerCall owner = arguments.write_call();
  const std::string_view value_name = arguments.name(4, reasons::bad_value_name);
  const std::string_view value = arguments.payload(5, reasons::bad_value);
  OwnedWrite write(fcinfo, owner);
  write.check_owner();
  if (owner.claimant.unfenced()) {
    write.give_life();
  }
  const bool changed = change(&write, value_name, &value);
  write.end({});
  PG_RETURN_BOOL(changed);
}

// (namespace, key, epoch, writer, name)
FENCE_FUNCTION(fence_pg_remove) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const OwnerCall owner = arguments.write_call();
  const std::string_view value_name = arguments.name(4, reasons::bad_value_name);
  OwnedWrite write(fcinfo, owner);
  write.check_owner();
  const bool changed = write.record().lives && change(&write, value_name, nullptr);
  write.end({});
  PG_RETURN_BOOL(changed);
}

}  // namespace fence
