// Questions that change nothing: fence_check, fence_fingerprint, and what fence_verify asks.
#include "pg_ext/access.h"
#include "pg_ext/lineage.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/relations.h"

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

// For fence_verify: why calls refuse one of Fence's tables; NULL: they do not.
FENCE_FUNCTION(fence_pg_table_fault) {
  const Oid oid = PG_GETARG_OID(0);
  const OwnTable* own = find_own_table(oid);
  if (own == nullptr) {
    PG_RETURN_NULL();
  }
  Relation table = table_open(oid, AccessShareLock);
  const Refusal fault = find_fault(table, *own);
  table_close(table, AccessShareLock);
  if (!fault.refused()) {
    PG_RETURN_NULL();
  }
  char text[message_capacity];
  TextSink sink(text, sizeof text);
  render_text(fault, &sink);
  PG_RETURN_DATUM(text_datum({text, sink.size()}));
}

FENCE_FUNCTION(fence_pg_fingerprint) {
  const Fingerprint shown = fingerprint(Arguments(fcinfo).writer(0));
  PG_RETURN_DATUM(CStringGetTextDatum(shown.text));
}

}  // namespace fence
