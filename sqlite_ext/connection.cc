#include "sqlite_ext/connection.h"

#include "core/layer.h"
#include "sqlite_ext/authorizer.h"

namespace fence {

namespace reasons {
const Reason nested_call = {Code::configuration, "this call runs inside another call of Fence",
                            "do not call Fence from triggers, hooks or functions that its own "
                            "statements run"};
}  // namespace reasons

void release_connection(void* connection) noexcept {
  auto* released = static_cast<Connection*>(connection);
  if (--released->references == 0) {
    if (released->authorizer) {
      // Not at the end of the connection only: an application can delete functions.
      switch_authorizer(released, false);
    }
    released->~Connection();
    sqlite3_free(released);
  }
}

CallScope::CallScope(Connection* connection, Failure* failure, WhenDoomed when_doomed,
                     Intent intent) noexcept
    : connection_(connection),
      failure_(failure),
      intent_(intent),
      marked_(!connection->in_call),
      limits_(connection->db),
      last_rowid_(sqlite3_last_insert_rowid(connection->db)) {
  if (!marked_) {
    failure->refuse(reasons::nested_call);
    return;
  }
  connection->in_call = true;
  entered_ = when_doomed == WhenDoomed::answered || check_not_doomed(connection, failure);
}

CallScope::~CallScope() {
  if (intent_ == Intent::acts && failure_->dooms()) {
    connection_->evidence.keep(failure_->refusal());
  }
  if (marked_) {
    connection_->in_call = false;
    sqlite3_set_last_insert_rowid(connection_->db, last_rowid_);
  }
}

}  // namespace fence
