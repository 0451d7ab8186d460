// The place of our check among the callbacks at commit: before those of other
// libraries, whenever they came up. Foreign data wrappers commit their remote half in
// theirs.
#ifndef FENCE_PG_EXT_COMMIT_ORDER_H
#define FENCE_PG_EXT_COMMIT_ORDER_H

namespace fence {

// From now on to the end of the transaction check() is called first when it commits. It
// may be called more than once. Puts hooks on queries and utility statements for the
// rest of the session: each may bring in a younger callback.
void stay_first(void (*check)());

// At the end of the transaction, from a callback that stands behind all of these.
void leave_first_place();

}  // namespace fence

#endif
