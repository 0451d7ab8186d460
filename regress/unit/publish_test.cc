#include "core/publish.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fence::test {
namespace {

TEST(PublicationMark, tells_targets_lengths_and_publishers_apart) {
  const Claimant owner{7, {{1}}};
  const std::vector<Seal> marks = {
      publication_mark("n", "k", 3, owner),         publication_mark("n", "k", 2, owner),
      publication_mark("n", "k", 0, owner),         publication_mark("m", "k", 3, owner),
      publication_mark("n", "j", 3, owner),         publication_mark("nk", "", 3, owner),
      publication_mark("", "nk", 3, owner),         publication_mark("k", "n", 3, owner),
      publication_mark("n", "k", INT64_MAX, owner), publication_mark("n", "k", 3, {8, {{1}}}),
      publication_mark("n", "k", 3, {7, {{2}}}),    publication_mark("n", "k", 7, {3, {{1}}}),
      publication_mark("n", "k", 3, nobody)};
  for (size_t i = 0; i < marks.size(); ++i) {
    for (size_t j = 0; j < marks.size(); ++j) {
      EXPECT_EQ(marks[i] == marks[j], i == j) << i << " " << j;
    }
  }
  EXPECT_TRUE(publication_mark("n", "k", 3, owner) == publication_mark("n", "k", 3, owner));
}

TEST(RepeatedPublication, is_that_of_the_publisher_while_its_log_is_there) {
  const Seal mark = publication_mark("n", "k", 3, {7, {{1}}});
  const Seal other = publication_mark("n", "k", 3, {8, {{1}}});
  const LogEnd published{3, -1};
  EXPECT_TRUE(is_repeated_publication(false, mark, mark, published));
  EXPECT_TRUE(is_repeated_publication(false, mark, mark, {-1, 3})) << "trimmed since";
  EXPECT_FALSE(is_repeated_publication(false, mark, mark, {})) << "the target lives anew";
  EXPECT_FALSE(is_repeated_publication(false, mark, other, published)) << "another's";
  EXPECT_FALSE(is_repeated_publication(false, {}, mark, published)) << "never published";
  EXPECT_FALSE(is_repeated_publication(true, mark, mark, published)) << "the stage lives anew";
}

TEST(StagedLog, is_whole_when_it_is_exactly_1_to_the_expected_last) {
  const std::pair<StagedLog, int64_t> whole[] = {{{1, 1, 1}, 1},
                                                 {{1, 2, 2}, 2},
                                                 {{1, 1000, 1000}, 1000},
                                                 {{1, INT64_MAX, INT64_MAX}, INT64_MAX}};
  for (const auto& [log, expected] : whole) {
    EXPECT_EQ(judge_staged_log(log, expected), nullptr) << expected;
  }
  const struct {
    const char* what;
    StagedLog log;
    int64_t expected;
  } cases[] = {
      {"empty, 0 expected", {}, 0},
      {"empty", {}, 1},
      {"0 expected", {1, 1, 1}, 0},
      {"begins at 0", {0, 2, 3}, 2},
      {"begins at 0, of the length", {0, 2, 3}, 3},
      {"shifted", {2, 4, 3}, 3},
      {"shifted, its tip expected", {2, 4, 3}, 4},
      {"a gap", {1, 4, 3}, 4},
      {"a gap, its length expected", {1, 4, 3}, 3},
      {"longer", {1, 4, 4}, 3},
      {"shorter", {1, 4, 4}, 5},
      {"far too long", {1, 4, 4}, INT64_MAX},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(judge_staged_log(c.log, c.expected),
              c.log.count == 0 ? &reasons::no_staged_log : &reasons::not_whole)
        << c.what;
  }
  EXPECT_EQ(reasons::no_staged_log.code, Code::index_conflict);
  EXPECT_EQ(reasons::not_whole.code, Code::index_conflict);
}

TEST(StagedLog, has_a_mode_that_only_matters_to_who_states_no_epoch) {
  for (const Mode mode : {Mode::required, Mode::unfenced, Mode::optional}) {
    EXPECT_EQ(judge_staged_mode(mode, true), nullptr);
    EXPECT_EQ(judge_staged_mode(mode, false), judge_mode(mode, false));
  }
}

TEST(StagedLog, of_another_owner_is_not_for_who_states_an_epoch) {
  const Claimant owner{7, {{1}}};
  const Claimant other{7, {{2}}};
  const Claimant older{6, {{1}}};
  const Record live{RecordState::live, 7, {{1}}};
  EXPECT_EQ(judge_staged_owner(live, owner), nullptr);
  EXPECT_EQ(judge_staged_owner(live, nobody), nullptr);
  for (const Claimant& who : {other, older}) {
    EXPECT_EQ(judge_staged_owner(live, who), judge_owner(live, who));
    EXPECT_NE(judge_staged_owner(live, who), nullptr);
  }
  for (const RecordState state :
       {RecordState::none, RecordState::deleted, RecordState::ownerless}) {
    EXPECT_EQ(judge_staged_owner({state, 7, {{1}}}, other), nullptr) << "nobody's";
  }
}

TEST(FinalName, is_free_while_nothing_was_ever_stored_there) {
  EXPECT_TRUE(can_be_published_to({-1, -1}));
  EXPECT_FALSE(can_be_published_to({0, -1}));
  EXPECT_FALSE(can_be_published_to({5, 3}));
  EXPECT_FALSE(can_be_published_to({-1, 3})) << "trimmed to nothing";
  EXPECT_FALSE(can_be_published_to({-1, 0}));
}

static_assert(noexcept(judge_staged_log(StagedLog(), 0)), "no exception in a verdict");

}  // namespace
}  // namespace fence::test
