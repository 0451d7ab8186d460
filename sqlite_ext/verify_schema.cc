#include "sqlite_ext/verify_schema.h"

#include "sqlite_ext/bytes.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/install.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

constexpr const char* missing = "is missing";
constexpr const char* changed = "is not as fence_install makes it";
constexpr const char* foreign = "is not Fence's own";
constexpr const char* hides = "hides what Fence has under that name";
constexpr const char* misplaced =
    "stands before Fence's triggers: SELECT fence_install() puts it where it belongs";

constexpr const char* marker_row =
    "SELECT 'table', 'fence', 'fence', 'CREATE VIRTUAL TABLE fence USING fence'";

// Names on the connection that a table of the same name would hide.
constexpr const char* modules[] = {"fenced_append",    "oplog_read",       "oplog_keys",
                                   "fence_verify",     "fence_refusals",   "fence_stat",
                                   "fence_statements", "fence_transaction"};

bool same_name(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() &&
         (left.empty() ||
          sqlite3_strnicmp(left.data(), right.data(), static_cast<int>(left.size())) == 0);
}

std::string_view text_of(sqlite3_value* value) noexcept {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// Names in a schema have any length; a letter is not cut in two.
std::string_view shortened(std::string_view name) noexcept {
  constexpr size_t most = 100;
  size_t size = name.size() < most ? name.size() : most;
  while (size > 0 && size < name.size() && (name[size] & 0xc0) == 0x80) {
    --size;
  }
  return beginning_of(name, size);
}

// A row of a schema table; what is not text is empty.
struct SchemaRow {
  std::string_view type;
  std::string_view name;
  std::string_view table;
  std::string_view sql;

  explicit SchemaRow(sqlite3_stmt* row) noexcept {
    read_text(row, 0, &type);
    read_text(row, 1, &name);
    read_text(row, 2, &table);
    read_text(row, 3, &sql);
  }
};

}  // namespace

SchemaCheck::~SchemaCheck() {
  for (int i = 0; i < count_; ++i) {
    for (sqlite3_value* column : expected_[i].columns) {
      sqlite3_value_free(column);
    }
  }
}

bool SchemaCheck::take_model(sqlite3* model, Failure* failure) noexcept {
  const char* const queries[] = {"SELECT type, name, tbl_name, sql FROM sqlite_master", marker_row};
  for (const char* query : queries) {
    sqlite3_stmt* rows = nullptr;
    int rc = sqlite3_prepare_v2(model, query, -1, &rows, nullptr);
    while (rc == SQLITE_OK && (rc = sqlite3_step(rows)) == SQLITE_ROW && count_ < most_expected) {
      rc = SQLITE_OK;
      Expected& one = expected_[count_++];
      for (int column = 0; column < 4; ++column) {
        one.columns[column] = sqlite3_value_dup(sqlite3_column_value(rows, column));
        rc = one.columns[column] == nullptr ? SQLITE_NOMEM : rc;
      }
    }
    sqlite3_finalize(rows);
    if (rc != SQLITE_DONE) {
      failure->out_of_memory();
      return false;
    }
  }
  return true;
}

