// Questions that change nothing: fence_check, fence_fingerprint.
#include "pg_ext/access.h"
#include "pg_ext/lineage.h"
#include "pg_ext/owned_write.h"

extern "C" {
#include "tcop/utility.h"
}

namespace fence {

// Raises as an append would, but asserts nothing and dooms nothing.
FENCE_FUNCTION(fence_pg_check) {
  check_not_doomed();
  const OwnerCall call = Arguments(fcinfo).owner_call();
  PreventCommandDuringRecovery("fence_check");  // a standby knows what was, not what is
  check_may_read(call.name.ns);
  check_owner_mode(call);
  check_home(call.name.ns);
  const StoredRecord record = read_record(call.name, Reading::unlocked);
  const Reason* reason = judge_owner(record.ownership(), call.claimant);
  if (reason != nullptr) {
    raise_error(refusal_by(record, call.name, call.claimant, *reason));
  }
  PG_RETURN_BOOL(true);
}

// For fence_verify.
FENCE_FUNCTION(fence_pg_record_hash) {
  const RecordName name = Arguments(fcinfo).record_name();
  PG_RETURN_INT64(static_cast<int64_t>(name.hash));
}

FENCE_FUNCTION(fence_pg_fingerprint) {
  const Fingerprint shown = fingerprint(Arguments(fcinfo).writer(0));
  PG_RETURN_DATUM(CStringGetTextDatum(shown.text));
}

}  // namespace fence
