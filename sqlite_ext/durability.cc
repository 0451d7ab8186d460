#include "sqlite_ext/durability.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace {

constexpr int full = 2;  // PRAGMA synchronous: 0 OFF, 1 NORMAL, 2 FULL, 3 EXTRA

int synchronous_level(Connection* connection) noexcept {
  Use use(connection, Sql::synchronous);
  return use.step() ? sqlite3_column_int(use.get(), 0) : full;
}

}  // namespace

DurableCommit::DurableCommit(Connection* connection) noexcept
    : connection_(connection), level_(-1) {
  if (!layer(Layer::durable_claim) || sqlite3_get_autocommit(connection->db) == 0) {
    return;
  }
  const int level = synchronous_level(connection);
  if (level < full) {
    level_ = level;
    set(full);
  }
}

DurableCommit::~DurableCommit() {
  if (level_ >= 0) {
    set(level_);
  }
}

void DurableCommit::set(int level) noexcept {
  const bool outer_armed = connection_->armed;
  connection_->armed = true;
  static const char* const texts[] = {"PRAGMA main.synchronous = 0", "PRAGMA main.synchronous = 1",
                                      "PRAGMA main.synchronous = 2"};
  sqlite3_exec(connection_->db, texts[level], nullptr, nullptr, nullptr);
  connection_->armed = outer_armed;
}

}  // namespace fence
