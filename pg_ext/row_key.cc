#include "pg_ext/row_key.h"

#include "pg_ext/arguments.h"
#include "pg_ext/failure.h"

extern "C" {
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

std::string_view RowKey::of(const ProtectedTable& table, TupleTableSlot* row) {
  if (table.columns == 0) {
    return table.constant_key();
  }
  composite_ = CompositeKey();
  std::string_view text;
  for (int i = 0; i < table.columns; ++i) {
    bool is_null = false;
    const Datum value = slot_getattr(row, table.attribute[i], &is_null);
    if (is_null) {
      refuse(table, "is NULL");
    }
    text = text_of(table.type[i], value);
    if (table.columns > 1) {
      composite_.add(text);
    }
  }
  if (table.columns > 1) {
    text = composite_.text();
  }
  const NameFault fault = table.columns > 1 && !composite_.fits() ? NameFault::too_long
                          : text.empty()                          ? NameFault::empty
                          : text.size() > longest_name            ? NameFault::too_long
                                                                  : NameFault::none;
  if (fault != NameFault::none) {
    refuse(table, describe(fault));
  }
  return text;
}

}  // namespace fence
