#include "core/mode.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "core/argument.h"

namespace fence::test {
namespace {

TEST(Mode, has_one_spelling) {
  for (const Mode mode : {Mode::required, Mode::unfenced, Mode::optional}) {
    Mode parsed = mode == Mode::required ? Mode::optional : Mode::required;
    EXPECT_TRUE(parse_mode(mode_name(mode), &parsed));
    EXPECT_EQ(parsed, mode);
  }
  EXPECT_STREQ(mode_name(Mode::required), "required");
  EXPECT_STREQ(mode_name(Mode::unfenced), "unfenced");
  EXPECT_STREQ(mode_name(Mode::optional), "optional");
  for (const char* other : {"", "Required", "required ", " required", "require", "none", "0"}) {
    Mode untouched = Mode::unfenced;
    EXPECT_FALSE(parse_mode(other, &untouched)) << other;
    EXPECT_EQ(untouched, Mode::unfenced);
  }
  Mode untouched = Mode::unfenced;
  EXPECT_FALSE(parse_mode(std::string_view("optional\0", 9), &untouched));
}

TEST(Mode, says_which_writes_state_an_epoch) {
  EXPECT_EQ(judge_mode(Mode::required, true), nullptr);
  EXPECT_EQ(judge_mode(Mode::required, false), &reasons::epoch_missing);
  EXPECT_EQ(judge_mode(Mode::unfenced, true), &reasons::epoch_unwanted);
  EXPECT_EQ(judge_mode(Mode::unfenced, false), nullptr);
  EXPECT_EQ(judge_mode(Mode::optional, true), nullptr);
  EXPECT_EQ(judge_mode(Mode::optional, false), nullptr);
}

TEST(Mode, lets_calls_about_ownership_through_with_an_epoch_only) {
  EXPECT_EQ(judge_owner_mode(Mode::required, true), nullptr);
  EXPECT_EQ(judge_owner_mode(Mode::optional, true), nullptr);
  EXPECT_EQ(judge_owner_mode(Mode::unfenced, true), &reasons::no_owners);
  for (const Mode mode : {Mode::required, Mode::unfenced, Mode::optional}) {
    EXPECT_EQ(judge_owner_mode(mode, false), &reasons::owner_epoch_missing);
  }
}

TEST(Mode, a_writer_that_is_none_comes_first_where_a_call_without_an_epoch_is_not_taken) {
  for (const ModeRule rule : {judge_mode, judge_owner_mode}) {
    for (const Mode mode : {Mode::required, Mode::unfenced, Mode::optional}) {
      const Reason* reason = rule(mode, false);
      EXPECT_EQ(judge_call_mode(rule, mode, false, true), reason);
      EXPECT_EQ(judge_call_mode(rule, mode, false, false), reason == nullptr ? nullptr
                                                           : rule == judge_owner_mode
                                                               ? &reasons::bad_writer
                                                               : &reasons::no_claimant);
      EXPECT_EQ(judge_call_mode(rule, mode, true, true), rule(mode, true));
    }
  }
  EXPECT_EQ(judge_call_mode(judge_mode, Mode::required, false, false), &reasons::no_claimant);
  EXPECT_EQ(judge_call_mode(nullptr, Mode::required, false, false), nullptr);
}

TEST(Mode, reasons_are_of_the_configuration_and_doom_nothing) {
  for (const Reason* reason : {&reasons::epoch_missing, &reasons::epoch_unwanted,
                               &reasons::mode_changed, &reasons::no_shard_space}) {
    EXPECT_EQ(reason->code, Code::configuration) << reason->text;
    EXPECT_FALSE(rule_of(reason->code).dooms) << reason->text;
  }
}

TEST(NamespaceRule, where_nothing_was_set_is_the_strictest) {
  const NamespaceRule rule;
  EXPECT_EQ(rule.mode, Mode::required);
  EXPECT_FALSE(rule.identical_repeat);
  EXPECT_EQ(rule.floor, -1);
}

TEST(PurgeCutoff, of_age_0_leaves_nothing_out) {
  EXPECT_EQ(purge_cutoff(1000, 0), INT64_MAX);
  EXPECT_EQ(purge_cutoff(1000, 1), 999);
  EXPECT_EQ(purge_cutoff(1000, 1000), 0);
  EXPECT_EQ(purge_cutoff(1000, INT64_MAX), 1000 - INT64_MAX);
}

TEST(MergedFloor, only_rises) {
  EXPECT_EQ(merged_floor(-1, -1), -1);
  EXPECT_EQ(merged_floor(-1, 0), 0);
  EXPECT_EQ(merged_floor(5, 4), 5);
  EXPECT_EQ(merged_floor(5, 5), 5);
  EXPECT_EQ(merged_floor(5, 6), 6);
  EXPECT_EQ(merged_floor(0, INT64_MAX), INT64_MAX);
  EXPECT_EQ(merged_floor(INT64_MAX, 0), INT64_MAX);
}

static_assert(noexcept(judge_mode(Mode::required, true)), "no exception in a verdict");
static_assert(noexcept(judge_owner_mode(Mode::required, true)), "no exception in a verdict");

}  // namespace
}  // namespace fence::test
