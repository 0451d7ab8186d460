#include "sqlite_ext/content.h"

#include "core/number.h"
#include "sqlite_ext/clock.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"
#include "sqlite_ext/value_store.h"

namespace fence {

namespace {

bool remove_entry(Connection* connection, const LogName& name, int64_t idx,
                  Failure* failure) noexcept {
  Row row;
  row.kind = "entry gone";
  row.add(text_field(name.ns));
  row.add(text_field(name.key));
  row.add(integer_field(idx));
  return write_row(connection, Sql::delete_entry, row, failure);
}

void bind_key(const Use& use, const LogName& name) noexcept {
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
  }
}

// Whether a walk over rows came to its end.
bool walked(Connection* connection, const Use& use, Failure* failure) noexcept {
  if (use.rc() != SQLITE_OK) {
    refuse_unreadable(connection, use.rc(), failure);
  }
  return use.rc() == SQLITE_OK;
}

bool remove_values(Connection* connection, const LogName& name, Failure* failure) noexcept {
  Use use(connection, Sql::value_names);
  bind_key(use, name);
  while (use.step()) {
    std::string_view value_name;
    if (!read_text(use.get(), 0, &value_name)) {
      failure->refuse(reasons::corrupt_record);
      return false;
    }
    if (!delete_value_row(connection, name, value_name, failure)) {
      return false;
    }
  }
  return walked(connection, use, failure);
}

}  // namespace

bool remove_entries(Connection* connection, const LogName& name, int64_t through, int64_t* removed,
                    Failure* failure) noexcept {
  *removed = 0;
  // Deleting a row that a walk has passed does not disturb it.
  Use use(connection, Sql::idxs);
  bind_key(use, name);
  if (use.ready()) {
    bind_field(use.get(), 3, integer_field(through));
  }
  for (; use.step(); ++*removed) {
    int64_t idx = 0;
    if (!read_integer(use.get(), 0, &idx)) {
      failure->refuse(reasons::corrupt_entry);
      return false;
    }
    if (!remove_entry(connection, name, idx, failure)) {
      return false;
    }
  }
  return walked(connection, use, failure);
}

bool end_life(Connection* connection, const LogName& name, const Maybe<Seal>& published,
              LogState* log, int64_t* removed, Failure* failure) noexcept {
  const WriterHash deleter = log->record.writer;
  begin_life(log);
  log->record.writer = deleter;
  log->record.deleted_at = now_ms();
  log->record.published = published;
  return store_record(connection, name, log, failure) &&
         remove_entries(connection, name, greatest_number, removed, failure) &&
         remove_values(connection, name, failure);
}

}  // namespace fence
