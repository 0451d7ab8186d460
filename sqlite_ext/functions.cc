#include "sqlite_ext/functions.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace {

// Not from triggers, views or any other part of a schema: a file from elsewhere
// must not be able to call them.
constexpr int direct = SQLITE_UTF8 | (layer(Layer::directonly) ? SQLITE_DIRECTONLY : 0);
// The same result for the same arguments, and no effect.
constexpr int pure = SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC;

constexpr struct {
  const char* name;
  int arity;  // -1: any
  int flags;
  SqlFunction* function;
} functions[] = {
    {"fence_install", 0, direct, fence_install},
    {"fence_version", 0, pure, fence_version},
    {"fence_capabilities", 0, direct, fence_capabilities},
    {"fence_config", 1, direct, fence_config},
    {"fence_config", 2, direct, fence_config},
    {"fence_fingerprint", 1, pure, fence_fingerprint},
    {"fence_key", -1, pure, fence_key},
    {"fence_check", 4, direct, fence_check},
    {"fence_blobs", -1, pure, fence_blobs},
    {"oplog_metadata_upsert", 4, direct, oplog_metadata_upsert},
    {"oplog_metadata_upsert_many", 3, direct, oplog_metadata_upsert_many},
    {"try_oplog_metadata_upsert", 4, direct, try_oplog_metadata_upsert},
    {"fenced_append", 6, direct, fenced_append},
    {"fenced_append_many", 6, direct, fenced_append_many},
    {"fenced_append_many", 7, direct, fenced_append_many},
    {"fenced_drop_prefix", 5, direct, fenced_drop_prefix},
    {"fenced_delete", 4, direct, fenced_delete},
    {"fenced_put", 6, direct, fenced_put},
    {"fenced_remove", 5, direct, fenced_remove},
    {"fenced_publish", 7, direct, fenced_publish},
    {"fence_namespace_set", 2, direct, fence_namespace_set},
    {"fence_namespace_set", 3, direct, fence_namespace_set},
    {"fence_namespace_set", 4, direct, fence_namespace_set},
    {"fence_purge", 2, direct, fence_purge},
    {"fence_reset", 3, direct, fence_reset},
    {"fence_anchor", 0, direct, fence_anchor},
};

}  // namespace

int register_functions(Connection* connection) noexcept {
  for (const auto& one : functions) {
    ++connection->references;
    const int rc =
        sqlite3_create_function_v2(connection->db, one.name, one.arity, one.flags, connection,
                                   one.function, nullptr, nullptr, release_connection);
    if (rc != SQLITE_OK) {
      return rc;
    }
  }
  return SQLITE_OK;
}

}  // namespace fence
