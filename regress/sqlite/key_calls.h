// The calls on a whole key, as SQL, in the namespace 'n'. An epoch of unfenced is NULL,
// and so is the writer then.
#ifndef FENCE_REGRESS_SQLITE_KEY_CALLS_H
#define FENCE_REGRESS_SQLITE_KEY_CALLS_H

#include <string>

#include "regress/sqlite/owned_log.h"

namespace fence::test {

inline constexpr int64_t unfenced = -1;

// "key, epoch, writer"
inline std::string owner(const std::string& key, int64_t epoch, const std::string& writer = w1) {
  return quoted(key) + ", " +
         (epoch == unfenced ? "NULL, NULL" : std::to_string(epoch) + ", " + quoted(writer));
}

inline std::string set_mode(const std::string& mode, const std::string& more = "") {
  return "SELECT fence_namespace_set('n', " + quoted(mode) + more + ")";
}
inline std::string free_append(const std::string& key, int64_t idx, const std::string& payload) {
  return "SELECT fenced_append('n', " + owner(key, unfenced) + ", " + std::to_string(idx) + ", " +
         quoted(payload) + ")";
}
inline std::string drop(const std::string& key, int64_t epoch, const std::string& writer,
                        int64_t through) {
  return "SELECT fenced_drop_prefix('n', " + owner(key, epoch, writer) + ", " +
         std::to_string(through) + ")";
}
inline std::string del(const std::string& key, int64_t epoch, const std::string& writer = w1) {
  return "SELECT fenced_delete('n', " + owner(key, epoch, writer) + ")";
}
inline std::string put(const std::string& key, int64_t epoch, const std::string& writer,
                       const std::string& name, const std::string& value) {
  return "SELECT fenced_put('n', " + owner(key, epoch, writer) + ", " + quoted(name) + ", " +
         quoted(value) + ")";
}
inline std::string take(const std::string& key, int64_t epoch, const std::string& writer,
                        const std::string& name) {
  return "SELECT fenced_remove('n', " + owner(key, epoch, writer) + ", " + quoted(name) + ")";
}
inline std::string publish(const std::string& key, int64_t epoch, const std::string& writer,
                           const std::string& staged, int64_t expected_last) {
  return "SELECT fenced_publish('n', " + owner(key, epoch, writer) + ", 'n', " + quoted(staged) +
         ", " + std::to_string(expected_last) + ")";
}
inline std::string reset(const std::string& key, int64_t epoch) {
  return "SELECT fence_reset('n', " + quoted(key) + ", " + std::to_string(epoch) + ")";
}
inline std::string purge(int64_t older_than_ms = 0) {
  return "SELECT fence_purge('n', " + std::to_string(older_than_ms) + ")";
}

// "epoch|writer|first|last|length|deleted" of a key, or "no row".
inline std::string status(Database& db, const std::string& key = "k") {
  return db.value(
      "SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status"
      " WHERE namespace = 'n' AND key = " +
      quoted(key));
}

// The values in the file, as "key|name|epoch|value".
inline std::vector<std::string> all_values(Database& db) {
  return db.rows(
      "SELECT key, name, epoch, CAST(value AS TEXT) FROM fenced_values ORDER BY namespace, key,"
      " name");
}

// Several statements, one after the other.
template <typename... Sql>
std::string script(const Sql&... sql) {
  std::string joined;
  ((joined += sql + ";"), ...);
  return joined;
}

}  // namespace fence::test

#endif
