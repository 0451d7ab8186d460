#include "sqlite_ext/control_store.h"

#include "core/layer.h"
#include "core/lineage.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace reasons {
const Reason corrupt_control = {Code::corrupt, "what is stored about the file as a whole cannot be",
                                "restore the file from a backup"};
}  // namespace reasons

namespace {

// Columns of Sql::read_control.
enum Column : int { col_id, col_format, col_seal_key, col_generation };

}  // namespace

bool look_at_control(Connection* connection, Control* control, Failure* failure) noexcept {
  Use use(connection, Sql::read_control);
  if (!use.step()) {
    refuse_missing_row(connection, use.rc(), failure);
    return false;
  }
  if (!check_format(sqlite3_column_int64(use.get(), col_format), failure)) {
    return false;
  }
  if (!read_16_bytes(use.get(), col_seal_key, control->seal_key.bytes) ||
      !read_integer(use.get(), col_generation, &control->generation) || control->generation < 0) {
    failure->refuse(reasons::corrupt_control);
    return false;
  }
  return true;
}

bool read_control(Connection* connection, Control* control, Failure* failure) noexcept {
  return look_at_control(connection, control, failure) &&
         check_generation(connection, control->generation, failure);
}

bool check_generation(Connection* connection, int64_t generation, Failure* failure) noexcept {
  const Reason* reason = judge_generation(generation, connection->min_generation);
  if (reason == nullptr || !layer(Layer::generation)) {
    return true;
  }
  failure->refuse(*reason, generation);
  return false;
}

bool store_control(Connection* connection, const Control& control, bool stored,
                   Failure* failure) noexcept {
  Row row;
  row.kind = "control";
  row.add(integer_field(1));
  row.add(integer_field(file_format));
  row.add(blob_field(control.seal_key.bytes, sizeof control.seal_key.bytes));
  row.add(integer_field(control.generation));
  return write_row(connection, stored ? Sql::update_control : Sql::insert_control, row, failure);
}

}  // namespace fence