bool SchemaCheck::start(Connection* connection, Failure* failure) noexcept {
  connection_ = connection;
  sqlite3* model = nullptr;
  int rc =
      sqlite3_open_v2(":memory:", &model,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  for (const char* script : {scripts::tables, scripts::triggers, scripts::views}) {
    rc = rc == SQLITE_OK ? sqlite3_exec(model, script, nullptr, nullptr, nullptr) : rc;
  }
  bool taken = false;
  if (rc != SQLITE_OK) {
    failure->pass_on(model, rc);
  } else {
    taken = take_model(model, failure);
  }
  sqlite3_close(model);
  return taken &&
         begin_phase(Phase::of_main,
                     "SELECT type, name, tbl_name, sql, rowid FROM main.sqlite_master", failure);
}

bool SchemaCheck::begin_phase(Phase phase, const char* sql, Failure* failure) noexcept {
  phase_ = phase;
  if (!rows_.start(connection_, sql, {}, failure)) {
    return false;
  }
  if (!rows_.readable()) {
    failure->pass_on(connection_->db, sqlite3_extended_errcode(connection_->db));
  }
  return rows_.readable();
}

VerifyStep SchemaCheck::next(Finding* finding, Failure* failure) noexcept {
  *finding = Finding();
  if (phase_ == Phase::of_main) {
    const VerifyStep step = next_row(false, finding, failure);
    if (step != VerifyStep::done) {
      return step;
    }
    if (!installed()) {
      phase_ = Phase::done;
      return VerifyStep::done;
    }
    if (!begin_phase(Phase::of_temp, "SELECT type, name, tbl_name, sql FROM sqlite_temp_master",
                     failure)) {
      return VerifyStep::failed;
    }
  }
  if (phase_ == Phase::of_temp) {
    const VerifyStep step = next_row(true, finding, failure);
    if (step != VerifyStep::done) {
      return step;
    }
    phase_ = Phase::missing;
  }
  if (phase_ == Phase::missing) {
    if (next_missing(finding)) {
      return VerifyStep::found;
    }
    phase_ = Phase::marker;
  }
  const bool found = phase_ == Phase::marker && marker_misplaced(finding);
  phase_ = Phase::done;
  return found ? VerifyStep::found : VerifyStep::done;
}

VerifyStep SchemaCheck::next_row(bool temporary, Finding* finding, Failure* failure) noexcept {
  bool found = false;
  while (!found && rows_.at_row()) {
    found = temporary ? judge_temp(finding) : judge_main(finding);
    if (!rows_.advance(failure)) {
      return VerifyStep::failed;
    }
  }
  return found ? VerifyStep::found : VerifyStep::done;
}

SchemaCheck::Expected* SchemaCheck::find(std::string_view type, std::string_view name) noexcept {
  for (int i = 0; i < count_; ++i) {
    if (text_of(expected_[i].columns[0]) == type &&
        same_name(text_of(expected_[i].columns[1]), name)) {
      return &expected_[i];
    }
  }
  return nullptr;
}

bool SchemaCheck::is_table(std::string_view name) const noexcept {
  for (int i = 0; i < count_; ++i) {
    if (same_name(text_of(expected_[i].columns[2]), name)) {
      return true;
    }
  }
  return false;
}

bool SchemaCheck::is_taken_name(std::string_view name) const noexcept {
  for (const char* module : modules) {
    if (same_name(module, name)) {
      return true;
    }
  }
  return is_table(name);
}

bool SchemaCheck::judge_main(Finding* finding) noexcept {
  const SchemaRow row(rows_.row());
  const int64_t at = sqlite3_column_int64(rows_.row(), 4);
  Expected* expected = find(row.type, row.name);
  if (expected != nullptr) {
    met_ += expected->met ? 0 : 1;
    expected->met = true;
    marker_at_ = row.name == "fence" ? at : marker_at_;
    last_trigger_at_ = row.type == "trigger" && at > last_trigger_at_ ? at : last_trigger_at_;
    const bool same = text_of(expected->columns[1]) == row.name &&
                      text_of(expected->columns[2]) == row.table &&
                      text_of(expected->columns[3]) == row.sql;
    if (!same) {
      describe("error", row.type, "", row.name, row.table, changed, finding);
    }
    return !same;
  }
  const bool is_relation = row.type == "table" || row.type == "view";
  if (is_relation ? !is_taken_name(row.name) : !is_table(row.table)) {
    return false;
  }
  // An index of the application may well stand there.
  const char* severity = row.type == "index" ? "info" : "error";
  describe(severity, row.type, "", row.name, row.table, is_relation ? hides : foreign, finding);
  return true;
}

bool SchemaCheck::judge_temp(Finding* finding) noexcept {
  const SchemaRow row(rows_.row());
  if (row.type == "trigger") {
    if (!is_table(row.table)) {
      return false;
    }
    describe("error", row.type, "temp.", row.name, row.table, foreign, finding);
    return true;
  }
  const bool own = row.sql == "CREATE VIRTUAL TABLE fence_transaction USING fence_transaction";
  if (row.type == "index" || own || !is_taken_name(row.name)) {
    return false;
  }
  describe("error", row.type, "temp.", row.name, row.table, hides, finding);
  return true;
}

bool SchemaCheck::next_missing(Finding* finding) noexcept {
  for (; missing_at_ < count_; ++missing_at_) {
    const Expected& one = expected_[missing_at_];
    if (!one.met) {
      describe("error", text_of(one.columns[0]), "", text_of(one.columns[1]),
               text_of(one.columns[2]), missing, finding);
      ++missing_at_;
      return true;
    }
  }
  return false;
}

bool SchemaCheck::marker_misplaced(Finding* finding) noexcept {
  if (marker_at_ == 0 || marker_at_ > last_trigger_at_) {
    return false;
  }
  describe("info", "table", "", "fence", "fence", misplaced, finding);
  return true;
}

// "trigger fence_oplog_insert on fence_oplog_v1", "view temp.oplog_status"
void SchemaCheck::describe(const char* severity, std::string_view type, const char* schema,
                           std::string_view name, std::string_view table, const char* problem,
                           Finding* finding) noexcept {
  TextSink sink(object_, sizeof object_);
  sink.put(type);
  sink.put(' ');
  sink.put(schema);
  sink.put(shortened(name));
  if (type == "trigger" || type == "index") {
    sink.put(" on ");
    sink.put(shortened(table));
  }
  finding->severity = severity;
  finding->object = object_;
  finding->problem = problem;
}

}  // namespace fence
