#include "core/append.h"

#include <gtest/gtest.h>

namespace fence::test {
namespace {

constexpr int64_t greatest = INT64_MAX;
constexpr EntryAction store = EntryAction::store;
constexpr EntryAction repeat = EntryAction::repeat;
constexpr EntryAction refuse = EntryAction::refuse;

// The caller's epoch in every case.
constexpr int64_t own = 7;

constexpr Place taken(int64_t epoch, bool same_bytes) {
  Place place;
  place.taken = true;
  place.epoch = epoch;
  place.same_bytes = same_bytes;
  return place;
}

constexpr Place free_place = {};
constexpr Place own_bytes = taken(own, true);
constexpr Place own_other_bytes = taken(own, false);
constexpr Place older_epoch = taken(own - 1, true);
constexpr Place older_epoch_other_bytes = taken(own - 1, false);
constexpr Place unfenced = taken(-1, true);

struct EntryCase {
  const char* what;
  int64_t idx;
  LogEnd end;  // last, trimmed
  Place place;
  bool identical_repeat;
  EntryAction action;
  const Reason* refusal;
};

void expect_entries(std::initializer_list<EntryCase> cases) {
  for (const EntryCase& c : cases) {
    const EntryVerdict verdict = judge_entry(c.idx, c.end, c.place, own, c.identical_repeat);
    EXPECT_EQ(verdict.action, c.action) << c.what;
    EXPECT_EQ(verdict.refusal, c.refusal)
        << c.what << ": " << (verdict.refusal == nullptr ? "not refused" : verdict.refusal->text);
  }
}

TEST(Entry, is_stored_at_a_free_place) {
  expect_entries({
      {"first of a log", 0, {-1, -1}, free_place, false, store, nullptr},
      {"first, not at 0", 17, {-1, -1}, free_place, false, store, nullptr},
      {"first, at 2^63-1", greatest, {-1, -1}, free_place, false, store, nullptr},
      {"behind the last", 4, {3, -1}, free_place, false, store, nullptr},
      {"with a gap", 8, {4, -1}, free_place, false, store, nullptr},
      {"late, in a gap", 6, {8, -1}, free_place, false, store, nullptr},
      {"late, before the first", 0, {8, -1}, free_place, false, store, nullptr},
      {"just above the trimmed part", 6, {9, 5}, free_place, false, store, nullptr},
      {"when all was trimmed", 6, {-1, 5}, free_place, false, store, nullptr},
      {"in a mode for archives", 4, {3, -1}, free_place, true, store, nullptr},
  });
}

TEST(Entry, sent_again_as_it_was_is_a_success_and_not_stored_twice) {
  expect_entries({
      {"the last", 3, {3, -1}, own_bytes, false, repeat, nullptr},
      {"an earlier one", 1, {3, -1}, own_bytes, false, repeat, nullptr},
      {"above the trimmed part", 6, {9, 5}, own_bytes, false, repeat, nullptr},
      {"idx 0", 0, {0, -1}, own_bytes, false, repeat, nullptr},
      {"idx 2^63-1", greatest, {greatest, -1}, own_bytes, false, repeat, nullptr},
  });
}

TEST(Entry, never_replaces_other_bytes_or_an_entry_of_another_epoch) {
  const Reason* bytes = &reasons::other_bytes;
  const Reason* epoch = &reasons::other_epoch;
  expect_entries({
      {"other bytes", 3, {3, -1}, own_other_bytes, false, refuse, bytes},
      {"other bytes, an earlier one", 1, {3, -1}, own_other_bytes, false, refuse, bytes},
      {"other epoch", 3, {3, -1}, older_epoch, false, refuse, epoch},
      {"other epoch and bytes", 3, {3, -1}, older_epoch_other_bytes, false, refuse, bytes},
      {"an unfenced entry", 3, {3, -1}, unfenced, false, refuse, epoch},
  });
}

TEST(Entry, in_a_mode_for_archives_repeats_the_same_bytes_of_any_epoch_and_no_others) {
  expect_entries({
      {"older epoch", 3, {3, -1}, older_epoch, true, repeat, nullptr},
      {"unfenced", 3, {3, -1}, unfenced, true, repeat, nullptr},
      {"own epoch", 3, {3, -1}, own_bytes, true, repeat, nullptr},
      {"other bytes", 3, {3, -1}, own_other_bytes, true, refuse, &reasons::other_bytes},
      {"older epoch, other bytes",
       3,
       {3, -1},
       older_epoch_other_bytes,
       true,
       refuse,
       &reasons::other_bytes},
  });
}

TEST(Entry, at_a_trimmed_idx_is_never_stored_again) {
  const Reason* trimmed = &reasons::below_trim;
  expect_entries({
      {"at the mark", 5, {9, 5}, free_place, false, refuse, trimmed},
      {"below the mark", 0, {9, 5}, free_place, false, refuse, trimmed},
      {"when all was trimmed", 5, {-1, 5}, free_place, false, refuse, trimmed},
      {"even where a rest of it stands", 5, {9, 5}, own_bytes, false, refuse, trimmed},
      {"in a mode for archives too", 5, {9, 5}, own_bytes, true, refuse, trimmed},
      {"everything was trimmed", greatest, {-1, greatest}, free_place, false, refuse, trimmed},
  });
}

// The caller does not look where nothing can stand, so what it passes must not count.
TEST(Entry, above_the_end_is_stored_whatever_is_said_of_its_place) {
  expect_entries({
      {"own other bytes", 4, {3, -1}, own_other_bytes, false, store, nullptr},
      {"other epoch", 0, {-1, -1}, older_epoch, false, store, nullptr},
      {"above a trim", 6, {-1, 5}, own_other_bytes, false, store, nullptr},
  });
}

TEST(Place, matters_up_to_the_greatest_idx_ever_stored) {
  const struct {
    int64_t idx;
    LogEnd end;
    bool matters;
  } cases[] = {
      {0, {-1, -1}, false},
      {0, {0, -1}, true},
      {1, {0, -1}, false},
      {8, {8, 3}, true},
      {9, {8, 3}, false},
      {5, {-1, 5}, true},
      {6, {-1, 5}, false},
      {2, {8, 3}, true},
      {greatest, {greatest - 1, -1}, false},
      {greatest, {greatest, -1}, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(place_matters(c.idx, c.end), c.matters)
        << c.idx << " last " << c.end.last << " trimmed " << c.end.trimmed;
  }
}

TEST(LogEnd, remembers_the_greatest_idx_also_when_it_was_trimmed) {
  EXPECT_EQ(LogEnd().last_ever(), -1) << "there never was one";
  EXPECT_EQ((LogEnd{8, -1}).last_ever(), 8);
  EXPECT_EQ((LogEnd{8, 3}).last_ever(), 8);
  EXPECT_EQ((LogEnd{-1, 5}).last_ever(), 5);
  EXPECT_EQ((LogEnd{0, -1}).last_ever(), 0);
  EXPECT_EQ((LogEnd{greatest, 5}).last_ever(), greatest);
}

TEST(ExpectedLast, must_be_the_last_idx) {
  const struct {
    const char* what;
    int64_t expected;
    LogEnd end;
    bool all_repeats;
    bool right;
  } cases[] = {
      {"empty log, as expected", -1, {-1, -1}, false, true},
      {"empty log, an idx expected", 0, {-1, -1}, false, false},
      {"a log, expected empty", -1, {3, -1}, false, false},
      {"as expected", 3, {3, -1}, false, true},
      {"one too low", 2, {3, -1}, false, false},
      {"one too high", 4, {3, -1}, false, false},
      {"idx 0 is not an empty log", -1, {0, -1}, false, false},
      {"idx 0", 0, {0, -1}, false, true},
      {"2^63-1", greatest, {greatest, -1}, false, true},
      {"the last was trimmed", 5, {-1, 5}, false, true},
      {"trimmed is not empty", -1, {-1, 5}, false, false},
      {"the whole batch is there: one too low", 2, {3, -1}, true, true},
      {"the whole batch is there: expected empty", -1, {3, -1}, true, true},
      {"the whole batch is there: too high", 9, {3, -1}, true, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(judge_expected_last(c.expected, c.end, c.all_repeats),
              c.right ? nullptr : &reasons::not_the_last)
        << c.what;
  }
}

TEST(Trimmed, reaches_as_far_as_the_log_went_and_never_back) {
  const struct {
    const char* what;
    int64_t through;
    LogEnd end;
    int64_t trimmed;
  } cases[] = {
      {"nothing stored", 5, {-1, -1}, -1},
      {"below the first entry", 5, {12, -1}, 5},
      {"at an entry", 10, {12, -1}, 10},
      {"at the last", 12, {12, -1}, 12},
      {"beyond the last", 20, {12, -1}, 12},
      {"2^63-1", greatest, {12, -1}, 12},
      {"idx 0", 0, {12, -1}, 0},
      {"again", 10, {12, 10}, 10},
      {"lower than before", 3, {12, 10}, 10},
      {"further", 11, {12, 10}, 11},
      {"trimmed to nothing before", 20, {-1, 12}, 12},
      {"up to the end of the numbers", greatest, {greatest, -1}, greatest},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(trimmed_after(c.through, c.end), c.trimmed) << c.what;
  }
}

TEST(AppendReason, is_an_index_conflict) {
  for (const Reason* reason : {&reasons::other_bytes, &reasons::other_epoch, &reasons::below_trim,
                               &reasons::not_the_last}) {
    EXPECT_EQ(reason->code, Code::index_conflict) << reason->text;
    EXPECT_FALSE(rule_of(reason->code).dooms) << "the transaction may go on: " << reason->text;
  }
}

static_assert(noexcept(judge_entry(0, LogEnd(), Place(), 0, false)), "no exception in a verdict");
static_assert(noexcept(judge_expected_last(0, LogEnd(), false)), "no exception in a verdict");

}  // namespace
}  // namespace fence::test
