// The two triggers on a protected table and on each of its partitions.
#ifndef FENCE_PG_EXT_PROTECTION_TRIGGERS_H
#define FENCE_PG_EXT_PROTECTION_TRIGGERS_H

#include "pg_ext/server.h"

namespace fence {

// The table, first, and all its partitions, with nobody else at any of them to the end of the
// transaction.
List* lock_tree(Oid table);

// The name of a trigger that somebody else has given one of Fence's names, or nullptr.
const char* find_foreign_trigger(const List* tree);

// Makes those that are missing or not as they should be, and puts the others back to ENABLE
// ALWAYS. tree: from lock_tree.
void make_protection_triggers(const List* tree);
void drop_protection_triggers(const List* tree);

// Makes them where they are not right, and locks the table only then. Returns how many were not.
int mend_protection_triggers(Oid table);

// Makes the one against TRUNCATE where a partition has none, since the server does not clone it,
// and, if restore, puts back to ENABLE ALWAYS what is enabled less. By no statement: an event
// trigger that calls this is not called for it again.
void complete_protection_triggers(Oid table, bool restore);

}  // namespace fence

#endif
