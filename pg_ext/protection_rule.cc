#include "pg_ext/protection_rule.h"

#include "pg_ext/failure.h"
#include "pg_ext/protected_table.h"
#include "pg_ext/protection_triggers.h"
#include "pg_ext/relations.h"

extern "C" {
#include "catalog/catalog.h"
#include "catalog/pg_inherits.h"
}

namespace fence {

namespace {

[[noreturn]] void refuse(const char* why) {
  Refusal refusal;
  refusal.reason = &reasons::cannot_protect;
  refusal.fault = why;
  raise_error(refusal);
}

bool is_partitioned(Relation table) { return table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE; }

void check_kind(Relation table) {
  switch (table->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE:
      return;
    case RELKIND_FOREIGN_TABLE:
      refuse("it is a foreign table: others write where its rows are");
    case RELKIND_VIEW:
    case RELKIND_MATVIEW:
      refuse("it is a view: protect the tables behind it");
    default:
      refuse("it is no table");
  }
}

void check_persistence(Relation table) {
  if (table->rd_rel->relpersistence == RELPERSISTENCE_TEMP) {
    refuse("it is temporary, and nobody else's");
  }
  if (table->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT) {
    refuse("it is unlogged: a crash empties it");
  }
}

// A row is written to a plain child with no trigger of the parent's being asked.
void check_relatives(Relation table) {
  const Oid oid = RelationGetRelid(table);
  if (table->rd_rel->relispartition) {
    refuse("it is a partition: protect the partitioned table");
  }
  if (has_superclass(oid)) {
    refuse("it inherits from another table");
  }
  if (!is_partitioned(table) && find_inheritance_children(oid, NoLock) != NIL) {
    refuse("other tables inherit from it");
  }
}

void check_owner_of_rows(Relation table) {
  if (IsSystemRelation(table) || find_own_table(RelationGetRelid(table)) != nullptr) {
    refuse("it belongs to the server, or to Fence");
  }
}

// What was protected before it became a partition keeps its own settings, and would lose its
// triggers with those of the table.
void check_own_protection(Relation part, Relation table) {
  Protection own;
  read_protection(RelationGetRelid(part), &own);
  if (own.exists && RelationGetRelid(part) != RelationGetRelid(table)) {
    refuse(psprintf("its partition %s is protected by itself: call fence_unprotect for that first",
                    quote_identifier(RelationGetRelationName(part))));
  }
}

void check_columns(Relation table, Protection* protection) {
  for (int i = 0; i < protection->columns; ++i) {
    const char* name = NameStr(protection->column[i]);
    const AttrNumber attribute = find_column(table, name);
    if (attribute == InvalidAttrNumber) {
      refuse(psprintf("it has no column %s", quote_identifier(name)));
    }
    const char* fault = judge_key_column(TupleDescAttr(RelationGetDescr(table), attribute - 1));
    if (fault != nullptr) {
      refuse(psprintf("its column %s %s", quote_identifier(name), fault));
    }
    protection->attribute[i] = attribute;
  }
}

}  // namespace

void check_can_protect(Relation table, const List* tree, Protection* protection) {
  check_kind(table);
  check_persistence(table);
  check_owner_of_rows(table);
  check_relatives(table);
  for (int i = 0; i < list_length(tree); ++i) {
    Relation part = table_open(list_nth_oid(tree, i), NoLock);
    if (part->rd_rel->relkind == RELKIND_FOREIGN_TABLE) {
      refuse("one of its partitions is a foreign table");
    }
    check_persistence(part);
    check_own_protection(part, table);
    table_close(part, NoLock);
  }
  check_columns(table, protection);
  // Of a table that is protected already, somebody has replaced Fence's own.
  const char* trigger = protection->exists ? nullptr : find_foreign_trigger(tree);
  if (trigger != nullptr) {
    refuse(psprintf("it has a trigger %s of somebody else's", trigger));
  }
}

}  // namespace fence
