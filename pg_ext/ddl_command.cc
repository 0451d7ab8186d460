// What event triggers need of a statement, and after it, and SQL cannot tell or do.
#include "pg_ext/protection_triggers.h"
#include "pg_ext/relations.h"
#include "pg_ext/server.h"

extern "C" {
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "tcop/deparse_utility.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
}

namespace fence {

namespace {

// The name, without a schema, of the partition that a statement attaches to its table, or takes
// out of it; NULL: none. Not of one that left before, CONCURRENTLY, and is only let go of now.
Datum partition_of(FunctionCallInfo fcinfo, AlterTableType wanted) {
  const auto* command = reinterpret_cast<const CollectedCommand*>(PG_GETARG_POINTER(0));
  const List* parts = command->type == SCT_AlterTable ? command->d.alterTable.subcmds : NIL;
  for (int i = 0; i < list_length(parts); ++i) {
    const Node* part = static_cast<const CollectedATSubcmd*>(list_nth(parts, i))->parsetree;
    if (!IsA(part, AlterTableCmd)) {
      continue;
    }
    const auto* change = reinterpret_cast<const AlterTableCmd*>(part);
    if (change->subtype == wanted) {
      PG_RETURN_DATUM(text_datum(castNode(PartitionCmd, change->def)->name->relname));
    }
  }
  PG_RETURN_NULL();
}

// The statement that the client has sent, if that is one of ALTER TABLE and no more.
const AlterTableStmt* parse_alter_table() {
  const List* statements =
      debug_query_string == nullptr ? NIL : raw_parser(debug_query_string, RAW_PARSE_DEFAULT);
  const Node* only =
      list_length(statements) == 1 ? linitial_node(RawStmt, statements)->stmt : nullptr;
  return only != nullptr && IsA(only, AlterTableStmt)
             ? reinterpret_cast<const AlterTableStmt*>(only)
             : nullptr;
}

bool is_concurrent_detach(const AlterTableStmt* statement) {
  const auto* command = linitial_node(AlterTableCmd, statement->cmds);
  return command->subtype == AT_DetachPartition && castNode(PartitionCmd, command->def)->concurrent;
}

}  // namespace

// Of ALTER TABLE … ATTACH PARTITION.
FENCE_FUNCTION(fence_pg_attached_partition) { return partition_of(fcinfo, AT_AttachPartition); }

// Of ALTER TABLE … DETACH PARTITION.
FENCE_FUNCTION(fence_pg_detached_partition) { return partition_of(fcinfo, AT_DetachPartition); }

// (protected, restore)
FENCE_FUNCTION(fence_pg_complete_triggers) {
  complete_protection_triggers(PG_GETARG_OID(0), PG_GETARG_BOOL(1));
  PG_RETURN_VOID();
}

// The schema, or NULL where the client's statement says none, and the name of the table that it
// takes a partition out of CONCURRENTLY; else NULL. That commits half-way, so it is too late once
// it is done. It stands alone in its transaction, and no function can run it.
FENCE_FUNCTION(fence_pg_detaching_concurrently) {
  const AlterTableStmt* statement = parse_alter_table();
  if (statement == nullptr || !is_concurrent_detach(statement)) {
    PG_RETURN_NULL();
  }
  const RangeVar* table = statement->relation;
  const bool has_schema = table->schemaname != nullptr;
  Datum names[2] = {has_schema ? CStringGetTextDatum(table->schemaname) : 0,
                    CStringGetTextDatum(table->relname)};
  bool nulls[2] = {!has_schema, false};
  int count = 2;
  int first = 1;
  PG_RETURN_POINTER(
      construct_md_array(names, nulls, 1, &count, &first, TEXTOID, -1, false, TYPALIGN_INT));
}

}  // namespace fence
