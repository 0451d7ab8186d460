#include "sqlite_ext/failure.h"

#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace reasons {
const Reason no_answer = {
    Code::configuration, "a statement of Fence's own was not run or gave no answer",
    "let the application's authorizer allow what Fence does, and call no table fence_statements"};
}  // namespace reasons

namespace {

// Refusals of ownership are SQLITE_AUTH: frameworks read SQLITE_CONSTRAINT as
// "a duplicate" and swallow it. Never SQLITE_CORRUPT: SQLite itself would make
// the connection read-only until the transaction ends.
int result_code(Code code) noexcept {
  if (rule_of(code).dooms || code == Code::not_asserted || code == Code::transaction_refused) {
    return SQLITE_AUTH;
  }
  return code == Code::index_conflict ? SQLITE_CONSTRAINT_FUNCTION : SQLITE_ERROR;
}

void count(Connection* connection, Code code) noexcept {
  // Inside a call it is the guard's, and becomes the ZF020 of that call.
  if (code != Code::not_asserted || !connection->in_call) {
    connection->evidence.count(code);
  }
}

}  // namespace

void Failure::refuse(const Refusal& refusal) noexcept {
  refusal_ = refusal;
  code_ = refusal.code();
  rc_ = result_code(code_);
  TextSink sink(message_, sizeof message_);
  render_message(refusal_, &sink);
}

void Failure::refuse(const Reason& reason, int64_t number) noexcept {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.number = number;
  refuse(refusal);
}

void Failure::refuse_doomed(const Refusal& first) noexcept {
  refusal_ = Refusal();
  code_ = Code::transaction_refused;
  rc_ = result_code(code_);
  TextSink sink(message_, sizeof message_);
  render_doomed_message(first, &sink);
}

void Failure::pass_on(sqlite3* db, int rc) noexcept {
  if (rc == SQLITE_OK || sqlite3_errcode(db) == SQLITE_OK) {
    // An authorizer can make SQLite ignore a statement; for the other case see
    // connect_owner in statements.cc.
    refuse(reasons::no_answer);
    return;
  }
  refusal_ = Refusal();
  code_ = Code::none;
  const int extended = sqlite3_extended_errcode(db);
  rc_ = (extended & 0xff) == (rc & 0xff) ? extended : rc;
  TextSink sink(message_, sizeof message_);
  sink.put(sqlite3_errmsg(db));
  if (rc_ == SQLITE_BUSY_SNAPSHOT) {
    sink.put(
        ": this transaction (or a SELECT that is not finished) reads an old state of the file "
        "and can never write; ROLLBACK (or finish the SELECT), then BEGIN IMMEDIATE");
  }
}

void Failure::out_of_memory() noexcept {
  refusal_ = Refusal();
  code_ = Code::none;
  rc_ = SQLITE_NOMEM;
  TextSink sink(message_, sizeof message_);
  sink.put("out of memory");
}

void Failure::name_key(std::string_view ns, std::string_view key) noexcept {
  if (!refusal_.refused()) {
    return;
  }
  Refusal named = refusal_;
  named.ns = ns;
  named.key = key;
  refuse(named);
}

void Failure::raise(sqlite3_context* context) const noexcept {
  count(static_cast<Connection*>(sqlite3_user_data(context)), code_);
  // The text first: setting it resets the code.
  sqlite3_result_error(context, message_, -1);
  sqlite3_result_error_code(context, rc_);
}

int Failure::raise(sqlite3_vtab* table) const noexcept {
  count(connection_of(table), code_);
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", message_);
  return rc_;
}

}  // namespace fence
