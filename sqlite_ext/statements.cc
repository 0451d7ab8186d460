#include "sqlite_ext/statements.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/virtual_table.h"

namespace fence {

namespace {

// Every table is named with its schema: a TEMP table of the same name is not ours.
constexpr const char* texts[] = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "UPDATE main.fence_meta_v1 SET epoch = epoch WHERE 0",
    // Without blanks and with a semicolon: blanks and the end are where SQLite's
    // parser gives up on a connection that was cancelled.
    "UPDATE\"main\".\"fenced_append\"SET\"idx\"=0;",
    "INSERT INTO temp.fence_transaction SELECT 1 WHERE 0",
    "PRAGMA main.journal_mode",
    "PRAGMA main.encoding",
    "PRAGMA main.synchronous",
    "SELECT count(*), count(CASE WHEN name <> 'fence' THEN 1 END) FROM main.sqlite_schema"
    " WHERE type = 'table' AND name IN ('fence', 'fence_control_v1', 'fence_setting_v1', "
    "'fence_namespace_v1', 'fence_meta_v1',"
    " 'fence_oplog_v1', 'fence_value_v1')",
    "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'fence' AND rowid >"
    " (SELECT max(rowid) FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name IN"
    " ('fence_control_v1', 'fence_setting_v1', 'fence_namespace_v1', 'fence_meta_v1', "
    "'fence_oplog_v1',"
    " 'fence_value_v1'))",
    "SELECT format FROM main.fence_control_v1",
    "SELECT c.format, c.seal_key, c.generation, n.mode, n.identical_repeat, n.shard_space, "
    "n.floor, n.seal"
    " FROM main.fence_control_v1 c"
    " LEFT JOIN main.fence_namespace_v1 n ON n.namespace = ?1",
    "SELECT c.format, c.seal_key, c.generation, n.mode, n.identical_repeat, n.shard_space, "
    "n.floor, n.seal,"
    " m.epoch, m.writer, m.deleted_at, m.tail, m.tail_seal, m.trimmed, m.trim_seal, m.late_sum,"
    " m.reset_last, m.published, m.seal, o.idx, o.epoch, o.seal"
    " FROM main.fence_control_v1 c"
    " LEFT JOIN main.fence_namespace_v1 n ON n.namespace = ?1"
    " LEFT JOIN main.fence_meta_v1 m ON m.namespace = ?1 AND m.key = ?2"
    " LEFT JOIN main.fence_oplog_v1 o ON o.rowid = (SELECT rowid FROM main.fence_oplog_v1"
    " WHERE namespace = ?1 AND key = ?2 ORDER BY idx DESC LIMIT 1)",
    "SELECT epoch, payload, writer FROM main.fence_oplog_v1 WHERE namespace = ?1 AND key = ?2 AND "
    "idx "
    "= ?3",
    "SELECT epoch, writer, value, seal FROM main.fence_value_v1"
    " WHERE namespace = ?1 AND key = ?2 AND name = ?3",
    "SELECT min(idx), max(idx), count(*) FROM main.fence_oplog_v1"
    " WHERE namespace = ?1 AND key = ?2",
    "SELECT idx, epoch, writer, payload, late, seal FROM main.fence_oplog_v1"
    " WHERE namespace = ?1 AND key = ?2 ORDER BY idx",
    "SELECT late, seal FROM main.fence_oplog_v1"
    " WHERE namespace = ?1 AND key = ?2 AND idx <= ?3 ORDER BY idx",
    "SELECT idx FROM main.fence_oplog_v1 WHERE namespace = ?1 AND key = ?2 AND idx <= ?3"
    " ORDER BY idx",
    "SELECT name FROM main.fence_value_v1 WHERE namespace = ?1 AND key = ?2 ORDER BY name",
    "SELECT key FROM main.fence_meta_v1 WHERE namespace = ?1 AND deleted_at <= ?2 ORDER BY "
    "deleted_at, key"
    " LIMIT ?3",
    "INSERT INTO main.fence_oplog_v1(namespace, key, idx, epoch, writer, payload, late, seal)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    "DELETE FROM main.fence_oplog_v1 WHERE namespace = ?1 AND key = ?2 AND idx = ?3",
    "INSERT INTO main.fence_meta_v1(namespace, key, epoch, writer, deleted_at, tail, tail_seal,"
    " trimmed, trim_seal, late_sum, reset_last, published, seal)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    "UPDATE main.fence_meta_v1 SET epoch = ?3, writer = ?4, deleted_at = ?5, tail = ?6,"
    " tail_seal = ?7, trimmed = ?8, trim_seal = ?9, late_sum = ?10, reset_last = ?11,"
    " published = ?12, seal = ?13 WHERE namespace = ?1 AND key = ?2",
    "DELETE FROM main.fence_meta_v1 WHERE namespace = ?1 AND key = ?2",
    "INSERT INTO main.fence_value_v1(namespace, key, name, epoch, writer, value, seal)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    "UPDATE main.fence_value_v1 SET epoch = ?4, writer = ?5, value = ?6, seal = ?7"
    " WHERE namespace = ?1 AND key = ?2 AND name = ?3",
    "DELETE FROM main.fence_value_v1 WHERE namespace = ?1 AND key = ?2 AND name = ?3",
    "INSERT INTO main.fence_namespace_v1(namespace, mode, identical_repeat, shard_space, floor, "
    "seal)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    "UPDATE main.fence_namespace_v1 SET mode = ?2, identical_repeat = ?3, shard_space = ?4,"
    " floor = ?5, seal = ?6 WHERE namespace = ?1",
    "INSERT INTO main.fence_control_v1(id, format, seal_key, generation) VALUES (?1, ?2, ?3, ?4)",
    "SELECT id, format, seal_key, generation FROM main.fence_control_v1",
    "UPDATE main.fence_control_v1 SET format = ?2, seal_key = ?3, generation = ?4 WHERE id = ?1",
    "SELECT value FROM main.fence_setting_v1 WHERE name = ?1",
    "INSERT INTO main.fence_setting_v1(name, value) VALUES (?1, ?2)",
    "UPDATE main.fence_setting_v1 SET value = ?2 WHERE name = ?1",
    "SELECT type = 'object' AND json_type(value, '$.key') = 'text'"
    " AND json_type(value, '$.epoch') IN ('integer', 'real', 'text'),"
    " json_extract(value, '$.key'), json_extract(value, '$.epoch'), value FROM"
    // From 3.42 on SQLite reads JSON5 as well; json_valid() knows JSON only.
    " json_each(iif(json_valid(?1), ?1, '['))",
};
static_assert(sizeof texts / sizeof *texts == static_cast<size_t>(Sql::count_),
              "one text for each statement");

// Connects the owner once; without it nothing is cached, since a cached
// statement would keep sqlite3_close from working.
bool connect_owner(Connection* connection) noexcept {
  if (connection->statements_owned || !layer(Layer::statement_owner)) {
    return true;
  }
  sqlite3_stmt* statement = nullptr;
  const int rc = sqlite3_prepare_v2(connection->db, "SELECT 1 FROM main.fence_statements LIMIT 0",
                                    -1, &statement, nullptr);
  sqlite3_finalize(statement);
  return rc == SQLITE_OK && connection->statements_owned;
}

bool is_alive(sqlite3* db, sqlite3_stmt* wanted) noexcept {
  for (sqlite3_stmt* one = sqlite3_next_stmt(db, nullptr); one != nullptr;
       one = sqlite3_next_stmt(db, one)) {
    if (one == wanted) {
      return true;
    }
  }
  return false;
}

struct OwnerTable : VirtualTable {
  static constexpr const char* columns = "CREATE TABLE x(unused)";

