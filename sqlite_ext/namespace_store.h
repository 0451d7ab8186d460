// What is set for a namespace, as the file holds it.
#ifndef FENCE_SQLITE_EXT_NAMESPACE_STORE_H
#define FENCE_SQLITE_EXT_NAMESPACE_STORE_H

#include "sqlite_ext/failure.h"
#include "sqlite_ext/owner_call.h"
#include "sqlite_ext/seal.h"

namespace fence {

struct Connection;

struct NamespaceState {
  SealKey seal_key;
  int64_t generation = 0;  // of the file
  bool stored = false;     // there is a row; else the rule is that of any namespace
  NamespaceRule rule;
};

// The first columns of Sql::read_namespace and of Sql::read_record.
constexpr int namespace_columns = 8;

// Takes them from a row: ZF012 for a format that is not ours, ZF019 for values that
// cannot be, ZF020 for a rule whose seal is broken.
bool take_namespace(sqlite3_stmt* row, std::string_view ns, NamespaceState* state,
                    Failure* failure) noexcept;

bool read_namespace(Connection* connection, std::string_view ns, NamespaceState* state,
                    Failure* failure) noexcept;

// Stores the rule, sealed.
bool store_namespace(Connection* connection, std::string_view ns, NamespaceState* state,
                     Failure* failure) noexcept;

// Does the namespace's mode take the call? ZF012.
bool check_mode(Connection* connection, const OwnerCall& call, ModeRule rule,
                Failure* failure) noexcept;

// For calls that are refused in a transaction: ZF010 comes before that, so a writer that
// is none is looked at first, where the mode wants an epoch.
bool check_writer(Connection* connection, const OwnerCall& call, Failure* failure) noexcept;

namespace reasons {
extern const Reason corrupt_namespace;
extern const Reason namespace_seal_broken;
}  // namespace reasons

}  // namespace fence

#endif
