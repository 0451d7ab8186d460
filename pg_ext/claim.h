// Taking ownership of keys.
#ifndef FENCE_PG_EXT_CLAIM_H
#define FENCE_PG_EXT_CLAIM_H

#include "pg_ext/arguments.h"

namespace fence {

// The greatest idx ever stored; not known: there never was one.
using LastIdx = Maybe<int64_t>;

// Claims all keys or none, in a transaction that consists of it and is flushed whatever
// synchronous_commit says. Fills last in the order of the calls. A key that is owned by
// somebody else is the answer false with *refusal; everything else that goes wrong is
// raised.
bool run_claims(const OwnerCall* calls, int count, LastIdx* last, Refusal* refusal);

}  // namespace fence

#endif
