// What grants and revokes begin with; the rest of them is SQL (sql/pg/60-access.sql).
#include "core/argument.h"
#include "pg_ext/arguments.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/relations.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "utils/acl.h"
}

namespace fence {

namespace {

const Reason no_role = {Code::out_of_range, "the role is NULL", "pass the name of a role"};

// Under REPEATABLE READ and SERIALIZABLE a snapshot may lack what the grant before this one
// has committed, and a revoke would then leave it in place.
void check_snapshot_is_new(Relation table) {
  TupleTableSlot* row = table_slot_create(table, nullptr);
  TableScanDesc scan = table_beginscan(table, SnapshotAny, 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, row)) {
    if (table_tuple_satisfies_snapshot(table, row, SnapshotSelf) !=
        table_tuple_satisfies_snapshot(table, row, GetActiveSnapshot())) {
      ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                      errmsg("could not serialize access due to concurrent update"),
                      errhint("The rights have changed meanwhile: try again.")));
    }
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(row);
}

}  // namespace

// (role, namespace) -> the role. To the end of the transaction nobody else grants or revokes;
// calls that ask for a right do not wait. NULL: all namespaces.
FENCE_FUNCTION(fence_pg_begin_access) {
  check_not_doomed();
  const Arguments arguments(fcinfo);
  if (arguments.is_null(0)) {
    arguments.refuse(no_role);
  }
  if (!arguments.is_null(1)) {
    arguments.name(1, reasons::bad_namespace);
  }
  check_may_administer();
  Relation table = open_table(relations().access, ShareRowExclusiveLock);
  if (IsolationUsesXactSnapshot()) {
    check_snapshot_is_new(table);
  }
  table_close(table, NoLock);
  PG_RETURN_OID(get_role_oid(NameStr(*DatumGetName(arguments.datum(0))), false));
}

}  // namespace fence
