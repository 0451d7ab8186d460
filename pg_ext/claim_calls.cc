// The forms of a claim: oplog_metadata_upsert, its quiet form, and many at once.
#include "core/argument.h"
#include "core/name.h"
#include "core/number.h"
#include "pg_ext/access.h"
#include "pg_ext/assertions.h"
#include "pg_ext/claim.h"
#include "pg_ext/json_array.h"
#include "pg_ext/json_text.h"
#include "pg_ext/own_transaction.h"
#include "pg_ext/owned_write.h"
#include "pg_ext/transaction.h"

extern "C" {
#include "utils/numeric.h"
}

namespace fence {

namespace {

bool claim_one(FunctionCallInfo fcinfo, LastIdx* last, Refusal* refusal) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  const OwnerCall call = arguments.owner_call();
  check_rights_to_write(call.name.ns);
  check_alone(call.name);
  return run_claims(&call, 1, last, refusal);
}

std::string_view text_of(const JsonbValue& value) {
  return {value.val.string.val, static_cast<size_t>(value.val.string.len)};
}

// The number as text; 5.0 is 5, as where JSON numbers are doubles.
std::string_view digits_of(const JsonbValue& value) {
  const char* text =
      DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value.val.numeric)));
  std::string_view digits(text);
  const size_t point = digits.find('.');
  if (point != std::string_view::npos &&
      digits.find_first_not_of('0', point + 1) == std::string_view::npos) {
    digits.remove_suffix(digits.size() - point);
  }
  return digits;
}

const JsonbValue* member(JsonbContainer* object, const char* name) {
  return getKeyJsonValueFromContainer(object, name, static_cast<int>(strlen(name)), nullptr);
}

// One {"key", "epoch"}.
bool read_claim(const JsonbValue& element, OwnerCall* call) {
  if (element.type != jbvBinary || !JsonContainerIsObject(element.val.binary.data)) {
    return false;
  }
  const JsonbValue* key = member(element.val.binary.data, "key");
  const JsonbValue* epoch = member(element.val.binary.data, "epoch");
  if (key == nullptr || key->type != jbvString || check_name(text_of(*key)) != NameFault::none ||
      epoch == nullptr || (epoch->type != jbvString && epoch->type != jbvNumeric)) {
    return false;
  }
  const ParsedNumber number =
      parse_decimal(epoch->type == jbvString ? text_of(*epoch) : digits_of(*epoch));
  call->name.key = text_of(*key);
  call->name.hash = record_hash(call->name.ns, call->name.key);
  call->claimant.epoch = number.value;
  return number.ok;
}

struct ClaimList {
  OwnerCall* calls = nullptr;
  LastIdx* last = nullptr;
  int count = 0;
};

ClaimList read_claims(const Arguments& arguments, const OwnerCall& common) {
  ClaimList list;
  if (arguments.is_null(1)) {
    arguments.refuse(reasons::bad_claims, 1);
  }
  const JsonArray claims(arguments.datum(1));
  if (!claims.is_array()) {
    arguments.refuse(reasons::bad_claims, 1);
  }
  const auto room = static_cast<size_t>(claims.count()) + 1;
  list.calls = static_cast<OwnerCall*>(palloc_extended(sizeof(OwnerCall) * room, MCXT_ALLOC_HUGE));
  list.last = static_cast<LastIdx*>(
      palloc_extended(sizeof(LastIdx) * room, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
  Assertions seen;
  for (int i = 0; i < claims.count(); ++i) {
    OwnerCall call = common;
    if (!read_claim(*claims.at(i), &call)) {
      arguments.refuse(reasons::bad_claims, i + 1);
    }
    if (seen.find(call.name) != nullptr) {
      arguments.refuse(reasons::repeated_claim, i + 1);
    }
    seen.add(call.name, call.claimant, 0);
    list.calls[list.count++] = call;
  }
  return list;
}

void put_answer(const ClaimList& list, JsonText* json) {
  json->put("[");
  for (int i = 0; i < list.count; ++i) {
    json->put(i == 0 ? "{\"key\":" : ",{\"key\":");
    json->put_text(list.calls[i].name.key);
    json->put(",\"last\":");
    json->put_number_or_null(list.last[i]);
    json->put("}");
  }
  json->put("]");
}

}  // namespace

FENCE_FUNCTION(fence_pg_claim) {
  LastIdx last;
  Refusal refusal;
  if (!claim_one(fcinfo, &last, &refusal)) {
    raise_error(refusal);
  }
  if (!last.known) {
    PG_RETURN_NULL();
  }
  PG_RETURN_INT64(last.value);
}

FENCE_FUNCTION(fence_pg_try_claim) {
  LastIdx last;
  Refusal refusal;
  JsonText json;
  if (claim_one(fcinfo, &last, &refusal)) {
    json.put("{\"owned\":true,\"last\":");
    json.put_number_or_null(last);
  } else {
    json.put("{\"owned\":false,");
    json.put_members(refusal);
  }
  json.put("}");
  PG_RETURN_DATUM(json.as_jsonb());
}

FENCE_FUNCTION(fence_pg_claim_many) {
  check_not_doomed();
  Arguments arguments(fcinfo);
  OwnerCall common;
  common.name.ns = arguments.ns();
  const ClaimList list = [&] {
    common.claimant.writer = arguments.writer(2);
    return read_claims(arguments, common);
  }();
  check_rights_to_write(common.name.ns);
  RecordName in_namespace;
  in_namespace.ns = common.name.ns;
  check_alone(in_namespace);
  if (list.count == 0) {
    check_owner_mode({in_namespace, {}});
  }
  Refusal refusal;
  if (!run_claims(list.calls, list.count, list.last, &refusal)) {
    raise_error(refusal);
  }
  JsonText json;
  put_answer(list, &json);
  PG_RETURN_DATUM(json.as_jsonb());
}

}  // namespace fence
