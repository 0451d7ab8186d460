#include "pg_ext/relations.h"

#include "pg_ext/compat.h"
#include "pg_ext/failure.h"

extern "C" {
#include "catalog/namespace.h"
#include "utils/inval.h"
#include "utils/syscache.h"
}

namespace fence {

namespace {

const Reason not_created = {Code::configuration, "Fence is not installed in this database",
                            "CREATE EXTENSION fence"};

Relations known;
bool fresh = false;
uint64_t generation = 1;

// A flag and nothing else: it may come in the middle of a call that uses the numbers.
void on_relation_change(Datum, Oid relation) {
  if (relation == InvalidOid || relation == known.record || relation == known.record_key ||
      relation == known.entry || relation == known.entry_key || relation == known.access) {
    fresh = false;
    ++generation;
  }
}

void on_role_change(Datum, int, uint32) { ++generation; }

Oid find(const char* name, Oid schema) {
  const Oid found = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
  if (!OidIsValid(found)) {
    fresh = false;
    raise_error(not_created);
  }
  return found;
}

}  // namespace

const Relations& relations() {
  static bool registered = false;
  if (!registered) {
    CacheRegisterRelcacheCallback(on_relation_change, 0);
    CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, on_role_change, 0);
    CacheRegisterSyscacheCallback(AUTHOID, on_role_change, 0);
    registered = true;
  }
  if (fresh) {
    return known;
  }
  fresh = true;
  const Oid schema = get_namespace_oid("fence_internal", true);
  Relations found;
  found.record = find("record", schema);
  found.record_key = find("record_pkey", schema);
  found.entry = find("entry", schema);
  found.entry_key = find("entry_pkey", schema);
  found.access = find("access", schema);
  known = found;
  return known;
}

uint64_t access_generation() { return generation; }

Datum text_datum(std::string_view bytes) {
  return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
}

IndexScan::IndexScan(Oid table, Oid index, LOCKMODE lock)
    : table_(table_open(table, lock)), index_(index_open(index, AccessShareLock)) {}

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

void IndexScan::begin(Snapshot snapshot) {
  row_ = table_slot_create(table_, nullptr);
  scan_ = compat::begin_index_scan(table_, index_, snapshot, count_);
  rescan();
}

void IndexScan::rescan() { index_rescan(scan_, keys_, count_, nullptr, 0); }

bool IndexScan::next(ScanDirection direction) { return index_getnext_slot(scan_, direction, row_); }

void IndexScan::end() {
  index_endscan(scan_);
  ExecDropSingleTupleTableSlot(row_);
  index_close(index_, AccessShareLock);
  table_close(table_, NoLock);
}

}  // namespace fence
