#include "core/value.h"

#include <gtest/gtest.h>

namespace fence::test {
namespace {

TEST(Value, the_same_bytes_of_the_same_epoch_are_a_repeat) {
  EXPECT_FALSE(put_changes({true, 7, true}, 7));
  EXPECT_FALSE(put_changes({true, 0, true}, 0));
  EXPECT_FALSE(put_changes({true, unfenced_epoch, true}, unfenced_epoch));
}

TEST(Value, everything_else_that_is_put_changes_something) {
  EXPECT_TRUE(put_changes({}, 7)) << "nothing stood there";
  EXPECT_TRUE(put_changes({}, unfenced_epoch)) << "nothing stood there";
  EXPECT_TRUE(put_changes({true, 7, false}, 7)) << "other bytes";
  EXPECT_TRUE(put_changes({true, 6, true}, 7)) << "an older owner's";
  EXPECT_TRUE(put_changes({true, unfenced_epoch, true}, 0)) << "nobody's";
  EXPECT_TRUE(put_changes({true, 6, false}, 7));
}

TEST(Value, only_what_stands_there_can_be_removed) {
  EXPECT_TRUE(remove_changes({true, 7, false}));
  EXPECT_TRUE(remove_changes({true, unfenced_epoch, false}));
  EXPECT_FALSE(remove_changes({}));
}

}  // namespace
}  // namespace fence::test
