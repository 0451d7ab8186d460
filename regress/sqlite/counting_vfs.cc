#include "regress/sqlite/counting_vfs.h"

#include <cstring>

namespace fence::test {

// SQLite allocates szOsFile bytes: ours, then those of its own VFS.
struct CountingVfs::File {
  sqlite3_file base;
  CountingVfs* vfs;
  const char* name;  // SQLite keeps it as long as the file is open

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

namespace {

std::string base_name(const char* path) {
  const char* slash = path == nullptr ? nullptr : std::strrchr(path, '/');
  return path == nullptr ? "temporary" : slash == nullptr ? path : slash + 1;
}

}  // namespace

CountingVfs* CountingVfs::of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->vfs; }

int CountingVfs::write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  auto* counted = reinterpret_cast<File*>(file);
  counted->vfs->unflushed_.insert(base_name(counted->name));
  return counted->real()->pMethods->xWrite(counted->real(), bytes, size, offset);
}

int CountingVfs::truncate(sqlite3_file* file, sqlite3_int64 size) {
  auto* counted = reinterpret_cast<File*>(file);
  counted->vfs->unflushed_.insert(base_name(counted->name));
  return counted->real()->pMethods->xTruncate(counted->real(), size);
}

int CountingVfs::sync(sqlite3_file* file, int flags) {
  auto* counted = reinterpret_cast<File*>(file);
  const int rc = counted->real()->pMethods->xSync(counted->real(), flags);
  if (rc == SQLITE_OK) {
    ++counted->vfs->syncs_;
    counted->vfs->unflushed_.erase(base_name(counted->name));
  }
  return rc;
}

// Passes a method on to the file of SQLite's own VFS.
#define FENCE_TEST_REAL(file) (reinterpret_cast<File*>(file)->real())
#define FENCE_TEST_CALL(file, method) FENCE_TEST_REAL(file)->pMethods->method

const sqlite3_io_methods& CountingVfs::methods() {
  static const sqlite3_io_methods made = [] {
    sqlite3_io_methods m{};
    m.iVersion = 2;  // no memory mapping: it would write past xWrite
    m.xClose = [](sqlite3_file* f) { return FENCE_TEST_CALL(f, xClose)(FENCE_TEST_REAL(f)); };
    m.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 offset) {
      return FENCE_TEST_CALL(f, xRead)(FENCE_TEST_REAL(f), to, size, offset);
    };
    m.xWrite = write;
    m.xTruncate = truncate;
    m.xSync = sync;
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
      return FENCE_TEST_CALL(f, xFileSize)(FENCE_TEST_REAL(f), size);
    };
    m.xLock = [](sqlite3_file* f, int lock) {
      return FENCE_TEST_CALL(f, xLock)(FENCE_TEST_REAL(f), lock);
    };
    m.xUnlock = [](sqlite3_file* f, int lock) {
      return FENCE_TEST_CALL(f, xUnlock)(FENCE_TEST_REAL(f), lock);
    };
    m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
      return FENCE_TEST_CALL(f, xCheckReservedLock)(FENCE_TEST_REAL(f), out);
    };
    m.xFileControl = [](sqlite3_file* f, int op, void* argument) {
      return FENCE_TEST_CALL(f, xFileControl)(FENCE_TEST_REAL(f), op, argument);
    };
    m.xSectorSize = [](sqlite3_file* f) {
      return FENCE_TEST_CALL(f, xSectorSize)(FENCE_TEST_REAL(f));
    };
    m.xDeviceCharacteristics = [](sqlite3_file* f) {
      return FENCE_TEST_CALL(f, xDeviceCharacteristics)(FENCE_TEST_REAL(f));
    };
    m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
      return FENCE_TEST_CALL(f, xShmMap)(FENCE_TEST_REAL(f), page, size, extend, out);
    };
    m.xShmLock = [](sqlite3_file* f, int offset, int count, int flags) {
      return FENCE_TEST_CALL(f, xShmLock)(FENCE_TEST_REAL(f), offset, count, flags);
    };
    m.xShmBarrier = [](sqlite3_file* f) { FENCE_TEST_CALL(f, xShmBarrier)(FENCE_TEST_REAL(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int remove_it) {
      return FENCE_TEST_CALL(f, xShmUnmap)(FENCE_TEST_REAL(f), remove_it);
    };
    return m;
  }();
  return made;
}

int CountingVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* self = static_cast<CountingVfs*>(vfs->pAppData);
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  auto* counted = reinterpret_cast<File*>(file);
  counted->base.pMethods = nullptr;
  counted->vfs = self;
  counted->name = name;
  const int rc = real->xOpen(real, name, counted->real(), flags, out);
  if (counted->real()->pMethods != nullptr) {
    counted->base.pMethods = &methods();
  }
  return rc;
}

int CountingVfs::remove(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  static_cast<CountingVfs*>(vfs->pAppData)->unflushed_.erase(base_name(name));
  sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
  return real->xDelete(real, name, sync_directory);
}

CountingVfs::CountingVfs() : vfs_(*sqlite3_vfs_find(nullptr)) {
  vfs_.zName = name();
  vfs_.szOsFile += static_cast<int>(sizeof(File));
  vfs_.xOpen = open;
  vfs_.xDelete = remove;
  vfs_.pNext = nullptr;
  // Its other methods look at pAppData, which only the original has.
  vfs_.pAppData = this;
  vfs_.xAccess = [](sqlite3_vfs*, const char* path, int flags, int* out) {
    sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
    return real->xAccess(real, path, flags, out);
  };
  vfs_.xFullPathname = [](sqlite3_vfs*, const char* path, int size, char* out) {
    sqlite3_vfs* real = sqlite3_vfs_find(nullptr);
    return real->xFullPathname(real, path, size, out);
  };
  sqlite3_vfs_register(&vfs_, 0);
}

CountingVfs::~CountingVfs() { sqlite3_vfs_unregister(&vfs_); }

std::string CountingVfs::unflushed() const {
  std::string all;
  for (const std::string& file : unflushed_) {
    all += (all.empty() ? "" : " ") + file;
  }
  return all;
}

}  // namespace fence::test
