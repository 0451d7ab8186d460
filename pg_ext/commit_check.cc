#include "pg_ext/commit_check.h"

#include "core/append.h"
#include "core/layer.h"
#include "pg_ext/arguments.h"
#include "pg_ext/entry_store.h"
#include "pg_ext/evidence.h"
#include "pg_ext/namespace_store.h"

namespace fence {

namespace {

void judge(const RecordName& name, const StoredRecord& record, const Claimant& claimant) {
  const Reason* reason = judge_owner(record.ownership(), claimant);
  if (reason != nullptr) {
    const Refusal refusal = refusal_by(record, name, claimant, *reason);
    log_refusal(refusal);
    raise_error(refusal);
  }
}

}  // namespace

void check_mode_now(const RecordName& name, Mode mode) {
  if (namespace_rule(name.ns).mode != mode && layer(Layer::mode_check)) {
    raise_error(about(name, reasons::mode_changed));
  }
}

StoredRecord CommitCheck::read(const RecordName& name, const ItemPointerData& row) {
  if (!records_) {
    records_.emplace();
  }
  return records_->read(name, row);
}

void CommitCheck::check_owner(const RecordName& name, const Claimant& claimant,
                              const FinalCheck& check) {
  const StoredRecord record = read(name, check.row);
  judge(name, record, claimant);
  check_not_trimmed(name, record, claimant, check.lowest_stored);
}

ItemPointerData CommitCheck::glance(const RecordName& name, const Claimant& claimant,
                                    const FinalCheck& check) {
  const StoredRecord record = read(name, check.row);
  if (record.exists) {
    judge(name, record, claimant);
    check_not_trimmed(name, record, claimant, check.lowest_stored);
  }
  return record.row;
}

// A writer without an epoch, whom this lock does not keep out, may just have moved the row: then
// it is found at a second look.
constexpr int most_looks = 3;

// The same record: what was found of trims under it is right, since none was committed meanwhile.
void CommitCheck::check_again(const RecordName& name, const Claimant& claimant,
                              const FinalCheck& check) {
  StoredRecord record = read(name, check.row);
  for (int i = 0; i < most_looks && !record.exists; ++i) {
    record = read(name, check.row);
  }
  judge(name, record, claimant);
  ItemPointerData before = check.row;
  if (!ItemPointerEquals(&record.row, &before)) {
    check_not_trimmed(name, record, claimant, check.lowest_stored);
  }
}

// What a savepoint has taken back is still the lowest that was stored: the rows tell.
void CommitCheck::check_not_trimmed(const RecordName& name, const StoredRecord& record,
                                    const Claimant& claimant, const Maybe<int64_t>& lowest_stored) {
  if (!lowest_stored.known || !layer(Layer::trim_check)) {
    return;
  }
  if (!trims_) {
    trims_.emplace();
  }
  const int64_t trimmed = trims_->find(name, record);
  if (lowest_stored.value > trimmed) {
    return;
  }
  const int64_t lost = find_own_stored(name, claimant.epoch, lowest_stored.value, trimmed);
  if (lost >= 0) {
    Refusal refusal = refusal_by(record, name, claimant, reasons::below_trim);
    refusal.number = lost;
    raise_error(refusal);
  }
}

void CommitCheck::end() {
  if (records_) {
    records_->end();
  }
  if (trims_) {
    trims_->end();
  }
}

}  // namespace fence
