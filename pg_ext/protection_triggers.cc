#include "pg_ext/protection_triggers.h"

#include "core/layer.h"
#include "pg_ext/compat.h"
#include "pg_ext/relations.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace fence {

namespace {

struct TriggerShape {
  const char* name;
  const char* function;  // of schema fence_internal
  int16 type;
};

constexpr TriggerShape rows = {"fence_rows", "check_row",
                               TRIGGER_TYPE_ROW | TRIGGER_TYPE_AFTER | TRIGGER_TYPE_INSERT |
                                   TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE};
constexpr TriggerShape truncates = {"fence_truncate", "refuse_truncate",
                                    TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_TRUNCATE};

Oid function_of(const TriggerShape& shape) {
  List* name =
      list_make2(makeString(pstrdup("fence_internal")), makeString(pstrdup(shape.function)));
  return LookupFuncName(name, 0, nullptr, false);
}

// A role that was only granted TRIGGER on the table can put another trigger in the place of one by
// CREATE OR REPLACE, except of a constraint trigger. That one is always AFTER a row.
bool is_constraint(const TriggerShape& shape) { return TRIGGER_FOR_ROW(shape.type); }

// What a table has of that name. as_made: it does what it should whenever it fires.
struct Found {
  Oid trigger = InvalidOid;
  bool is_ours = false;
  bool as_made = false;
  bool always = false;
  bool disabled = false;
};

Found find(Oid oid, const TriggerShape& shape) {
  Found found;
  Relation table = table_open(oid, NoLock);
  const TriggerDesc* triggers = table->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; ++i) {
    const Trigger& one = triggers->triggers[i];
    if (strcmp(one.tgname, shape.name) == 0) {
      found.trigger = one.tgoid;
      found.is_ours = one.tgfoid == function_of(shape);
      found.as_made = found.is_ours && one.tgtype == shape.type && one.tgqual == nullptr &&
                      one.tgnattr == 0 && !one.tgdeferrable &&
                      OidIsValid(one.tgconstraint) == is_constraint(shape);
      found.always = one.tgenabled == TRIGGER_FIRES_ALWAYS;
      found.disabled = one.tgenabled == TRIGGER_DISABLED;
    }
  }
  table_close(table, NoLock);
  return found;
}

// As CREATE TRIGGER would, with the rights of Fence's owner: the function is nobody else's. Not
// by a statement: event triggers would see a table that is half protected. On a partitioned
// table the server makes those of the partitions.
void create(Oid table, const TriggerShape& shape) {
  auto* statement = makeNode(CreateTrigStmt);
  statement->trigname = pstrdup(shape.name);
  statement->isconstraint = is_constraint(shape);
  statement->row = TRIGGER_FOR_ROW(shape.type);
  statement->timing = shape.type & TRIGGER_TYPE_TIMING_MASK;
  statement->events = shape.type & TRIGGER_TYPE_EVENT_MASK;
  CreateTriggerFiringOn(
      statement, nullptr, table, InvalidOid, InvalidOid, InvalidOid, function_of(shape), InvalidOid,
      nullptr, false, false,
      layer(Layer::always_trigger) ? TRIGGER_FIRES_ALWAYS : TRIGGER_FIRES_ON_ORIGIN);
  CommandCounterIncrement();
}

void drop(Oid trigger) {
  const ObjectAddress address = {TriggerRelationId, trigger, 0};
  performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
  CommandCounterIncrement();
}

void drop_if_there(Oid table, const TriggerShape& shape) {
  const Found found = find(table, shape);
  if (OidIsValid(found.trigger)) {
    drop(found.trigger);
  }
}

void enable(Oid oid, const TriggerShape& shape) {
  Relation table = table_open(oid, NoLock);
  compat::enable_trigger_always(table, shape.name, AccessExclusiveLock);
  table_close(table, NoLock);
  CommandCounterIncrement();
}

int count_weak(const List* tree, const TriggerShape& shape) {
  int weak = 0;
  for (int i = 0; i < list_length(tree); ++i) {
    const Found found = find(list_nth_oid(tree, i), shape);
    weak += found.as_made && found.always ? 0 : 1;
  }
  return weak;
}

