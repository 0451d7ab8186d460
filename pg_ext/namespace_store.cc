#include "pg_ext/namespace_store.h"

#include <cstring>

#include "core/name.h"
#include "pg_ext/failure.h"
#include "pg_ext/key_lock.h"
#include "pg_ext/relations.h"
#include "pg_ext/settings.h"

extern "C" {
#include "storage/lmgr.h"
#include "utils/inval.h"
}

namespace fence {

namespace {

// The columns of fence_internal.namespace, in its order (sql/pg/20-tables.sql).
enum Column {
  column_namespace,
  column_mode,
  column_identical_repeat,
  column_shard_space,
  column_floor,
  column_count
};
static_assert(column_count == namespace_columns, "as many as the table has");

const Reason unknown_mode = {Code::corrupt, "the stored mode of the namespace is none",
                             "set it anew with fence_namespace_set"};

struct StoredRule {
  NamespaceRule rule;
  ItemPointerData row{};
};

StoredRule read_rule(std::string_view ns) {
  StoredRule stored;
  IndexScan scan(relations().ns);
  scan.equal(ns);
  scan.begin(SnapshotSelf);
  if (scan.next()) {
    stored.row = scan.row()->tts_tid;
    if (!parse_mode(bytes_at(scan.row(), column_mode), &stored.rule.mode)) {
      raise_error(unknown_mode);
    }
    slot_getallattrs(scan.row());
    stored.rule.identical_repeat = DatumGetBool(scan.row()->tts_values[column_identical_repeat]);
    stored.rule.floor = number_at(scan.row(), column_floor);
  }
  scan.end();
  return stored;
}

// The last answer: most sessions write to one namespace.
struct Answer {
  uint64_t generation = 0;
  size_t size = 0;
  char ns[longest_name];
  NamespaceRule rule;
};
Answer last;

}  // namespace

NamespaceRule namespace_rule(std::string_view ns) {
  relations();
  if (last.generation == settings_generation() && std::string_view(last.ns, last.size) == ns) {
    return last.rule;
  }
  last.generation = 0;
  const uint64_t generation = settings_generation();
  const NamespaceRule rule = read_rule(ns).rule;
  if (ns.size() <= sizeof last.ns) {
    last.generation = generation;
    last.size = ns.size();
    std::memcpy(last.ns, ns.data(), ns.size());
    last.rule = rule;
  }
  return rule;
}

NamespaceRule settle_namespace_rule(std::string_view ns) {
  // A weak lock of a table: it needs no entry of the shared lock table.
  hold_table_for(relations().ns.table, RowShareLock, settings.commit_wait);
  return namespace_rule(ns);
}

void lock_namespace_rules() {
  hold_table_for(relations().ns.table, ExclusiveLock, settings.commit_wait);
}

void write_namespace_rule(std::string_view ns, const NamespaceRule& rule) {
  Relation table = open_table(relations().ns, RowExclusiveLock);
  const StoredRule stored = read_rule(ns);
  Datum values[column_count] = {};
  bool nulls[column_count] = {};
  values[column_namespace] = text_datum(ns);
  values[column_mode] = text_datum(mode_name(rule.mode));
  values[column_identical_repeat] = BoolGetDatum(rule.identical_repeat);
  nulls[column_shard_space] = true;
  values[column_floor] = Int64GetDatum(rule.floor);
  // On the same page as far as there is room: who reads meanwhile without a lock comes to the old
  // version first, and never finds none.
  store_row(table, stored.row, values, nulls);
  CacheInvalidateRelcache(table);
  table_close(table, NoLock);
}

}  // namespace fence