  static void connected(Connection* connection) noexcept { connection->statements_owned = true; }
  static void disconnected(Connection* connection) noexcept {
    connection->statements_owned = false;
    drop_statements(connection);
  }
};

}  // namespace

Use::Use(Connection* connection, Sql sql) noexcept
    : connection_(connection), outer_armed_(connection->armed) {
  connection->armed = true;
  sqlite3_stmt*& cached = connection->statements[static_cast<size_t>(sql)];
  if (cached == nullptr) {
    if (!connect_owner(connection)) {
      rc_ = SQLITE_ERROR;
      return;
    }
    sqlite3_prepare_v3(connection->db, texts[static_cast<size_t>(sql)], -1,
                       SQLITE_PREPARE_PERSISTENT, &cached, nullptr);
    rc_ = sqlite3_extended_errcode(connection->db);
  } else {
    // The application may have found it by sqlite3_next_stmt, and stepped it.
    sqlite3_reset(cached);
  }
  statement_ = cached;
}

Use::~Use() {
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  connection_->armed = outer_armed_;
}

bool Use::step() noexcept {
  if (!ready()) {
    return false;
  }
  const int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
    rc_ = SQLITE_OK;
    return rc == SQLITE_ROW;
  }
  rc_ = sqlite3_extended_errcode(connection_->db);
  return false;
}

bool Use::run() noexcept {
  while (step()) {
  }
  return ready() && rc_ == SQLITE_OK;
}

void drop_statements(Connection* connection) noexcept {
  for (sqlite3_stmt*& statement : connection->statements) {
    // Some wrappers finalize every statement of a connection before they close it.
    if (statement != nullptr && is_alive(connection->db, statement)) {
      sqlite3_finalize(statement);
    }
    statement = nullptr;
  }
}

int register_statement_owner(Connection* connection) noexcept {
  return register_module<OwnerTable>(connection, "fence_statements");
}

}  // namespace fence
