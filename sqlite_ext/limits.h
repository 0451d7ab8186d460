// Room for Fence's own statements on a connection whose limits are low.
#ifndef FENCE_SQLITE_EXT_LIMITS_H
#define FENCE_SQLITE_EXT_LIMITS_H

#include "sqlite_ext/sqlite.h"

namespace fence {

// Raises, for as long as it lives, those limits of sqlite3_limit() that are lower than what
// Fence's statements and triggers need. An application that runs SQL of others sets some of
// them to 10 or less, and without this its own calls of Fence would fail.
class LimitScope {
 public:
  explicit LimitScope(sqlite3* db) noexcept;
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

 private:
  static constexpr int count = 4;
  sqlite3* db_;
  int before_[count];  // -1: was high enough
};

}  // namespace fence

#endif
