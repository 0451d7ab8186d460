// The virtual table `fence`, which stands in every fenced file and has no rows.
// It makes the tables fence_* its shadow tables: under DEFENSIVE, SQLite itself
// then refuses ordinary statements that would write to them.
#include "core/layer.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

const Reason not_dropped = {
    Code::configuration, "the table fence marks this file as fenced",
    "keep it: without it Fence's own tables lose a part of their protection"};

struct MarkerTable : VirtualTable {
  static constexpr const char* columns = "CREATE TABLE x(unused)";
  static constexpr bool eponymous = false;

  // Fence itself may, to put it back in its place.
  static bool may_create(Connection* connection) noexcept { return connection->armed; }
  static bool may_drop(Connection* connection, sqlite3_vtab* table) noexcept {
    if (connection->armed || !layer(Layer::marker_destroy)) {
      return true;
    }
    Failure failure;
    failure.refuse(not_dropped);
    failure.raise(table);
    return false;
  }

  // name: what follows "fence_" in a table's name. The _v1 is not for decoration:
  // docs/decisions.md, 17.
  static int is_shadow(const char* name) noexcept {
    if (!layer(Layer::marker)) {
      return 0;
    }
    constexpr const char* shadows[] = {"control_v1", "setting_v1", "namespace_v1",
                                       "meta_v1",    "oplog_v1",   "value_v1"};
    for (const char* shadow : shadows) {
      if (sqlite3_stricmp(name, shadow) == 0) {
        return 1;
      }
    }
    return 0;
  }

  // Without it SQLite renames the table and asks nobody.
  static int rename(sqlite3_vtab* table, const char*) noexcept {
    Failure failure;
    failure.refuse(not_dropped);
    return failure.raise(table);
  }

  static constexpr void complete(sqlite3_module* module) noexcept {
    module->xRename = layer(Layer::marker_destroy) ? rename : nullptr;
    module->xShadowName = is_shadow;
  }
};

}  // namespace

int register_marker_table(Connection* connection) noexcept {
  return register_module<MarkerTable>(connection, "fence");
}

}  // namespace fence
