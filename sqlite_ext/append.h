// Storing entries: the one path behind every form of append.
#ifndef FENCE_SQLITE_EXT_APPEND_H
#define FENCE_SQLITE_EXT_APPEND_H

#include "core/append.h"
#include "sqlite_ext/arguments.h"

namespace fence {

struct Connection;

// An entry of a call. action is filled in while the batch is judged.
struct NewEntry {
  int64_t idx = 0;
  std::string_view payload;
  EntryAction action = EntryAction::refuse;
};

struct AppendCall {
  OwnerCall owner;
  NewEntry* entries = nullptr;  // ascending idx, none twice
  int64_t count = 0;
  Maybe<int64_t> expected_last;
};

// Stores all entries of the call or none. *stored: how many were not there yet.
// Takes main's write lock; reads the state that it will write to.
bool run_append(Connection* connection, const AppendCall& call, int64_t* stored,
                Failure* failure) noexcept;

// One entry, given as the values (namespace, key, epoch, writer, idx, payload).
bool append_one(Connection* connection, sqlite3_value** values, NewEntry* entry,
                Failure* failure) noexcept;

// An empty batch: succeeds unless the call as such cannot be (ZF012).
bool run_empty_append(Connection* connection, const AppendCall& call, Failure* failure) noexcept;

}  // namespace fence

#endif
