// The statements that Fence runs on the user's connection, prepared once.
#ifndef FENCE_SQLITE_EXT_STATEMENTS_H
#define FENCE_SQLITE_EXT_STATEMENTS_H

#include "sqlite_ext/failure.h"
#include "sqlite_ext/sqlite.h"

namespace fence {

struct Connection;

enum class Sql : unsigned char {
  begin,
  commit,
  rollback,
  lock,       // takes main's write lock and changes nothing
  any_write,  // would write, and changes nothing
  enlist,     // puts the TEMP table into the transaction, and opens a statement in
              // it, which tells the table how many savepoints are open
  journal_mode,
  encoding,
  synchronous,
  installed,      // the names of Fence's tables in main
  marker_stands,  // is the marker there, and behind Fence's triggers?
  format,
  read_namespace,  // control row and rule of a namespace
  read_record,     // the same, and record and newest entry of a key
  read_place,      // the entry at one idx
  read_value,
  entry_range,    // first, last and number of the entries of a key
  entries,        // the entries of a key
  trimmed_seals,  // the seals of its entries up to an idx
  idxs,           // their idx
  value_names,    // the names of its values
  purgeable,      // the keys of a namespace deleted before a time, so many at most
  insert_entry,
  delete_entry,
  insert_record,
  update_record,
  delete_record,
  insert_value,
  update_value,
  delete_value,
  insert_namespace,
  update_namespace,
  insert_control,
  read_control,
  update_control,
  read_setting,
  insert_setting,
  update_setting,
  claims,  // the elements of a JSON array of claims
  count_,
};

// A prepared statement that is reset, and its bindings forgotten, at the end of
// the scope. While it exists the authorizer knows that Fence itself is at work.
class Use {
 public:
  Use(Connection* connection, Sql sql) noexcept;
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // False when it could not be prepared; rc() says why.
  bool ready() const noexcept { return statement_ != nullptr; }
  // The extended result code of the last step, or of the preparation.
  int rc() const noexcept { return rc_; }
  sqlite3_stmt* get() const noexcept { return statement_; }

  // Advances; true when there is a row. When there is none, rc() is SQLITE_OK or
  // the error.
  bool step() noexcept;
  // Runs to the end without looking at rows; true when it got there.
  bool run() noexcept;

 private:
  Connection* connection_;
  sqlite3_stmt* statement_ = nullptr;
  int rc_ = SQLITE_OK;
  bool outer_armed_;
};

// Finalizes what is cached. Called when the table that owns the statements goes.
void drop_statements(Connection* connection) noexcept;

// Registers the table that owns the statements: sqlite3_close disconnects it
// before it looks for unfinished statements, so no call to clean up is needed.
int register_statement_owner(Connection* connection) noexcept;

}  // namespace fence

#endif
