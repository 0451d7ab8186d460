// Up to where the logs were trimmed: fence_internal.trim_mark, one row for each epoch that
// trimmed a key. Nobody ever waits for a row that another epoch has touched.
#ifndef FENCE_PG_EXT_TRIM_STORE_H
#define FENCE_PG_EXT_TRIM_STORE_H

#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"

namespace fence {

// Up to here the log is trimmed, by what is committed and by this transaction.
int64_t find_trimmed(const RecordName& name, const StoredRecord& record);
// The first of them in the caller's snapshot, without telling the server's serializable machinery.
int64_t find_trimmed_in_snapshot(const RecordName& name, const StoredRecord& record);

// The first without what this very transaction has trimmed; of one key after the other by one
// scan.
class TrimsOfOthers {
 public:
  TrimsOfOthers();
  int64_t find(const RecordName& name, const StoredRecord& record);
  void end() { scan_.end(); }

 private:
  IndexScan scan_;
  bool begun_ = false;
};

// Notes a trim under that epoch; older marks go, if nobody is at them. False: the row of
// this very epoch is being changed by another transaction. The caller holds the lock of
// its claimant.
bool write_trimmed(const RecordName& name, int64_t epoch, int64_t trimmed);

// Removes all marks of a key that nobody else is at.
Removal remove_trim_marks(const RecordName& name, const StoredRecord& record);

}  // namespace fence

#endif
