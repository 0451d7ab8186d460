#include "pg_ext/relations.h"

#include "pg_ext/compat.h"
#include "pg_ext/failure.h"

extern "C" {
#include "access/sysattr.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "nodes/makefuncs.h"
#include "utils/inval.h"
#include "utils/syscache.h"
}

namespace fence {

namespace {

const Reason not_created = {Code::configuration, "Fence is not installed in this database",
                            "CREATE EXTENSION fence"};
const Reason other_columns = {Code::configuration,
                              "this foreign table is not the one that Fence made",
                              "use fence.fenced_append and the views of schema fence"};

Relations known;
uint64_t changes = 1;     // of any of them, of roles and rights
uint64_t looked_up = 0;   // known is right as of that many changes
bool looking_up = false;  // what changes now may be one of them that is not known yet

// Whose table or key a relation is; nullptr: nobody's here.
const OwnTable* find_known(Oid relation) {
  for (const OwnTable* own :
       {&known.record, &known.entry, &known.trim_mark, &known.value, &known.ns, &known.access,
        &known.lineage, &known.install, &known.protected_table}) {
    if (relation == own->table || relation == own->key) {
      return own;
    }
  }
  return nullptr;
}

// Counts and nothing else: it may come in the middle of a call that uses the numbers.
void on_relation_change(Datum, Oid relation) {
  if (looking_up || relation == InvalidOid || find_known(relation) != nullptr) {
    ++changes;
  }
}

void on_role_change(Datum, int, uint32) { ++changes; }

// An index that is missing is a fault of the table, and found where that is opened.
OwnTable find(const TableShape& shape, Oid schema) {
  OwnTable own;
  own.shape = &shape;
  own.table = OidIsValid(schema) ? get_relname_relid(shape.name, schema) : InvalidOid;
  if (!OidIsValid(own.table)) {
    raise_error(not_created);
  }
  own.key = get_relname_relid(shape.key.name, schema);
  if (shape.second.name != nullptr) {
    own.second = get_relname_relid(shape.second.name, schema);
  }
  return own;
}

// Of a new version of a row that did not find room on the page of the old one.
void add_index_entries(Relation table, TupleTableSlot* row, compat::IndexUpdate which) {
  EState* state = CreateExecutorState();
  auto* target = makeNode(ResultRelInfo);
  InitResultRelInfo(target, table, 0, nullptr, 0);
  ExecOpenIndices(target, false);
  compat::insert_index_entries(target, row, state, which);
  ExecCloseIndices(target);
  FreeExecutorState(state);
}

}  // namespace

void check_column_types(Relation table, const Oid* types, int count) {
  TupleDescData* have = RelationGetDescr(table);
  bool same = have->natts == count;
  for (int i = 0; same && i < count; ++i) {
    same = TupleDescAttr(have, i)->atttypid == types[i];
  }
  if (!same) {
    raise_error(other_columns);
  }
}

const Relations& relations() {
  static bool registered = false;
  if (!registered) {
    CacheRegisterRelcacheCallback(on_relation_change, 0);
    CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, on_role_change, 0);
    CacheRegisterSyscacheCallback(AUTHOID, on_role_change, 0);
    registered = true;
  }
  if (looked_up == changes) {
    return known;
  }
  // The look-ups may fail, and may bring news themselves: then it is done again.
  const uint64_t before = changes;
  looking_up = true;
  const Oid schema = get_namespace_oid("fence_internal", true);
  Relations found;
  found.record = find(shapes::record, schema);
  found.entry = find(shapes::entry, schema);
  found.trim_mark = find(shapes::trim_mark, schema);
  found.value = find(shapes::value, schema);
  found.ns = find(shapes::ns, schema);
  found.access = find(shapes::access, schema);
  found.lineage = find(shapes::lineage, schema);
  found.install = find(shapes::install, schema);
  found.protected_table = find(shapes::protected_table, schema);
  known = found;
  looked_up = before;
  looking_up = false;
  return known;
}

const OwnTable* find_own_table(Oid table) {
  relations();
  return find_known(table);
}

Relation open_table(const OwnTable& own, LOCKMODE lock) {
  Relation table = table_open(own.table, lock);
  relations();  // the lock may have brought news, of the indexes too
  if (own.sound != looked_up) {
    const uint64_t before = looked_up;
    const Refusal fault = find_fault(table, own);
    if (fault.refused()) {
      raise_error(fault);
    }
    own.sound = before;
  }
  return table;
}

uint64_t settings_generation() { return changes; }

Datum text_datum(std::string_view bytes) {
  return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
}

int64_t number_at(TupleTableSlot* row, int column) {
  bool is_null = false;
  return DatumGetInt64(slot_getattr(row, column + 1, &is_null));
}

std::string_view bytes_at(TupleTableSlot* row, int column) {
  bool is_null = false;
  const auto* packed = DatumGetByteaPP(slot_getattr(row, column + 1, &is_null));
  return {VARDATA_ANY(packed), static_cast<size_t>(VARSIZE_ANY_EXHDR(packed))};
}

bool is_null_at(TupleTableSlot* row, int column) { return slot_attisnull(row, column + 1); }

char* qualified_name(Oid relation) {
  char* schema = get_namespace_name(get_rel_namespace(relation));
  return quote_qualified_identifier(schema, get_rel_name(relation));
}

void store_row(Relation table, const ItemPointerData& replaced, Datum* values, bool* nulls) {
  HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
  ItemPointerData row = replaced;
  // The plain functions of the catalogs: they run no trigger.
  if (ItemPointerIsValid(&row)) {
    CatalogTupleUpdate(table, &row, tuple);
  } else {
    CatalogTupleInsert(table, tuple);
  }
  CommandCounterIncrement();
  heap_freetuple(tuple);
}

