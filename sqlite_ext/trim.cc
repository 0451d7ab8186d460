// fenced_drop_prefix: the beginning of a log that nobody needs any more.
#include "core/argument.h"
#include "sqlite_ext/content.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/owner_write.h"
#include "sqlite_ext/storage.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

// What the seals of the entries up to mark were to the record: the chain goes on from
// the last of them that stood in it, and late ones leave the sum.
bool move_seals(Connection* connection, const LogName& name, int64_t mark, StoredRecord* record,
                Failure* failure) noexcept {
  Use use(connection, Sql::trimmed_seals);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
    bind_field(use.get(), 3, integer_field(mark));
  }
  while (use.step()) {
    int64_t late = 0;
    Seal seal{};
    if (!read_integer(use.get(), 0, &late) || !read_16_bytes(use.get(), 1, seal.bytes)) {
      failure->refuse(reasons::corrupt_entry);
      return false;
    }
    if (late != 0) {
      record->late_sum = subtract_seals(record->late_sum, seal);
    } else {
      record->trim_seal = seal;
    }
  }
  if (use.rc() != SQLITE_OK) {
    refuse_unreadable(connection, use.rc(), failure);
  }
  return use.rc() == SQLITE_OK;
}

// The record first: by it the trigger knows which entries may go.
bool trim_locked(Connection* connection, const LogName& name, int64_t through, LogState* log,
                 int64_t* removed, WriteProgress* progress, Failure* failure) noexcept {
  const int64_t mark = trimmed_after(through, log->end);
  if (!log->lives() || mark == log->end.trimmed) {
    return true;
  }
  note_tail(log);
  if (!move_seals(connection, name, mark, &log->record, failure)) {
    return false;
  }
  log->record.trimmed = mark;
  progress->partial = true;
  return store_record(connection, name, log, failure) &&
         remove_entries(connection, name, mark, removed, failure);
}

}  // namespace

void fenced_drop_prefix(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  OwnerCall call;
  int64_t through = 0;
  int64_t removed = 0;
  Failure failure;
  const CallScope scope(connection, &failure);
  const auto write = [&](LogState* log, WriteProgress* progress, Failure* refused) {
    return trim_locked(connection, call.name, through, log, &removed, progress, refused);
  };
  if (!scope.entered() || !read_owner_call(values, &call, &failure) ||
      !read_number(values[4], reasons::bad_through, &through, &failure) ||
      !run_owner_write(connection, call, write, &failure)) {
    failure.name_key(call.name.ns, call.name.key);
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, removed);
}

}  // namespace fence
