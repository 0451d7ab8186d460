// fence_anchor(): a number that only rises, for the application to keep outside of the
// file, so that it notices when the whole file goes back in time.
#include "core/number.h"
#include "sqlite_ext/control_store.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/own_transaction.h"

namespace fence {

namespace {

// No file is anchored that often.
const Reason generations_used_up = {Code::corrupt, "the generation of the file cannot rise further",
                                    "it was not Fence that raised it so far: restore the file"};

bool raise_generation(Connection* connection, Control* control, Failure* failure) noexcept {
  if (!read_control(connection, control, failure)) {
    return false;
  }
  if (control->generation == greatest_number) {
    failure->refuse(generations_used_up);
    return false;
  }
  ++control->generation;
  return store_control(connection, *control, true, failure);
}

}  // namespace

void fence_anchor(sqlite3_context* context, int, sqlite3_value**) {
  Connection* connection = connection_of(context);
  Control control;
  Failure failure;
  const CallScope scope(connection, &failure);
  const auto write = [&](WriteProgress*, Failure* refused) {
    return raise_generation(connection, &control, refused);
  };
  if (!scope.entered() || !run_alone(connection, write, &failure)) {
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, control.generation);
}

}  // namespace fence
