// In which database the state lives, and which claims still count there (spec section 3,
// ZF007): a copy is another database, and after a failover the owners of before may be
// wrong about what they own.
#ifndef FENCE_CORE_LINEAGE_H
#define FENCE_CORE_LINEAGE_H

#include <cstdint>

#include "core/refusal.h"

namespace fence {

// One database of one server.
struct DatabaseIdentity {
  unsigned char install[16];  // drawn when Fence was installed there
  uint64_t system_identifier;
  uint32_t database;

  bool operator==(const DatabaseIdentity& other) const noexcept;
};

constexpr uint32_t no_timeline = 0;

// A database that the state has lived in.
struct LineageRow {
  int64_t generation = 0;
  DatabaseIdentity identity{};
  uint32_t timeline = no_timeline;
  // Claims that counted on this earlier timeline of the server count on.
  uint32_t accepted_from = no_timeline;
};

// The rows of the greatest generation: those that are in force.
struct Lineage {
  const LineageRow* rows = nullptr;
  int count = 0;
  int64_t generation = 0;  // 0: no rows at all
};

// May anything be written here? In a database that the state was copied to, only after
// somebody has said that it is to live there. Returns nullptr when it may.
const Reason* judge_home(const Lineage& lineage, const DatabaseIdentity& own) noexcept;

// Does a claim of that generation and timeline still count, now that the server is on the
// timeline current?
bool is_in_force(const Lineage& lineage, uint32_t current, int64_t generation,
                 uint32_t timeline) noexcept;

// Is there anything to accept: does no row know the timeline yet?
bool knows_timeline(const Lineage& lineage, uint32_t timeline) noexcept;

// SQLite: a file cannot see that it went back in time, but the application can. It keeps
// the generation that fence_anchor answered elsewhere, and states it: is the file at least
// of that generation? Returns nullptr when it is.
const Reason* judge_generation(int64_t generation, int64_t least) noexcept;

namespace reasons {
extern const Reason older_file;  // %n: the generation of the file
extern const Reason foreign_database;
extern const Reason parent_unknown;  // %n: the timeline
extern const Reason install_unknown;
}  // namespace reasons

}  // namespace fence

#endif
