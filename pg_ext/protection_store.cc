#include "pg_ext/protection_store.h"

#include "pg_ext/failure.h"
#include "pg_ext/relations.h"

extern "C" {
#include "catalog/indexing.h"
#include "utils/array.h"
#include "utils/inval.h"
}

namespace fence {

namespace {

// The columns of fence_internal.protected, in its order (sql/pg/20-tables.sql).
enum Column {
  column_relation,
  column_namespace,
  column_key_columns,
  column_key,
  column_authority,
  column_subscriber,
  column_protected_as,
  column_key_attributes,
  column_count
};
static_assert(column_count == protected_columns, "as many as the table has");

const Reason impossible = {Code::corrupt, "a row of fence_internal.protected cannot be",
                           "protect the table anew with fence_protect"};

int elements_of(Datum array, Oid type, int16 length, bool by_value, char align, Datum** elements) {
  bool* nulls = nullptr;
  int count = 0;
  deconstruct_array(DatumGetArrayTypeP(array), type, length, by_value, align, elements, &nulls,
                    &count);
  for (int i = 0; i < count; ++i) {
    if (nulls[i]) {
      raise_error(impossible);
    }
  }
  return count;
}

void read_columns(TupleTableSlot* row, Protection* found) {
  Datum* names = nullptr;
  Datum* numbers = nullptr;
  const int count =
      elements_of(row->tts_values[column_key_columns], TEXTOID, -1, false, TYPALIGN_INT, &names);
  const int numbered = elements_of(row->tts_values[column_key_attributes], INT2OID, 2, true,
                                   TYPALIGN_SHORT, &numbers);
  if (count > most_key_columns || count != numbered) {
    raise_error(impossible);
  }
  found->columns = count;
  for (int i = 0; i < count; ++i) {
    namestrcpy(&found->column[i], TextDatumGetCString(names[i]));
    found->attribute[i] = DatumGetInt16(numbers[i]);
  }
}

std::string_view kept(TupleTableSlot* row, int column) {
  const std::string_view text = bytes_at(row, column);
  return {pnstrdup(text.data(), text.size()), text.size()};
}

void read_row(TupleTableSlot* row, Protection* found) {
  slot_getallattrs(row);
  found->exists = true;
  found->row = row->tts_tid;
  found->ns = kept(row, column_namespace);
  if (!row->tts_isnull[column_key]) {
    found->key = kept(row, column_key);
  }
  read_columns(row, found);
  if (!parse_authority(bytes_at(row, column_authority), &found->authority) ||
      !parse_subscriber(bytes_at(row, column_subscriber), &found->subscriber) ||
      judge_key_choice(!found->key.empty(), found->columns) != nullptr) {
    raise_error(impossible);
  }
}

ArrayType* make_array(Datum* elements, int count, Oid type, int length, bool by_value, char align) {
  return construct_array(elements, count, type, length, by_value, align);
}

}  // namespace

void read_protection(Oid table, Protection* found) {
  IndexScan scan(relations().protected_table);
  scan.equal_oid(table);
  scan.begin(SnapshotSelf);
  if (scan.next()) {
    read_row(scan.row(), found);
  }
  scan.end();
}

void write_protection(Oid table, const Protection& protection) {
  Datum names[most_key_columns];
  Datum numbers[most_key_columns];
  const int count = protection.columns;
  for (int i = 0; i < count; ++i) {
    names[i] = CStringGetTextDatum(NameStr(protection.column[i]));
    numbers[i] = Int16GetDatum(protection.attribute[i]);
  }
  Datum values[column_count] = {};
  bool nulls[column_count] = {};
  values[column_relation] = ObjectIdGetDatum(table);
  values[column_namespace] = text_datum(protection.ns);
  values[column_key_columns] =
      PointerGetDatum(make_array(names, count, TEXTOID, -1, false, TYPALIGN_INT));
  values[column_key] = text_datum(protection.key);
  nulls[column_key] = protection.key.empty();
  values[column_authority] = CStringGetTextDatum(authority_name(protection.authority));
  values[column_subscriber] = CStringGetTextDatum(subscriber_name(protection.subscriber));
  values[column_protected_as] = CStringGetTextDatum(qualified_name(table));
  values[column_key_attributes] =
      PointerGetDatum(make_array(numbers, count, INT2OID, 2, true, TYPALIGN_SHORT));
  Relation registry = open_table(relations().protected_table, RowExclusiveLock);
  store_row(registry, protection.row, values, nulls);
  CacheInvalidateRelcache(registry);
  table_close(registry, NoLock);
}

void remove_protection(const Protection& protection) {
  Relation registry = open_table(relations().protected_table, RowExclusiveLock);
  ItemPointerData row = protection.row;
  CatalogTupleDelete(registry, &row);
  CommandCounterIncrement();
  CacheInvalidateRelcache(registry);
  table_close(registry, NoLock);
}

List* list_protected() {
  List* found = NIL;
  Relation registry = open_table(relations().protected_table, AccessShareLock);
  TupleTableSlot* row = table_slot_create(registry, nullptr);
  TableScanDesc scan = table_beginscan(registry, SnapshotSelf, 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, row)) {
    bool is_null = false;
    found = lappend_oid(found, DatumGetObjectId(slot_getattr(row, column_relation + 1, &is_null)));
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(row);
  table_close(registry, AccessShareLock);
  return found;
}

}  // namespace fence
