// fence_key: the text of a key of several columns.
#include "core/argument.h"
#include "core/composite_key.h"
#include "pg_ext/arguments.h"
#include "pg_ext/relations.h"

extern "C" {
#include "funcapi.h"
#include "utils/array.h"
#include "utils/uuid.h"
}

namespace fence {

namespace {

const char* add_text(std::string_view text, CompositeKey* key) {
  const NameFault fault = check_name_prefix(text);  // a column may be empty, as a prefix may
  if (fault != NameFault::none) {
    return describe(fault);
  }
  key->add(text);
  return nullptr;
}

[[noreturn]] void refuse_column(int column, const char* fault) {
  Refusal refusal;
  refusal.reason = &reasons::bad_key_column;
  refusal.number = column;
  refusal.fault = fault;
  raise_error(refusal);
}

// A value that is not NULL. nullptr, or what is wrong with it.
const char* add_column(Oid type, Datum value, CompositeKey* key) {
  switch (getBaseType(type)) {
    case INT2OID:
      key->add_integer(DatumGetInt16(value));
      return nullptr;
    case INT4OID:
      key->add_integer(DatumGetInt32(value));
      return nullptr;
    case INT8OID:
      key->add_integer(DatumGetInt64(value));
      return nullptr;
    case BOOLOID:
      key->add_boolean(DatumGetBool(value));
      return nullptr;
    case UUIDOID:
      return add_text(DatumGetCString(DirectFunctionCall1(uuid_out, value)), key);
    case TEXTOID:
    case VARCHAROID:
      return add_text(bytes_of(value), key);
    default:
      return reasons::not_a_key_column;
  }
}

// VARIADIC ARRAY[…] has the elements for columns. The server would take those of a matrix too.
void check_array(FunctionCallInfo fcinfo) {
  if (get_fn_expr_variadic(fcinfo->flinfo) &&
      (PG_ARGISNULL(0) || ARR_NDIM(PG_GETARG_ARRAYTYPE_P(0)) > 1)) {
    raise_error(reasons::bad_key_array);
  }
}

}  // namespace

// (VARIADIC "any")
FENCE_FUNCTION(fence_pg_key) {
  check_array(fcinfo);
  Datum* values = nullptr;
  Oid* types = nullptr;
  bool* nulls = nullptr;
  const int count = extract_variadic_args(fcinfo, 0, true, &values, &types, &nulls);
  if (count <= 0) {
    raise_error(reasons::no_key_column);
  }
  CompositeKey key;
  for (int i = 0; i < count; ++i) {
    const char* fault = nulls[i] ? "is NULL" : add_column(types[i], values[i], &key);
    if (fault != nullptr) {
      refuse_column(i + 1, fault);
    }
  }
  if (key.fault() != NameFault::none) {
    Refusal refusal;
    refusal.reason = &reasons::bad_composite_key;
    refusal.fault = describe(key.fault());
    raise_error(refusal);
  }
  PG_RETURN_DATUM(text_datum(key.text()));
}

}  // namespace fence
