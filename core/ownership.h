// Who owns a key, and may this caller go on (spec 2.1 and section 3).
#ifndef FENCE_CORE_OWNERSHIP_H
#define FENCE_CORE_OWNERSHIP_H

#include <cstdint>

#include "core/refusal.h"
#include "core/writer.h"

namespace fence {

enum class RecordState : unsigned char {
  none,       // never claimed
  live,       // owned by (epoch, writer)
  deleted,    // epoch is the floor, writer the one who deleted it
  ownerless,  // the key lives, epoch is its floor, and nobody owns it
};

// The ownership record of one key, as it is stored.
struct Record {
  RecordState state = RecordState::none;
  int64_t epoch = -1;
  WriterHash writer{};
  // The claim was made in another database, or before this one went on from an earlier
  // state: nobody knows what its owner did there.
  bool outdated = false;
};

// The epoch of what was stored without one, where the namespace's mode allows it.
constexpr int64_t unfenced_epoch = -1;

// Under which ownership a caller acts.
struct Claimant {
  int64_t epoch = 0;  // 0..2^63-1, or unfenced_epoch: none
  WriterHash writer{};

  bool unfenced() const noexcept { return epoch == unfenced_epoch; }
};

// Who writes without stating an epoch: nobody, whatever writer the call names.
constexpr Claimant nobody{unfenced_epoch, {}};
bool is_nobody(const WriterHash& writer) noexcept;

// What a stored row says. deleted: the key does not live. A row without owner holds the
// content of unfenced writes, or what fence_reset left; its epoch is -1 where the key was
// never claimed.
Record record_of_row(int64_t epoch, const WriterHash& writer, bool deleted) noexcept;

enum class ClaimAction : unsigned char { refuse, take, reopen };

struct ClaimVerdict {
  ClaimAction action = ClaimAction::refuse;
  const Reason* refusal = nullptr;  // set when refused
};

// May the claimant take the key? A compare-and-set that only moves forward.
// floor: highest epoch of keys of this namespace whose records were purged, -1 if none.
ClaimVerdict judge_claim(const Record& record, int64_t floor, const Claimant& claimant) noexcept;

// Is this the answer "somebody else owns the key"? Anything else that went wrong
// with a claim is an error, also for those who only try.
bool is_refused_claim(const Refusal& refusal) noexcept;

// May the claimant write to the key? Equality, never "at least": a higher epoch
// means that the claim was skipped, or that the database went back in time.
// Returns nullptr when it may. Who states no epoch may: the mode was judged before.
const Reason* judge_owner(const Record& record, const Claimant& claimant) noexcept;

enum class DeleteAction : unsigned char {
  refuse,
  remove,
  nothing,  // there is nothing left to remove: a repeat, or an unfenced call
};

struct DeleteVerdict {
  DeleteAction action = DeleteAction::refuse;
  const Reason* refusal = nullptr;  // set when refused
};

// May the claimant delete the key? lives: there is a row and it is not deleted.
DeleteVerdict judge_delete(const Record& record, bool lives, const Claimant& claimant) noexcept;

// May the floor of a record be set to epoch? Downwards only, and never below 0: it is for
// a key that was claimed too high by mistake. Returns nullptr when it may.
const Reason* judge_reset(const Record& record, int64_t epoch) noexcept;

// May a transaction that used a key under one epoch go on under another? Never:
// it would commit the work of two owners as one. Returns nullptr when they are equal.
const Reason* judge_same_epoch(int64_t earlier, int64_t asserted) noexcept;

// The refusal of a write, with everything its detail can say; and of a claim, which may
// rest on the floor of the namespace.
Refusal ownership_refusal(const Reason* reason, const Record& record,
                          const Claimant& claimant) noexcept;
Refusal claim_refusal(const Reason* reason, const Record& record, int64_t floor,
                      const Claimant& claimant) noexcept;

namespace reasons {
extern const Reason stale_claim;
extern const Reason claim_below_floor;
extern const Reason claim_below_namespace_floor;
extern const Reason claimed_by_other;
extern const Reason stale_write;
extern const Reason left_epoch;
extern const Reason written_by_other;
extern const Reason never_claimed;
extern const Reason key_deleted;
extern const Reason key_ownerless;
extern const Reason claim_below_used;
extern const Reason nothing_to_reset;
extern const Reason reset_not_lower;
extern const Reason outdated_claim;
extern const Reason ahead_of_record;
extern const Reason two_epochs;
extern const Reason impossible_epoch;
extern const Reason claim_in_transaction;
}  // namespace reasons

}  // namespace fence

#endif
