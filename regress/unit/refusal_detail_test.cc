// The JSON detail of a refusal, its greatest length, and refusals that are kept.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/append.h"
#include "core/argument.h"
#include "core/mode.h"
#include "core/name.h"
#include "core/ownership.h"
#include "core/publish.h"
#include "core/refusal.h"
#include "regress/unit/json.h"

namespace fence::test {
namespace {

constexpr const char* member_list =
    "code,namespace,key,asserted_epoch,stored_epoch,asserted_writer,stored_writer,already_stored,"
    "deleted";

const Reason* const all_reasons[] = {
    &reasons::stale_claim,
    &reasons::claim_below_floor,
    &reasons::claim_below_namespace_floor,
    &reasons::claimed_by_other,
    &reasons::stale_write,
    &reasons::left_epoch,
    &reasons::written_by_other,
    &reasons::never_claimed,
    &reasons::key_deleted,
    &reasons::ahead_of_record,
    &reasons::two_epochs,
    &reasons::impossible_epoch,
    &reasons::other_bytes,
    &reasons::other_epoch,
    &reasons::below_trim,
    &reasons::not_the_last,
    &reasons::bad_namespace,
    &reasons::bad_key,
    &reasons::bad_epoch,
    &reasons::bad_writer,
    &reasons::no_claimant,
    &reasons::bad_idx,
    &reasons::bad_payload,
    &reasons::bad_expected_last,
    &reasons::bad_range,
    &reasons::bad_claims,
    &reasons::repeated_claim,
    &reasons::idxs_no_array,
    &reasons::bad_idxs,
    &reasons::bad_frames,
    &reasons::repeated_idx,
    &reasons::different_lengths,
    &reasons::setting_unknown,
    &reasons::setting_out_of_range,
    &reasons::epoch_missing,
    &reasons::claim_in_transaction,
    &reasons::key_ownerless,
    &reasons::claim_below_used,
    &reasons::nothing_to_reset,
    &reasons::reset_not_lower,
    &reasons::outdated_claim,
    &reasons::epoch_unwanted,
    &reasons::mode_changed,
    &reasons::no_shard_space,
    &reasons::not_whole,
    &reasons::no_staged_log,
    &reasons::bad_array,
    &reasons::bad_payloads,
    &reasons::bad_timeout,
    &reasons::bad_through,
    &reasons::bad_value_name,
    &reasons::bad_value,
    &reasons::bad_staged_namespace,
    &reasons::bad_staged_key,
    &reasons::bad_published_last,
    &reasons::same_key,
    &reasons::bad_prefix,
    &reasons::bad_after,
    &reasons::bad_mode,
    &reasons::bad_identical_repeat,
    &reasons::bad_age,
};

WriterHash writer_of(unsigned char byte) {
  WriterHash hash = {};
  std::memset(hash.bytes, byte, sizeof hash.bytes);
  return hash;
}

template <typename Render>
std::string rendered(const Refusal& refusal, Render render) {
  char buffer[message_capacity];
  TextSink sink(buffer, sizeof buffer);
  render(refusal, &sink);
  EXPECT_TRUE(sink.whole());
  return {buffer, sink.size()};
}

Refusal named(std::string_view ns, std::string_view key) {
  Refusal refusal;
  refusal.reason = &reasons::never_claimed;
  refusal.ns = ns;
  refusal.key = key;
  return refusal;
}

TEST(Detail, has_all_members_in_the_order_of_the_contract_and_null_for_the_unknown) {
  Refusal refusal;
  refusal.reason = &reasons::bad_namespace;
  EXPECT_EQ(rendered(refusal, render_detail),
            R"({"code":"ZF010","namespace":null,"key":null,"asserted_epoch":null,)"
            R"("stored_epoch":null,"asserted_writer":null,"stored_writer":null,)"
            R"("already_stored":null,"deleted":null})");
}

TEST(Detail, gives_numbers_as_decimal_strings_writers_as_fingerprints_flags_as_booleans) {
  Refusal refusal = named("n", "k");
  refusal.asserted_epoch = int64_t{0};
  refusal.stored_epoch = INT64_MAX;
  refusal.asserted_writer = writer_of(0x00);
  refusal.stored_writer = writer_of(0xfe);
  refusal.already_stored = true;
  refusal.deleted = false;
  EXPECT_EQ(rendered(refusal, render_detail),
            R"({"code":"ZF003","namespace":"n","key":"k","asserted_epoch":"0",)"
            R"("stored_epoch":"9223372036854775807","asserted_writer":"00000000",)"
            R"("stored_writer":"fefefefe","already_stored":true,"deleted":false})");
  refusal.already_stored = false;
  refusal.deleted = true;
  const std::string swapped = rendered(refusal, render_detail);
  EXPECT_NE(swapped.find(R"("already_stored":false,"deleted":true})"), std::string::npos);
}

TEST(Detail, repeats_every_name_so_that_a_parser_gets_it_back) {
  const std::string names[] = {
      "plain",
      "it's",
      "say \"hello\"",
      "back\\slash\\",
      "{\"code\":\"ZF999\"}",
      "\x01\x02\x1f",
      "tab\tline\nreturn\r",
      "\x7f",
      "100% %s %n %e",
      "sch\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x94\x92",
      "null",
      std::string(255, '"'),
      std::string(255, 'k'),
  };
  for (const std::string& ns : names) {
    for (const std::string& key : names) {
      const Json json(rendered(named(ns, key), render_detail));
      EXPECT_TRUE(json.valid()) << ns << " " << key;
      EXPECT_EQ(json.members(), member_list);
      EXPECT_EQ(json.member("namespace"), ns);
      EXPECT_EQ(json.member("key"), key);
    }
  }
}

TEST(Detail, begins_at_the_first_brace_of_the_message_whatever_the_names_are) {
  const Refusal refusal = named("{", "}{");
  for (const std::string& message :
       {rendered(refusal, render_message), rendered(refusal, render_doomed_message)}) {
    const Json json(message.substr(message.find('{')));
    EXPECT_TRUE(json.valid()) << message;
    EXPECT_EQ(json.member("namespace"), "{");
    EXPECT_EQ(json.member("key"), "}{");
  }
}

const char* longest_fault() {
  const char* longest = "";
  for (const NameFault fault : {NameFault::none, NameFault::empty, NameFault::too_long,
                                NameFault::nul, NameFault::not_utf8}) {
    if (std::strlen(describe(fault)) > std::strlen(longest)) longest = describe(fault);
  }
  return longest;
}

// The longest that there is: each byte of both names becomes six.
TEST(Message, of_greatest_length_fits_and_is_whole) {
  const std::string longest(255, '\x01');
  for (const Reason* reason : all_reasons) {
    Refusal refusal = named(longest, longest);
    refusal.reason = reason;
    refusal.asserted_epoch = INT64_MIN;
    refusal.stored_epoch = INT64_MIN;
    refusal.asserted_writer = writer_of(0xff);
    refusal.stored_writer = writer_of(0xff);
    refusal.already_stored = false;
    refusal.deleted = false;
    refusal.number = INT64_MIN;
    refusal.fault = longest_fault();
    for (const std::string& message :
         {rendered(refusal, render_message), rendered(refusal, render_doomed_message)}) {
      EXPECT_LT(message.size(), message_capacity);
      EXPECT_LT(message.size() - size_t{2} * 255 * 6, 800U) << "as the header says: " << message;
      const Json json(message.substr(message.find('{')));
      EXPECT_TRUE(json.valid()) << message;
      EXPECT_EQ(json.member("namespace"), longest);
      EXPECT_EQ(json.member("key"), longest);
    }
  }
}

TEST(Refusal, that_is_none_is_not_refused_and_dooms_nothing) {
  const Refusal none;
  EXPECT_FALSE(none.refused());
  EXPECT_EQ(none.code(), Code::none);
  EXPECT_FALSE(none.dooms());
}

TEST(Refusal, dooms_as_its_code_does) {
  for (const Reason* reason : all_reasons) {
    Refusal refusal;
    refusal.reason = reason;
    const int number = static_cast<int>(reason->code);
    const bool ownership = number <= 4 || number == 7 || number == 8 || number == 20;
    EXPECT_TRUE(refusal.refused());
    EXPECT_EQ(refusal.code(), reason->code);
    EXPECT_EQ(refusal.dooms(), ownership) << reason->text;
  }
}

TEST(KeptRefusal, owns_its_names) {
  std::string ns = "namespace of a call";
  std::string key = "key of a call";
  KeptRefusal kept;
  kept.keep(named(ns, key));
  const std::string before = rendered(kept.get(), render_detail);
  ns.assign(ns.size(), 'x');
  key.assign(key.size(), 'x');
  EXPECT_EQ(rendered(kept.get(), render_detail), before);
  EXPECT_EQ(kept.get().ns, "namespace of a call");
  EXPECT_EQ(kept.get().key, "key of a call");
}

TEST(KeptRefusal, keeps_everything_else_as_well) {
  Refusal refusal = named("n", "k");
  refusal.reason = &reasons::stale_write;
  refusal.asserted_epoch = int64_t{7};
  refusal.stored_epoch = int64_t{8};
  refusal.asserted_writer = writer_of(0xaa);
  refusal.stored_writer = writer_of(0xbb);
  refusal.already_stored = true;
  refusal.deleted = false;
  refusal.number = 42;
  KeptRefusal kept;
  kept.keep(refusal);
  EXPECT_EQ(rendered(kept.get(), render_message), rendered(refusal, render_message));
  EXPECT_EQ(kept.get().number, 42);
}

TEST(KeptRefusal, keeps_names_of_every_length_and_cuts_what_no_name_can_be) {
  KeptRefusal kept;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{254}, size_t{255}}) {
    const std::string name(size, 'k');
    kept.keep(named(name, name));
    EXPECT_EQ(kept.get().ns, name);
    EXPECT_EQ(kept.get().key, name);
  }
  const std::string too_long(300, 'k');
  kept.keep(named(too_long, too_long));
  EXPECT_EQ(kept.get().ns.size(), 255U);
  EXPECT_EQ(kept.get().key.size(), 255U);
}

TEST(KeptRefusal, can_be_kept_from_itself_and_cleared) {
  KeptRefusal kept;
  EXPECT_FALSE(kept.get().refused());
  kept.keep(named("first", "one"));
  kept.keep(named("second", "two"));
  EXPECT_EQ(kept.get().ns, "second");
  EXPECT_EQ(kept.get().key, "two");
  kept.clear();
  EXPECT_FALSE(kept.get().refused());
  EXPECT_TRUE(kept.get().ns.empty());
}

}  // namespace
}  // namespace fence::test
