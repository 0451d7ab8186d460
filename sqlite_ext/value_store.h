// The named values of a key, as the file holds them.
#ifndef FENCE_SQLITE_EXT_VALUE_STORE_H
#define FENCE_SQLITE_EXT_VALUE_STORE_H

#include "core/value.h"
#include "sqlite_ext/log_store.h"

namespace fence {

// Reads it and checks what was read: ZF019 for values that cannot be, ZF020 for one
// whose seal is broken.
bool read_value(Connection* connection, const LogName& name, const SealKey& seal_key,
                std::string_view value_name, std::string_view wanted, FoundValue* found,
                Failure* failure) noexcept;

// Stores a value, sealed; taken: in the place of another one.
bool store_value(Connection* connection, const LogName& name, const SealKey& seal_key,
                 std::string_view value_name, const StoredValue& value, bool taken,
                 Failure* failure) noexcept;

// Removes one on behalf of owner, in the two steps that the trigger asks for.
bool remove_value(Connection* connection, const LogName& name, const Claimant& owner,
                  std::string_view value_name, Failure* failure) noexcept;

// Deletes the row of a value of a deleted key.
bool delete_value_row(Connection* connection, const LogName& name, std::string_view value_name,
                      Failure* failure) noexcept;

}  // namespace fence

#endif
