// Who stands in the way of an owner: fence_holders, fence_drain, fence_evict.
#include "core/argument.h"
#include "pg_ext/access.h"
#include "pg_ext/arguments.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/record_store.h"
#include "pg_ext/settings.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace fence {

namespace {

// As current owner, or not at all.
OwnerCall read_owner(Arguments* arguments) {
  check_not_doomed();
  const OwnerCall call = arguments->owner_call();
  check_is_writer(call.name.ns);
  const StoredRecord record = read_record(call.name, Reading::unlocked);
  const Reason* reason = judge_owner(record.ownership(), call.claimant);
  if (reason != nullptr) {
    raise_error(refusal_by(record, call.name, call.claimant, *reason));
  }
  return call;
}

// The other transactions that have asserted the key.
Holders find_asserting(const OwnerCall& call) {
  return find_holders(key_tag(call.name.hash), AccessExclusiveLock);
}

// Those of them that are not the current owner's.
Holders find_superseded(const OwnerCall& call) {
  Holders all = find_asserting(call);
  const Holders own =
      find_holders(claimant_tag(call.name.hash, call.claimant), AccessExclusiveLock);
  int kept = 0;
  for (int i = 0; i < all.count; ++i) {
    if (!contains(own, all.ids[i])) {
      all.ids[kept++] = all.ids[i];
    }
  }
  all.count = kept;
  return all;
}

void drop_gone(Holders* holders) {
  int kept = 0;
  for (int i = 0; i < holders->count; ++i) {
    if (!is_gone(holders->ids[i])) {
      holders->ids[kept++] = holders->ids[i];
    }
  }
  holders->count = kept;
}

void drop_busy(Holders* holders) {
  int kept = 0;
  for (int i = 0; i < holders->count; ++i) {
    if (waits_for_client(holders->ids[i])) {
      holders->ids[kept++] = holders->ids[i];
    }
  }
  holders->count = kept;
}

bool has_passed(TimestampTz since, int64_t ms) {
  return ms <= 0 || TimestampDifferenceExceeds(since, GetCurrentTimestamp(),
                                               static_cast<int>(ms < INT_MAX ? ms : INT_MAX));
}

}  // namespace

// Those found at the start, so that the owner's own writes of now are not waited for.
FENCE_FUNCTION(fence_pg_drain) {
  Arguments arguments(fcinfo);
  const OwnerCall call = read_owner(&arguments);
  const int64_t timeout_ms = arguments.number(4, reasons::bad_timeout);
  const TimestampTz begin = GetCurrentTimestamp();
  Holders superseded = find_superseded(call);
  drop_gone(&superseded);
  while (superseded.count > 0 && !has_passed(begin, timeout_ms)) {
    nap();
    drop_gone(&superseded);
  }
  PG_RETURN_BOOL(superseded.count == 0);
}

// All that wait for their client from now on until evict_after has passed.
FENCE_FUNCTION(fence_pg_evict) {
  Arguments arguments(fcinfo);
  const OwnerCall call = read_owner(&arguments);
  const TimestampTz begin = GetCurrentTimestamp();
  Holders idle = find_asserting(call);
  drop_busy(&idle);
  while (idle.count > 0 && !has_passed(begin, settings.evict_after)) {
    nap();
    drop_busy(&idle);
  }
  int64_t ended = 0;
  for (int i = 0; i < idle.count; ++i) {
    ended += end_idle_holder(idle.ids[i]) ? 1 : 0;
  }
  // They are gone when it returns, if the server is not too busy to end them.
  const TimestampTz signalled = GetCurrentTimestamp();
  drop_gone(&idle);
  while (ended > 0 && idle.count > 0 && !has_passed(signalled, settings.evict_after)) {
    nap();
    drop_gone(&idle);
  }
  PG_RETURN_INT64(ended);
}

}  // namespace fence
