#include "sqlite_ext/guard.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace reasons {
const Reason direct_write = {Code::not_asserted, "Fence's own tables take no direct write",
                             "use fenced_append and oplog_metadata_upsert"};
const Reason write_suppressed = {
    Code::guard_broken,
    "the write did not arrive, or no trigger checked it: a trigger of Fence is "
    "missing, disabled or overruled",
    "find out who changes triggers on Fence's tables"};
const Reason write_refused = {
    Code::guard_broken,
    "Fence's own statement was refused: its tables, triggers or guard function were replaced, or "
    "this connection forbids what they need by an authorizer or a limit",
    "try it on a new connection without such; if it is refused there, too, find out who changed "
    "them"};
}  // namespace reasons

bool Ticket::disarm() noexcept {
  const bool used = row_ == nullptr;
  row_ = nullptr;
  return used;
}

bool Ticket::admit(int count, sqlite3_value** values) noexcept {
  if (row_ == nullptr || count != row_->count + 1 ||
      !same_value(values[0], text_field(row_->kind))) {
    return false;
  }
  for (int i = 0; i < row_->count; ++i) {
    if (!same_value(values[i + 1], row_->fields[i])) {
      return false;
    }
  }
  row_ = nullptr;
  return true;
}

namespace {

void guard(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  auto* connection = static_cast<Connection*>(sqlite3_user_data(context));
  if (connection->ticket.admit(count, values)) {
    sqlite3_result_int(context, 1);
    return;
  }
  Failure failure;
  failure.refuse(reasons::direct_write);
  failure.raise(context);
}

// Errors of the storage or of the moment keep their own meaning; what is left
// comes from somebody who stands between Fence and its tables.
bool is_environment(int rc) noexcept {
  switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_INTERRUPT:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_TOOBIG:
    case SQLITE_NOTADB:
      return true;
    default:
      return false;
  }
}

}  // namespace

int register_guard(Connection* connection) noexcept {
  // One more than the columns that are passed: see sql/sqlite/triggers.sql.
  constexpr int arities[] = {1, 3, 4, 5, 7, 8, 9, 14};
  const int flags = SQLITE_UTF8 | (layer(Layer::innocuous) ? SQLITE_INNOCUOUS : 0);
  for (const int arity : arities) {
    ++connection->references;
    const int rc =
        sqlite3_create_function_v2(connection->db, "fence_guard_v1", arity, flags, connection,
                                   guard, nullptr, nullptr, release_connection);
    if (rc != SQLITE_OK) {
      return rc;
    }
  }
  return SQLITE_OK;
}

bool write_row(Connection* connection, Sql sql, const Row& row, Failure* failure) noexcept {
  Use use(connection, sql);
  bool checked = false;
  if (use.ready()) {
    for (int i = 0; i < row.count; ++i) {
      const int rc = bind_field(use.get(), i + 1, row.fields[i]);
      if (rc != SQLITE_OK) {
        failure->pass_on(connection->db, rc);
        return false;
      }
    }
    connection->ticket.arm(&row);
    use.run();
    checked = connection->ticket.disarm();
  }
  if (use.rc() != SQLITE_OK && is_environment(use.rc())) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  if (use.rc() != SQLITE_OK) {
    failure->refuse(reasons::write_refused);
    return false;
  }
  const bool arrived = sqlite3_changes(connection->db) == 1;
  if (layer(Layer::self_check) && !(arrived && (checked || !layer(Layer::guard)))) {
    failure->refuse(reasons::write_suppressed);
    return false;
  }
  return true;
}

}  // namespace fence
