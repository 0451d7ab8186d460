// What an administrator says about the state: that it lives in this database from now
// on (fence_adopt), or that a failover lost nothing (fence_lineage_accept).
#include "pg_ext/compat.h"
#include "pg_ext/lineage.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/protection_store.h"
#include "pg_ext/protection_triggers.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "access/timeline.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "tcop/utility.h"
#include "utils/inval.h"
#include "utils/uuid.h"
}

namespace fence {

namespace {

// EXECUTE is the right to do it, as with the other calls of administrators.
void begin_call(const char* name) {
  check_not_doomed();
  PreventCommandIfReadOnly(name);
  PreventCommandDuringRecovery(name);
  PreventCommandIfParallelMode(name);
  check_alone(RecordName());
}

// Whoever inserts there, a restore above all, comes before it or after it.
Relation lock_lineage() { return open_table(relations().lineage, ShareRowExclusiveLock); }

// The rest of the call is a transaction that is flushed like a claim.
void add_row(Relation table, const LineageRow& row) {
  begin_own_transaction();
  pg_uuid_t install;
  static_assert(sizeof install.data == sizeof row.identity.install, "a UUID has 16 bytes");
  std::memcpy(install.data, row.identity.install, sizeof install.data);
  Datum values[lineage_columns] = {
      Int64GetDatum(row.generation),
      UUIDPGetDatum(&install),
      Int64GetDatum(static_cast<int64_t>(row.identity.system_identifier)),
      ObjectIdGetDatum(row.identity.database),
      Int32GetDatum(static_cast<int32>(row.timeline)),
      Int32GetDatum(static_cast<int32>(row.accepted_from))};
  bool nulls[lineage_columns] = {};
  nulls[lineage_columns - 1] = row.accepted_from == no_timeline;
  HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
  CatalogTupleInsert(table, tuple);
  heap_freetuple(tuple);
  CacheInvalidateRelcache(table);
  CommandCounterIncrement();
  flush_with_this_transaction();
}

// What must fire in every mode of session_replication_role.
constexpr const char* always_triggers[] = {"guard_rows", "guard_truncate"};

bool is_weak(Relation relation, const char* name) {
  const TriggerDesc* triggers = relation->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; ++i) {
    const Trigger& trigger = triggers->triggers[i];
    if (strcmp(trigger.tgname, name) == 0) {
      return trigger.tgenabled != TRIGGER_FIRES_ALWAYS;
    }
  }
  return false;
}

// How many triggers were not ALWAYS, and are now. The lock is taken only where there is one.
int mend_triggers_of(Oid oid) {
  int mended = 0;
  for (const char* name : always_triggers) {
    Relation relation = relation_open(oid, AccessShareLock);
    const bool weak = is_weak(relation, name);
    relation_close(relation, AccessShareLock);
    if (weak) {
      relation = relation_open(oid, ShareRowExclusiveLock);
      compat::enable_trigger_always(relation, name, ShareRowExclusiveLock);
      relation_close(relation, NoLock);
      CommandCounterIncrement();
      ++mended;
    }
  }
  return mended;
}

List* find_relations(const char* schema, List* found) {
  Relation classes = table_open(RelationRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_class_relnamespace, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(get_namespace_oid(schema, false)));
  TableScanDesc scan = table_beginscan_catalog(classes, 1, &key);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); tuple != nullptr;
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    const auto* one = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    if (one->relhastriggers) {
      found = lappend_oid(found, one->oid);
    }
  }
  table_endscan(scan);
  table_close(classes, AccessShareLock);
  return found;
}

// P31: pg_restore --disable-triggers enables them again, but not ALWAYS.
void mend_triggers() {
  const List* all = find_relations("fence", find_relations("fence_internal", NIL));
  int mended = 0;
  for (int i = 0; i < list_length(all); ++i) {
    mended += mend_triggers_of(list_nth_oid(all, i));
  }
  const List* tables = list_protected();
  for (int i = 0; i < list_length(tables); ++i) {
    mended += mend_protection_triggers(list_nth_oid(tables, i));
  }
  if (mended > 0) {
    ereport(NOTICE, (errmsg_plural("%d trigger of Fence was off, or not ALWAYS: it is now",
                                   "%d triggers of Fence were off, or not ALWAYS: they are now",
                                   mended, mended)));
  }
}

// Where the timeline branched off from its parent; no_timeline where nobody knows.
uint32_t parent_of(uint32_t timeline) {
  List* history = readTimeLineHistory(timeline);  // newest first
  if (list_length(history) < 2) {
    return no_timeline;
  }
  return static_cast<const TimeLineHistoryEntry*>(list_nth(history, 1))->tli;
}

}  // namespace

// () -> the generation that is in force
FENCE_FUNCTION(fence_pg_adopt) {
  static_cast<void>(fcinfo);
  begin_call("fence_adopt()");
  Relation table = lock_lineage();
  mend_triggers();
  const Whereabouts& here = whereabouts();
  if (here.installs != 1) {
    raise_error(reasons::install_unknown);
  }
  int64_t generation = here.lineage.generation;
  if (here.away == nullptr) {
    ereport(NOTICE, (errmsg("the state of Fence lives in this database already")));
  } else {
    LineageRow row;
    row.generation = ++generation;
    row.identity = here.own;
    row.timeline = GetWALInsertionTimeLine();
    add_row(table, row);
  }
  table_close(table, NoLock);
  PG_RETURN_INT64(generation);
}

// () -> the generation, which stays the same
FENCE_FUNCTION(fence_pg_lineage_accept) {
  static_cast<void>(fcinfo);
  begin_call("fence_lineage_accept()");
  Relation table = lock_lineage();
  check_home({});
  const Whereabouts& here = whereabouts();
  LineageRow row;
  row.generation = here.lineage.generation;
  row.identity = here.own;
  row.timeline = GetWALInsertionTimeLine();
  if (knows_timeline(here.lineage, row.timeline)) {
    ereport(NOTICE, (errmsg("timeline %u is in force already", row.timeline)));
  } else {
    row.accepted_from = parent_of(row.timeline);
    if (row.accepted_from == no_timeline) {
      raise_error(reasons::parent_unknown, row.timeline);
    }
    add_row(table, row);
  }
  table_close(table, NoLock);
  PG_RETURN_INT64(row.generation);
}

}  // namespace fence
