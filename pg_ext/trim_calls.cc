// fenced_drop_prefix: the beginning of a log goes.
#include "core/argument.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/trim_store.h"

namespace fence {

namespace {

// Returns how many entries went.
int64_t trim(OwnedWrite* write, int64_t through, FinalCheck* check) {
  const RecordName& name = write->owner().name;
  write->exclude_other_sessions();
  write->check_owner();
  // From here on nobody else of the owner trims. What was trimmed beside an append of this
  // transaction would be noticed at commit, but the mark of that trim is replaced now.
  check_nothing_trimmed(name, write->record());
  const LogEnd end = write->find_end();
  const int64_t trimmed = trimmed_after(through, end);
  if (trimmed == end.trimmed) {
    return 0;
  }
  if (!write_trimmed(name, write->owner().claimant.epoch, trimmed)) {
    write->check_owner();
    raise_busy();
  }
  check->trims = true;
  return remove_entries(name, write->record(), end.trimmed, trimmed).counted;
}

}  // namespace

// (namespace, key, epoch, writer, through_idx)
FENCE_FUNCTION(fence_pg_drop_prefix) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const OwnerCall owner = arguments.write_call();
  const int64_t through = arguments.number(4, reasons::bad_through);
  OwnedWrite write(fcinfo, owner);
  write.check_owner();
  FinalCheck check;
  const int64_t removed = write.record().lives ? trim(&write, through, &check) : 0;
  write.end(check);
  PG_RETURN_INT64(removed);
}

}  // namespace fence
