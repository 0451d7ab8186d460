// What the database says when it refuses: codes, names, texts, JSON detail
// (spec section 3). Both engines print what is rendered here.
#ifndef FENCE_CORE_REFUSAL_H
#define FENCE_CORE_REFUSAL_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text_sink.h"
#include "core/writer.h"

namespace fence {

// The number is that of the SQLSTATE: stale_epoch is ZF001.
enum class Code : unsigned char {
  none = 0,
  stale_epoch = 1,
  other_writer = 2,
  no_record = 3,
  ahead_of_record = 4,
  not_asserted = 5,
  cannot_prepare = 6,
  lineage_changed = 7,
  delegation_lost = 8,
  transaction_refused = 9,
  out_of_range = 10,
  capacity = 11,
  configuration = 12,
  index_conflict = 13,
  not_home = 14,
  membership_epoch = 15,
  contended = 16,
  quarantined = 17,
  unknown_member = 18,
  corrupt = 19,
  guard_broken = 20,
  lease_not_found = 21,
};

struct CodeRule {
  Code code;
  const char* sqlstate;  // "ZF001"
  const char* name;      // "stale_epoch"
  bool dooms;            // a refused write or assertion with it dooms the transaction
};

// The row of a code; code must not be none.
const CodeRule& rule_of(Code code) noexcept;

// Why something is refused: one sentence, and one action for the user.
// In text and hint %e is the asserted epoch, %s the stored one, %w the stored
// writer's fingerprint, %n a number and %f a few words of the case. Neither
// contains a brace: a reader of SQLite's message finds the JSON at the first one.
struct Reason {
  Code code;
  const char* text;
  const char* hint;
};

template <typename Value>
struct Maybe {
  bool known = false;
  Value value{};

  Maybe() = default;
  Maybe(Value known_value) noexcept : known(true), value(known_value) {}
};

// A refusal with the members of its JSON detail. An empty namespace or key is
// printed as null: an invalid one is never repeated to the caller.
struct Refusal {
  const Reason* reason = nullptr;  // nullptr: not refused
  std::string_view ns;
  std::string_view key;
  Maybe<int64_t> asserted_epoch;
  Maybe<int64_t> stored_epoch;
  Maybe<WriterHash> asserted_writer;
  Maybe<WriterHash> stored_writer;
  Maybe<bool> already_stored;
  Maybe<bool> deleted;
  int64_t number = 0;
  const char* fault = "";

  bool refused() const noexcept { return reason != nullptr; }
  Code code() const noexcept { return reason == nullptr ? Code::none : reason->code; }
  bool dooms() const noexcept { return refused() && rule_of(reason->code).dooms; }
};

// A refusal that outlives the call it came from: it owns its names.
class KeptRefusal {
 public:
  KeptRefusal() = default;
  KeptRefusal(const KeptRefusal&) = delete;  // a copy's names would lie in the original
  KeptRefusal& operator=(const KeptRefusal&) = delete;

  void keep(const Refusal& refusal) noexcept;
  void clear() noexcept { refusal_ = Refusal(); }
  const Refusal& get() const noexcept { return refusal_; }

 private:
  Refusal refusal_;
  char ns_[255];
  char key_[255];
};

// Holds any message: two names of 255 bytes grow to at most 3,060 when each
// byte is escaped; the rest stays under 800.
constexpr size_t message_capacity = 4096;

// "the record is at epoch 8, …": the sentence without code and name.
void render_text(const Refusal& refusal, TextSink* out) noexcept;
void render_hint(const Refusal& refusal, TextSink* out) noexcept;
// The JSON object of spec section 3, members in its order.
void render_detail(const Refusal& refusal, TextSink* out) noexcept;
// Only its members, without the braces (for an answer that has more of them).
void render_detail_members(const Refusal& refusal, TextSink* out) noexcept;
// One line with all of it: "ZF001 stale_epoch: text; hint: hint {json}".
void render_message(const Refusal& refusal, TextSink* out) noexcept;
// The same for ZF009: first is the refusal that doomed the transaction. Its detail
// is first's.
void render_doomed_text(const Refusal& first, TextSink* out) noexcept;
void render_doomed_hint(const Refusal& first, TextSink* out) noexcept;
void render_doomed_message(const Refusal& first, TextSink* out) noexcept;

}  // namespace fence

#endif
