#include "core/protection.h"

#include <gtest/gtest.h>

#include <string>

namespace fence {
namespace {

TEST(Protection, AuthoritiesHaveTheirNames) {
  for (const Authority one :
       {Authority::epoch, Authority::shard, Authority::delegation, Authority::any}) {
    Authority parsed = Authority::epoch;
    EXPECT_TRUE(parse_authority(authority_name(one), &parsed));
    EXPECT_EQ(parsed, one);
  }
  Authority untouched = Authority::any;
  for (const char* name : {"", "epochs", "Epoch", "epoch ", "required"}) {
    EXPECT_FALSE(parse_authority(name, &untouched)) << name;
    EXPECT_EQ(untouched, Authority::any);
  }
  EXPECT_FALSE(parse_authority(std::string_view("epoch\0", 6), &untouched));
}

TEST(Protection, OnlyEpochsProtectInThisVersion) {
  EXPECT_EQ(judge_authority(Authority::epoch), nullptr);
  for (const Authority one : {Authority::shard, Authority::delegation, Authority::any}) {
    const Reason* reason = judge_authority(one);
    ASSERT_NE(reason, nullptr);
    EXPECT_EQ(reason->code, Code::configuration);
  }
}

TEST(Protection, SubscribersHaveTheirNames) {
  Subscriber parsed = Subscriber::apply;
  EXPECT_TRUE(parse_subscriber("refuse", &parsed));
  EXPECT_EQ(parsed, Subscriber::refuse);
  EXPECT_TRUE(parse_subscriber("apply", &parsed));
  EXPECT_EQ(parsed, Subscriber::apply);
  EXPECT_FALSE(parse_subscriber("ignore", &parsed));
  EXPECT_EQ(parsed, Subscriber::apply);
  EXPECT_STREQ(subscriber_name(Subscriber::refuse), "refuse");
  EXPECT_STREQ(subscriber_name(Subscriber::apply), "apply");
}

TEST(Protection, AKeyIsConstantOrInColumns) {
  EXPECT_EQ(judge_key_choice(true, 0), nullptr);
  EXPECT_EQ(judge_key_choice(false, 1), nullptr);
  EXPECT_EQ(judge_key_choice(false, 32), nullptr);
  for (const bool constant : {false, true}) {
    const Reason* reason = judge_key_choice(constant, constant ? 1 : 0);
    ASSERT_NE(reason, nullptr);
    EXPECT_EQ(reason->code, Code::out_of_range);
  }
}

}  // namespace
}  // namespace fence
