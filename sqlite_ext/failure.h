// Why a call of the shim failed: one of Fence's refusals, or an error of SQLite
// that passes through with its own code and text.
#ifndef FENCE_SQLITE_EXT_FAILURE_H
#define FENCE_SQLITE_EXT_FAILURE_H

#include "core/refusal.h"
#include "sqlite_ext/sqlite.h"

namespace fence {

class Failure {
 public:
  // A refusal. Its names must live as long as this object.
  void refuse(const Refusal& refusal) noexcept;
  void refuse(const Reason& reason, int64_t number = 0) noexcept;
  // ZF009: the transaction was doomed by first.
  void refuse_doomed(const Refusal& first) noexcept;
  // The error that db has just reported under the result code rc.
  void pass_on(sqlite3* db, int rc) noexcept;
  void out_of_memory() noexcept;

  // Adds the names of the call to a refusal that was made without them.
  void name_key(std::string_view ns, std::string_view key) noexcept;

  bool failed() const noexcept { return rc_ != SQLITE_OK; }
  bool is_busy() const noexcept { return (rc_ & 0xff) == SQLITE_BUSY; }
  const Refusal& refusal() const noexcept { return refusal_; }
  bool dooms() const noexcept { return refusal_.dooms(); }
  // Of the refusal, ZF009 included; none where it is an error of SQLite.
  Code code() const noexcept { return code_; }
  // The extended result code.
  int rc() const noexcept { return rc_; }
  // The whole text, NUL-terminated.
  const char* message() const noexcept { return message_; }

  // Ends a SQL function of Fence with this failure, and counts it.
  void raise(sqlite3_context* context) const noexcept;
  // The same for a method of one of Fence's virtual tables; returns what it must return.
  int raise(sqlite3_vtab* table) const noexcept;

 private:
  int rc_ = SQLITE_OK;
  Code code_ = Code::none;
  Refusal refusal_;
  char message_[message_capacity] = {0};
};

}  // namespace fence

#endif
