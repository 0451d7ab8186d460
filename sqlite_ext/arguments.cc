#include "sqlite_ext/arguments.h"

#include "core/argument.h"
#include "core/name.h"
#include "core/number.h"

namespace fence {

namespace {

std::string_view text_of(sqlite3_value* value) noexcept {
  const unsigned char* text = sqlite3_value_text(value);
  if (text == nullptr) {
    return {};
  }
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_value_bytes(value))};
}

ParsedNumber parse_number(sqlite3_value* value) noexcept {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return number_from_integer(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
      return number_from_double(sqlite3_value_double(value));
    case SQLITE_TEXT:
      return parse_decimal(text_of(value));
    default:
      return {false, 0};
  }
}

bool refuse(Failure* failure, const Reason& fault) noexcept {
  failure->refuse(fault);
  return false;
}

bool read_checked_text(sqlite3_value* value, NameFault (*check)(std::string_view),
                       const Reason& fault, std::string_view* name, Failure* failure) noexcept {
  Refusal refusal;
  refusal.reason = &fault;
  const int type = sqlite3_value_type(value);
  if (type != SQLITE_TEXT) {
    refusal.fault = type == SQLITE_NULL ? "is NULL" : "is not text";
    failure->refuse(refusal);
    return false;
  }
  const std::string_view text = text_of(value);
  const NameFault found = check(text);
  if (found != NameFault::none) {
    refusal.fault = describe(found);
    failure->refuse(refusal);
    return false;
  }
  *name = text;
  return true;
}

}  // namespace

bool read_name(sqlite3_value* value, const Reason& fault, std::string_view* name,
               Failure* failure) noexcept {
  return read_checked_text(value, check_name, fault, name, failure);
}

bool read_name_prefix(sqlite3_value* value, const Reason& fault, std::string_view* prefix,
                      Failure* failure) noexcept {
  return read_checked_text(value, check_name_prefix, fault, prefix, failure);
}

bool read_number(sqlite3_value* value, const Reason& fault, int64_t* number,
                 Failure* failure) noexcept {
  const ParsedNumber parsed = parse_number(value);
  if (!parsed.ok) {
    return refuse(failure, fault);
  }
  *number = parsed.value;
  return true;
}

bool read_number_or_null(sqlite3_value* value, const Reason& fault, int64_t* number,
                         Failure* failure) noexcept {
  return sqlite3_value_type(value) == SQLITE_NULL || read_number(value, fault, number, failure);
}

bool read_writer(sqlite3_value* value, WriterHash* writer, Failure* failure) noexcept {
  if (sqlite3_value_type(value) != SQLITE_TEXT || !parse_writer(text_of(value), writer)) {
    return refuse(failure, reasons::bad_writer);
  }
  return true;
}

bool read_bytes(sqlite3_value* value, const Reason& fault, std::string_view* bytes,
                Failure* failure) noexcept {
  switch (sqlite3_value_type(value)) {
    case SQLITE_TEXT:
      *bytes = text_of(value);
      return true;
    case SQLITE_BLOB: {
      const auto* data = static_cast<const char*>(sqlite3_value_blob(value));
      const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
      *bytes = size == 0 ? std::string_view() : std::string_view(data, size);
      return true;
    }
    default:
      return refuse(failure, fault);
  }
}

bool read_payload(sqlite3_value* value, std::string_view* payload, Failure* failure) noexcept {
  return read_bytes(value, reasons::bad_payload, payload, failure);
}

bool read_owner_call(sqlite3_value** values, OwnerCall* call, Failure* failure) noexcept {
  if (!read_name(values[0], reasons::bad_namespace, &call->name.ns, failure) ||
      !read_name(values[1], reasons::bad_key, &call->name.key, failure)) {
    return false;
  }
  if (sqlite3_value_type(values[2]) == SQLITE_NULL) {
    call->claimant = nobody;
    Failure unused;
    WriterHash writer{};
    call->writer_sound = read_writer(values[3], &writer, &unused);
    return true;
  }
  return read_number(values[2], reasons::bad_epoch, &call->claimant.epoch, failure) &&
         read_writer(values[3], &call->claimant.writer, failure);
}

bool check_epoch_given(const OwnerCall& call, Failure* failure) noexcept {
  const Reason* reason =
      call.epoch_given() ? nullptr : judge_mode_of(call, judge_owner_mode, Mode::required);
  return reason == nullptr || refuse(failure, *reason);
}

}  // namespace fence
