// Keys that nobody owns, that were deleted, or whose epoch is lowered.
#include <gtest/gtest.h>

#include <cstring>

#include "core/ownership.h"

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
const WriterHash zeros = {};

Record live(int64_t epoch) { return {RecordState::live, epoch, w1}; }
Record deleted(int64_t epoch) { return {RecordState::deleted, epoch, w1}; }
Record ownerless(int64_t epoch) { return {RecordState::ownerless, epoch, zeros}; }
Record outdated(int64_t epoch) { return {RecordState::live, epoch, w1, true}; }

TEST(Nobody, is_whoever_has_a_hash_of_zeros) {
  EXPECT_TRUE(is_nobody(zeros));
  EXPECT_TRUE(is_nobody(nobody.writer));
  EXPECT_TRUE(nobody.unfenced());
  for (size_t i = 0; i < sizeof zeros.bytes; ++i) {
    WriterHash near = zeros;
    near.bytes[i] = 1;
    EXPECT_FALSE(is_nobody(near)) << i;
  }
  EXPECT_FALSE((Claimant{0, w1}.unfenced()));
}

TEST(Row, says_who_owns_the_key) {
  const struct {
    const char* what;
    int64_t epoch;
    WriterHash hash;
    bool deleted;
    RecordState state;
  } cases[] = {
      {"owned", 7, w1, false, RecordState::live},
      {"owned at 0", 0, w1, false, RecordState::live},
      {"deleted by its owner", 7, w1, true, RecordState::deleted},
      {"deleted, nobody owned it", 7, zeros, true, RecordState::deleted},
      {"floor 0", 0, zeros, true, RecordState::deleted},
      {"reset", 7, zeros, false, RecordState::ownerless},
      {"reset to 0", 0, zeros, false, RecordState::ownerless},
      {"unfenced content", -1, zeros, false, RecordState::none},
      {"unfenced content, deleted", -1, zeros, true, RecordState::none},
  };
  for (const auto& c : cases) {
    const Record record = record_of_row(c.epoch, c.hash, c.deleted);
    EXPECT_EQ(record.state, c.state) << c.what;
    EXPECT_EQ(record.epoch, c.epoch) << c.what;
    EXPECT_TRUE(record.writer == c.hash) << c.what;
    EXPECT_FALSE(record.outdated) << c.what;
  }
}

TEST(Ownerless, is_claimed_above_its_floor) {
  for (const int64_t epoch : {0, 6, 7}) {
    const ClaimVerdict verdict = judge_claim(ownerless(7), -1, {epoch, w1});
    EXPECT_EQ(verdict.action, ClaimAction::refuse) << epoch;
    EXPECT_EQ(verdict.refusal, &reasons::claim_below_used) << epoch;
  }
  EXPECT_EQ(judge_claim(ownerless(7), -1, {8, w1}).action, ClaimAction::take);
  EXPECT_EQ(judge_claim(ownerless(7), 100, {8, w1}).action, ClaimAction::take);
  EXPECT_EQ(judge_claim(ownerless(-2), -1, {8, w1}).refusal, &reasons::impossible_epoch);
}

TEST(Ownerless, is_written_by_nobody_who_states_an_epoch) {
  for (const int64_t epoch : {int64_t{0}, int64_t{7}, int64_t{8}, greatest}) {
    EXPECT_EQ(judge_owner(ownerless(7), {epoch, w1}), &reasons::key_ownerless) << epoch;
    EXPECT_EQ(judge_owner(ownerless(7), {epoch, zeros}), &reasons::key_ownerless) << epoch;
  }
}

TEST(Unfenced, writer_is_asked_nothing) {
  for (const Record& record : {Record(), live(7), deleted(7), ownerless(7), outdated(7)}) {
    EXPECT_EQ(judge_owner(record, nobody), nullptr);
  }
}

TEST(Outdated, claim_lets_its_owner_neither_write_nor_reopen) {
  EXPECT_EQ(judge_owner(outdated(7), {7, w1}), &reasons::outdated_claim);
  EXPECT_EQ(judge_owner(outdated(7), {6, w1}), &reasons::outdated_claim);
  EXPECT_EQ(judge_owner(outdated(7), {8, w2}), &reasons::outdated_claim);
  EXPECT_EQ(judge_claim(outdated(7), -1, {7, w1}).refusal, &reasons::outdated_claim);
  EXPECT_EQ(judge_claim(outdated(7), -1, {7, w2}).refusal, &reasons::outdated_claim);
  EXPECT_EQ(judge_claim(outdated(7), -1, {6, w1}).refusal, &reasons::stale_claim);
  EXPECT_EQ(judge_claim(outdated(7), -1, {8, w1}).action, ClaimAction::take);
  EXPECT_EQ(reasons::outdated_claim.code, Code::lineage_changed);
}

