// In every program that tests the extension (hence no _test in the name): which
// SQLite is it that the tests ran with?
#include <cstdlib>

#include "regress/sqlite/harness.h"

namespace fence::test {
namespace {

// $FENCE_SQLITE_VERSION, or the version that the tests were compiled for.
TEST(Engine, is_the_version_that_this_run_is_meant_for) {
  const char* wanted = std::getenv("FENCE_SQLITE_VERSION");
  EXPECT_STREQ(sqlite3_libversion(), wanted != nullptr ? wanted : SQLITE_VERSION);
  RecordProperty("sqlite_version", sqlite3_libversion());

  Database db;
  EXPECT_EQ(db.value("SELECT json_extract(fence_capabilities(), '$.engine_version')"),
            sqlite3_libversion())
      << "the extension uses the same library";
}

}  // namespace
}  // namespace fence::test