// The server's own partition of a trigger goes with that of the root only.
void make_rows(const List* tree) {
  bool all_made = true;
  for (int i = 0; i < list_length(tree); ++i) {
    all_made = all_made && find(list_nth_oid(tree, i), rows).as_made;
  }
  for (int i = 0; i < list_length(tree); ++i) {
    const Oid table = list_nth_oid(tree, i);
    if (!all_made) {
      drop_if_there(table, rows);
    } else if (!find(table, rows).always) {
      enable(table, rows);
    }
  }
  if (!all_made) {
    create(list_nth_oid(tree, 0), rows);
  }
}

void make_truncate(Oid table) {
  const Found found = find(table, truncates);
  if (!found.as_made) {
    drop_if_there(table, truncates);
    create(table, truncates);
  } else if (!found.always) {
    enable(table, truncates);
  }
}

bool is_less_than_always(const Found& found) {
  return OidIsValid(found.trigger) && !found.always && !found.disabled;
}

void complete(Oid table, bool restore) {
  if (get_rel_relkind(table) == RELKIND_FOREIGN_TABLE) {
    return;
  }
  for (const TriggerShape* shape : {&rows, &truncates}) {
    const Found found = find(table, *shape);
    if (restore && is_less_than_always(found)) {
      LockRelationOid(table, ShareRowExclusiveLock);
      enable(table, *shape);
    } else if (shape == &truncates && !OidIsValid(found.trigger)) {
      LockRelationOid(table, ShareRowExclusiveLock);
      create(table, *shape);
    }
  }
}

// The owner of Fence's tables.
Oid fence_owner() {
  Relation registry = table_open(relations().protected_table.table, AccessShareLock);
  const Oid owner = registry->rd_rel->relowner;
  table_close(registry, AccessShareLock);
  return owner;
}

// The end of the transaction, or of the savepoint, takes it back where an error leaves it so.
template <typename Work>
void as_owner_of_fence(Work work) {
  Oid caller = InvalidOid;
  int context = 0;
  GetUserIdAndSecContext(&caller, &context);
  SetUserIdAndSecContext(fence_owner(), context | SECURITY_LOCAL_USERID_CHANGE);
  work();
  SetUserIdAndSecContext(caller, context);
}

}  // namespace

List* lock_tree(Oid table) {
  LockRelationOid(table, AccessExclusiveLock);
  return find_all_inheritors(table, AccessExclusiveLock, nullptr);
}

const char* find_foreign_trigger(const List* tree) {
  for (int i = 0; i < list_length(tree); ++i) {
    for (const TriggerShape* shape : {&rows, &truncates}) {
      const Found found = find(list_nth_oid(tree, i), *shape);
      if (OidIsValid(found.trigger) && !found.is_ours) {
        return shape->name;
      }
    }
  }
  return nullptr;
}

void make_protection_triggers(const List* tree) {
  as_owner_of_fence([&] {
    make_rows(tree);
    for (int i = 0; i < list_length(tree); ++i) {
      make_truncate(list_nth_oid(tree, i));
    }
  });
}

int mend_protection_triggers(Oid table) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table))) {
    return 0;  // it was dropped
  }
  const List* tree = find_all_inheritors(table, AccessShareLock, nullptr);
  const int weak = count_weak(tree, rows) + count_weak(tree, truncates);
  if (weak > 0) {
    make_protection_triggers(lock_tree(table));
  }
  return weak;
}

void complete_protection_triggers(Oid table, bool restore) {
  const List* tree = find_all_inheritors(table, AccessShareLock, nullptr);
  as_owner_of_fence([&] {
    for (int i = 0; i < list_length(tree); ++i) {
      complete(list_nth_oid(tree, i), restore);
    }
  });
}

void drop_protection_triggers(const List* tree) {
  as_owner_of_fence([&] {
    for (int i = 0; i < list_length(tree); ++i) {
      drop_if_there(list_nth_oid(tree, i), rows);
      drop_if_there(list_nth_oid(tree, i), truncates);
    }
  });
}

}  // namespace fence