TEST(Delete, is_the_owners) {
  const struct {
    const char* what;
    Record record;
    bool lives;
    Claimant claimant;
    DeleteAction action;
    const Reason* refusal;
  } cases[] = {
      {"by the owner", live(7), true, {7, w1}, DeleteAction::remove, nullptr},
      {"stale", live(7), true, {6, w2}, DeleteAction::refuse, &reasons::stale_write},
      {"its own earlier epoch", live(7), true, {6, w1}, DeleteAction::refuse, &reasons::left_epoch},
      {"ahead", live(7), true, {8, w1}, DeleteAction::refuse, &reasons::ahead_of_record},
      {"other", live(7), true, {7, w2}, DeleteAction::refuse, &reasons::written_by_other},
      {"none", {}, false, {0, w1}, DeleteAction::refuse, &reasons::never_claimed},
      {"unfenced content", {}, true, {0, w1}, DeleteAction::refuse, &reasons::never_claimed},
      {"ownerless", ownerless(7), true, {7, w1}, DeleteAction::refuse, &reasons::key_ownerless},
      {"repeat", deleted(7), false, {7, w1}, DeleteAction::nothing, nullptr},
      {"lower repeat", deleted(7), false, {6, w1}, DeleteAction::refuse, &reasons::key_deleted},
      {"higher repeat", deleted(7), false, {8, w1}, DeleteAction::refuse, &reasons::key_deleted},
      {"other's repeat", deleted(7), false, {7, w2}, DeleteAction::refuse, &reasons::key_deleted},
      {"outdated", outdated(7), true, {7, w1}, DeleteAction::refuse, &reasons::outdated_claim},
      {"unfenced, of an owner's", live(7), true, nobody, DeleteAction::remove, nullptr},
      {"unfenced, of nobody's", {}, true, nobody, DeleteAction::remove, nullptr},
      {"unfenced, of what was reset", ownerless(7), true, nobody, DeleteAction::remove, nullptr},
      {"unfenced, none", {}, false, nobody, DeleteAction::nothing, nullptr},
      {"unfenced repeat", deleted(7), false, nobody, DeleteAction::nothing, nullptr},
  };
  for (const auto& c : cases) {
    const DeleteVerdict verdict = judge_delete(c.record, c.lives, c.claimant);
    EXPECT_EQ(verdict.action, c.action) << c.what;
    EXPECT_EQ(verdict.refusal, c.refusal) << c.what;
  }
}

TEST(Reset, only_lowers_what_there_is) {
  for (const Record& record : {live(7), deleted(7), ownerless(7), outdated(7)}) {
    EXPECT_EQ(judge_reset(record, 0), nullptr);
    EXPECT_EQ(judge_reset(record, 6), nullptr);
    EXPECT_EQ(judge_reset(record, 7), &reasons::reset_not_lower);
    EXPECT_EQ(judge_reset(record, greatest), &reasons::reset_not_lower);
  }
  EXPECT_EQ(judge_reset({}, 0), &reasons::nothing_to_reset);
  EXPECT_EQ(judge_reset(live(greatest), greatest - 1), nullptr);
  EXPECT_EQ(judge_reset(live(0), 0), &reasons::reset_not_lower);
  EXPECT_EQ(judge_reset(live(-3), 0), &reasons::impossible_epoch);
  EXPECT_EQ(reasons::reset_not_lower.code, Code::out_of_range);
}

// "00000000" would read like somebody.
TEST(OwnershipRefusal, leaves_out_a_writer_who_is_nobody) {
  Refusal refusal = ownership_refusal(&reasons::key_ownerless, ownerless(7), {8, w1});
  EXPECT_TRUE(refusal.stored_epoch.known && refusal.stored_epoch.value == 7);
  EXPECT_FALSE(refusal.stored_writer.known);
  EXPECT_TRUE(refusal.asserted_epoch.known && refusal.asserted_writer.known);
  EXPECT_TRUE(refusal.deleted.known && !refusal.deleted.value);
  refusal = ownership_refusal(&reasons::reset_not_lower, live(7), {8, {}});
  EXPECT_TRUE(refusal.asserted_epoch.known && refusal.stored_writer.known);
  EXPECT_FALSE(refusal.asserted_writer.known);
  EXPECT_FALSE(refusal.deleted.known);
  refusal = ownership_refusal(&reasons::written_by_other, live(7), nobody);
  EXPECT_FALSE(refusal.asserted_epoch.known || refusal.asserted_writer.known);
}

TEST(ClaimRefusal, of_an_ownerless_key_says_that_it_was_not_deleted) {
  const Refusal refusal = ownership_refusal(&reasons::claim_below_used, ownerless(7), {7, w1});
  EXPECT_TRUE(refusal.deleted.known && !refusal.deleted.value);
  EXPECT_EQ(refusal.code(), Code::stale_epoch);
  EXPECT_TRUE(is_refused_claim(refusal));
}

static_assert(noexcept(judge_delete(Record(), false, nobody)), "no exception in a verdict");
static_assert(noexcept(judge_reset(Record(), 0)), "no exception in a verdict");

}  // namespace
}  // namespace fence::test
