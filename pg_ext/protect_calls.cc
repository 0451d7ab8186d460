// fence_protect and fence_unprotect: whose a table's rows are, from the next statement on.
#include "core/argument.h"
#include "pg_ext/arguments.h"
#include "pg_ext/compat.h"
#include "pg_ext/json_array.h"
#include "pg_ext/lineage.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/protection_rule.h"
#include "pg_ext/protection_store.h"
#include "pg_ext/protection_triggers.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "commands/tablecmds.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"
}

namespace fence {

namespace {

Oid relation_argument(const Arguments& arguments) {
  if (arguments.is_null(0)) {
    arguments.refuse(reasons::bad_relation);
  }
  return DatumGetObjectId(arguments.datum(0));
}

// A JSON array of different names.
void read_key_columns(const Arguments& arguments, int argument, Protection* wanted) {
  if (arguments.is_null(argument)) {
    arguments.refuse(reasons::bad_key_columns);
  }
  const JsonArray names(arguments.datum(argument));
  if (!names.is_array() || names.count() > most_key_columns) {
    arguments.refuse(reasons::bad_key_columns);
  }
  for (int i = 0; i < names.count(); ++i) {
    std::string_view name;
    if (!names.text_at(i, &name) || name.empty() || name.size() >= NAMEDATALEN) {
      arguments.refuse(reasons::bad_key_columns);
    }
    NameData* column = &wanted->column[i];
    std::memset(column, 0, sizeof *column);
    std::memcpy(column->data, name.data(), name.size());
    for (int j = 0; j < i; ++j) {
      if (strcmp(column->data, wanted->column[j].data) == 0) {
        arguments.refuse(reasons::bad_key_columns);
      }
    }
  }
  wanted->columns = names.count();
}

// (namespace, key_columns, key, by, subscriber)
Protection read_wanted(Arguments* arguments) {
  Protection wanted;
  wanted.ns = arguments->ns();
  read_key_columns(*arguments, 1, &wanted);
  const bool constant = !arguments->is_null(2);
  if (constant) {
    wanted.key = arguments->name(2, reasons::bad_constant_key);
  }
  const Reason* reason = judge_key_choice(constant, wanted.columns);
  if (reason != nullptr) {
    arguments->refuse(*reason);
  }
  if (arguments->is_null(3) || !parse_authority(bytes_of(arguments->datum(3)), &wanted.authority)) {
    arguments->refuse(reasons::bad_authority);
  }
  if (arguments->is_null(4) ||
      !parse_subscriber(bytes_of(arguments->datum(4)), &wanted.subscriber)) {
    arguments->refuse(reasons::bad_subscriber);
  }
  reason = judge_authority(wanted.authority);
  if (reason != nullptr) {
    arguments->refuse(*reason);
  }
  return wanted;
}

bool exists(Oid table) { return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)); }

// EXECUTE on the call is half of the right to it.
void check_owns(Oid table) {
  if (!exists(table)) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", table)));
  }
  if (!compat::owns_relation(table, GetUserId())) {
    aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(table)),
                   get_rel_name(table));
  }
}

List* lock_own_tree(Oid table) {
  check_owns(table);
  LockRelationOid(table, AccessExclusiveLock);
  check_owns(table);  // it may have been given away, or dropped, while the lock was waited for
  return lock_tree(table);
}

void check_not_in_use(const List* tree, const char* call) {
  for (int i = 0; i < list_length(tree); ++i) {
    Relation table = table_open(list_nth_oid(tree, i), NoLock);
    CheckTableNotInUse(table, call);
    table_close(table, NoLock);
  }
}

}  // namespace

// (relation, namespace, key_columns, key, by, subscriber)
FENCE_FUNCTION(fence_pg_protect) {
  check_not_doomed();
  const Oid table = relation_argument(Arguments(fcinfo));
  Arguments arguments(fcinfo->args + 1, fcinfo->nargs - 1);
  Protection wanted = read_wanted(&arguments);
  check_may_administer();
  check_home(wanted.ns);
  const List* tree = lock_own_tree(table);
  Protection before;
  read_protection(table, &before);
  wanted.exists = before.exists;
  wanted.row = before.row;
  Relation relation = relation_open(table, NoLock);
  check_can_protect(relation, tree, &wanted);
  relation_close(relation, NoLock);
  check_not_in_use(tree, "fence_protect");
  make_protection_triggers(tree);
  write_protection(table, wanted);
  PG_RETURN_VOID();
}

// (relation); also of a table that was dropped meanwhile, by its number.
FENCE_FUNCTION(fence_pg_unprotect) {
  check_not_doomed();
  const Oid table = relation_argument(Arguments(fcinfo));
  check_may_administer();
  const bool there = exists(table);
  const List* tree = NIL;
  if (there) {
    tree = lock_own_tree(table);
    check_not_in_use(tree, "fence_unprotect");
  }
  Protection protection;
  read_protection(table, &protection);
  if (!protection.exists) {
    Refusal refusal = about({}, reasons::not_protected);
    refusal.fault = there ? psprintf("%s", get_rel_name(table)) : psprintf("%u", table);
    raise_error(refusal);
  }
  check_home(protection.ns);
  drop_protection_triggers(tree);
  remove_protection(protection);
  PG_RETURN_VOID();
}

}  // namespace fence
