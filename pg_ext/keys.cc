// oplog_keys: the keys of a namespace, in byte order.
#include "core/argument.h"
#include "pg_ext/access.h"
#include "pg_ext/arguments.h"
#include "pg_ext/record_store.h"
#include "pg_ext/relations.h"
#include "pg_ext/rows.h"

namespace fence {

namespace {

constexpr int64_t default_max = 1000;

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && text.substr(0, prefix.size()) == prefix;
}

// Keys that live, from the first one that can have the prefix and stands behind `after`.
class KeyScan {
 public:
  KeyScan(std::string_view ns, std::string_view prefix, std::string_view after)
      : prefix_(prefix), scan_(relations().record) {
    scan_.equal(ns);
    if (after.empty() || after < prefix) {
      scan_.at_least(prefix);
    } else {
      scan_.above(after);
    }
    scan_.begin(SnapshotAny);
  }

  // False at the end.
  bool next(std::string_view* key) {
    while (scan_.next()) {
      CHECK_FOR_INTERRUPTS();
      *key = name_of(scan_.row()).key;
      if (!begins_with(*key, prefix_)) {
        return false;  // in byte order those with the prefix stand together
      }
      if (scan_.in_snapshot() && record_of(scan_.row()).lives) {
        return true;
      }
    }
    return false;
  }
  void end() { scan_.end(); }

 private:
  std::string_view prefix_;
  IndexScan scan_;
};

}  // namespace

// (namespace, prefix, after, max) -> (key)
FENCE_FUNCTION(fence_pg_keys) {
  Arguments arguments(fcinfo);
  const std::string_view ns = arguments.ns();
  const std::string_view prefix = arguments.name_prefix(1, reasons::bad_prefix);
  const std::string_view after = arguments.name_prefix(2, reasons::bad_after);
  int64_t left = arguments.number_or(3, reasons::bad_range, default_max);
  check_may_read(ns);
  Rows rows(fcinfo, Rows::Of::values);
  KeyScan scan(ns, prefix, after);
  std::string_view key;
  for (; left > 0 && scan.next(&key); --left) {
    Datum values[1] = {text_datum(key)};
    bool nulls[1] = {};
    rows.add(values, nulls);
    pfree(DatumGetPointer(values[0]));
  }
  scan.end();
  return 0;
}

}  // namespace fence
