// What fence_verify finds: of each problem one row for a key, with the first idx where it
// was met.
#ifndef FENCE_SQLITE_EXT_VERIFY_REPORT_H
#define FENCE_SQLITE_EXT_VERIFY_REPORT_H

#include <cstdint>
#include <string_view>

#include "core/name.h"
#include "core/refusal.h"

namespace fence {

enum class Problem : unsigned char {
  control_unreadable,
  control_missing,
  control_repeated,
  format_other,
  seal_key_impossible,
  generation_impossible,
  settings_unreadable,
  setting_impossible,
  namespaces_unreadable,
  namespace_name,
  namespace_index,
  namespace_mode,
  namespace_floor,
  namespace_values,
  namespace_seal,
  records_unreadable,
  record_name,
  record_index,
  record_repeated,
  record_epoch,
  record_writer,
  record_mark,
  record_seal,
  tail_short,
  tail_gone,
  tail_other,
  late_sum,
  entries_unreadable,
  entry_name,
  entry_index,
  entry_no_record,
  entry_dead,
  entry_number,
  entry_content,
  entry_repeated,
  entry_trimmed,
  entry_seal,
  entry_above_record,
  entry_foreign,
  entry_epoch_falls,
  entry_epoch_below,
  entry_gap,
  values_unreadable,
  value_name,
  value_index,
  value_no_record,
  value_dead,
  value_epoch,
  value_content,
  value_seal,
  count_
};

// One row of the answer. Its texts are borrowed until the next one is asked for.
struct Finding {
  const char* severity = nullptr;
  const char* object = nullptr;
  const char* problem = nullptr;
  std::string_view ns;  // empty: none
  std::string_view key;
  Maybe<int64_t> idx;
};

// The problems of one key, namespace or table.
class Report {
 public:
  // Forgets everything; what is added from here on is about these names. A name that
  // cannot be is not repeated to the caller.
  void begin(std::string_view ns, std::string_view key) noexcept;

  // Of each problem only the first counts.
  void add(Problem problem, const Maybe<int64_t>& idx = {}) noexcept;

  // Takes the next one out, in the order of Problem. False: there is none.
  bool take(Finding* finding) noexcept;

 private:
  static constexpr int problem_count = static_cast<int>(Problem::count_);

  char names_[2 * longest_name];
  std::string_view ns_;
  std::string_view key_;
  bool found_[problem_count] = {};
  Maybe<int64_t> idx_[problem_count];
  int taken_ = 0;
};

}  // namespace fence

#endif
