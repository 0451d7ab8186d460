// A VFS that passes everything on to SQLite's own and remembers what was written
// since the last flush: a power cut would take exactly that.
#ifndef FENCE_REGRESS_SQLITE_COUNTING_VFS_H
#define FENCE_REGRESS_SQLITE_COUNTING_VFS_H

#include <sqlite3.h>

#include <set>
#include <string>

namespace fence::test {

// Registered while it exists, under name(). One at a time.
class CountingVfs {
 public:
  CountingVfs();
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  static const char* name() { return "counting"; }

  // Flushes of any file since the last call of reset().
  int syncs() const { return syncs_; }
  void reset() { syncs_ = 0; }
  // The files (without their directory) that hold bytes written after their last
  // flush, joined by a blank. The file -shm is not flushed, ever.
  std::string unflushed() const;

 private:
  struct File;
  static const sqlite3_io_methods& methods();
  static CountingVfs* of(sqlite3_file* file);
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out);
  static int remove(sqlite3_vfs* vfs, const char* name, int sync_directory);
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset);
  static int sync(sqlite3_file* file, int flags);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);

  sqlite3_vfs vfs_;
  int syncs_ = 0;
  std::set<std::string> unflushed_;
};

}  // namespace fence::test

#endif
