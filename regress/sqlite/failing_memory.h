// SQLite's memory, and with it Fence's, that runs out when a test says so.
#ifndef FENCE_REGRESS_SQLITE_FAILING_MEMORY_H
#define FENCE_REGRESS_SQLITE_FAILING_MEMORY_H

#include <sqlite3.h>

namespace fence::test {

// In place while it exists; no connection may be open at its beginning and end.
class FailingMemory {
 public:
  FailingMemory();
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  // The allocation after so many others fails; forever: those that follow fail too.
  void fail_after(int allocations, bool forever = false);
  void stop();
  bool failed() const;
};

}  // namespace fence::test

#endif
