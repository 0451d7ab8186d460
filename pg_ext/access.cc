#include "pg_ext/access.h"

#include <cstring>

#include "core/layer.h"
#include "core/name.h"
#include "pg_ext/arguments.h"
#include "pg_ext/compat.h"
#include "pg_ext/lineage.h"
#include "pg_ext/relations.h"

extern "C" {
#include "access/xlog.h"
#include "tcop/utility.h"
#include "utils/inval.h"
}

namespace fence {

namespace {

enum class Right : unsigned char { read, write };

// The columns of fence_internal.access, in its order (sql/pg/20-tables.sql).
enum Column { column_role, column_namespace, column_may_write, column_count };
static_assert(column_count == access_columns, "as many as the table has");

bool gives(TupleTableSlot* row, std::string_view ns, Right right) {
  slot_getallattrs(row);
  if (right == Right::write && !DatumGetBool(row->tts_values[column_may_write])) {
    return false;
  }
  if (!row->tts_isnull[column_namespace]) {
    const auto* packed = DatumGetTextPP(row->tts_values[column_namespace]);
    if (ns !=
        std::string_view(VARDATA_ANY(packed), static_cast<size_t>(VARSIZE_ANY_EXHDR(packed)))) {
      return false;
    }
  }
  return has_privs_of_role(GetUserId(), DatumGetObjectId(row->tts_values[column_role]));
}

bool is_granted(std::string_view ns, Right right) {
  Relation table = open_table(relations().access, AccessShareLock);
  TupleTableSlot* row = table_slot_create(table, nullptr);
  TableScanDesc scan = table_beginscan(table, SnapshotSelf, 0, nullptr);
  bool found = false;
  while (!found && table_scan_getnextslot(scan, ForwardScanDirection, row)) {
    found = gives(row, ns, right);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(row);
  table_close(table, AccessShareLock);
  return found;
}

// The last answer: most sessions write to one namespace as one role.
struct Answer {
  Oid role = InvalidOid;
  uint64_t generation = 0;
  Right right = Right::read;
  bool yes = false;
  size_t size = 0;
  char ns[longest_name];
};
Answer last;

bool may(std::string_view ns, Right right) {
  AcceptInvalidationMessages();  // what was revoked holds in open transactions, too
  const Oid role = GetUserId();
  const Oid table = relations().access.table;
  if (last.role == role && last.generation == settings_generation() && last.right == right &&
      std::string_view(last.ns, last.size) == ns) {
    return last.yes;
  }
  last.role = InvalidOid;
  const uint64_t generation = settings_generation();
  const bool yes =
      compat::owns_relation(table, role) || is_granted(ns, right) || !layer(Layer::access_check);
  if (ns.size() > sizeof last.ns) {
    return yes;  // of a row that no call of ours can have stored
  }
  last.role = role;
  last.generation = generation;
  last.right = right;
  last.yes = yes;
  last.size = ns.size();
  std::memcpy(last.ns, ns.data(), ns.size());
  return yes;
}

void deny(std::string_view ns, const char* function) {
  char shown[6 * longest_name + 1];
  TextSink sink(shown, sizeof shown);
  put_for_client(ns, &sink);
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("permission denied for namespace \"%s\"", shown),
                  errhint("An administrator can call %s.", function), errhidestmt(true),
                  errhidecontext(true)));  // the writer stands in both
}

void check_right(std::string_view ns) {
  if (!may(ns, Right::write)) {
    deny(ns, "fence_grant_writer");
  }
}

}  // namespace

bool may_read(std::string_view ns) { return may(ns, Right::read); }

void check_may_write(std::string_view ns) {
  check_rights_to_write(ns);
  check_home_for_write(ns);
}

void check_rights_to_write(std::string_view ns) {
  if (XactReadOnly || RecoveryInProgress()) {
    ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                    errmsg("cannot execute a fenced write in a read-only transaction"),
                    errhidestmt(true), errhidecontext(true)));  // the writer stands in both
  }
  PreventCommandIfParallelMode("a fenced write");
  check_right(ns);
}

void check_may_read(std::string_view ns) {
  if (!may_read(ns)) {
    deny(ns, "fence_grant_reader or fence_grant_writer");
  }
}

// Of what a view shows: NULL is nobody's.
FENCE_FUNCTION(fence_pg_may_read) {
  PG_RETURN_BOOL(!PG_ARGISNULL(0) && may_read(bytes_of(PG_GETARG_DATUM(0))));
}

}  // namespace fence
