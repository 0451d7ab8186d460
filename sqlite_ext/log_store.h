// The ownership record and the entries of one key, as the file holds them. The
// storage of the SQLite shim: it reads and writes, core/ decides in between.
#ifndef FENCE_SQLITE_EXT_LOG_STORE_H
#define FENCE_SQLITE_EXT_LOG_STORE_H

#include "core/append.h"
#include "core/ownership.h"
#include "sqlite_ext/failure.h"
#include "sqlite_ext/namespace_store.h"
#include "sqlite_ext/owner_call.h"
#include "sqlite_ext/seal.h"

namespace fence {

struct Connection;

// Everything that one call needs to know of a key, read in one statement.
struct LogState {
  SealKey seal_key;
  NamespaceRule rule;
  bool stored = false;  // there is a row of the key; else record means nothing
  StoredRecord record;
  LogEnd end;
  Seal last_seal{};  // of the newest entry, or of the last trimmed one, or zeros

  bool lives() const noexcept { return stored && !record.deleted_at.known; }
  Record ownership() const noexcept {
    return stored ? record_of_row(record.epoch, record.writer, record.deleted_at.known) : Record();
  }
};

// Reads a key from the current snapshot and checks what was read: ZF012 without
// Fence's tables and where the namespace's mode does not take the call, ZF019 for
// values that cannot be, ZF020 for a seal that is broken or a noted newest entry
// that is gone, ZF007 for a file that is older than the connection knows.
bool read_log(Connection* connection, const OwnerCall& call, ModeRule rule, LogState* log,
              Failure* failure) noexcept;

// Reads what stands at idx and compares its bytes with payload.
bool read_place(Connection* connection, const LogName& name, int64_t idx, std::string_view payload,
                Place* place, Failure* failure) noexcept;

// Stores an entry at a free place and moves log along; late entries change
// log->record, which must then be stored as well.
bool insert_entry(Connection* connection, const LogName& name, const Claimant& owner, int64_t idx,
                  std::string_view payload, LogState* log, Failure* failure) noexcept;

// Stores log->record, sealed.
bool store_record(Connection* connection, const LogName& name, LogState* log,
                  Failure* failure) noexcept;

// Makes log that of a key without content and owner, whose floor stays.
void begin_life(LogState* log) noexcept;

// Notes the newest entry in log->record, for whoever later asks whether it is still there.
void note_tail(LogState* log) noexcept;

namespace reasons {
extern const Reason corrupt_record;
extern const Reason corrupt_entry;
extern const Reason record_seal_broken;
extern const Reason tail_gone;
}  // namespace reasons

}  // namespace fence

#endif
