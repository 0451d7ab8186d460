#include "pg_ext/row_key.h"

#include "pg_ext/arguments.h"
#include "pg_ext/failure.h"

extern "C" {
#include "utils/datum.h"
#include "utils/uuid.h"
}

namespace fence {

namespace {

[[noreturn]] void refuse(const ProtectedTable& table, const char* fault) {
  Refusal refusal;
  refusal.reason = &reasons::bad_row_key;
  refusal.ns = table.ns();
  refusal.fault = fault;
  raise_error(refusal);
}

size_t put_uuid(const pg_uuid_t* uuid, char* out) {
  constexpr char digits[] = "0123456789abcdef";
  size_t size = 0;
  for (int i = 0; i < UUID_LEN; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      out[size++] = '-';
    }
    out[size++] = digits[uuid->data[i] >> 4];
    out[size++] = digits[uuid->data[i] & 0xf];
  }
  return size;
}

int64_t integer_of(Oid type, Datum value) {
  return type == INT2OID   ? DatumGetInt16(value)
         : type == INT4OID ? DatumGetInt32(value)
                           : DatumGetInt64(value);
}

}  // namespace

std::string_view RowKey::text_of(Oid type, Datum value) {
  switch (type) {
    case TEXTOID:
    case VARCHAROID:
      return bytes_of(value);
    case BOOLOID:
      return DatumGetBool(value) ? "true" : "false";
    case UUIDOID:
      return {buffer_, put_uuid(DatumGetUUIDP(value), buffer_)};
    default:
      return {buffer_, static_cast<size_t>(pg_lltoa(integer_of(type, value), buffer_))};
  }
}

std::string_view RowKey::part(const ProtectedTable& table, int i, TupleTableSlot* row) {
  bool is_null = false;
  const Datum value = slot_getattr(row, table.attribute[i], &is_null);
  if (is_null) {
    refuse(table, "is NULL");
  }
  return text_of(table.type[i], value);
}

std::string_view RowKey::of(const ProtectedTable& table, TupleTableSlot* row) {
  if (table.columns == 0) {
    return table.constant_key();
  }
  if (table.columns == 1) {
    const std::string_view text = part(table, 0, row);
    if (text.empty() || text.size() > longest_name) {
      refuse(table, describe(text.empty() ? NameFault::empty : NameFault::too_long));
    }
    return text;
  }
  composite_ = CompositeKey();
  for (int i = 0; i < table.columns; ++i) {
    composite_.add(part(table, i, row));
  }
  const NameFault fault = composite_.fault();
  if (fault != NameFault::none) {
    refuse(table, describe(fault));
  }
  return composite_.text();
}

bool is_same_key(const ProtectedTable& table, TupleTableSlot* left, TupleTableSlot* right) {
  for (int i = 0; i < table.columns; ++i) {
    bool left_is_null = false;
    bool right_is_null = false;
    const Datum a = slot_getattr(left, table.attribute[i], &left_is_null);
    const Datum b = slot_getattr(right, table.attribute[i], &right_is_null);
    const FormData_pg_attribute* column =
        TupleDescAttr(left->tts_tupleDescriptor, table.attribute[i] - 1);
    if (left_is_null || right_is_null || !datumIsEqual(a, b, column->attbyval, column->attlen)) {
      return false;
    }
  }
  return true;
}

}  // namespace fence
