// fence_purge, which forgets deleted keys, and fence_reset, which lowers an epoch.
#include "core/argument.h"
#include "pg_ext/key_content.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/lineage.h"
#include "pg_ext/namespace_store.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/relations.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace fence {

namespace {

// purge_cutoff as the server counts time: in microseconds, with a value for "ever".
TimestampTz cutoff(int64_t older_than_ms) {
  const int64_t before = purge_cutoff(GetCurrentTimestamp() / 1000, older_than_ms);
  constexpr int64_t most = INT64_MAX / 1000;
  return before > most ? DT_NOEND : before < -most ? DT_NOBEGIN : before * 1000;
}

// Removes the record, unless somebody is at the key, or it lives again. Returns whether it
// went; *floor: raised to its epoch.
bool purge_record(const RecordName& name, int64_t* floor) {
  if (!try_lock_key_for_claim(name.hash)) {
    return false;
  }
  const StoredRecord record = read_record(name, Reading::locked);
  if (!record.exists || record.lives) {
    return false;
  }
  remove_content(name, record);
  if (!has_no_content(name)) {
    return false;  // without the record it would count
  }
  Relation table = open_table(relations().record, RowExclusiveLock);
  const bool removed = remove_row(table, record.row);
  CommandCounterIncrement();
  table_close(table, NoLock);
  if (removed) {
    *floor = merged_floor(*floor, record.epoch);
  }
  return removed;
}

int64_t purge(std::string_view ns, TimestampTz deleted_before, int64_t* floor) {
  int64_t purged = 0;
  IndexScan scan(relations().record, &OwnTable::second);
  scan.equal(ns);
  scan.at_most_time(deleted_before);
  scan.begin(SnapshotSelf);
  while (purged < most_purged && scan.next()) {
    CHECK_FOR_INTERRUPTS();
    purged += purge_record(name_of(scan.row()), floor) ? 1 : 0;
  }
  scan.end();
  return purged;
}

// Nobody else has anything uncommitted on the key, so all that does not count can go: under
// lower epochs it might count again.
void lower_epoch(const RecordName& name, int64_t epoch, StoredRecord* record) {
  if (find_holders(key_tag(name.hash), AccessExclusiveLock).count > 0 ||
      find_holders(many_tag(), AccessExclusiveLock).count > 0) {
    raise_busy();
  }
  const LogEnd end = find_log_end(name, *record);
  if (!remove_leftovers(name, *record).all) {
    raise_busy();
  }
  record->epoch = epoch;
  record->writer = nobody.writer;
  record->born = unfenced_epoch;
  record->trimmed = end.trimmed;
  record->tail_at_claim = end.last_ever();
  record->reset_last = end.last_ever();
  write_record(name, *record);
}

}  // namespace

// (namespace, older_than_ms)
FENCE_FUNCTION(fence_pg_purge) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  RecordName name;
  name.ns = arguments.ns();
  const int64_t older_than_ms = arguments.number(1, reasons::bad_age);
  check_may_administer();
  check_alone(name);
  check_home(name.ns);
  begin_own_transaction();
  lock_domain_for_claim();  // first: no lock of a key is waited for
  int64_t floor = -1;
  const int64_t purged = purge(name.ns, cutoff(older_than_ms), &floor);
  if (purged > 0) {
    lock_namespace_rules();
    NamespaceRule rule = namespace_rule(name.ns);
    rule.floor = merged_floor(rule.floor, floor);
    write_namespace_rule(name.ns, rule);
    flush_with_this_transaction();
  }
  PG_RETURN_INT64(purged);
}

// (namespace, key, epoch)
FENCE_FUNCTION(fence_pg_reset) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const RecordName name = arguments.record_name();
  const int64_t epoch = arguments.number(2, reasons::bad_epoch);
  check_may_administer();
  check_alone(name);
  check_home(name.ns);
  begin_own_transaction();
  lock_for_claim(name.hash);
  StoredRecord record = read_record(name, Reading::locked);
  const int64_t before = record.epoch;
  const Reason* reason = judge_reset(record.ownership(), epoch);
  if (reason != nullptr) {
    raise_error(refusal_by(record, name, {epoch, {}}, *reason));
  }
  lower_epoch(name, epoch, &record);
  flush_with_this_transaction();
  log_reset(name.ns, name.key, before, epoch);
  PG_RETURN_INT64(before);
}

}  // namespace fence
