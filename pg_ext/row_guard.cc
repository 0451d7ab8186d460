// The triggers on protected tables: no row is changed unless the transaction has asserted its
// key. AFTER each row, so that what is judged is what is stored, whatever other triggers did.
#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/failure.h"
#include "pg_ext/protected_table.h"
#include "pg_ext/row_key.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "commands/trigger.h"
#include "replication/logicalworker.h"
}

namespace fence {

namespace {

const Reason not_this_way = {
    Code::configuration, "this function is for the triggers of tables that fence_protect protects",
    "call fence_protect"};

[[noreturn]] void raise_for(Relation table, Refusal refusal) {
  char shown[6 * 2 * NAMEDATALEN + 3];
  TextSink sink(shown, sizeof shown);
  put_for_client(quote_identifier(RelationGetRelationName(table)), &sink);
  refusal.fault = shown;
  raise_error(refusal, table);
}

// As it was when the trigger was last called in this statement, or looked up.
const ProtectedTable* protection_of(FunctionCallInfo call, const TriggerData* trigger) {
  const auto* known = static_cast<const ProtectedTable*>(call->flinfo->fn_extra);
  const Oid table = RelationGetRelid(trigger->tg_relation);
  if (known == nullptr || known->table != table || known->generation != protection_generation()) {
    known = find_protected(trigger->tg_relation);
    call->flinfo->fn_extra = const_cast<ProtectedTable*>(known);
  }
  if (!known->is_protected) {
    raise_for(trigger->tg_relation, about({}, reasons::not_registered));
  }
  return known;
}

// What arrives by replication was checked where it comes from, if the table's owner says so.
bool is_applied(const ProtectedTable& table) {
  return table.subscriber == Subscriber::apply && IsLogicalWorker();
}

void check_key(const TriggerData* trigger, const ProtectedTable& table, std::string_view key) {
  if (!is_asserted(table.ns(), key) && layer(Layer::row_check)) {
    const Reason& reason = IsLogicalWorker() ? reasons::not_replicated : reasons::not_asserted;
    raise_for(trigger->tg_relation, about({table.ns(), key, 0}, reason));
  }
}

void check_row(const TriggerData* trigger, const ProtectedTable& table) {
  RowKey before;
  const std::string_view key = before.of(table, trigger->tg_trigslot);
  check_key(trigger, table, key);
  if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && layer(Layer::moved_row) &&
      !is_same_key(table, trigger->tg_trigslot, trigger->tg_newslot)) {
    RowKey after;
    check_key(trigger, table, after.of(table, trigger->tg_newslot));
  }
}

const TriggerData* trigger_of(FunctionCallInfo call) {
  if (!CALLED_AS_TRIGGER(call)) {
    raise_error(not_this_way);
  }
  return reinterpret_cast<const TriggerData*>(call->context);
}

}  // namespace

// AFTER INSERT, UPDATE and DELETE of each row.
FENCE_FUNCTION(fence_pg_check_row) {
  const TriggerData* trigger = trigger_of(fcinfo);
  if (!TRIGGER_FIRED_AFTER(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event)) {
    raise_error(not_this_way);
  }
  check_not_doomed();
  const ProtectedTable* table = protection_of(fcinfo, trigger);
  if (!is_applied(*table)) {
    check_row(trigger, *table);
  }
  PG_RETURN_POINTER(nullptr);
}

// BEFORE TRUNCATE.
FENCE_FUNCTION(fence_pg_refuse_truncate) {
  const TriggerData* trigger = trigger_of(fcinfo);
  if (!TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event)) {
    raise_error(not_this_way);
  }
  const ProtectedTable* table = protection_of(fcinfo, trigger);
  if (!is_applied(*table) && layer(Layer::truncate_check)) {
    raise_for(trigger->tg_relation, about({}, reasons::no_truncate));
  }
  PG_RETURN_POINTER(nullptr);
}

}  // namespace fence
