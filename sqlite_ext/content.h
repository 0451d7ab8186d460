// Taking content away: entries and values go one row at a time, each through the
// guard, once the record says that they may.
#ifndef FENCE_SQLITE_EXT_CONTENT_H
#define FENCE_SQLITE_EXT_CONTENT_H

#include "sqlite_ext/log_store.h"

namespace fence {

// Removes the entries up to and including through; *removed: how many.
bool remove_entries(Connection* connection, const LogName& name, int64_t through, int64_t* removed,
                    Failure* failure) noexcept;

// Deletes a key: its record keeps the floor, its entries and values go.
// published: where its log went to, if that is why.
bool end_life(Connection* connection, const LogName& name, const Maybe<Seal>& published,
              LogState* log, int64_t* removed, Failure* failure) noexcept;

}  // namespace fence

#endif
