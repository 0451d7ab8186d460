// What Fence knows of one database connection. Made when the extension is
// loaded, freed when its last function and module are gone.
#ifndef FENCE_SQLITE_EXT_CONNECTION_H
#define FENCE_SQLITE_EXT_CONNECTION_H

#include "sqlite_ext/evidence.h"
#include "sqlite_ext/guard.h"
#include "sqlite_ext/limits.h"
#include "sqlite_ext/sqlite.h"
#include "sqlite_ext/statements.h"
#include "sqlite_ext/transaction.h"

namespace fence {

struct Connection {
  sqlite3* db = nullptr;
  int references = 0;

  sqlite3_stmt* statements[static_cast<size_t>(Sql::count_)] = {};
  bool statements_owned = false;

  Ticket ticket;
  Transaction transaction;

  // What the application has seen: a file of a lower generation is an older copy.
  int64_t min_generation = 0;
  Evidence evidence;

  // Fence's own SQL is running or being prepared (for the authorizer).
  bool armed = false;
  bool authorizer = false;
  // Loading did not switch DEFENSIVE on, since the marker stands in the wrong place.
  bool defensive_withheld = false;
  // A call of Fence is under way: another one from inside it (a function of the
  // application in a trigger, a progress handler) would share its statements.
  bool in_call = false;
};

// For the destructors of functions and modules: each holds one reference.
void release_connection(void* connection) noexcept;

// What a call answers in a doomed transaction: ZF009 at once, whatever else is
// wrong with it, or (calls that only look) what it answers otherwise.
enum class WhenDoomed : unsigned char { refused, answered };

// Whether a refusal of the call is evidence of somebody who is not the owner and goes on.
enum class Intent : unsigned char { acts, asks };

// Marks one call; refuses a call from inside another (ZF012). When the call ends with a
// failure, it is noted for fence_refusals.
class CallScope {
 public:
  CallScope(Connection* connection, Failure* failure, WhenDoomed when_doomed = WhenDoomed::refused,
            Intent intent = Intent::acts) noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  bool entered() const noexcept { return entered_; }

 private:
  Connection* connection_;
  const Failure* failure_;
  Intent intent_;
  bool marked_;
  bool entered_ = false;
  LimitScope limits_;
  // Inserting into Fence's tables must not change what the application sees.
  sqlite3_int64 last_rowid_;
};

namespace reasons {
extern const Reason nested_call;
}  // namespace reasons

}  // namespace fence

#endif
