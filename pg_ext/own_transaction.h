// Calls that are a transaction of their own: claims, deletes, and what administrators do.
#ifndef FENCE_PG_EXT_OWN_TRANSACTION_H
#define FENCE_PG_EXT_OWN_TRANSACTION_H

#include "pg_ext/arguments.h"

namespace fence {

// ZF012 where a transaction is open: frozen inside, such a call would hold up every other
// writer of the key.
void check_alone(const RecordName& name);

// From here on the transaction is this call's: it commits at once, also where the call is
// refused (its locks are not for keeping), and nothing else can be done in it.
void begin_own_transaction();

// For calls that no namespace's right covers: 25006 in a read-only transaction or on a
// standby. Who may call them is EXECUTE's to say.
void check_may_administer();

}  // namespace fence

#endif
