#include "core/lineage.h"

#include <gtest/gtest.h>

#include <vector>

namespace fence {
namespace {

constexpr DatabaseIdentity here{{1, 2, 3}, 7000000000000000001U, 16384};

LineageRow row(int64_t generation, uint32_t timeline, uint32_t accepted_from = no_timeline) {
  return {generation, here, timeline, accepted_from};
}

struct Stored {
  std::vector<LineageRow> rows;
  Lineage lineage() const {
    return {rows.data(), static_cast<int>(rows.size()), rows.empty() ? 0 : rows[0].generation};
  }
};

TEST(Home, IsWhereAllRowsInForceAreOurs) {
  EXPECT_EQ(judge_home(Stored{{row(1, 1)}}.lineage(), here), nullptr);
  EXPECT_EQ(judge_home(Stored{{row(3, 1), row(3, 2, 1)}}.lineage(), here), nullptr);
}

TEST(Home, IsNotWhereOneOfThemIsAnothers) {
  const Stored stored{{row(1, 1)}};
  DatabaseIdentity other = here;
  other.install[15] = 1;
  EXPECT_EQ(judge_home(stored.lineage(), other), &reasons::foreign_database);
  other = here;
  other.system_identifier ^= 1;
  EXPECT_EQ(judge_home(stored.lineage(), other), &reasons::foreign_database);
  other = here;
  other.database = 5;
  EXPECT_EQ(judge_home(stored.lineage(), other), &reasons::foreign_database);

  Stored mixed{{row(1, 1), row(1, 1)}};
  mixed.rows[1].identity = other;
  EXPECT_EQ(judge_home(mixed.lineage(), here), &reasons::foreign_database);
  EXPECT_EQ(judge_home(mixed.lineage(), other), &reasons::foreign_database);
}

TEST(Home, IsNowhereWithoutRows) {
  EXPECT_EQ(judge_home(Stored{}.lineage(), here), &reasons::foreign_database);
}

TEST(ClaimInForce, IsOneOfThisGenerationAndTimeline) {
  const Stored stored{{row(2, 4)}};
  EXPECT_TRUE(is_in_force(stored.lineage(), 4, 2, 4));
  EXPECT_TRUE(is_in_force(stored.lineage(), 5, 2, 5)) << "of after the failover";
  EXPECT_FALSE(is_in_force(stored.lineage(), 5, 2, 4)) << "of before it";
  EXPECT_FALSE(is_in_force(stored.lineage(), 4, 2, 5)) << "of a later timeline";
  EXPECT_FALSE(is_in_force(stored.lineage(), 4, 1, 4)) << "of before the adoption";
  EXPECT_FALSE(is_in_force(stored.lineage(), 4, 3, 4)) << "of a later generation";
  EXPECT_FALSE(is_in_force(Stored{}.lineage(), 1, 1, 1));
}

TEST(ClaimInForce, GoesBackAlongWhatWasAccepted) {
  const Stored stored{{row(1, 1), row(1, 2, 1), row(1, 5, 2), row(1, 9, 7)}};
  for (const uint32_t timeline : {1, 2, 5}) {
    EXPECT_TRUE(is_in_force(stored.lineage(), 5, 1, timeline)) << timeline;
  }
  for (const uint32_t timeline : {3, 4, 6}) {
    EXPECT_FALSE(is_in_force(stored.lineage(), 5, 1, timeline)) << timeline;
  }
  EXPECT_FALSE(is_in_force(stored.lineage(), 6, 1, 5)) << "6 is not accepted";
  EXPECT_TRUE(is_in_force(stored.lineage(), 9, 1, 7));
  EXPECT_FALSE(is_in_force(stored.lineage(), 9, 1, 5)) << "the chain has a gap";
}

TEST(ClaimInForce, EndsWhereAChainCannotBe) {
  const Stored stored{{row(1, 3, 3), row(1, 4, 5), row(1, 5, 4)}};
  EXPECT_FALSE(is_in_force(stored.lineage(), 3, 1, 1));
  EXPECT_FALSE(is_in_force(stored.lineage(), 4, 1, 1));
  EXPECT_FALSE(is_in_force(stored.lineage(), 5, 1, 1));
  EXPECT_TRUE(is_in_force(stored.lineage(), 5, 1, 4));
}

TEST(Timeline, IsKnownWhereARowHasIt) {
  const Stored stored{{row(1, 1), row(1, 3, 2)}};
  EXPECT_TRUE(knows_timeline(stored.lineage(), 1));
  EXPECT_TRUE(knows_timeline(stored.lineage(), 3));
  EXPECT_FALSE(knows_timeline(stored.lineage(), 2));
}

// SQLite: the file against what its application has seen of it.
TEST(Generation, MayBeTheOneThatWasSeenOrANewerOne) {
  EXPECT_EQ(judge_generation(0, 0), nullptr);
  EXPECT_EQ(judge_generation(7, 0), nullptr);
  EXPECT_EQ(judge_generation(7, 7), nullptr);
  EXPECT_EQ(judge_generation(8, 7), nullptr);
  EXPECT_EQ(judge_generation(INT64_MAX, INT64_MAX), nullptr);
}

TEST(Generation, BelowWhatWasSeenIsLineageChanged) {
  EXPECT_EQ(judge_generation(0, 1), &reasons::older_file);
  EXPECT_EQ(judge_generation(6, 7), &reasons::older_file);
  EXPECT_EQ(judge_generation(0, INT64_MAX), &reasons::older_file);
  EXPECT_EQ(reasons::older_file.code, Code::lineage_changed);
}

}  // namespace
}  // namespace fence
