// Appending to a log: the one path of all forms of the call.
#ifndef FENCE_PG_EXT_APPEND_H
#define FENCE_PG_EXT_APPEND_H

#include "pg_ext/arguments.h"
#include "pg_ext/entry_store.h"

namespace fence {

struct AppendCall {
  OwnerCall owner;
  const NewEntry* entries = nullptr;  // ascending by idx, none twice
  int count = 0;
  Maybe<int64_t> expected_last;
};

// Stores all entries or raises. call: the one that may be all its transaction does
// (nullptr: it is not). Returns how many were newly stored.
int64_t run_append(FunctionCallInfo call, const AppendCall& append);

}  // namespace fence

#endif
