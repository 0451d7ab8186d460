// The guard: a SQL function that the triggers on Fence's tables ask about every
// row. It agrees once, to exactly the row that Fence has armed it for.
#ifndef FENCE_SQLITE_EXT_GUARD_H
#define FENCE_SQLITE_EXT_GUARD_H

#include "sqlite_ext/row.h"
#include "sqlite_ext/statements.h"

namespace fence {

// The permission for one row.
class Ticket {
 public:
  void arm(const Row* row) noexcept { row_ = row; }
  // Returns whether the guard has used it.
  bool disarm() noexcept;
  // Uses the ticket up if the arguments of the guard are its row.
  bool admit(int count, sqlite3_value** values) noexcept;

 private:
  const Row* row_ = nullptr;
};

// fence_guard_v1(kind, column, …), in the arities that the triggers use. The
// name carries a version: a file written for a later guard refuses this build.
int register_guard(Connection* connection) noexcept;

// Writes one row by an insert or update statement whose parameters 1..n are its
// fields, and checks that it arrived: exactly one row changed and the guard was
// asked (else ZF020; the caller undoes the write).
bool write_row(Connection* connection, Sql sql, const Row& row, Failure* failure) noexcept;

namespace reasons {
extern const Reason direct_write;
extern const Reason write_suppressed;
extern const Reason write_refused;
}  // namespace reasons

}  // namespace fence

#endif
