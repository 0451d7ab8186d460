// fence_key: the text of a key of several columns.
#include "core/argument.h"
#include "core/composite_key.h"
#include "core/number.h"
#include "sqlite_ext/failure.h"
#include "sqlite_ext/functions.h"

namespace fence {

namespace {

// nullptr, or what is wrong with it.
const char* add_real(double real, CompositeKey* key) noexcept {
  const ParsedNumber number = integer_from_double(real);
  if (!number.ok) {
    return reasons::not_a_key_column;
  }
  key->add_integer(number.value);
  return nullptr;
}

const char* add_text(sqlite3_value* value, CompositeKey* key) noexcept {
  // nullptr where memory ran out while it was converted: SQLite fails the statement then,
  // whatever the call answers.
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
  const std::string_view text =
      bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
  const NameFault fault = check_name_prefix(text);  // a column may be empty, as a prefix may
  if (fault != NameFault::none) {
    return describe(fault);
  }
  key->add(text);
  return nullptr;
}

const char* add_column(sqlite3_value* value, CompositeKey* key) noexcept {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      key->add_integer(sqlite3_value_int64(value));
      return nullptr;
    case SQLITE_FLOAT:
      return add_real(sqlite3_value_double(value), key);
    case SQLITE_TEXT:
      return add_text(value, key);
    case SQLITE_NULL:
      return "is NULL";
    default:
      return reasons::not_a_key_column;
  }
}

void refuse(const Reason& reason, const char* fault, int64_t column, Failure* failure) noexcept {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.number = column;
  refusal.fault = fault;
  failure->refuse(refusal);
}

void make_key(int count, sqlite3_value** values, CompositeKey* key, Failure* failure) noexcept {
  for (int i = 0; i < count; ++i) {
    const char* fault = add_column(values[i], key);
    if (fault != nullptr) {
      refuse(reasons::bad_key_column, fault, i + 1, failure);
      return;
    }
  }
  if (count == 0) {
    failure->refuse(reasons::no_key_column);
  } else if (key->fault() != NameFault::none) {
    refuse(reasons::bad_composite_key, describe(key->fault()), 0, failure);
  }
}

}  // namespace

void fence_key(sqlite3_context* context, int count, sqlite3_value** values) {
  CompositeKey key;
  Failure failure;
  make_key(count, values, &key, &failure);
  if (failure.failed()) {
    failure.raise(context);
    return;
  }
  sqlite3_result_text(context, key.text().data(), static_cast<int>(key.text().size()),
                      SQLITE_TRANSIENT);
}

}  // namespace fence
