// Which tables can be protected (spec 2.2, fence_protect).
#ifndef FENCE_PG_EXT_PROTECTION_RULE_H
#define FENCE_PG_EXT_PROTECTION_RULE_H

#include "pg_ext/protection_store.h"

namespace fence {

// ZF012, with the reason, where rows of the table could be changed with no trigger being asked, or
// be lost in a crash; or where its key columns say nobody's name. Fills in the columns'
// numbers. tree: the table and all its partitions, locked.
void check_can_protect(Relation table, const List* tree, Protection* protection);

}  // namespace fence

#endif
