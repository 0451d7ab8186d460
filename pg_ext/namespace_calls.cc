// fence_namespace_set: how the writes to a namespace are fenced.
#include "core/argument.h"
#include "pg_ext/arguments.h"
#include "pg_ext/lineage.h"
#include "pg_ext/namespace_store.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"

namespace fence {

namespace {

NamespaceRule read_rule(const Arguments& arguments) {
  NamespaceRule rule;
  if (arguments.is_null(1) || !parse_mode(bytes_of(arguments.datum(1)), &rule.mode)) {
    arguments.refuse(reasons::bad_mode);
  }
  if (arguments.is_null(2)) {
    arguments.refuse(reasons::bad_identical_repeat);
  }
  rule.identical_repeat = DatumGetBool(arguments.datum(2));
  if (!arguments.is_null(3)) {
    arguments.refuse(reasons::no_shard_space);
  }
  return rule;
}

}  // namespace

// (namespace, mode, identical_repeat, shard_space)
FENCE_FUNCTION(fence_pg_namespace_set) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  RecordName name;
  name.ns = arguments.ns();
  NamespaceRule rule = read_rule(arguments);
  check_may_administer();
  check_alone(name);
  check_home(name.ns);
  begin_own_transaction();
  lock_namespace_rules();
  rule.floor = namespace_rule(name.ns).floor;
  write_namespace_rule(name.ns, rule);
  flush_with_this_transaction();
  PG_RETURN_VOID();
}

}  // namespace fence
