// What event triggers need to know of a statement and SQL cannot tell.
#include "pg_ext/relations.h"
#include "pg_ext/server.h"

extern "C" {
#include "nodes/parsenodes.h"
#include "tcop/deparse_utility.h"
}

namespace fence {

namespace {

const char* kind_of(AlterTableType type) {
  switch (type) {
    case AT_AttachPartition:
      return "attach";
    case AT_DetachPartition:
    case AT_DetachPartitionFinalize:
      return "detach";
    default:
      return nullptr;
  }
}

}  // namespace

// attach or detach, where the statement is ALTER TABLE … ATTACH or DETACH PARTITION; else NULL.
FENCE_FUNCTION(fence_pg_partition_change) {
  const auto* command = reinterpret_cast<const CollectedCommand*>(PG_GETARG_POINTER(0));
  const List* parts = command->type == SCT_AlterTable ? command->d.alterTable.subcmds : NIL;
  for (int i = 0; i < list_length(parts); ++i) {
    const auto* part = static_cast<const CollectedATSubcmd*>(list_nth(parts, i));
    const char* kind = IsA(part->parsetree, AlterTableCmd)
                           ? kind_of(reinterpret_cast<AlterTableCmd*>(part->parsetree)->subtype)
                           : nullptr;
    if (kind != nullptr) {
      PG_RETURN_DATUM(text_datum(kind));
    }
  }
  PG_RETURN_NULL();
}

}  // namespace fence
