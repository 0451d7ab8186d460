#include "regress/sqlite/failing_memory.h"

#include <gtest/gtest.h>

namespace fence::test {

namespace {

sqlite3_mem_methods usual;
bool counting = false;
bool for_ever = false;
bool has_failed = false;
int left = 0;

bool fails() {
  if (!counting || (has_failed && !for_ever) || left-- > 0) {
    return false;
  }
  left = 0;
  has_failed = true;
  return true;
}

void* allocate(int size) { return fails() ? nullptr : usual.xMalloc(size); }
void* reallocate(void* memory, int size) {
  return fails() ? nullptr : usual.xRealloc(memory, size);
}

void install(const sqlite3_mem_methods& methods) {
  ASSERT_EQ(sqlite3_shutdown(), SQLITE_OK);
  ASSERT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
}

}  // namespace

FailingMemory::FailingMemory() {
  sqlite3_shutdown();
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual);
  sqlite3_mem_methods failing = usual;
  failing.xMalloc = allocate;
  failing.xRealloc = reallocate;
  install(failing);
}

FailingMemory::~FailingMemory() {
  stop();
  install(usual);
}

void FailingMemory::fail_after(int allocations, bool forever) {
  left = allocations;
  for_ever = forever;
  has_failed = false;
  counting = true;
}

void FailingMemory::stop() { counting = false; }

bool FailingMemory::failed() const { return has_failed; }

}  // namespace fence::test
