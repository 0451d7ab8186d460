#include "sqlite_ext/connection.h"

#include "core/layer.h"

namespace fence {

namespace reasons {
const Reason nested_call = {Code::configuration, "this call runs inside another call of Fence",
                            "do not call Fence from triggers, hooks or functions that its own "
                            "statements run"};
}  // namespace reasons

void release_connection(void* connection) noexcept {
  auto* released = static_cast<Connection*>(connection);
  if (--released->references == 0) {
    released->~Connection();
    sqlite3_free(released);
  }
}

CallScope::CallScope(Connection* connection, Failure* failure) noexcept
    : connection_(connection),
      entered_(!connection->in_call),
      last_rowid_(sqlite3_last_insert_rowid(connection->db)) {
  if (entered_) {
    connection->in_call = true;
  } else {
    failure->refuse(reasons::nested_call);
  }
}

CallScope::~CallScope() {
  if (entered_) {
    connection_->in_call = false;
    sqlite3_set_last_insert_rowid(connection_->db, last_rowid_);
  }
}

}  // namespace fence
