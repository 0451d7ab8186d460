#include "sqlite_ext/verify_key.h"

#include "core/name.h"
#include "core/number.h"
#include "sqlite_ext/stored_row.h"
#include "sqlite_ext/verify_walk.h"

namespace fence {

namespace {

// Nobody's where there is no epoch, somebody's where there is one.
bool writer_fits(int64_t epoch, const WriterHash& writer) noexcept {
  return is_nobody(writer) == (epoch == unfenced_epoch);
}

bool read_mark(sqlite3_stmt* row, int column, int64_t* mark) noexcept {
  return read_integer(row, column, mark) && *mark >= -1;
}

bool is_null(sqlite3_stmt* row, int column) noexcept {
  return sqlite3_column_type(row, column) == SQLITE_NULL;
}

}  // namespace

void KeyCheck::begin(std::string_view ns, std::string_view key, Report* report) noexcept {
  report_ = report;
  report_->begin(ns, key);
  life_ = context_.records_read ? Life::none : Life::unknown;
  record_met_ = false;
  record_ = StoredRecord();
  previous_seal_known_ = false;
  previous_seal_ = Seal{};
  late_sum_ = Seal{};
  late_sum_known_ = true;
  tail_met_ = false;
  last_idx_ = {};
  gap_begins_ = {};
  highest_epoch_ = -1;
  highest_in_chain_ = -1;
}

// False: the row says nothing that could be compared with the other rows of the key.
bool KeyCheck::take_names(sqlite3_stmt* row, Problem bad_name, Problem index_differs,
                          const Maybe<int64_t>& idx) noexcept {
  std::string_view ns;
  std::string_view key;
  if (!read_text(row, walk_namespace, &ns) || !read_text(row, walk_key, &key) ||
      check_name(ns) != NameFault::none || check_name(key) != NameFault::none) {
    report_->add(bad_name, idx);
    return false;
  }
  if (!read_text(row, walk_table_namespace, &ns_) || !read_text(row, walk_table_key, &key_)) {
    report_->add(index_differs, idx);
    return false;
  }
  if (ns_ != ns || key_ != key) {
    report_->add(index_differs, idx);
  }
  return true;
}

bool KeyCheck::read_record(sqlite3_stmt* row, StoredRecord* record, Seal* seal) noexcept {
  const bool epoch = read_mark(row, record_epoch_column, &record->epoch);
  const bool writer = read_16_bytes(row, record_writer_column, record->writer.bytes);
  if (!epoch || (writer && record->epoch == unfenced_epoch && !is_nobody(record->writer))) {
    report_->add(Problem::record_epoch);
  }
  if (!writer) {
    report_->add(Problem::record_writer);
  }
  bool marks = read_mark(row, record_tail_column, &record->tail) &&
               read_16_bytes(row, record_tail_seal_column, record->tail_seal.bytes) &&
               read_mark(row, record_trimmed_column, &record->trimmed) &&
               read_16_bytes(row, record_trim_seal_column, record->trim_seal.bytes) &&
               read_16_bytes(row, record_late_sum_column, record->late_sum.bytes) &&
               read_mark(row, record_reset_last_column, &record->reset_last);
  if (!is_null(row, record_deleted_at_column)) {
    int64_t at = 0;
    marks = read_integer(row, record_deleted_at_column, &at) && marks;
    record->deleted_at = at;
  }
  if (!is_null(row, record_published_column)) {
    Seal mark{};
    marks = read_16_bytes(row, record_published_column, mark.bytes) && marks;
    record->published = mark;
  }
  if (!marks) {
    report_->add(Problem::record_mark);
  }
  if (!read_16_bytes(row, record_seal_column, seal->bytes)) {
    report_->add(Problem::record_seal);
    return false;
  }
  return epoch && writer && marks;
}

void KeyCheck::take_record(sqlite3_stmt* row) noexcept {
  if (record_met_) {
    report_->add(Problem::record_repeated);
    return;
  }
  record_met_ = true;
  life_ = Life::unknown;
  if (!take_names(row, Problem::record_name, Problem::record_index)) {
    return;
  }
  Seal seal{};
  if (!read_record(row, &record_, &seal)) {
    record_ = StoredRecord();
    return;
  }
  if (context_.seals_known && seal != seal_record(context_.seal_key, ns_, key_, record_)) {
    report_->add(Problem::record_seal);
  }
  life_ = record_.deleted_at.known ? Life::deleted : Life::lives;
  previous_seal_known_ = true;
  previous_seal_ = record_.trim_seal;
  if (record_.trimmed >= 0 && record_.trimmed < greatest_number) {
    gap_begins_ = record_.trimmed + 1;
  }
}

// Reads as much as there is to read; false: not all of it.
bool KeyCheck::read_entry(sqlite3_stmt* row, Entry* entry, Seal* seal) noexcept {
  const bool number = read_integer(row, entry_idx_column, &entry->idx) && entry->idx >= 0 &&
                      read_mark(row, entry_epoch_column, &entry->epoch);
  if (!number) {
    report_->add(Problem::entry_number, sqlite3_column_type(row, entry_idx_column) == SQLITE_INTEGER
                                            ? Maybe<int64_t>(entry->idx)
                                            : Maybe<int64_t>());
  }
  int64_t late = 0;
  const bool links = read_integer(row, entry_late_column, &late) && (late == 0 || late == 1) &&
                     read_16_bytes(row, entry_seal_column, seal->bytes);
  entry->late = late != 0;
  const bool content = links && read_16_bytes(row, entry_writer_column, entry->writer.bytes) &&
                       read_blob(row, entry_payload_column, &entry->payload) &&
                       (!number || writer_fits(entry->epoch, entry->writer));
  if (!content && number) {
    report_->add(Problem::entry_content, entry->idx);
  }
  if (number && content) {
    return true;
  }
  // What follows is compared with the seal that is there, if there is one.
  if (!links || entry->late) {
    previous_seal_known_ = previous_seal_known_ && links;
    late_sum_known_ = false;
  } else {
    previous_seal_ = *seal;
    previous_seal_known_ = true;
  }
  return false;
}

void KeyCheck::take_entry(sqlite3_stmt* row) noexcept {
  int64_t indexed = 0;
  const Maybe<int64_t> indexed_idx = read_integer(row, entry_indexed_idx_column, &indexed)
                                         ? Maybe<int64_t>(indexed)
                                         : Maybe<int64_t>();
  if (!take_names(row, Problem::entry_name, Problem::entry_index, indexed_idx)) {
    previous_seal_known_ = false;
    late_sum_known_ = false;
    return;
  }
  Entry entry;
  Seal seal{};
  const bool sound = read_entry(row, &entry, &seal);
  const Maybe<int64_t> idx = sound ? Maybe<int64_t>(entry.idx) : Maybe<int64_t>();
  if (life_ == Life::none) {
    report_->add(Problem::entry_no_record, idx);
  }
  if (life_ == Life::deleted) {
    report_->add(Problem::entry_dead, idx);
    return;
  }
  if (!sound) {
    return;
  }
  if (!indexed_idx.known || indexed != entry.idx) {
    report_->add(Problem::entry_index, idx);
  }
  if (life_ == Life::lives && entry.idx <= record_.trimmed) {
    report_->add(Problem::entry_trimmed, idx);
    return;
  }
  check_entry_seal(entry, seal);
  check_entry_order(entry);
  // Up to where the log ended when its epoch was last lowered, every epoch may stand.
  if (life_ == Life::lives && entry.epoch != unfenced_epoch && entry.idx > record_.reset_last) {
    check_entry_epoch(entry);
    check_entry_owner(entry);
  }
}

// An entry that was taken out shows at the next one, which was sealed behind it.
void KeyCheck::check_entry_seal(const Entry& entry, const Seal& seal) noexcept {
  if (life_ == Life::lives && entry.idx == record_.tail) {
    tail_met_ = true;
    if (seal != record_.tail_seal) {
      report_->add(Problem::tail_other, entry.idx);
    }
  }
  if (context_.seals_known && (entry.late || previous_seal_known_) &&
      seal !=
          seal_entry(context_.seal_key, entry.late ? Seal{} : previous_seal_, ns_, key_, entry)) {
    report_->add(Problem::entry_seal, entry.idx);
  }
  if (entry.late) {
    late_sum_ = add_seals(late_sum_, seal);
  } else {
    previous_seal_ = seal;
    previous_seal_known_ = true;
  }
}

void KeyCheck::check_entry_order(const Entry& entry) noexcept {
  if (last_idx_.known && entry.idx == last_idx_.value) {
    report_->add(Problem::entry_repeated, entry.idx);
  }
  if (gap_begins_.known && entry.idx > gap_begins_.value) {
    report_->add(Problem::entry_gap, gap_begins_.value);
  }
  last_idx_ = entry.idx;
  gap_begins_ = entry.idx < greatest_number ? Maybe<int64_t>(entry.idx + 1) : Maybe<int64_t>();
}

void KeyCheck::check_entry_epoch(const Entry& entry) noexcept {
  if (!entry.late && entry.epoch < highest_in_chain_) {
    report_->add(Problem::entry_epoch_falls, entry.idx);
  } else if (entry.epoch < highest_epoch_) {
    report_->add(Problem::entry_epoch_below, entry.idx);
  }
  if (!entry.late && entry.epoch > highest_in_chain_) {
    highest_in_chain_ = entry.epoch;
  }
  if (entry.epoch > highest_epoch_) {
    highest_epoch_ = entry.epoch;
  }
}

void KeyCheck::check_entry_owner(const Entry& entry) noexcept {
  if (entry.epoch > record_.epoch) {
    report_->add(Problem::entry_above_record, entry.idx);
    return;
  }
  // A claim notes the newest entry: what came behind it later is the owner's. And of one
  // epoch there is one writer.
  const bool owners = entry.epoch == record_.epoch && entry.writer == record_.writer;
  if (!owners &&
      (entry.idx > record_.tail || (entry.epoch == record_.epoch && !is_nobody(record_.writer)))) {
    report_->add(Problem::entry_foreign, entry.idx);
  }
}

void KeyCheck::take_value(sqlite3_stmt* row) noexcept {
  if (!take_names(row, Problem::value_name, Problem::value_index)) {
    return;
  }
  if (life_ == Life::none) {
    report_->add(Problem::value_no_record);
  }
  if (life_ == Life::deleted) {
    report_->add(Problem::value_dead);
    return;
  }
  std::string_view name;
  std::string_view indexed;
  if (!read_text(row, value_name_column, &name) || check_name(name) != NameFault::none) {
    report_->add(Problem::value_name);
    return;
  }
  if (!read_text(row, value_indexed_name_column, &indexed) || indexed != name) {
    report_->add(Problem::value_index);
  }
  StoredValue value;
  Seal seal{};
  if (!read_mark(row, value_epoch_column, &value.epoch)) {
    report_->add(Problem::value_epoch);
    return;
  }
  if (!read_16_bytes(row, value_writer_column, value.writer.bytes) ||
      !writer_fits(value.epoch, value.writer) ||
      !read_blob(row, value_value_column, &value.value) ||
      !read_16_bytes(row, value_seal_column, seal.bytes)) {
    report_->add(Problem::value_content);
    return;
  }
  if (context_.seals_known && seal != seal_value(context_.seal_key, ns_, key_, name, value)) {
    report_->add(Problem::value_seal);
  }
}

void KeyCheck::finish() noexcept {
  if (life_ != Life::lives || !context_.entries_read) {
    return;
  }
  if (record_.tail > record_.trimmed && !tail_met_) {
    const bool ends_before = !last_idx_.known || last_idx_.value < record_.tail;
    report_->add(ends_before ? Problem::tail_short : Problem::tail_gone, record_.tail);
  }
  if (late_sum_known_ && late_sum_ != record_.late_sum) {
    report_->add(Problem::late_sum);
  }
}

}  // namespace fence
