// The two triggers on a protected table and on each of its partitions.
#ifndef FENCE_PG_EXT_PROTECTION_TRIGGERS_H
#define FENCE_PG_EXT_PROTECTION_TRIGGERS_H

#include "pg_ext/server.h"

namespace fence {

// Makes those of the table's that are missing or not as they should be, and puts the others
// back to ENABLE ALWAYS. tree: the table, first, and all its partitions, under
// AccessExclusiveLock. Returns how many were not right.
int make_protection_triggers(const List* tree);

// The same for the TRUNCATE trigger of one partition that has just come; the server makes the
// other one.
void drop_protection_triggers(const List* tree);

}  // namespace fence

#endif
