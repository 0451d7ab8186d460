#include "core/refusal.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/append.h"
#include "core/argument.h"
#include "core/mode.h"
#include "core/ownership.h"
#include "core/publish.h"

namespace fence::test {
namespace {

// The contract's table of codes, written out a second time.
constexpr struct {
  int number;
  const char* sqlstate;
  const char* name;
  bool dooms;
} promised_codes[] = {
    {1, "ZF001", "stale_epoch", true},
    {2, "ZF002", "other_writer", true},
    {3, "ZF003", "no_record", true},
    {4, "ZF004", "ahead_of_record", true},
    {5, "ZF005", "not_asserted", false},
    {6, "ZF006", "cannot_prepare", false},
    {7, "ZF007", "lineage_changed", true},
    {8, "ZF008", "delegation_lost", true},
    {9, "ZF009", "transaction_refused", false},
    {10, "ZF010", "out_of_range", false},
    {11, "ZF011", "capacity", false},
    {12, "ZF012", "configuration", false},
    {13, "ZF013", "index_conflict", false},
    {14, "ZF014", "not_home", false},
    {15, "ZF015", "membership_epoch", false},
    {16, "ZF016", "contended", false},
    {17, "ZF017", "quarantined", false},
    {18, "ZF018", "unknown_member", false},
    {19, "ZF019", "corrupt", false},
    {20, "ZF020", "guard_broken", true},
    {21, "ZF021", "lease_not_found", false},
};

TEST(Code, has_the_promised_sqlstate_and_name_and_dooms_as_promised) {
  for (const auto& promised : promised_codes) {
    const CodeRule& rule = rule_of(static_cast<Code>(promised.number));
    EXPECT_EQ(static_cast<int>(rule.code), promised.number);
    EXPECT_STREQ(rule.sqlstate, promised.sqlstate);
    EXPECT_STREQ(rule.name, promised.name);
    EXPECT_EQ(rule.dooms, promised.dooms) << promised.sqlstate;
  }
}

WriterHash writer(unsigned char first) {
  WriterHash hash = {};
  for (size_t i = 0; i < sizeof hash.bytes; ++i) {
    hash.bytes[i] = static_cast<unsigned char>(first + i);
  }
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

std::string message(const Refusal& refusal) { return rendered(refusal, render_message); }
std::string doomed(const Refusal& refusal) { return rendered(refusal, render_doomed_message); }

// Asserted 7 by a1a2a3a4…, stored 8 by 01020304…, number 42.
Refusal sample(const Reason& reason) {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.ns = "n";
  refusal.key = "k";
  refusal.asserted_epoch = int64_t{7};
  refusal.stored_epoch = int64_t{8};
  refusal.asserted_writer = writer(0xa1);
  refusal.stored_writer = writer(0x01);
  refusal.number = 42;
  refusal.fault = "is empty";
  return refusal;
}

constexpr const char* sample_detail_rest =
    R"("namespace":"n","key":"k","asserted_epoch":"7","stored_epoch":"8",)"
    R"("asserted_writer":"a1a2a3a4","stored_writer":"01020304","already_stored":null,)"
    R"("deleted":null})";

struct Saying {
  const Reason* reason;
  const char* head;  // code and name
  const char* text;
  const char* hint;
};

constexpr const char* number_rule =
    " is a whole number from 0 to 9223372036854775807, as an integer or as plain decimal text";

// What users read, word for word: programs and runbooks quote it.
const Saying ownership_sayings[] = {
    {&reasons::stale_claim, "ZF001 stale_epoch",
     "epoch 7 is claimed, the record is already at epoch 8, held by writer 01020304",
     "this process was superseded: stop it, or claim an epoch above 8"},
    {&reasons::claim_below_floor, "ZF001 stale_epoch",
     "epoch 7 is claimed, the key was deleted at epoch 8",
     "epochs never come back: claim an epoch above 8"},
    {&reasons::claim_below_namespace_floor, "ZF001 stale_epoch",
     "epoch 7 is claimed, keys of this namespace were purged up to epoch 8",
     "epochs never come back: claim an epoch above 8"},
    {&reasons::claimed_by_other, "ZF002 other_writer",
     "epoch 8 is held by another writer, 01020304",
     "two processes chose one epoch: claim an epoch above 8"},
    {&reasons::stale_write, "ZF001 stale_epoch",
     "epoch 7 is asserted, the record is already at epoch 8, held by writer 01020304",
     "this process lost the ownership: stop it, or claim an epoch above 8 with a new writer"},
    {&reasons::left_epoch, "ZF001 stale_epoch",
     "epoch 7 is asserted, this writer itself claimed the key anew, at epoch 8",
     "write under epoch 8; if it was not this process that claimed it, give each process a writer "
     "of its own"},
    {&reasons::written_by_other, "ZF002 other_writer",
     "epoch 8 is held by another writer, 01020304",
     "this process does not own the key: claim an epoch above 8 first"},
    {&reasons::never_claimed, "ZF003 no_record", "the key was never claimed",
     "claim it first with oplog_metadata_upsert"},
    {&reasons::key_deleted, "ZF003 no_record", "the key was deleted at epoch 8",
     "claim an epoch above 8 to begin a new life of the key"},
    {&reasons::ahead_of_record, "ZF004 ahead_of_record",
     "epoch 7 is asserted, the record is only at epoch 8",
     "claim the epoch before writing; if it was claimed, the database went back in time"},
    {&reasons::two_epochs, "ZF012 configuration",
     "this transaction already used epoch 8 of the key, now epoch 7",
     "use one epoch of a key in a transaction"},
    {&reasons::impossible_epoch, "ZF019 corrupt", "the record's epoch is 8, which cannot be",
     "restore the record from a backup"},
    {&reasons::key_ownerless, "ZF003 no_record",
     "nobody owns the key, and its epochs up to 8 are used up", "claim an epoch above 8 first"},
    {&reasons::claim_below_used, "ZF001 stale_epoch",
     "epoch 7 is claimed, nobody owns the key and its epochs up to 8 are used up",
     "epochs never come back: claim an epoch above 8"},
    {&reasons::nothing_to_reset, "ZF003 no_record", "the key was never claimed",
     "there is nothing to reset: look for the key in oplog_status"},
    {&reasons::reset_not_lower, "ZF010 out_of_range", "epoch 7 is not below epoch 8 of the record",
     "fence_reset only lowers an epoch; to raise it, claim the key"},
    {&reasons::outdated_claim, "ZF007 lineage_changed",
     "the claim of epoch 8 was made before a failover, a restore or a copy of the database",
     "claim an epoch above 8: only then is it known who owns the key in this database"},
    {&reasons::claim_in_transaction, "ZF012 configuration",
     "this call is a transaction of its own, and one is open",
     "call it in autocommit, alone and once: frozen inside, it would hold up every other writer"},
};

const Saying append_sayings[] = {
    {&reasons::other_bytes, "ZF013 index_conflict", "idx 42 is taken by other bytes",
     "read the entry at this idx: it may be what you meant to store; else append behind the log's "
     "last idx"},
    {&reasons::other_epoch, "ZF013 index_conflict", "idx 42 is taken by an entry of another epoch",
     "the entry there has the same bytes: read the log, it may be what you meant to store; else "
     "append behind the log's last idx"},
    {&reasons::below_trim, "ZF013 index_conflict", "idx 42 lies in the trimmed part of the log",
     "if this is a resend, it was stored and trimmed since; else append behind the log's last idx"},
    {&reasons::not_the_last, "ZF013 index_conflict", "the log ends at idx 42, not where expected",
     "read the log from the expected idx on, then decide anew"},
    {&reasons::not_whole, "ZF013 index_conflict",
     "the staged log does not consist of idx 1 to 42 and nothing else",
     "read the staged log: it was left as it is"},
    {&reasons::no_staged_log, "ZF013 index_conflict",
     "nothing is staged under that name: it holds no entry",
     "look for the staged key with oplog_keys; one that was published, to another key or with "
     "another expected_last, is deleted"},
};

const std::string epoch_rule = std::string("an epoch") + number_rule;
const std::string idx_rule = std::string("an idx") + number_rule;

const Saying argument_sayings[] = {
    {&reasons::bad_namespace, "ZF010 out_of_range", "the namespace is empty",
     "a namespace is text of 1 to 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_key, "ZF010 out_of_range", "the key is empty",
     "a key is text of 1 to 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_epoch, "ZF010 out_of_range", "the epoch is not a number in range",
     epoch_rule.c_str()},
    {&reasons::bad_writer, "ZF010 out_of_range", "the writer is not a UUID",
     "make one random UUID for each process incarnation and pass it as text"},
    {&reasons::no_claimant, "ZF010 out_of_range",
     "no epoch is stated, and what stands for the writer is not a UUID",
     "pass the epoch and the writer of your claim; writes without them need a namespace in mode "
     "unfenced or optional"},
    {&reasons::bad_idx, "ZF010 out_of_range", "the idx is not a number in range", idx_rule.c_str()},
    {&reasons::bad_payload, "ZF010 out_of_range", "the payload is not a sequence of bytes",
     "pass bytes or text; an empty payload is fine, NULL is not"},
    {&reasons::bad_expected_last, "ZF010 out_of_range", "expected_last is not a number in range",
     "pass the idx that must be the last one, -1 for an empty log, or NULL not to compare"},
    {&reasons::bad_range, "ZF010 out_of_range", "a bound of the read is not a number in range",
     "from_idx, to_idx and max are whole numbers from 0 to 9223372036854775807; "
     "NULL takes the default"},
    {&reasons::bad_claims, "ZF010 out_of_range", "element 42 of the claims is not usable",
     "pass a JSON array of objects with the members key and epoch"},
    {&reasons::repeated_claim, "ZF010 out_of_range", "element 42 of the claims repeats a key",
     "claim each key once in a call"},
    {&reasons::idxs_no_array, "ZF010 out_of_range", "idxs is not a JSON array of idx",
     "pass one array of whole numbers from 0 to 9223372036854775807, as JSON text"},
    {&reasons::bad_idxs, "ZF010 out_of_range", "element 42 of idxs is not an idx",
     "pass one array of whole numbers from 0 to 9223372036854775807"},
    {&reasons::bad_frames, "ZF010 out_of_range", "payload 42 is not complete",
     "each payload is preceded by its length as 4 bytes, big-endian; fence_blobs builds that"},
    {&reasons::repeated_idx, "ZF010 out_of_range", "idx 42 stands twice in the batch",
     "pass each idx once in a call"},
    {&reasons::different_lengths, "ZF010 out_of_range", "idxs and payloads differ in number",
     "pass one payload for each idx"},
    {&reasons::setting_unknown, "ZF010 out_of_range", "there is no such setting",
     "the settings are listed in the reference, under Settings"},
    {&reasons::setting_out_of_range, "ZF010 out_of_range",
     "the value is out of the setting's range",
     "the ranges are listed in the reference, under Settings"},
    {&reasons::epoch_missing, "ZF012 configuration", "the epoch is NULL, and this call needs one",
     "pass the epoch of your claim; writes without one need a namespace in mode unfenced or "
     "optional"},
    {&reasons::owner_epoch_missing, "ZF012 configuration",
     "the epoch is NULL, and this call needs one in every mode", "pass the epoch of your claim"},
    {&reasons::no_owners, "ZF012 configuration",
     "the namespace is in mode unfenced, in which nobody owns a key",
     "set the mode to required or optional by fence_namespace_set first"},
};

const Saying key_sayings[] = {
    {&reasons::bad_array, "ZF010 out_of_range", "idxs or payloads is not an array of one dimension",
     "pass one array of idx and one of payloads, of the same length"},
    {&reasons::bad_payloads, "ZF010 out_of_range", "element 42 of payloads is NULL",
     "pass bytes; an empty payload is fine, NULL is not"},
    {&reasons::bad_timeout, "ZF010 out_of_range", "timeout_ms is not a number in range",
     "pass how many milliseconds to wait at most; 0 does not wait"},
    {&reasons::bad_through, "ZF010 out_of_range", "through_idx is not a number in range",
     "pass the greatest idx that may go, 0 to 9223372036854775807"},
    {&reasons::bad_value_name, "ZF010 out_of_range", "the name is empty",
     "a name is text of 1 to 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_value, "ZF010 out_of_range", "the value is not a sequence of bytes",
     "pass bytes or text; an empty value is fine, for none at all there is fenced_remove"},
    {&reasons::bad_staged_namespace, "ZF010 out_of_range", "the staged namespace is empty",
     "a namespace is text of 1 to 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_staged_key, "ZF010 out_of_range", "the staged key is empty",
     "a key is text of 1 to 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_published_last, "ZF010 out_of_range", "expected_last is not a number in range",
     "pass the last idx of the staged log, which begins with 1"},
    {&reasons::same_key, "ZF010 out_of_range", "the staged key is the key itself",
     "stage the log under another key, then publish it"},
    {&reasons::bad_prefix, "ZF010 out_of_range", "the prefix is empty",
     "a prefix is text of at most 255 bytes of UTF-8 without NUL"},
    {&reasons::bad_after, "ZF010 out_of_range", "the text after which to go on is empty",
     "pass the last key that was returned, or NULL to begin"},
    {&reasons::bad_mode, "ZF010 out_of_range", "there is no such mode",
     "the modes are required, unfenced and optional"},
    {&reasons::bad_identical_repeat, "ZF010 out_of_range",
     "identical_repeat is neither true nor false", "pass true or false; SQLite takes 1 or 0"},
    {&reasons::bad_age, "ZF010 out_of_range", "older_than_ms is not a number in range",
     "pass for how many milliseconds the keys have been deleted; 0 takes all"},
    {&reasons::bad_key_column, "ZF010 out_of_range", "column 42 of the key is empty",
     "a column of a key is a whole number or text of UTF-8 without NUL, on PostgreSQL also uuid or "
     "boolean, and never NULL"},
    {&reasons::bad_composite_key, "ZF010 out_of_range", "the key of these columns is empty",
     "a key is text of 1 to 255 bytes; the slashes between columns and the backslashes before "
     "those inside them count"},
    {&reasons::no_key_column, "ZF010 out_of_range", "the key has no column",
     "pass the columns of the key, one or more, in their order"},
    {&reasons::bad_key_array, "ZF010 out_of_range",
     "the array of columns is NULL or of more than one dimension",
     "pass an array of one dimension, or the columns one by one"},
    {&reasons::epoch_unwanted, "ZF012 configuration",
     "an epoch is given, and the namespace is in mode unfenced",
     "pass NULL as epoch, or set the mode to optional or required by fence_namespace_set"},
    {&reasons::mode_changed, "ZF012 configuration",
     "the mode of the namespace was changed while the transaction was open",
     "do the transaction again, as the mode wants it now: with an epoch in mode required, without "
     "one "
     "in mode unfenced"},
    {&reasons::no_shard_space, "ZF012 configuration", "there is no such shard space",
     "pass NULL: the namespace is not bound to one"},
};

template <typename Check>
void for_each_saying(Check check) {
  for (const Saying& saying : ownership_sayings) check(saying);
  for (const Saying& saying : append_sayings) check(saying);
  for (const Saying& saying : argument_sayings) check(saying);
  for (const Saying& saying : key_sayings) check(saying);
}

TEST(Message, is_code_and_name_then_the_text_the_hint_and_the_detail) {
  for_each_saying([](const Saying& saying) {
    const Refusal refusal = sample(*saying.reason);
    EXPECT_EQ(rendered(refusal, render_text), saying.text);
    EXPECT_EQ(rendered(refusal, render_hint), saying.hint);
    const std::string code(saying.head, 5);
    const std::string detail = "{\"code\":\"" + code + "\"," + sample_detail_rest;
    EXPECT_EQ(rendered(refusal, render_detail), detail);
    EXPECT_EQ(rendered(refusal, render_detail_members), detail.substr(1, detail.size() - 2));
    EXPECT_EQ(message(refusal), std::string(saying.head) + ": " + saying.text +
                                    "; hint: " + saying.hint + " " + detail);
  });
}

TEST(Reason, has_no_brace_no_line_break_and_only_known_placeholders) {
  for_each_saying([](const Saying& saying) {
    for (const std::string text : {saying.reason->text, saying.reason->hint}) {
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(text.find_first_of("{}\n\r\t"), std::string::npos) << text;
      EXPECT_NE(text.back(), '.') << "a message ends without a full stop: " << text;
      for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
        ASSERT_LT(at + 1, text.size()) << text;
        EXPECT_NE(std::string("eswnf").find(text[at + 1]), std::string::npos) << text;
      }
    }
    EXPECT_EQ(std::string(saying.reason->text).find(';'), std::string::npos)
        << "the hint begins behind the first semicolon: " << saying.reason->text;
  });
}

// The refusal that doomed the transaction, and what to do about that one.
TEST(DoomedMessage, is_zf009_and_carries_the_detail_of_the_first_refusal) {
  EXPECT_EQ(doomed(sample(reasons::stale_write)),
            std::string("ZF009 transaction_refused: a call in this transaction was refused with "
                        "ZF001 stale_epoch, so nothing of it can be committed; hint: ROLLBACK; "
                        "about ZF001: this process lost the ownership: stop it, or claim an epoch "
                        "above 8 with a new writer {\"code\":\"ZF001\",") +
                sample_detail_rest);
  for_each_saying([](const Saying& saying) {
    const Refusal first = sample(*saying.reason);
    const std::string text = doomed(first);
    EXPECT_EQ(text.rfind("ZF009 transaction_refused: ", 0), 0U) << text;
    EXPECT_NE(text.find(saying.head), std::string::npos) << text;
    EXPECT_LT(text.find("; hint: "), text.find('{')) << text;
    EXPECT_NE(text.find(saying.hint), std::string::npos) << text;
    EXPECT_EQ(text.substr(text.find('{')), rendered(first, render_detail));
  });
}

}  // namespace
}  // namespace fence::test
