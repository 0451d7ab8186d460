#include "sqlite_ext/storage.h"

#include <cstring>

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace reasons {
const Reason not_installed = {Code::configuration, "Fence is not installed in this file",
                              "SELECT fence_install() once, outside a transaction"};
const Reason partly_installed = {
    Code::guard_broken, "some of Fence's tables are missing from this file",
    "restore the file from a backup: what the missing tables held cannot be made up"};
const Reason other_format = {
    Code::configuration, "the file has Fence's format %n, which this build does not know",
    "load the version of Fence that the file was made for, or a newer one"};
const Reason marker_missing = {Code::configuration,
                               "the table fence is missing or stands before Fence's triggers",
                               "SELECT fence_install() puts it where it belongs"};
const Reason no_journal = {Code::configuration,
                           "main has journal_mode OFF, so a refused write could not be undone",
                           "PRAGMA journal_mode = WAL"};
const Reason memory_journal = {Code::configuration,
                               "main has journal_mode MEMORY, so a crash could destroy the file",
                               "PRAGMA journal_mode = WAL, or DELETE where there is no file"};
const Reason no_locks = {Code::configuration, "main was opened without file locks",
                         "open it without nolock=1 and with a VFS that locks"};
const Reason immutable_file = {Code::configuration, "main was opened as immutable",
                               "open it without immutable=1"};
const Reason foreign_authorizer = {Code::configuration,
                                   "the application's authorizer forbids what Fence has to do",
                                   "let the authorizer allow tables whose names begin with fence"};
}  // namespace reasons

namespace {

const char* file_name(sqlite3* db) noexcept { return sqlite3_db_filename(db, "main"); }

bool vfs_has_no_locks(sqlite3* db) noexcept {
  char* name = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_VFSNAME, &name) != SQLITE_OK ||
      name == nullptr) {
    return false;
  }
  const bool found = std::strstr(name, "unix-none") != nullptr;
  sqlite3_free(name);
  return found;
}

}  // namespace

bool read_journal_mode(Connection* connection, JournalMode* mode, Failure* failure) noexcept {
  Use use(connection, Sql::journal_mode);
  const unsigned char* name = use.step() ? sqlite3_column_text(use.get(), 0) : nullptr;
  if (name == nullptr) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  TextSink(mode->name, sizeof mode->name).put(reinterpret_cast<const char*>(name));
  return true;
}

bool is_utf8_file(Connection* connection, bool* utf8, Failure* failure) noexcept {
  Use use(connection, Sql::encoding);
  if (!use.step()) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  *utf8 = sqlite3_stricmp(reinterpret_cast<const char*>(sqlite3_column_text(use.get(), 0)),
                          "UTF-8") == 0;
  return true;
}

const Reason* storage_fault(Connection* connection, const JournalMode& mode) noexcept {
  const char* name = file_name(connection->db);
  if (!layer(Layer::storage_check) || name == nullptr || *name == '\0') {
    return nullptr;
  }
  if (sqlite3_uri_boolean(name, "nolock", 0) != 0 || vfs_has_no_locks(connection->db)) {
    return &reasons::no_locks;
  }
  if (sqlite3_uri_boolean(name, "immutable", 0) != 0) {
    return &reasons::immutable_file;
  }
  if (std::strcmp(mode.name, "off") == 0) {
    return &reasons::no_journal;
  }
  if (std::strcmp(mode.name, "memory") == 0) {
    return &reasons::memory_journal;
  }
  return nullptr;
}

bool check_storage(Connection* connection, Failure* failure) noexcept {
  JournalMode mode;
  if (!read_journal_mode(connection, &mode, failure)) {
    return false;
  }
  const Reason* fault = storage_fault(connection, mode);
  if (fault == nullptr) {
    return true;
  }
  failure->refuse(*fault);
  return false;
}

bool find_installed(Connection* connection, Installed* installed, Failure* failure) noexcept {
  Use use(connection, Sql::installed);
  if (!use.step()) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  // The marker can be made anew, what the six others held cannot.
  const bool any = sqlite3_column_int(use.get(), 0) > 0;
  const bool whole = sqlite3_column_int(use.get(), 1) == 6;
  *installed = whole ? Installed::yes : any ? Installed::partly : Installed::no;
  return true;
}

void refuse_unreadable(Connection* connection, int rc, Failure* failure) noexcept {
  if ((rc & 0xff) == SQLITE_AUTH) {
    failure->refuse(reasons::foreign_authorizer);
    return;
  }
  if ((rc & 0xff) != SQLITE_ERROR) {
    failure->pass_on(connection->db, rc);
    return;
  }
  Installed installed = Installed::no;
  if (find_installed(connection, &installed, failure)) {
    failure->refuse(installed == Installed::no       ? reasons::not_installed
                    : installed == Installed::partly ? reasons::partly_installed
                                                     : reasons::write_refused);
  }
}

void refuse_missing_row(Connection* connection, int rc, Failure* failure) noexcept {
  if (rc == SQLITE_OK) {
    failure->refuse(reasons::partly_installed);
  } else {
    refuse_unreadable(connection, rc, failure);
  }
}

bool check_format(int64_t format, Failure* failure) noexcept {
  if (format == file_format) {
    return true;
  }
  failure->refuse(reasons::other_format, format);
  return false;
}

bool marker_stands(Connection* connection, bool* stands, Failure* failure) noexcept {
  Use use(connection, Sql::marker_stands);
  if (!use.step()) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  *stands = sqlite3_column_int(use.get(), 0) == 1;
  return true;
}

bool read_format(Connection* connection, int64_t* format, Failure* failure) noexcept {
  Use use(connection, Sql::format);
  if (use.step()) {
    *format = sqlite3_column_int64(use.get(), 0);
    return true;
  }
  refuse_missing_row(connection, use.rc(), failure);
  return false;
}

bool check_installed(Connection* connection, Failure* failure) noexcept {
  int64_t format = 0;
  return read_format(connection, &format, failure) && check_format(format, failure);
}

}  // namespace fence
