#include "sqlite_ext/value_store.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

const Reason corrupt_value = {Code::corrupt, "a stored value of the key cannot be",
                              "restore the value from a backup"};
const Reason value_seal_broken = {Code::guard_broken,
                                  "the value was changed by somebody else than Fence",
                                  "find out who writes to the file without the extension"};

// Columns of Sql::read_value.
enum Column : int { col_epoch, col_writer, col_value, col_seal };

void bind_names(const Use& use, const LogName& name, std::string_view value_name) noexcept {
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
    bind_field(use.get(), 3, text_field(value_name));
  }
}

bool write_value(Connection* connection, Sql sql, const LogName& name, std::string_view value_name,
                 const StoredValue& value, const Field& seal, Failure* failure) noexcept {
  Row row;
  row.kind = "value";
  row.add(text_field(name.ns));
  row.add(text_field(name.key));
  row.add(text_field(value_name));
  row.add(integer_field(value.epoch));
  row.add(blob_field(value.writer.bytes, sizeof value.writer.bytes));
  row.add(blob_field(value.value.data(), value.value.size()));
  row.add(seal);
  return write_row(connection, sql, row, failure);
}

}  // namespace

bool read_value(Connection* connection, const LogName& name, const SealKey& seal_key,
                std::string_view value_name, std::string_view wanted, FoundValue* found,
                Failure* failure) noexcept {
  Use use(connection, Sql::read_value);
  bind_names(use, name, value_name);
  if (!use.step()) {
    if (use.rc() != SQLITE_OK) {
      refuse_unreadable(connection, use.rc(), failure);
    }
    return use.rc() == SQLITE_OK;
  }
  StoredValue stored;
  Seal seal{};
  if (!read_integer(use.get(), col_epoch, &stored.epoch) || stored.epoch < unfenced_epoch ||
      !read_16_bytes(use.get(), col_writer, stored.writer.bytes) ||
      !read_blob(use.get(), col_value, &stored.value) ||
      !read_16_bytes(use.get(), col_seal, seal.bytes)) {
    failure->refuse(corrupt_value);
    return false;
  }
  if (layer(Layer::record_seal) &&
      seal != seal_value(seal_key, name.ns, name.key, value_name, stored)) {
    failure->refuse(value_seal_broken);
    return false;
  }
  *found = {true, stored.epoch, stored.value == wanted};
  return true;
}

bool store_value(Connection* connection, const LogName& name, const SealKey& seal_key,
                 std::string_view value_name, const StoredValue& value, bool taken,
                 Failure* failure) noexcept {
  const Seal seal = seal_value(seal_key, name.ns, name.key, value_name, value);
  return write_value(connection, taken ? Sql::update_value : Sql::insert_value, name, value_name,
                     value, blob_field(seal.bytes, sizeof seal.bytes), failure);
}

bool remove_value(Connection* connection, const LogName& name, const Claimant& owner,
                  std::string_view value_name, Failure* failure) noexcept {
  StoredValue going;
  going.epoch = owner.epoch;
  going.writer = owner.writer;
  return write_value(connection, Sql::update_value, name, value_name, going, blob_field("", 0),
                     failure) &&
         delete_value_row(connection, name, value_name, failure);
}

bool delete_value_row(Connection* connection, const LogName& name, std::string_view value_name,
                      Failure* failure) noexcept {
  Row row;
  row.kind = "value gone";
  row.add(text_field(name.ns));
  row.add(text_field(name.key));
  row.add(text_field(value_name));
  return write_row(connection, Sql::delete_value, row, failure);
}

}  // namespace fence
