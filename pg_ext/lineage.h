// Is this the database that the state lives in, and which claims count here?
// core/lineage.h decides, by fence_internal.lineage and .install; each session remembers
// what stands there until it changes.
#ifndef FENCE_PG_EXT_LINEAGE_H
#define FENCE_PG_EXT_LINEAGE_H

#include <string_view>

#include "core/lineage.h"

namespace fence {

// What stands in the two tables now, good until the next call.
struct Whereabouts {
  Lineage lineage;
  DatabaseIdentity own{};
  int installs = 0;              // must be one
  const Reason* away = nullptr;  // not at home: why nothing may be written
};
const Whereabouts& whereabouts();

// ZF007 where nothing may be written. In a write it dooms the transaction; elsewhere it
// fails its statement only.
void check_home_for_write(std::string_view ns);
void check_home_for_claim(std::string_view ns);
void check_home(std::string_view ns);

// Does a claim that was made in that generation and on that timeline count? Always on a
// standby, where nobody's claim is judged.
bool claim_counts(int64_t generation, uint32_t timeline);

}  // namespace fence

#endif