void insert_row(Relation table, Datum* values, bool* nulls) {
  bool none[MaxHeapAttributeNumber] = {};
  store_row(table, ItemPointerData(), values, nulls == nullptr ? none : nulls);
}

bool replace_row(Relation table, const ItemPointerData& row, Datum* values, bool* nulls) {
  TupleTableSlot* slot = table_slot_create(table, nullptr);
  const auto columns = static_cast<size_t>(RelationGetNumberOfAttributes(table));
  ExecClearTuple(slot);
  std::memcpy(slot->tts_values, values, columns * sizeof *values);
  std::memcpy(slot->tts_isnull, nulls, columns * sizeof *nulls);
  ExecStoreVirtualTuple(slot);
  TM_FailureData failure;
  ItemPointerData tid = row;
  LockTupleMode lock = LockTupleNoKeyExclusive;
  compat::IndexUpdate indexes{};
  const TM_Result result =
      table_tuple_update(table, &tid, slot, GetCurrentCommandId(true), SnapshotSelf,
                         InvalidSnapshot, false, &failure, &lock, &indexes);
  if (result == TM_Ok && indexes != compat::no_index_update) {
    add_index_entries(table, slot, indexes);
  }
  CommandCounterIncrement();
  ExecDropSingleTupleTableSlot(slot);
  return result == TM_Ok;
}

bool remove_row(Relation table, const ItemPointerData& row) {
  TM_FailureData failure;
  ItemPointerData tid = row;
  const TM_Result result = table_tuple_delete(table, &tid, GetCurrentCommandId(true), SnapshotSelf,
                                              InvalidSnapshot, false, &failure, false);
  return result == TM_Ok || result == TM_SelfModified || result == TM_Deleted;
}

bool is_own_row(TupleTableSlot* row) {
  bool is_null = false;
  const Datum maker = slot_getsysattr(row, MinTransactionIdAttributeNumber, &is_null);
  return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(maker));
}

// The index only once the table is locked: it may have been built anew meanwhile.
IndexScan::IndexScan(const OwnTable& own) : table_(open_table(own, AccessShareLock)) {
  index_ = index_open(own.key, AccessShareLock);
}

IndexScan::IndexScan(const OwnTable& own, Oid OwnTable::*index)
    : table_(open_table(own, AccessShareLock)) {
  index_ = index_open(own.*index, AccessShareLock);
}

void IndexScan::add(StrategyNumber strategy, RegProcedure procedure, Oid collation, Datum value) {
  ScanKeyEntryInitialize(&keys_[count_], 0, static_cast<AttrNumber>(column_), strategy, InvalidOid,
                         collation, procedure, value);
  ++count_;
}

void IndexScan::equal(std::string_view text) {
  ++column_;
  add(BTEqualStrategyNumber, F_TEXTEQ, C_COLLATION_OID, text_datum(text));
}

void IndexScan::equal(int64_t number) {
  ++column_;
  add(BTEqualStrategyNumber, F_INT8EQ, InvalidOid, Int64GetDatum(number));
}

void IndexScan::equal_oid(Oid oid) {
  ++column_;
  add(BTEqualStrategyNumber, F_OIDEQ, InvalidOid, ObjectIdGetDatum(oid));
}

void IndexScan::at_least(std::string_view text) {
  ++column_;
  add(BTGreaterEqualStrategyNumber, F_TEXT_GE, C_COLLATION_OID, text_datum(text));
}

void IndexScan::above(std::string_view text) {
  ++column_;
  add(BTGreaterStrategyNumber, F_TEXT_GT, C_COLLATION_OID, text_datum(text));
}

void IndexScan::at_least(int64_t number) {
  ++column_;
  add(BTGreaterEqualStrategyNumber, F_INT8GE, InvalidOid, Int64GetDatum(number));
}

// Of the same column as the bound before it.
void IndexScan::at_most(int64_t number) {
  add(BTLessEqualStrategyNumber, F_INT8LE, InvalidOid, Int64GetDatum(number));
}

void IndexScan::above(int64_t number) {
  ++column_;
  add(BTGreaterStrategyNumber, F_INT8GT, InvalidOid, Int64GetDatum(number));
}

void IndexScan::at_most_time(TimestampTz time) {
  ++column_;
  add(BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE, InvalidOid, TimestampTzGetDatum(time));
}

void IndexScan::begin(Snapshot snapshot) {
  row_ = table_slot_create(table_, nullptr);
  scan_ = compat::begin_index_scan(table_, index_, snapshot, count_);
  rescan();
}

void IndexScan::rescan() { index_rescan(scan_, keys_, count_, nullptr, 0); }

void IndexScan::forget_keys() {
  for (int i = 0; i < count_; ++i) {
    if (keys_[i].sk_collation == C_COLLATION_OID) {
      pfree(DatumGetPointer(keys_[i].sk_argument));
    }
  }
  count_ = 0;
  column_ = 0;
}

bool IndexScan::next(ScanDirection direction) { return index_getnext_slot(scan_, direction, row_); }

bool IndexScan::in_snapshot() const {
  return table_tuple_satisfies_snapshot(table_, row_, GetActiveSnapshot());
}

void IndexScan::end() {
  index_endscan(scan_);
  ExecDropSingleTupleTableSlot(row_);
  index_close(index_, AccessShareLock);
  table_close(table_, NoLock);
}

}  // namespace fence
