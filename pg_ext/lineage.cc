#include "pg_ext/lineage.h"

#include "core/layer.h"
#include "pg_ext/evidence.h"
#include "pg_ext/relations.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "access/xlog.h"
#include "utils/inval.h"
#include "utils/uuid.h"
}

namespace fence {

namespace {

// The columns of fence_internal.lineage, in its order (sql/pg/20-tables.sql).
enum Column {
  column_generation,
  column_install,
  column_system_identifier,
  column_database,
  column_timeline,
  column_accepted_from,
  column_count
};
static_assert(column_count == lineage_columns, "as many as the table has");

Whereabouts known;
uint64_t known_since = 0;  // right as of that many changes

LineageRow row_of(TupleTableSlot* slot) {
  slot_getallattrs(slot);
  LineageRow row;
  row.generation = DatumGetInt64(slot->tts_values[column_generation]);
  std::memcpy(row.identity.install, DatumGetUUIDP(slot->tts_values[column_install])->data,
              sizeof row.identity.install);
  row.identity.system_identifier =
      static_cast<uint64_t>(DatumGetInt64(slot->tts_values[column_system_identifier]));
  row.identity.database = DatumGetObjectId(slot->tts_values[column_database]);
  row.timeline = static_cast<uint32_t>(DatumGetInt32(slot->tts_values[column_timeline]));
  if (!slot->tts_isnull[column_accepted_from]) {
    row.accepted_from =
        static_cast<uint32_t>(DatumGetInt32(slot->tts_values[column_accepted_from]));
  }
  return row;
}

// Calls take(row) for each row that is committed, or this transaction's own.
template <typename Take>
void scan_all(const OwnTable& own, Take take) {
  Relation table = open_table(own, AccessShareLock);
  TupleTableSlot* row = table_slot_create(table, nullptr);
  TableScanDesc scan = table_beginscan(table, SnapshotSelf, 0, nullptr);
  while (table_scan_getnextslot(scan, ForwardScanDirection, row)) {
    take(row);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(row);
  table_close(table, AccessShareLock);
}

// The rows of the greatest generation, in the memory of the call.
struct Rows {
  LineageRow* all = nullptr;
  int count = 0;
  int capacity = 0;

  void add(const LineageRow& row) {
    if (count > 0 && row.generation != all[0].generation) {
      if (row.generation < all[0].generation) {
        return;
      }
      count = 0;
    }
    if (count == capacity) {
      capacity = capacity == 0 ? 8 : capacity * 2;
      const Size size = sizeof *all * static_cast<size_t>(capacity);
      all = static_cast<LineageRow*>(all == nullptr ? palloc(size) : repalloc(all, size));
    }
    all[count++] = row;
  }
};

DatabaseIdentity find_identity(int* installs) {
  DatabaseIdentity own{};
  own.system_identifier = GetSystemIdentifier();
  own.database = MyDatabaseId;
  scan_all(relations().install, [&](TupleTableSlot* row) {
    slot_getallattrs(row);
    std::memcpy(own.install, DatumGetUUIDP(row->tts_values[0])->data, sizeof own.install);
    ++*installs;
  });
  return own;
}

// With several installs there is no telling which one is this database's.
const Reason* judge(const Whereabouts& found) {
  return found.installs == 1 ? judge_home(found.lineage, found.own) : &reasons::foreign_database;
}

// Replaces what was known at one go: a look-up that fails leaves it as it was.
void remember(const Rows& rows, const DatabaseIdentity& own, int installs) {
  const Size size = sizeof *rows.all * static_cast<size_t>(rows.count + 1);
  auto* kept = static_cast<LineageRow*>(MemoryContextAlloc(TopMemoryContext, size));
  for (int i = 0; i < rows.count; ++i) {
    kept[i] = rows.all[i];
  }
  if (known.lineage.rows != nullptr) {
    pfree(const_cast<LineageRow*>(known.lineage.rows));
  }
  known.lineage = {kept, rows.count, rows.count == 0 ? 0 : kept[0].generation};
  known.own = own;
  known.installs = installs;
  known.away = judge(known);
}

// Nothing is known of a key then; its namespace says which call it was.
Refusal away_refusal(std::string_view ns, const Reason& reason) {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.ns = ns;
  return refusal;
}

}  // namespace

const Whereabouts& whereabouts() {
  AcceptInvalidationMessages();  // fence_adopt() elsewhere counts from the next call on
  relations();
  if (known_since == settings_generation()) {
    return known;
  }
  // Counted before the look: what changes meanwhile is looked at next time.
  const uint64_t before = settings_generation();
  Rows rows;
  scan_all(relations().lineage, [&](TupleTableSlot* slot) { rows.add(row_of(slot)); });
  int installs = 0;
  const DatabaseIdentity own = find_identity(&installs);
  remember(rows, own, installs);
  if (rows.all != nullptr) {
    pfree(rows.all);
  }
  known_since = before;
  return known;
}

void check_home_for_write(std::string_view ns) {
  const Reason* away = whereabouts().away;
  if (away != nullptr && layer(Layer::home_check)) {
    refuse(away_refusal(ns, *away));
  }
}

void check_home_for_claim(std::string_view ns) {
  const Reason* away = whereabouts().away;
  if (away != nullptr && layer(Layer::home_check)) {
    note_refusal(away_refusal(ns, *away));
  }
  check_home(ns);
}

void check_home(std::string_view ns) {
  const Reason* away = whereabouts().away;
  if (away != nullptr && layer(Layer::home_check)) {
    raise_error(away_refusal(ns, *away));
  }
}

// Away from home no claim counts: also at the commit of a transaction that began at home.
bool claim_counts(int64_t generation, uint32_t timeline) {
  if (!layer(Layer::outdated_check) || RecoveryInProgress()) {
    return true;
  }
  const Whereabouts& here = whereabouts();
  return here.away == nullptr &&
         is_in_force(here.lineage, GetWALInsertionTimeLine(), generation, timeline);
}

}  // namespace fence
