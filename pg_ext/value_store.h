// Small named values of keys: fence_internal.value, a row for each epoch that put one. The
// one of the highest epoch counts. Nobody ever waits for a row that another epoch touched.
#ifndef FENCE_PG_EXT_VALUE_STORE_H
#define FENCE_PG_EXT_VALUE_STORE_H

#include <string_view>

#include "pg_ext/record_store.h"

namespace fence {

// What stands under a name now, for this transaction and by what is committed.
struct StoredValue {
  bool exists = false;
  int64_t epoch = unfenced_epoch;
  std::string_view value;
  ItemPointerData row{};  // valid also where it says that the value was removed
};
StoredValue find_value(const RecordName& name, const StoredRecord& record,
                       std::string_view value_name);

// Whether the row of this very epoch is being changed by another transaction, or one of a
// higher epoch (from before a reset), which would count before this one: then nothing was done.
enum class ValueChange : unsigned char { done, busy };

// stored: what find_value found. value nullptr: removes it. The caller holds the lock of its
// claimant.
ValueChange write_value(const RecordName& name, int64_t epoch, std::string_view value_name,
                        const StoredValue& stored, const std::string_view* value);

// Removes all values of a key, as far as nobody else is at them.
Removal remove_values(const RecordName& name, const StoredRecord& record);

// Removes those of earlier lives, or all where the key is deleted.
Removal remove_old_values(const RecordName& name, const StoredRecord& record);

// Calls take for each value in the caller's snapshot, without telling the server's
// serializable machinery. What it is given is good until it returns.
using TakeValue = void (*)(void* context, Datum value_name, int64_t epoch, Datum value);
void read_values_in_snapshot(const RecordName& name, const StoredRecord& record, TakeValue take,
                             void* context);

}  // namespace fence

#endif
