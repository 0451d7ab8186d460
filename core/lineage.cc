#include "core/lineage.h"

#include <cstring>

namespace fence {

namespace reasons {
const Reason older_file = {
    Code::lineage_changed,
    "the file is of generation %n, older than the min_generation of this connection",
    "it went back in time, and whoever writes to it now may be an old owner: put the newest copy "
    "back; to go on from this state, lower min_generation and claim the keys at higher epochs"};
const Reason foreign_database = {
    Code::lineage_changed,
    "this database is a restored, copied or upgraded one: nothing may be written in it yet",
    "if the state is to live here from now on: SELECT fence.fence_adopt()"};
const Reason parent_unknown = {
    Code::configuration,
    "the history of timeline %n is not in pg_wal: it is unknown where it branched off",
    "claim the keys anew, each at a higher epoch"};
const Reason install_unknown = {
    Code::corrupt, "fence_internal.install has not exactly one row",
    "as superuser, with its triggers disabled, leave one row in it, then call fence_adopt()"};
}  // namespace reasons

namespace {

const LineageRow* find_timeline(const Lineage& lineage, uint32_t timeline) noexcept {
  for (int i = 0; i < lineage.count; ++i) {
    if (lineage.rows[i].timeline == timeline) {
      return &lineage.rows[i];
    }
  }
  return nullptr;
}

}  // namespace

bool DatabaseIdentity::operator==(const DatabaseIdentity& other) const noexcept {
  return std::memcmp(install, other.install, sizeof install) == 0 &&
         system_identifier == other.system_identifier && database == other.database;
}

const Reason* judge_home(const Lineage& lineage, const DatabaseIdentity& own) noexcept {
  bool home = lineage.count > 0;
  for (int i = 0; i < lineage.count; ++i) {
    home = home && lineage.rows[i].identity == own;
  }
  return home ? nullptr : &reasons::foreign_database;
}

// Down the chain of what was accepted. Each link leads to a smaller number, so it ends.
bool is_in_force(const Lineage& lineage, uint32_t current, int64_t generation,
                 uint32_t timeline) noexcept {
  if (generation != lineage.generation) {
    return false;
  }
  while (current != timeline) {
    const LineageRow* row = find_timeline(lineage, current);
    if (row == nullptr || row->accepted_from == no_timeline || row->accepted_from >= current) {
      return false;
    }
    current = row->accepted_from;
  }
  return true;
}

const Reason* judge_generation(int64_t generation, int64_t least) noexcept {
  return generation < least ? &reasons::older_file : nullptr;
}

bool knows_timeline(const Lineage& lineage, uint32_t timeline) noexcept {
  return find_timeline(lineage, timeline) != nullptr;
}

}  // namespace fence
