// fence_assert and fence_assert_many: under which ownership the statements that follow in the
// transaction write to protected tables.
#include "core/argument.h"
#include "core/layer.h"
#include "core/name.h"
#include "core/protection.h"
#include "pg_ext/access.h"
#include "pg_ext/json_array.h"
#include "pg_ext/lineage.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/transaction.h"

namespace fence {

namespace {

// In a pipeline that began without BEGIN nobody can tell that anything follows.
void check_in_block(const RecordName& name) {
  if (!IsTransactionBlock() && layer(Layer::assert_inside)) {
    raise_error(about(name, reasons::assert_outside));
  }
}

void check_ownership(const OwnerCall& call, Mode mode) {
  const StoredRecord record = read_record(call.name, Reading::unlocked);
  const Reason* reason = judge_owner(record.ownership(), call.claimant);
  if (reason != nullptr) {
    refuse(refusal_by(record, call.name, call.claimant, *reason));
  }
  FinalCheck check;
  check.mode = mode;
  check.row = record.row;
  check_at_commit_too(call.name, check);
}

struct KeyList {
  RecordName* names = nullptr;
  int count = 0;
};

KeyList read_keys(const Arguments& arguments, std::string_view ns) {
  KeyList list;
  if (arguments.is_null(1)) {
    arguments.refuse(reasons::bad_keys, 0);
  }
  const JsonArray keys(arguments.datum(1));
  if (!keys.is_array()) {
    arguments.refuse(reasons::bad_keys, 0);
  }
  const auto size = sizeof(RecordName) * static_cast<size_t>(keys.count() + 1);
  list.names = static_cast<RecordName*>(palloc_extended(size, MCXT_ALLOC_HUGE));
  for (; list.count < keys.count(); ++list.count) {
    RecordName name;
    name.ns = ns;
    if (!keys.text_at(list.count, &name.key) || check_name(name.key) != NameFault::none) {
      arguments.refuse(reasons::bad_keys, list.count + 1);
    }
    name.hash = record_hash(name.ns, name.key);
    list.names[list.count] = name;
  }
  return list;
}

}  // namespace

// (namespace, key, epoch, writer)
FENCE_FUNCTION(fence_pg_assert) {
  check_not_doomed();
  const OwnerCall call = Arguments(fcinfo).owner_call();
  check_rights_to_write(call.name.ns);
  check_in_block(call.name);
  const Mode mode = check_owner_mode(call).mode;
  check_home_for_write(call.name.ns);
  assert_owner(call.name, call.claimant, mode);
  check_ownership(call, mode);
  PG_RETURN_VOID();
}

// (namespace, keys, epoch, writer): all of them or none.
FENCE_FUNCTION(fence_pg_assert_many) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  KeyList keys;
  OwnerCall call = arguments.many_keys_call([&] { keys = read_keys(arguments, arguments.ns()); });
  check_rights_to_write(call.name.ns);
  check_in_block(call.name);
  const Mode mode = check_owner_mode(call).mode;
  if (keys.count > 0) {
    check_home_for_write(call.name.ns);
  }
  // First what is ZF012 of any of them, which comes before whose they are.
  for (int i = 0; i < keys.count; ++i) {
    assert_owner(keys.names[i], call.claimant, mode);
  }
  for (int i = 0; i < keys.count; ++i) {
    call.name = keys.names[i];
    check_ownership(call, mode);
  }
  PG_RETURN_VOID();
}

}  // namespace fence
