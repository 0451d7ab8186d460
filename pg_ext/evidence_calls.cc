// What the views fence_refusals and fence_stat stand on. They work on a standby, and show
// what is there now, whatever the snapshot.
#include "pg_ext/access.h"
#include "pg_ext/evidence.h"
#include "pg_ext/relations.h"

extern "C" {
#include "funcapi.h"
#include "nodes/execnodes.h"
}

namespace fence {

namespace {

// One row of the answer, filled from left to right.
class Row {
 public:
  void add(Datum value) { values_[count_++] = value; }
  void add_null() { nulls_[count_++] = true; }
  void add_text(std::string_view text) { text.empty() ? add_null() : add(text_datum(text)); }
  void add_number(bool known, int64_t number) { known ? add(Int64GetDatum(number)) : add_null(); }
  void put(const ReturnSetInfo* result) {
    tuplestore_putvalues(result->setResult, result->setDesc, values_, nulls_);
  }

 private:
  Datum values_[12] = {};
  bool nulls_[12] = {};
  int count_ = 0;
};

const ReturnSetInfo* begin_rows(FunctionCallInfo call) {
  InitMaterializedSRF(call, 0);
  return reinterpret_cast<const ReturnSetInfo*>(call->resultinfo);
}

void put_evidence(const Evidence& one, const ReturnSetInfo* result) {
  Row row;
  row.add(Int64GetDatum(static_cast<int64_t>(one.ticket)));
  row.add(TimestampTzGetDatum(one.at));
  row.add(Int32GetDatum(one.pid));
  row.add(ObjectIdGetDatum(one.role));
  row.add_text({one.application_name, strnlen(one.application_name, sizeof one.application_name)});
  row.add_text(rule_of(static_cast<Code>(one.code)).sqlstate);
  row.add_text({one.ns, one.namespace_size});
  row.add_text({one.key, one.key_size});
  row.add_number(one.asserted_epoch_known, one.asserted_epoch);
  row.add_text({one.asserted_writer, strnlen(one.asserted_writer, sizeof one.asserted_writer)});
  row.add_number(one.stored_epoch_known, one.stored_epoch);
  row.add_text({one.stored_writer, strnlen(one.stored_writer, sizeof one.stored_writer)});
  row.put(result);
}

}  // namespace

// () -> (number, at, pid, role, application_name, code, namespace, key, asserted_epoch,
// asserted_writer, stored_epoch, stored_writer), of the namespaces that the caller may read
FENCE_FUNCTION(fence_pg_refusals) {
  const ReturnSetInfo* result = begin_rows(fcinfo);
  bool unusable = false;
  EvidenceFile* file = find_evidence_file(&unusable);
  if (file == nullptr) {
    return 0;
  }
  const uint64_t end = pg_atomic_read_u64(&file->next);
  for (uint64_t ticket = end < evidence_slots ? 0 : end - evidence_slots; ticket < end; ++ticket) {
    Evidence one;
    if (read_evidence(file, ticket, &one) && may_read({one.ns, one.namespace_size})) {
      put_evidence(one, result);
    }
  }
  return 0;
}

// () -> (code, name, count): each code, also where it never came. No count: none is kept.
FENCE_FUNCTION(fence_pg_stat) {
  const ReturnSetInfo* result = begin_rows(fcinfo);
  bool unusable = false;
  EvidenceFile* file = find_evidence_file(&unusable);
  for (int i = 1; i < evidence_codes; ++i) {
    const CodeRule& rule = rule_of(static_cast<Code>(i));
    const uint64_t count = file == nullptr ? 0 : pg_atomic_read_u64(&file->counts[i]);
    Row row;
    row.add_text(rule.sqlstate);
    row.add_text(rule.name);
    row.add_number(!unusable, static_cast<int64_t>(count));
    row.put(result);
  }
  return 0;
}

}  // namespace fence
