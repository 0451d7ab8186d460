// From the values of a SQL call to what core/ works with. Each reader returns
// false and fills failure when the value cannot be that (ZF010).
#ifndef FENCE_SQLITE_EXT_ARGUMENTS_H
#define FENCE_SQLITE_EXT_ARGUMENTS_H

#include "sqlite_ext/failure.h"
#include "sqlite_ext/owner_call.h"

namespace fence {

// Text that names something; fault is the reason where it does not.
bool read_name(sqlite3_value* value, const Reason& fault, std::string_view* name,
               Failure* failure) noexcept;

// The beginning of a name, which may be empty.
bool read_name_prefix(sqlite3_value* value, const Reason& fault, std::string_view* prefix,
                      Failure* failure) noexcept;

// A whole number 0..2^63-1: an integer, an integral REAL up to 2^53-1 (JavaScript
// numbers arrive so) or plain decimal text (some drivers); nothing else.
bool read_number(sqlite3_value* value, const Reason& fault, int64_t* number,
                 Failure* failure) noexcept;

// As read_number; NULL leaves *number as it is.
bool read_number_or_null(sqlite3_value* value, const Reason& fault, int64_t* number,
                         Failure* failure) noexcept;

bool read_writer(sqlite3_value* value, WriterHash* writer, Failure* failure) noexcept;

// A BLOB, or TEXT as its UTF-8 bytes; may be empty.
bool read_bytes(sqlite3_value* value, const Reason& fault, std::string_view* bytes,
                Failure* failure) noexcept;
bool read_payload(sqlite3_value* value, std::string_view* payload, Failure* failure) noexcept;

// Four values. A NULL epoch is accepted here, with any writer: whether the
// namespace's mode allows it is asked when the namespace is read (judge_mode_of).
bool read_owner_call(sqlite3_value** values, OwnerCall* call, Failure* failure) noexcept;

// For calls that need an epoch in every mode: ZF012 where it is NULL.
bool check_epoch_given(const OwnerCall& call, Failure* failure) noexcept;

}  // namespace fence

#endif
