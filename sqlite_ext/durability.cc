#include "sqlite_ext/durability.h"

#include "core/layer.h"
#include "sqlite_ext/connection.h"

namespace fence {

namespace {

constexpr int full = 2;  // PRAGMA synchronous: 0 OFF, 1 NORMAL, 2 FULL, 3 EXTRA

}  // namespace

DurableCommit::DurableCommit(Connection* connection, Failure* failure) noexcept
    : connection_(connection) {
  if (!layer(Layer::durable_claim) || sqlite3_get_autocommit(connection->db) == 0) {
    return;
  }
  ready_ = read(failure);
  if (ready_ && level_ < full) {
    restore_ = level_;
    set(full);
    ready_ = read(failure) && level_ >= full;
  }
}

DurableCommit::~DurableCommit() {
  if (restore_ >= 0) {
    set(restore_);
  }
}

bool DurableCommit::read(Failure* failure) noexcept {
  Use use(connection_, Sql::synchronous);
  if (!use.step()) {
    failure->pass_on(connection_->db, use.rc());
    return false;
  }
  level_ = sqlite3_column_int(use.get(), 0);
  return true;
}

void DurableCommit::set(int level) noexcept {
  const bool outer_armed = connection_->armed;
  connection_->armed = true;
  // It takes effect when it is prepared. Without blanks and with a semicolon: blanks
  // and the end are where SQLite's parser gives up on a connection that was cancelled.
  static const char* const texts[] = {"PRAGMA\"main\".synchronous=0;",
                                      "PRAGMA\"main\".synchronous=1;",
                                      "PRAGMA\"main\".synchronous=2;"};
  sqlite3_exec(connection_->db, texts[level], nullptr, nullptr, nullptr);
  connection_->armed = outer_armed;
}

}  // namespace fence
