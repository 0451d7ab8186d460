// Are the tables, triggers, indexes and views in the file those that fence_install makes?
#ifndef FENCE_SQLITE_EXT_VERIFY_SCHEMA_H
#define FENCE_SQLITE_EXT_VERIFY_SCHEMA_H

#include "sqlite_ext/verify_walk.h"

namespace fence {

class SchemaCheck {
 public:
  SchemaCheck() = default;
  ~SchemaCheck();
  SchemaCheck(const SchemaCheck&) = delete;
  SchemaCheck& operator=(const SchemaCheck&) = delete;

  // Runs Fence's own scripts in a database of its own, and begins to compare.
  bool start(Connection* connection, Failure* failure) noexcept;
  // The next difference.
  VerifyStep next(Finding* finding, Failure* failure) noexcept;
  // Once it is done: is there anything of Fence in the file?
  bool installed() const noexcept { return met_ > 0; }

 private:
  enum class Phase : unsigned char { of_main, of_temp, missing, marker, done };
  // An object as it should be.
  struct Expected {
    sqlite3_value* columns[4] = {};  // type, name, tbl_name, sql
    bool met = false;
  };
  static constexpr int most_expected = 64;

  bool take_model(sqlite3* model, Failure* failure) noexcept;
  bool begin_phase(Phase phase, const char* sql, Failure* failure) noexcept;
  VerifyStep next_row(bool temporary, Finding* finding, Failure* failure) noexcept;
  bool judge_main(Finding* finding) noexcept;
  bool judge_temp(Finding* finding) noexcept;
  bool next_missing(Finding* finding) noexcept;
  bool marker_misplaced(Finding* finding) noexcept;

  Expected* find(std::string_view type, std::string_view name) noexcept;
  bool is_table(std::string_view name) const noexcept;
  bool is_taken_name(std::string_view name) const noexcept;
  void describe(const char* severity, std::string_view type, const char* schema,
                std::string_view name, std::string_view table, const char* problem,
                Finding* finding) noexcept;

  Connection* connection_ = nullptr;
  Walk rows_;
  Expected expected_[most_expected];
  int count_ = 0;
  int met_ = 0;
  Phase phase_ = Phase::done;
  int missing_at_ = 0;
  int64_t marker_at_ = 0;
  int64_t last_trigger_at_ = 0;
  char object_[256] = {0};
};

}  // namespace fence

#endif
