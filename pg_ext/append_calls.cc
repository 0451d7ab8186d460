// The forms of an append: fenced_append, fenced_append_many, and the rows of INSERT INTO
// fenced_append (append_table.cc).
#include <cstdlib>

#include "core/argument.h"
#include "pg_ext/access.h"
#include "pg_ext/append_table.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/relations.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/array.h"
}

namespace fence {

namespace {

void append_one(FunctionCallInfo call, Arguments arguments, NewEntry* entry) {
  check_not_doomed();
  AppendCall append;
  append.owner = arguments.write_call();
  entry->idx = arguments.number(4, reasons::bad_idx);
  entry->payload = arguments.payload(5, reasons::bad_payload);
  append.entries = entry;
  append.count = 1;
  run_append(call, append);
}

// The elements of an array of one dimension; fault, with the number of the element,
// where one is NULL.
struct Elements {
  Datum* values = nullptr;
  int count = 0;
};

Elements read_array(const Arguments& arguments, int argument, Oid type, int size, bool by_value,
                    const Reason& fault) {
  if (arguments.is_null(argument)) {
    arguments.refuse(reasons::bad_array);
  }
  ArrayType* array = DatumGetArrayTypeP(arguments.datum(argument));
  if (ARR_NDIM(array) > 1) {
    arguments.refuse(reasons::bad_array);
  }
  Elements elements;
  bool* nulls = nullptr;
  deconstruct_array(array, type, size, by_value, by_value ? TYPALIGN_DOUBLE : TYPALIGN_INT,
                    &elements.values, &nulls, &elements.count);
  for (int i = 0; i < elements.count; ++i) {
    if (nulls[i]) {
      arguments.refuse(fault, i + 1);
    }
  }
  return elements;
}

int compare_idx(const void* left, const void* right) {
  const int64_t a = static_cast<const NewEntry*>(left)->idx;
  const int64_t b = static_cast<const NewEntry*>(right)->idx;
  return a < b ? -1 : a > b ? 1 : 0;
}

void read_batch(const Arguments& arguments, AppendCall* append) {
  const Elements idxs = read_array(arguments, 4, INT8OID, 8, FLOAT8PASSBYVAL, reasons::bad_idxs);
  const Elements payloads = read_array(arguments, 5, BYTEAOID, -1, false, reasons::bad_payloads);
  for (int i = 0; i < idxs.count; ++i) {
    if (DatumGetInt64(idxs.values[i]) < 0) {
      arguments.refuse(reasons::bad_idxs, i + 1);
    }
  }
  if (idxs.count != payloads.count) {
    arguments.refuse(reasons::different_lengths);
  }
  auto* entries = static_cast<NewEntry*>(MemoryContextAllocHuge(
      CurrentMemoryContext, static_cast<Size>(idxs.count + 1) * sizeof(NewEntry)));
  for (int i = 0; i < idxs.count; ++i) {
    entries[i].idx = DatumGetInt64(idxs.values[i]);
    entries[i].payload = bytes_of(payloads.values[i]);
  }
  qsort(entries, static_cast<size_t>(idxs.count), sizeof *entries, compare_idx);
  for (int i = 1; i < idxs.count; ++i) {
    if (entries[i].idx == entries[i - 1].idx) {
      arguments.refuse(reasons::repeated_idx, entries[i].idx);
    }
  }
  append->entries = entries;
  append->count = idxs.count;
}

// NULL is no question; -1 the empty log.
Maybe<int64_t> read_expected_last(const Arguments& arguments, int argument) {
  if (arguments.is_null(argument)) {
    return {};
  }
  const int64_t number = DatumGetInt64(arguments.datum(argument));
  return number == -1 ? number : arguments.number(argument, reasons::bad_expected_last);
}

}  // namespace

FENCE_FUNCTION(fence_pg_append) {
  NewEntry entry;
  append_one(fcinfo, Arguments(fcinfo), &entry);
  PG_RETURN_INT64(entry.idx);
}

FENCE_FUNCTION(fence_pg_append_many) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  AppendCall append;
  append.owner = arguments.write_call();
  read_batch(arguments, &append);
  append.expected_last = read_expected_last(arguments, 6);
  if (append.count == 0) {
    check_rights_to_write(append.owner.name.ns);
    check_mode(append.owner);
    PG_RETURN_INT64(0);
  }
  PG_RETURN_INT64(run_append(fcinfo, append));
}

void append_row(const NullableDatum* values, int count) {
  NewEntry entry;
  append_one(nullptr, Arguments(values, count), &entry);
}

}  // namespace fence
