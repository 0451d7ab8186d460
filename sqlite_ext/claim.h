// Taking ownership of keys, as a transaction of its own.
#ifndef FENCE_SQLITE_EXT_CLAIM_H
#define FENCE_SQLITE_EXT_CLAIM_H

#include "sqlite_ext/arguments.h"

namespace fence {

struct Connection;

// What a claim answers: the greatest idx ever stored, if there ever was one.
using LastIdx = Maybe<int64_t>;

// Claims count keys in one commit that is flushed to disk: all of them or none.
// last: receives one answer for each. Refused (ZF012) while a transaction is open.
bool run_claims(Connection* connection, const OwnerCall* calls, int count, LastIdx* last,
                Failure* failure) noexcept;

}  // namespace fence

#endif
