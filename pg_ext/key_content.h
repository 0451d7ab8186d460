// All that a key holds beside its record: entries, trim marks, values.
#ifndef FENCE_PG_EXT_KEY_CONTENT_H
#define FENCE_PG_EXT_KEY_CONTENT_H

#include "core/append.h"
#include "pg_ext/record_store.h"

namespace fence {

// Where the log of a key ends; nothing, where it does not live.
LogEnd find_log_end(const RecordName& name, const StoredRecord& record);

// Removes it, as far as no other transaction is at it. Where what is left might count in a
// later life of the key, the key must not be deleted. The caller holds Exclusive on the key,
// and stores the record as deleted.
struct RemovedContent {
  int64_t entries = 0;  // that there were
  Removal removal;
};
RemovedContent remove_content(const RecordName& name, const StoredRecord& record);

// Whether nothing is stored of a key, whatever it is worth.
bool has_no_content(const RecordName& name);

// Removes what does not count: entries below the trim, entries and values of earlier lives;
// and all trim marks, so the caller notes in the record where the log begins.
Removal remove_leftovers(const RecordName& name, const StoredRecord& record);

}  // namespace fence

#endif
