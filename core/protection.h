// What a table of the user's is protected by, and why a write to it is refused (spec 2.2).
#ifndef FENCE_CORE_PROTECTION_H
#define FENCE_CORE_PROTECTION_H

#include <string_view>

#include "core/refusal.h"

namespace fence {

// What a transaction must have asserted to change a row.
enum class Authority : unsigned char {
  epoch,       // the epoch of the row's key
  shard,       // of the shard that the row's key belongs to
  delegation,  // a delegation of the row's key
  any,         // one of them
};

// What becomes of rows that arrive by logical replication.
enum class Subscriber : unsigned char {
  refuse,  // nobody has asserted their keys
  apply,   // they were checked where they come from
};

// False, the result untouched, where nothing has that name.
bool parse_authority(std::string_view name, Authority* authority) noexcept;
bool parse_subscriber(std::string_view name, Subscriber* subscriber) noexcept;
const char* authority_name(Authority authority) noexcept;
const char* subscriber_name(Subscriber subscriber) noexcept;

// Can a table be protected by it in this version? nullptr: it can.
const Reason* judge_authority(Authority authority) noexcept;

// A row's key is the text of its columns, or one constant for the whole table: exactly one of
// the two is named. nullptr: it is.
const Reason* judge_key_choice(bool constant_given, int columns) noexcept;

namespace reasons {
extern const Reason not_asserted;    // %f: the table
extern const Reason not_replicated;  // %f: the table
extern const Reason no_truncate;     // %f: the table
extern const Reason bad_row_key;     // %f: what is wrong with it
extern const Reason assert_outside;  // a transaction block
extern const Reason bad_keys;        // %n: which element of an array, from 1; 0: there is none
extern const Reason bad_relation;
extern const Reason bad_key_columns;
extern const Reason bad_constant_key;  // %f
extern const Reason bad_authority;
extern const Reason bad_subscriber;
extern const Reason cannot_protect;  // %f: why
extern const Reason not_protected;   // %f: the table
extern const Reason not_registered;  // %f: the table
extern const Reason lost_key;        // %f: what happened to a key column
}  // namespace reasons

}  // namespace fence

#endif
