// oplog_keys(namespace, prefix, after, max): the keys that live, in the order of
// their bytes.
#include <algorithm>

#include "core/argument.h"
#include "core/name.h"
#include "sqlite_ext/bytes.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/rows_table.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

const Reason namespace_not_given = {
    Code::out_of_range, "oplog_keys was called without a namespace",
    "SELECT key FROM oplog_keys(namespace); for all namespaces use oplog_status"};

// How SQLite orders text in a file of UTF-16 is not how its UTF-8 bytes are ordered.
constexpr const char* byte_order = "fence_bytes";

int compare_bytes(void*, int left_size, const void* left, int right_size,
                  const void* right) noexcept {
  const int order = std::memcmp(left, right, static_cast<size_t>(std::min(left_size, right_size)));
  return order != 0 ? order : left_size - right_size;
}

struct KeyRange {
  std::string_view ns;
  std::string_view prefix;
  std::string_view after;
  bool after_given = false;
  int64_t max = default_max;
};

struct KeysTable : RowsTable<KeysTable> {
  static constexpr const char* columns =
      "CREATE TABLE x(key TEXT, namespace TEXT HIDDEN, prefix TEXT HIDDEN, after TEXT HIDDEN,"
      " max INTEGER HIDDEN)";
  static constexpr int visible_columns = 1;

  // In the order of the arguments.
  enum Argument : int { arg_namespace, arg_prefix, arg_after, arg_max };
  static constexpr int argument_count = 4;

  static bool read_range(const Arguments<argument_count>& arguments, KeyRange* range,
                         Failure* failure) noexcept {
    if (arguments.values[arg_namespace] == nullptr) {
      failure->refuse(namespace_not_given);
      return false;
    }
    const auto prefix = [&](int argument, const Reason& fault, std::string_view* text) {
      return !arguments.stated(argument) ||
             read_name_prefix(arguments.values[argument], fault, text, failure);
    };
    range->after_given = arguments.stated(arg_after);
    return read_name(arguments.values[arg_namespace], reasons::bad_namespace, &range->ns,
                     failure) &&
           prefix(arg_prefix, reasons::bad_prefix, &range->prefix) &&
           prefix(arg_after, reasons::bad_after, &range->after) &&
           (!arguments.stated(arg_max) ||
            read_number(arguments.values[arg_max], reasons::bad_range, &range->max, failure));
  }

  // The keys from the greater one of prefix and after on; ended() finds where those
  // with the prefix end.
  static bool start(Connection* connection, const Arguments<argument_count>& arguments,
                    RowsCursor* cursor, Failure* failure) noexcept {
    KeyRange range;
    bool utf8 = true;
    if (!read_range(arguments, &range, failure) || !is_utf8_file(connection, &utf8, failure) ||
        !prepare_rows(
            connection,
            utf8 ? "SELECT key, ?1, ?2, ?3, ?4 FROM main.fence_meta_v1 WHERE namespace = ?1"
                   " AND key >= ?5 AND key IS NOT ?3 AND deleted_at IS NULL ORDER BY key LIMIT ?4"
                 : "SELECT key, ?1, ?2, ?3, ?4 FROM main.fence_meta_v1 WHERE namespace = ?1"
                   " AND key COLLATE fence_bytes >= ?5 AND key IS NOT ?3 AND deleted_at IS NULL"
                   " ORDER BY key COLLATE fence_bytes LIMIT ?4",
            &cursor->rows, failure)) {
      failure->name_key(range.ns, {});
      return false;
    }
    bind_copy(cursor->rows, 1, range.ns);
    bind_copy(cursor->rows, 2, range.prefix);
    if (range.after_given) {
      bind_copy(cursor->rows, 3, range.after);
    }
    sqlite3_bind_int64(cursor->rows, 4, range.max);
    bind_copy(cursor->rows, 5, range.after > range.prefix ? range.after : range.prefix);
    return true;
  }

  static bool ended(RowsCursor* cursor) noexcept {
    std::string_view key;
    std::string_view prefix;
    return !read_text(cursor->rows, 0, &key) || !read_text(cursor->rows, 2, &prefix) ||
           beginning_of(key, prefix.size()) != prefix;
  }
};

}  // namespace

int register_keys_table(Connection* connection) noexcept {
  const int rc = sqlite3_create_collation_v2(connection->db, byte_order, SQLITE_UTF8, nullptr,
                                             compare_bytes, nullptr);
  return rc == SQLITE_OK ? register_module<KeysTable>(connection, "oplog_keys") : rc;
}

}  // namespace fence
