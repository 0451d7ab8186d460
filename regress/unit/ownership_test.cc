#include "core/ownership.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace fence::test {
namespace {

constexpr int64_t greatest = INT64_MAX;

WriterHash writer(unsigned char byte) {
  WriterHash hash = {};
  std::memset(hash.bytes, byte, sizeof hash.bytes);
  return hash;
}

const WriterHash w1 = writer(0x11);
const WriterHash w2 = writer(0x22);

Record none() { return {}; }
Record live(int64_t epoch) { return {RecordState::live, epoch, w1}; }
Record deleted(int64_t epoch) { return {RecordState::deleted, epoch, w1}; }

struct ClaimCase {
  const char* what;
  Record record;  // W1's
  int64_t floor;
  int64_t epoch;
  WriterHash claimant;
  ClaimAction action;
  const Reason* refusal;
};

void expect_claims(std::initializer_list<ClaimCase> cases) {
  for (const ClaimCase& c : cases) {
    const ClaimVerdict verdict = judge_claim(c.record, c.floor, {c.epoch, c.claimant});
    EXPECT_EQ(verdict.action, c.action) << c.what;
    EXPECT_EQ(verdict.refusal, c.refusal)
        << c.what << ": " << (verdict.refusal == nullptr ? "not refused" : verdict.refusal->text);
  }
}

constexpr ClaimAction take = ClaimAction::take;
constexpr ClaimAction reopen = ClaimAction::reopen;
constexpr ClaimAction refuse = ClaimAction::refuse;

TEST(Claim, of_a_key_that_never_existed_takes_any_epoch) {
  expect_claims({
      {"0", none(), -1, 0, w1, take, nullptr},
      {"1", none(), -1, 1, w1, take, nullptr},
      {"2^63-1", none(), -1, greatest, w2, take, nullptr},
  });
}

TEST(Claim, of_a_new_key_must_exceed_what_was_purged_from_its_namespace) {
  const Reason* purged = &reasons::claim_below_namespace_floor;
  expect_claims({
      {"far below", none(), 5, 0, w1, refuse, purged},
      {"just below", none(), 5, 4, w1, refuse, purged},
      {"at the floor", none(), 5, 5, w1, refuse, purged},
      {"just above", none(), 5, 6, w1, take, nullptr},
      {"floor 0, epoch 0", none(), 0, 0, w1, refuse, purged},
      {"floor 0, epoch 1", none(), 0, 1, w1, take, nullptr},
      {"nothing exceeds 2^63-1", none(), greatest, greatest, w1, refuse, purged},
      {"a record is compared with its own epoch", live(4), 10, 5, w2, take, nullptr},
      {"and so is a re-open", live(4), 10, 4, w1, reopen, nullptr},
  });
}

TEST(Claim, of_a_record_moves_forward_only) {
  const Reason* stale = &reasons::stale_claim;
  expect_claims({
      {"next epoch, other writer", live(4), -1, 5, w2, take, nullptr},
      {"next epoch, same writer", live(4), -1, 5, w1, take, nullptr},
      {"epochs may be skipped", live(4), -1, 9, w2, take, nullptr},
      {"up to the end", live(4), -1, greatest, w2, take, nullptr},
      {"one lower, other writer", live(4), -1, 3, w2, refuse, stale},
      {"one lower, same writer", live(4), -1, 3, w1, refuse, stale},
      {"0 below 4", live(4), -1, 0, w2, refuse, stale},
      {"from 0 to 1", live(0), -1, 1, w2, take, nullptr},
      {"one below the end", live(greatest), -1, greatest - 1, w1, refuse, stale},
  });
}

TEST(Claim, of_an_equal_epoch_is_its_writers_alone) {
  const Reason* other = &reasons::claimed_by_other;
  expect_claims({
      {"same writer", live(4), -1, 4, w1, reopen, nullptr},
      {"other writer", live(4), -1, 4, w2, refuse, other},
      {"same writer at 0", live(0), -1, 0, w1, reopen, nullptr},
      {"other writer at 0", live(0), -1, 0, w2, refuse, other},
      {"same writer at the end", live(greatest), -1, greatest, w1, reopen, nullptr},
      {"other writer at the end", live(greatest), -1, greatest, w2, refuse, other},
  });
}

TEST(Claim, of_a_deleted_key_must_exceed_its_floor_whoever_deleted_it) {
  const Reason* floor = &reasons::claim_below_floor;
  expect_claims({
      {"below", deleted(9), -1, 8, w1, refuse, floor},
      {"at the floor, the deleter", deleted(9), -1, 9, w1, refuse, floor},
      {"at the floor, another", deleted(9), -1, 9, w2, refuse, floor},
      {"above", deleted(9), -1, 10, w2, take, nullptr},
      {"above, the deleter", deleted(9), -1, 10, w1, take, nullptr},
      {"floor 0, epoch 0", deleted(0), -1, 0, w1, refuse, floor},
      {"nothing exceeds 2^63-1", deleted(greatest), -1, greatest, w1, refuse, floor},
  });
}

TEST(Claim, of_a_record_with_an_impossible_epoch_is_corruption_not_a_fence) {
  const Reason* corrupt = &reasons::impossible_epoch;
  expect_claims({
      {"-1", live(-1), -1, 5, w1, refuse, corrupt},
      {"-1, epoch 0", live(-1), -1, 0, w2, refuse, corrupt},
      {"least", live(INT64_MIN), -1, greatest, w1, refuse, corrupt},
      {"deleted", deleted(-1), -1, 5, w1, refuse, corrupt},
  });
}

struct WriteCase {
  const char* what;
  Record record;  // W1's
  int64_t epoch;
  WriterHash claimant;
  const Reason* refusal;
};

void expect_writes(std::initializer_list<WriteCase> cases) {
  for (const WriteCase& c : cases) {
    const Reason* refusal = judge_owner(c.record, {c.epoch, c.claimant});
    EXPECT_EQ(refusal, c.refusal) << c.what << ": "
                                  << (refusal == nullptr ? "not refused" : refusal->text);
  }
}

TEST(Write, needs_the_equal_epoch_and_the_same_writer) {
  expect_writes({
      {"the owner", live(7), 7, w1, nullptr},
      {"the owner at 0", live(0), 0, w1, nullptr},
      {"the owner at 2^63-1", live(greatest), greatest, w1, nullptr},
      {"record is higher", live(8), 7, w2, &reasons::stale_write},
      {"record is much higher", live(greatest), 0, w2, &reasons::stale_write},
      {"it claimed anew itself", live(8), 7, w1, &reasons::left_epoch},
      {"record is lower", live(5), 6, w1, &reasons::ahead_of_record},
      {"record is much lower", live(0), greatest, w1, &reasons::ahead_of_record},
      {"other writer", live(4), 4, w2, &reasons::written_by_other},
      {"other writer at 0", live(0), 0, w2, &reasons::written_by_other},
  });
}

TEST(Write, to_a_key_without_a_record_is_refused_at_every_epoch) {
  for (const int64_t epoch : {int64_t{0}, int64_t{1}, greatest}) {
    EXPECT_EQ(judge_owner(none(), {epoch, w1}), &reasons::never_claimed)
        << "absent is not zero: " << epoch;
  }
}

TEST(Write, to_a_deleted_key_is_refused_at_every_epoch) {
  for (const int64_t epoch : {int64_t{0}, int64_t{6}, int64_t{7}, int64_t{8}, greatest}) {
    EXPECT_EQ(judge_owner(deleted(7), {epoch, w1}), &reasons::key_deleted) << epoch;
  }
}

// Section 3: ZF019, ZF020, ZF007, ZF003, ZF001 / ZF004, ZF002.
TEST(Write, is_refused_with_the_first_code_that_applies) {
  expect_writes({
      {"corrupt before deleted and stale", deleted(-1), 5, w2, &reasons::impossible_epoch},
      {"corrupt before ahead and other writer", live(-7), 5, w2, &reasons::impossible_epoch},
      {"deleted before stale and other writer", deleted(7), 6, w2, &reasons::key_deleted},
      {"deleted before ahead and other writer", deleted(7), 8, w2, &reasons::key_deleted},
      {"stale before other writer", live(8), 7, w2, &reasons::stale_write},
      {"ahead before other writer", live(8), 9, w2, &reasons::ahead_of_record},
  });
}

// Every combination of few epochs and two writers, against the rule in one line.
TEST(Ownership, holds_for_every_pair_of_small_epochs) {
  for (int64_t stored = 0; stored < 4; ++stored) {
    for (int64_t asserted = 0; asserted < 4; ++asserted) {
      for (const WriterHash& claimant : {w1, w2}) {
        const bool same = claimant == w1;
        EXPECT_EQ(judge_owner(live(stored), {asserted, claimant}) == nullptr,
                  stored == asserted && same)
            << stored << " " << asserted << " " << same;
        EXPECT_EQ(judge_claim(live(stored), -1, {asserted, claimant}).action != refuse,
                  asserted > stored || (asserted == stored && same))
            << stored << " " << asserted << " " << same;
        EXPECT_EQ(judge_claim(deleted(stored), -1, {asserted, claimant}).action != refuse,
                  asserted > stored)
            << stored << " " << asserted << " " << same;
      }
    }
  }
}

TEST(Ownership, of_writers_is_decided_by_every_byte_of_the_hash) {
  for (size_t i = 0; i < sizeof w1.bytes; ++i) {
    WriterHash near = w1;
    near.bytes[i] ^= 1;
    EXPECT_EQ(judge_owner(live(7), {7, near}), &reasons::written_by_other) << i;
    EXPECT_EQ(judge_claim(live(7), -1, {7, near}).refusal, &reasons::claimed_by_other) << i;
  }
}

TEST(SameEpoch, refuses_a_second_epoch_of_a_key_in_a_transaction_either_way) {
  EXPECT_EQ(judge_same_epoch(7, 7), nullptr);
  EXPECT_EQ(judge_same_epoch(0, 0), nullptr);
  EXPECT_EQ(judge_same_epoch(greatest, greatest), nullptr);
  EXPECT_EQ(judge_same_epoch(7, 8), &reasons::two_epochs);
  EXPECT_EQ(judge_same_epoch(8, 7), &reasons::two_epochs);
  EXPECT_EQ(judge_same_epoch(0, greatest), &reasons::two_epochs);
}

TEST(OwnershipReason, has_the_code_of_the_contract) {
  EXPECT_EQ(reasons::stale_claim.code, Code::stale_epoch);
  EXPECT_EQ(reasons::claim_below_floor.code, Code::stale_epoch);
  EXPECT_EQ(reasons::claim_below_namespace_floor.code, Code::stale_epoch);
  EXPECT_EQ(reasons::stale_write.code, Code::stale_epoch);
  EXPECT_EQ(reasons::claimed_by_other.code, Code::other_writer);
  EXPECT_EQ(reasons::written_by_other.code, Code::other_writer);
  EXPECT_EQ(reasons::never_claimed.code, Code::no_record);
  EXPECT_EQ(reasons::key_deleted.code, Code::no_record);
  EXPECT_EQ(reasons::ahead_of_record.code, Code::ahead_of_record);
  EXPECT_EQ(reasons::two_epochs.code, Code::configuration);
  EXPECT_EQ(reasons::impossible_epoch.code, Code::corrupt);
  EXPECT_EQ(reasons::claim_in_transaction.code, Code::configuration);
}

// Who only tries wants to know whether somebody else owns the key, and nothing else.
TEST(RefusedClaim, is_a_stale_epoch_or_another_writer_and_no_other_code) {
  for (int number = 1; number <= 21; ++number) {
    const Reason reason = {static_cast<Code>(number), "text", "hint"};
    Refusal refusal;
    refusal.reason = &reason;
    EXPECT_EQ(is_refused_claim(refusal), number == 1 || number == 2) << number;
  }
  EXPECT_FALSE(is_refused_claim(Refusal()));
}

// What a refusal tells beside its reason. 'f' and 't' are false and true, '-' is null.
struct DetailCase {
  const char* what;
  const Reason* reason;
  Record record;
  bool stored_known;
  char deleted;
};

TEST(ClaimRefusal, says_which_epoch_was_in_the_way) {
  const Refusal purged = claim_refusal(&reasons::claim_below_namespace_floor, none(), 42, {7, w2});
  EXPECT_TRUE(purged.stored_epoch.known);
  EXPECT_EQ(purged.stored_epoch.value, 42);
  EXPECT_FALSE(purged.stored_writer.known);
  EXPECT_TRUE(purged.deleted.known && !purged.deleted.value);
  const Refusal stale = claim_refusal(&reasons::stale_claim, live(8), 42, {7, w2});
  EXPECT_EQ(stale.stored_epoch.value, 8) << "not the floor";
}

TEST(OwnershipRefusal, says_both_epochs_both_writers_and_whether_the_key_was_deleted) {
  const DetailCase cases[] = {
      {"stale claim", &reasons::stale_claim, live(8), true, 'f'},
      {"claim below floor", &reasons::claim_below_floor, deleted(8), true, 't'},
      {"claim by other", &reasons::claimed_by_other, live(7), true, '-'},
      {"stale write", &reasons::stale_write, live(8), true, '-'},
      {"own claim", &reasons::left_epoch, live(8), true, '-'},
      {"write by other", &reasons::written_by_other, live(7), true, '-'},
      {"never claimed", &reasons::never_claimed, none(), false, 'f'},
      {"key deleted", &reasons::key_deleted, deleted(8), true, 't'},
      {"ahead", &reasons::ahead_of_record, live(6), true, '-'},
      {"corrupt", &reasons::impossible_epoch, live(-1), true, '-'},
  };
  for (const DetailCase& c : cases) {
    const Refusal refusal = ownership_refusal(c.reason, c.record, {7, w2});
    EXPECT_TRUE(refusal.refused()) << c.what;
    EXPECT_EQ(refusal.reason, c.reason) << c.what;
    EXPECT_TRUE(refusal.asserted_epoch.known && refusal.asserted_epoch.value == 7) << c.what;
    EXPECT_TRUE(refusal.asserted_writer.known && refusal.asserted_writer.value == w2) << c.what;
    EXPECT_EQ(refusal.stored_epoch.known, c.stored_known) << c.what;
    EXPECT_EQ(refusal.stored_writer.known, c.stored_known) << c.what;
    if (c.stored_known) {
      EXPECT_EQ(refusal.stored_epoch.value, c.record.epoch) << c.what;
      EXPECT_TRUE(refusal.stored_writer.value == w1) << c.what;
    }
    const char told = !refusal.deleted.known ? '-' : refusal.deleted.value ? 't' : 'f';
    EXPECT_EQ(told, c.deleted) << c.what;
    EXPECT_FALSE(refusal.already_stored.known) << "only an append knows: " << c.what;
  }
}

static_assert(noexcept(judge_claim(Record(), -1, Claimant())), "no exception in a verdict");
static_assert(noexcept(judge_owner(Record(), Claimant())), "no exception in a verdict");
static_assert(noexcept(judge_same_epoch(0, 0)), "no exception in a verdict");

}  // namespace
}  // namespace fence::test
