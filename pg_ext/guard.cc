// The ALWAYS triggers on Fence's own tables. Fence's functions do not pass through
// them, so whatever does is somebody else.
#include "core/layer.h"
#include "pg_ext/compat.h"
#include "pg_ext/failure.h"
#include "pg_ext/relations.h"

extern "C" {
#include "commands/trigger.h"
#include "utils/inval.h"
}

namespace fence {

namespace {

const Reason direct_write = {Code::not_asserted,
                             "Fence's own tables are written by its functions only",
                             "call fenced_append, oplog_metadata_upsert and so on"};
const Reason not_a_trigger = {Code::configuration, "this function is for Fence's own triggers",
                              "call fenced_append and the other functions of the schema fence"};

bool is_by_owner(const TriggerData* trigger) {
  return compat::owns_relation(RelationGetRelid(trigger->tg_relation), GetUserId());
}

// A restored dump brings rows that are missing, in any order; it never changes one.
bool is_restore(const TriggerData* trigger) {
  return TRIGGER_FIRED_BY_INSERT(trigger->tg_event) && is_by_owner(trigger);
}

// Grants add rows and revokes remove them, in SQL; nothing has to change one, or all at once.
bool is_grant_or_revoke(const TriggerData* trigger) {
  return (TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
          TRIGGER_FIRED_BY_DELETE(trigger->tg_event)) &&
         is_by_owner(trigger);
}

const TriggerData* own_trigger(FunctionCallInfo call) {
  const auto* trigger =
      CALLED_AS_TRIGGER(call) ? reinterpret_cast<const TriggerData*>(call->context) : nullptr;
  if (trigger == nullptr ||
      RelationGetNamespace(trigger->tg_relation) != get_rel_namespace(relations().record.table)) {
    raise_error(not_a_trigger);
  }
  return trigger;
}

Datum row_of(const TriggerData* trigger) {
  return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple
                                                                    : trigger->tg_trigtuple);
}

}  // namespace

// BEFORE each row and before TRUNCATE.
FENCE_FUNCTION(fence_pg_guard) {
  const TriggerData* trigger = own_trigger(fcinfo);
  if (layer(Layer::guard) && !is_restore(trigger)) {
    raise_error(direct_write);
  }
  const Oid table = RelationGetRelid(trigger->tg_relation);
  if (table == relations().lineage.table || table == relations().install.table ||
      table == relations().protected_table.table) {
    CacheInvalidateRelcache(trigger->tg_relation);  // sessions take notice
  }
  return TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ? row_of(trigger) : PointerGetDatum(nullptr);
}

// The table of who may do what: sessions take notice of what its owner adds and removes.
FENCE_FUNCTION(fence_pg_guard_access) {
  const TriggerData* trigger = own_trigger(fcinfo);
  if (layer(Layer::guard) && !is_grant_or_revoke(trigger)) {
    raise_error(direct_write);
  }
  CacheInvalidateRelcache(trigger->tg_relation);
  return TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ? row_of(trigger) : PointerGetDatum(nullptr);
}

}  // namespace fence
