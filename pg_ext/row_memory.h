// For loops over any number of rows: what is allocated for one of them (a payload that was
// read, a copy of one that is stored) goes before the next.
#ifndef FENCE_PG_EXT_ROW_MEMORY_H
#define FENCE_PG_EXT_ROW_MEMORY_H

#include "pg_ext/server.h"

namespace fence {

class RowMemory {
 public:
  RowMemory()
      : context_(AllocSetContextCreate(CurrentMemoryContext, "fence: one row",
                                       ALLOCSET_DEFAULT_SIZES)) {}
  // What step answers with must be a plain value.
  template <typename Step>
  auto run(Step step) {
    MemoryContext outer = MemoryContextSwitchTo(context_);
    const auto answer = step();
    MemoryContextSwitchTo(outer);
    MemoryContextReset(context_);
    return answer;
  }
  void end() { MemoryContextDelete(context_); }

 private:
  MemoryContext context_;
};

}  // namespace fence

#endif
