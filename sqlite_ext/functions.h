// The SQL functions of the shim, one declaration each; calls.cc registers them.
// What the arguments are is written in docs/reference.md.
#ifndef FENCE_SQLITE_EXT_FUNCTIONS_H
#define FENCE_SQLITE_EXT_FUNCTIONS_H

#include "sqlite_ext/sqlite.h"

namespace fence {

struct Connection;

using SqlFunction = void(sqlite3_context*, int, sqlite3_value**);

SqlFunction fence_install;
SqlFunction fence_version;
SqlFunction fence_capabilities;
SqlFunction fence_config;
SqlFunction fence_fingerprint;
SqlFunction fence_key;
SqlFunction fence_check;
SqlFunction fence_blobs;
SqlFunction oplog_metadata_upsert;
SqlFunction oplog_metadata_upsert_many;
SqlFunction try_oplog_metadata_upsert;
SqlFunction fenced_append;
SqlFunction fenced_append_many;
SqlFunction fenced_drop_prefix;
SqlFunction fenced_delete;
SqlFunction fenced_put;
SqlFunction fenced_remove;
SqlFunction fenced_publish;
SqlFunction fence_namespace_set;
SqlFunction fence_purge;
SqlFunction fence_reset;
SqlFunction fence_anchor;

// The connection whose function is running.
inline Connection* connection_of(sqlite3_context* context) noexcept {
  return static_cast<Connection*>(sqlite3_user_data(context));
}

int register_functions(Connection* connection) noexcept;

// The virtual tables: INSERT INTO fenced_append, oplog_read(…), oplog_keys(…),
// fence_verify(…), fence_refusals, fence_stat, and the marker that makes Fence's own
// tables shadow tables.
int register_append_table(Connection* connection) noexcept;
int register_read_table(Connection* connection) noexcept;
int register_keys_table(Connection* connection) noexcept;
int register_marker_table(Connection* connection) noexcept;
int register_verify_table(Connection* connection) noexcept;
int register_evidence_tables(Connection* connection) noexcept;

}  // namespace fence

#endif
