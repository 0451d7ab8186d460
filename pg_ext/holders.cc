// Who stands in the way of an owner: fence_holders, fence_drain, fence_evict.
#include "core/argument.h"
#include "pg_ext/access.h"
#include "pg_ext/clock.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/lineage.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/settings.h"

namespace fence {

namespace {

// As current owner, or not at all. Nothing is stored, but a standby does not see the primary's
// locks, and these calls are for those who write.
void check_owner(const OwnerCall& call) {
  check_rights_to_write(call.name.ns);
  check_home(call.name.ns);
  check_owner_mode(call);
  const StoredRecord record = read_record(call.name, Reading::unlocked);
  const Reason* reason = judge_owner(record.ownership(), call.claimant);
  if (reason != nullptr) {
    raise_error(refusal_by(record, call.name, call.claimant, *reason));
  }
}

// The other transactions that have asserted the key.
Holders find_asserting(const OwnerCall& call) {
  return find_holders(key_tag(call.name.hash), AccessExclusiveLock);
}

// Each once, although a transaction may stand in both.
Holders joined(const Holders& left, const Holders& right) {
  const int most = left.count + right.count + 1;
  Holders all;
  all.ids = static_cast<VirtualTransactionId*>(palloc(sizeof *all.ids * static_cast<size_t>(most)));
  std::memcpy(all.ids, left.ids, sizeof *all.ids * static_cast<size_t>(left.count));
  all.count = left.count;
  for (int i = 0; i < right.count; ++i) {
    if (!contains(left, right.ids[i])) {
      all.ids[all.count++] = right.ids[i];
    }
  }
  return all;
}

// The same, and those that may have asserted it among very many, but not those of the current
// owner.
Holders find_superseded(const OwnerCall& call) {
  Holders all = joined(find_asserting(call), find_holders(many_tag(), AccessExclusiveLock));
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

bool has_passed(int64_t since, int64_t ms) { return monotonic_ms() - since >= ms; }

}  // namespace

// Those found at the start, so that the owner's own writes of now are not waited for.
FENCE_FUNCTION(fence_pg_drain) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  int64_t timeout_ms = 0;
  const OwnerCall call =
      arguments.owner_call([&] { timeout_ms = arguments.number(4, reasons::bad_timeout); });
  check_owner(call);
  const int64_t begin = monotonic_ms();
  Holders superseded = find_superseded(call);
  drop_gone(&superseded);
  while (superseded.count > 0 && !has_passed(begin, timeout_ms)) {
    nap();
    drop_gone(&superseded);
  }
  PG_RETURN_BOOL(superseded.count == 0);
}

// One look at each: ends those whose time is up and forgets them and those that are gone.
// True while one is left whose time could run out before the deadline does.
bool evict_due(Holders* holders, IdleWatch* watches, int64_t deadline, int64_t* ended) {
  bool pending = false;
  int kept = 0;
  for (int i = 0; i < holders->count; ++i) {
    const bool due = watches[i].is_due(holders->ids[i]);
    if (is_gone(holders->ids[i])) {
      continue;
    }
    if (due && end_idle_holder(holders->ids[i])) {
      ++*ended;
      continue;
    }
    const int64_t since = watches[i].since();
    pending = pending || (!due && since != 0 && since <= deadline);
    holders->ids[kept] = holders->ids[i];
    watches[kept++] = watches[i];
  }
  holders->count = kept;
  return pending;
}

int count_of_superusers(const Holders& holders) {
  int count = 0;
  for (int i = 0; i < holders.count; ++i) {
    count += is_superusers(holders.ids[i]) ? 1 : 0;
  }
  return count;
}

// All that waited for their client when the call began, or came to it before
// fence.evict_after had passed, if they go on to wait for that long.
FENCE_FUNCTION(fence_pg_evict) {
  check_not_doomed();
  const OwnerCall call = Arguments(fcinfo).owner_call();
  check_owner(call);
  const int64_t deadline = monotonic_ms() + settings.evict_after;
  Holders holders = find_asserting(call);
  Holders signalled = holders;
  const Size size = sizeof *holders.ids * static_cast<size_t>(holders.count);
  signalled.ids = static_cast<VirtualTransactionId*>(palloc(size));
  std::memcpy(signalled.ids, holders.ids, size);
  auto* watches =
      static_cast<IdleWatch*>(palloc0(sizeof(IdleWatch) * static_cast<size_t>(holders.count + 1)));
  int64_t ended = 0;
  while (evict_due(&holders, watches, deadline, &ended) ||
         (holders.count > 0 && monotonic_ms() < deadline)) {
    nap();
  }
  // They are gone when it returns, if the server is not too busy to end them.
  const int64_t begin = monotonic_ms();
  drop_gone(&signalled);
  while (signalled.count > holders.count && !has_passed(begin, settings.evict_after)) {
    nap();
    drop_gone(&signalled);
  }
  const int left = count_of_superusers(holders);
  if (left > 0 && !superuser()) {
    ereport(NOTICE,
            (errmsg_plural("%d session was left: it belongs to a superuser",
                           "%d sessions were left: they belong to superusers", left, left)));
  }
  PG_RETURN_INT64(ended);
}

}  // namespace fence
