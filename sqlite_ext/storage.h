// Is main a file that can be fenced, and is Fence installed in it?
#ifndef FENCE_SQLITE_EXT_STORAGE_H
#define FENCE_SQLITE_EXT_STORAGE_H

#include "sqlite_ext/failure.h"

namespace fence {

struct Connection;

// The file format that this build writes and reads.
constexpr int64_t file_format = 1;

// Longest name of a journal mode ("truncate"), and room to spare.
struct JournalMode {
  char name[16] = {0};
};

// The journal mode of main.
bool read_journal_mode(Connection* connection, JournalMode* mode, Failure* failure) noexcept;

// Why main cannot be fenced, or nullptr. Locks are Fence's ground: a VFS without
// them, or a journal that a crash does not survive, holds no promise. A database
// in memory is private to its process and is served.
const Reason* storage_fault(Connection* connection, const JournalMode& mode) noexcept;

// ZF012 with that reason.
bool check_storage(Connection* connection, Failure* failure) noexcept;

// Is main's text stored as UTF-8? Else it is UTF-16.
bool is_utf8_file(Connection* connection, bool* utf8, Failure* failure) noexcept;

enum class Installed : unsigned char { no, yes, partly };

// Which of Fence's tables main has. False: failed.
bool find_installed(Connection* connection, Installed* installed, Failure* failure) noexcept;

// Fails a call that could not read Fence's tables (rc, the connection's last
// error): ZF012 where Fence is not installed or the application's authorizer
// forbids it, ZF020 where tables are missing, else SQLite's own error.
void refuse_unreadable(Connection* connection, int rc, Failure* failure) noexcept;

// The same for a call that has found no row where Fence always has one.
void refuse_missing_row(Connection* connection, int rc, Failure* failure) noexcept;

// Does the marker table stand behind Fence's triggers? fence_install() mends it.
bool marker_stands(Connection* connection, bool* stands, Failure* failure) noexcept;

// The file format of main, which must have Fence installed.
bool read_format(Connection* connection, int64_t* format, Failure* failure) noexcept;

// Fails with ZF012 where Fence is not installed or the format is not ours.
bool check_installed(Connection* connection, Failure* failure) noexcept;
bool check_format(int64_t format, Failure* failure) noexcept;

namespace reasons {
extern const Reason not_installed;
extern const Reason partly_installed;
extern const Reason other_format;
extern const Reason marker_missing;
}  // namespace reasons

}  // namespace fence

#endif
