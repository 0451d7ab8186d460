#include "core/publish.h"

namespace fence {

namespace reasons {
const Reason not_whole = {Code::index_conflict,
                          "the staged log does not consist of idx 1 to %n and nothing else",
                          "read the staged log: it was left as it is"};
const Reason no_staged_log = {Code::index_conflict,
                              "nothing is staged under that name: it holds no entry",
                              "look for the staged key with oplog_keys; one that was published, to "
                              "another key or with another expected_last, is deleted"};
const Reason target_in_use = {Code::index_conflict,
                              "an open transaction of another session is storing idx %n of the key",
                              "publish again when it has ended; fence_holders shows it"};
}  // namespace reasons

Seal publication_mark(std::string_view ns, std::string_view key, int64_t expected_last,
                      const Claimant& publisher) noexcept {
  const unsigned char none[16] = {};
  SipHash128 sum(none);
  sum.add_text(ns);
  sum.add_text(key);
  sum.add_u64(static_cast<uint64_t>(expected_last));
  sum.add_u64(static_cast<uint64_t>(publisher.epoch));
  const auto* writer = reinterpret_cast<const char*>(publisher.writer.bytes);
  sum.add_text(std::string_view(writer, sizeof publisher.writer.bytes));
  return sum.finish();
}

bool is_repeated_publication(bool staged_lives, const Maybe<Seal>& published, const Seal& mark,
                             const LogEnd& target) noexcept {
  return !staged_lives && published.known && published.value == mark &&
         !can_be_published_to(target);
}

const Reason* judge_staged_log(const StagedLog& log, int64_t expected_last) noexcept {
  const bool whole = expected_last >= 1 && log.first == 1 && log.last == expected_last &&
                     log.count == expected_last;
  return whole ? nullptr : log.count == 0 ? &reasons::no_staged_log : &reasons::not_whole;
}

const Reason* judge_staged_mode(Mode mode, bool epoch_given) noexcept {
  return epoch_given ? nullptr : judge_mode(mode, false);
}

const Reason* judge_staged_owner(const Record& staged, const Claimant& publisher) noexcept {
  return staged.state != RecordState::live || publisher.unfenced() ? nullptr
                                                                   : judge_owner(staged, publisher);
}

}  // namespace fence
