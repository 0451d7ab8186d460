#include "sqlite_ext/verify_report.h"

#include "sqlite_ext/bytes.h"

namespace fence {

namespace {

struct ProblemRule {
  Problem problem;
  const char* severity;
  const char* object;
  const char* text;
};

constexpr const char* error = "error";
constexpr const char* info = "info";

constexpr const char* unreadable = "cannot be read as Fence's own";
constexpr const char* bad_name = "its name cannot be";
constexpr const char* index_differs = "the table and its index do not agree";
constexpr const char* seal_broken = "its seal is broken: it was not stored so by Fence";

// In the order of the enum. Where PostgreSQL finds the same, the text is the same.
constexpr ProblemRule rules[] = {
    {Problem::control_unreadable, error, "table fence_control_v1", unreadable},
    {Problem::control_missing, error, "control row", "is missing"},
    {Problem::control_repeated, error, "control row", "there is more than one"},
    {Problem::format_other, error, "control row",
     "its format is not one that this build knows: entries, values and seals were not looked at"},
    {Problem::seal_key_impossible, error, "control row",
     "its seal key cannot be: seals were not looked at"},
    {Problem::generation_impossible, error, "control row", "its generation cannot be"},
    {Problem::settings_unreadable, error, "table fence_setting_v1", unreadable},
    {Problem::setting_impossible, error, "setting", "its name or value cannot be"},
    {Problem::namespaces_unreadable, error, "table fence_namespace_v1", unreadable},
    {Problem::namespace_name, error, "namespace", bad_name},
    {Problem::namespace_index, error, "namespace", index_differs},
    {Problem::namespace_mode, error, "namespace", "its mode cannot be"},
    {Problem::namespace_floor, error, "namespace", "its floor cannot be"},
    {Problem::namespace_values, error, "namespace", "a value of it cannot be"},
    {Problem::namespace_seal, error, "namespace", seal_broken},
    {Problem::records_unreadable, error, "table fence_meta_v1", unreadable},
    {Problem::record_name, error, "record", bad_name},
    {Problem::record_index, error, "record", index_differs},
    {Problem::record_repeated, error, "record", "there is more than one of the key"},
    {Problem::record_epoch, error, "record", "its epoch cannot be"},
    {Problem::record_writer, error, "record", "its writer cannot be"},
    {Problem::record_mark, error, "record", "a mark of its log cannot be"},
    {Problem::record_seal, error, "record", seal_broken},
    {Problem::tail_short, error, "record",
     "the log ends before the idx that the record says it reached"},
    {Problem::tail_gone, error, "record", "the entry that it has noted as the newest is gone"},
    {Problem::tail_other, error, "record",
     "the entry that it has noted as the newest is another one"},
    {Problem::late_sum, error, "record",
     "the entries that were stored late are not those that it has noted"},
    {Problem::entries_unreadable, error, "table fence_oplog_v1", unreadable},
    {Problem::entry_name, error, "entry", bad_name},
    {Problem::entry_index, error, "entry", index_differs},
    {Problem::entry_no_record, error, "entry", "has no record"},
    {Problem::entry_dead, error, "entry", "its key is deleted"},
    {Problem::entry_number, error, "entry", "its idx or epoch cannot be"},
    {Problem::entry_content, error, "entry", "its writer, payload or seal cannot be"},
    {Problem::entry_repeated, error, "entry", "its idx is stored twice"},
    {Problem::entry_trimmed, error, "entry", "it stands where the log was trimmed"},
    {Problem::entry_seal, error, "entry",
     "its seal is broken: it was not stored so by Fence, or not behind what stands before it"},
    {Problem::entry_above_record, error, "entry", "its epoch is above that of the record"},
    {Problem::entry_foreign, error, "entry",
     "it was stored neither by the owner nor through Fence"},
    {Problem::entry_epoch_falls, error, "entry",
     "its epoch is below that of an earlier idx, and it was not stored late"},
    {Problem::entry_epoch_below, info, "entry",
     "its epoch is below that of an earlier idx: a later owner stored there"},
    {Problem::entry_gap, info, "entry", "nothing stands at this idx, and no trim made the gap"},
    {Problem::values_unreadable, error, "table fence_value_v1", unreadable},
    {Problem::value_name, error, "value", bad_name},
    {Problem::value_index, error, "value", index_differs},
    {Problem::value_no_record, error, "value", "has no record"},
    {Problem::value_dead, error, "value", "its key is deleted"},
    {Problem::value_epoch, error, "value", "its epoch cannot be"},
    {Problem::value_content, error, "value", "its writer, value or seal cannot be"},
    {Problem::value_seal, error, "value", seal_broken},
};
static_assert(sizeof rules / sizeof *rules == static_cast<size_t>(Problem::count_),
              "one text for each problem");

constexpr bool in_order() noexcept {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    if (static_cast<size_t>(rules[i].problem) != i) {
      return false;
    }
  }
  return true;
}
static_assert(in_order(), "each at its number");

}  // namespace

void Report::begin(std::string_view ns, std::string_view key) noexcept {
  const auto keep = [this](std::string_view name, size_t at) {
    const bool sound = check_name(name) == NameFault::none;
    return copy_bytes(sound ? name : std::string_view(), names_ + at);
  };
  ns_ = keep(ns, 0);
  key_ = keep(key, longest_name);
  for (bool& found : found_) {
    found = false;
  }
  taken_ = 0;
}

void Report::add(Problem problem, const Maybe<int64_t>& idx) noexcept {
  const auto number = static_cast<size_t>(problem);
  if (!found_[number]) {
    found_[number] = true;
    idx_[number] = idx;
  }
}

bool Report::take(Finding* finding) noexcept {
  while (taken_ < problem_count && !found_[taken_]) {
    ++taken_;
  }
  if (taken_ == problem_count) {
    return false;
  }
  const ProblemRule& rule = rules[taken_];
  finding->severity = rule.severity;
  finding->object = rule.object;
  finding->problem = rule.text;
  finding->ns = ns_;
  finding->key = key_;
  finding->idx = idx_[taken_++];
  return true;
}

}  // namespace fence
