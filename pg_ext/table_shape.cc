#include "pg_ext/table_shape.h"

#include "pg_ext/relations.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/pg_am.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "utils/syscache.h"
}

namespace fence {

namespace {

// As sql/pg/20-tables.sql makes them.
constexpr ColumnShape record_shape[record_columns] = {
    {TEXTOID}, {TEXTOID}, {INT8OID}, {INT8OID}, {BYTEAOID}, {TIMESTAMPTZOID, true}, {INT8OID},
    {INT8OID}, {INT8OID}, {INT4OID}, {INT8OID}, {INT8OID},  {BYTEAOID, true}};
constexpr ColumnShape entry_shape[entry_columns] = {
    {INT8OID}, {INT8OID}, {TEXTOID}, {TEXTOID}, {BYTEAOID}};
constexpr ColumnShape trim_mark_shape[trim_mark_columns] = {
    {TEXTOID}, {TEXTOID}, {INT8OID}, {INT8OID}};
constexpr ColumnShape value_shape[value_columns] = {
    {TEXTOID}, {TEXTOID}, {TEXTOID}, {INT8OID}, {BYTEAOID, true}};
constexpr ColumnShape namespace_shape[namespace_columns] = {
    {TEXTOID}, {TEXTOID}, {BOOLOID}, {TEXTOID, true}, {INT8OID}};
constexpr ColumnShape access_shape[access_columns] = {{REGROLEOID}, {TEXTOID, true}, {BOOLOID}};
constexpr ColumnShape lineage_shape[lineage_columns] = {{INT8OID}, {UUIDOID}, {INT8OID},
                                                        {OIDOID},  {INT4OID}, {INT4OID, true}};
constexpr ColumnShape install_shape[install_columns] = {{UUIDOID}};
constexpr ColumnShape protected_shape[protected_columns] = {
    {REGCLASSOID}, {TEXTOID}, {TEXTARRAYOID}, {TEXTOID, true},
    {TEXTOID},     {TEXTOID}, {TEXTOID},      {INT2ARRAYOID}};

const Reason versions_differ = {
    Code::configuration, "the library and the tables of Fence are of different versions",
    "connect anew; if that does not help, ALTER EXTENSION fence UPDATE"};
const Reason foreign_part = {
    Code::configuration, "Fence's tables have the %f, which Fence did not make and would not heed",
    "drop the %f"};
const Reason other_shape = {
    Code::configuration, "Fence's tables are not as Fence made them: %f",
    "put it back as it stands in a new database with the extension, or restore a backup"};

Refusal fault(const Reason& reason, const char* words) {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.fault = words;
  return refusal;
}

Refusal not_as_made(const char* part, Relation table) {
  return fault(other_shape, psprintf("%s %s", part, qualified_name(RelationGetRelid(table))));
}

Refusal find_column_fault(Relation table, const TableShape& shape) {
  TupleDescData* have = RelationGetDescr(table);
  if (have->natts != shape.count) {
    return fault(versions_differ, "");
  }
  for (int i = 0; i < shape.count; ++i) {
    const FormData_pg_attribute* column = TupleDescAttr(have, i);
    const ColumnShape& wanted = shape.columns[i];
    if (column->atttypid != wanted.type || column->attnotnull == wanted.nullable) {
      const char* words = psprintf("column %s of", quote_identifier(NameStr(column->attname)));
      return not_as_made(words, table);
    }
  }
  return {};
}

Refusal foreign_constraint(Oid constraint) {
  const char* words = "constraint";
  HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
  if (HeapTupleIsValid(tuple)) {
    const auto* form = reinterpret_cast<Form_pg_constraint>(GETSTRUCT(tuple));
    words = psprintf("constraint %s of %s", quote_identifier(NameStr(form->conname)),
                     qualified_name(form->conrelid));
    ReleaseSysCache(tuple);
  }
  return fault(foreign_part, words);
}

// The server keeps foreign keys by triggers of its own, on both tables that one is about.
Refusal find_constraint_fault(Relation table) {
  const TupleConstr* constraints = RelationGetDescr(table)->constr;
  if (constraints != nullptr && constraints->num_check > 0) {
    return foreign_constraint(
        get_relation_constraint_oid(RelationGetRelid(table), constraints->check[0].ccname, false));
  }
  const TriggerDesc* triggers = table->trigdesc;
  for (int i = 0; triggers != nullptr && i < triggers->numtriggers; ++i) {
    const Trigger& trigger = triggers->triggers[i];
    if (trigger.tgisinternal && OidIsValid(trigger.tgconstraint)) {
      return foreign_constraint(trigger.tgconstraint);
    }
  }
  return {};
}

bool has(Relation index, AttrNumber attribute) {
  return !heap_attisnull(index->rd_indextuple, attribute, nullptr);
}

// Its columns are these, collated as Fence compares them.
bool covers(Relation index, const IndexShape& shape) {
  const FormData_pg_index* form = index->rd_index;
  int count = 0;
  while (count < 4 && shape.columns[count] != 0) {
    const bool same = count < form->indnatts &&
                      form->indkey.values[count] == shape.columns[count] &&
                      (index->rd_indcollation[count] == C_COLLATION_OID ||
                       !OidIsValid(index->rd_indcollation[count]));
    if (!same) {
      return false;
    }
    ++count;
  }
  return form->indnatts == count && form->indnkeyatts == count &&
         index->rd_rel->relam == BTREE_AM_OID;
}

// While one of Fence's own is built anew (REINDEX CONCURRENTLY) its like stands beside it,
// so what counts is not the name. A plain index is filled like any other, and refuses
// nothing.
bool may_stand(Relation index, const TableShape& shape) {
  const FormData_pg_index* form = index->rd_index;
  if (has(index, Anum_pg_index_indexprs) || has(index, Anum_pg_index_indpred) ||
      form->indisexclusion) {
    return false;
  }
  return !form->indisunique || (form->indimmediate && covers(index, shape.key));
}

// Whether it is what a scan or a unique key of Fence's relies on. Not whether it is valid:
// where REINDEX CONCURRENTLY puts the new one in the place of the old one, a session may
// see one of them as it is and the other as it was.
bool is_as_made(Relation table, Oid oid, const IndexShape& wanted, bool unique) {
  if (!OidIsValid(oid) || get_rel_relkind(oid) != RELKIND_INDEX) {
    return false;
  }
  Relation index = index_open(oid, AccessShareLock);
  const FormData_pg_index* form = index->rd_index;
  const bool same = form->indrelid == RelationGetRelid(table) && covers(index, wanted) &&
                    (!unique || (form->indisunique && form->indimmediate));
  index_close(index, AccessShareLock);
  return same;
}

Refusal find_foreign_index(Relation table, const TableShape& shape) {
  Refusal found;
  List* indexes = RelationGetIndexList(table);
  for (int i = 0; i < list_length(indexes) && !found.refused(); ++i) {
    const Oid oid = list_nth_oid(indexes, i);
    Relation index = index_open(oid, AccessShareLock);
    if (!may_stand(index, shape)) {
      const Oid constraint = get_index_constraint(oid);
      found = OidIsValid(constraint)
                  ? foreign_constraint(constraint)
                  : fault(foreign_part, psprintf("index %s", qualified_name(oid)));
    }
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return found;
}

Refusal find_index_fault(Relation table, const OwnTable& own) {
  const TableShape& shape = *own.shape;
  const char* missing = nullptr;
  if (!is_as_made(table, own.key, shape.key, true)) {
    missing = shape.key.name;
  } else if (shape.second.name != nullptr && !is_as_made(table, own.second, shape.second, false)) {
    missing = shape.second.name;
  }
  return missing == nullptr ? find_foreign_index(table, shape)
                            : not_as_made(psprintf("index %s of", missing), table);
}

Refusal find_relative_fault(Relation table) {
  const List* children = find_inheritance_children(RelationGetRelid(table), NoLock);
  if (children != NIL) {
    return fault(foreign_part, psprintf("table %s, which inherits from %s",
                                        qualified_name(list_nth_oid(children, 0)),
                                        qualified_name(RelationGetRelid(table))));
  }
  return has_superclass(RelationGetRelid(table)) ? not_as_made("inheritance of", table) : Refusal();
}

}  // namespace

namespace shapes {
const TableShape record = {
    "record", record_shape, record_columns, {"record_pkey", {1, 2}}, {"record_deleted", {1, 6}}};
const TableShape entry = {"entry", entry_shape, entry_columns, {"entry_pkey", {3, 4, 1, 2}}, {}};
const TableShape trim_mark = {
    "trim_mark", trim_mark_shape, trim_mark_columns, {"trim_mark_pkey", {1, 2, 3}}, {}};
const TableShape value = {"value", value_shape, value_columns, {"value_pkey", {1, 2, 3, 4}}, {}};
const TableShape ns = {
    "namespace", namespace_shape, namespace_columns, {"namespace_pkey", {1}}, {}};
const TableShape access = {
    "access", access_shape, access_columns, {"access_role_namespace_may_write_key", {1, 2, 3}}, {}};
const TableShape lineage = {
    "lineage", lineage_shape, lineage_columns, {"lineage_pkey", {1, 2, 5}}, {}};
const TableShape install = {"install", install_shape, install_columns, {"install_pkey", {1}}, {}};
const TableShape protected_table = {
    "protected", protected_shape, protected_columns, {"protected_pkey", {1}}, {}};
}  // namespace shapes

Refusal find_fault(Relation table, const OwnTable& own) {
  if (table->rd_rel->relkind != RELKIND_RELATION || table->rd_rel->relam != HEAP_TABLE_AM_OID) {
    return not_as_made("the kind of", table);
  }
  Refusal found = find_column_fault(table, *own.shape);
  if (!found.refused()) {
    found = find_constraint_fault(table);
  }
  if (!found.refused()) {
    found = find_index_fault(table, own);
  }
  return found.refused() ? found : find_relative_fault(table);
}

}  // namespace fence
