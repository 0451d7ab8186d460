#include "pg_ext/evidence_file.h"

extern "C" {
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "pgstat.h"
}

namespace fence {

namespace {

constexpr char magic[16] = "fence evidence1";
constexpr char prefix[] = "fence_";

EvidenceFile* mapped = nullptr;
bool given_up = false;

// This life of the server: files of earlier ones are left over.
uint64_t this_life() { return static_cast<uint64_t>(PgStartTime); }

struct Path {
  char text[MAXPGPATH];
};

Path path_of_file() {
  Path path;
  snprintf(path.text, sizeof path.text, "%s/%s%016llx_%u", PG_STAT_TMP_DIR, prefix,
           static_cast<unsigned long long>(this_life()), MyDatabaseId);
  return path;
}

// Where it is put together: nobody sees a file that is not finished.
Path path_of_draft() {
  Path path;
  snprintf(path.text, sizeof path.text, "%s/%s%016llx_%u.%d", PG_STAT_TMP_DIR, prefix,
           static_cast<unsigned long long>(this_life()), MyDatabaseId, MyProcPid);
  return path;
}

// Never an error, whatever the reason; and not sent to the client, who may not read.
void give_up(const char* what, const char* path) {
  const int error = errno;
  given_up = true;
  errno = error;
  ereport(LOG_SERVER_ONLY,
          (errmsg("fence keeps no evidence of refusals: could not %s \"%s\": %m", what, path),
           errhidestmt(true), errhidecontext(true)));
}

// They would pile up, since the server does not clear that folder.
void remove_earlier_lives() {
  char current[64];
  snprintf(current, sizeof current, "%s%016llx_", prefix,
           static_cast<unsigned long long>(this_life()));
  DIR* folder = opendir(PG_STAT_TMP_DIR);
  if (folder == nullptr) {
    return;
  }
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
        strncmp(entry->d_name, current, strlen(current)) != 0) {
      static_cast<void>(unlinkat(dirfd(folder), entry->d_name, 0));
    }
  }
  closedir(folder);
}

EvidenceFile* map(int file) {
  void* memory = mmap(nullptr, sizeof(EvidenceFile), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<EvidenceFile*>(memory);
}

bool is_ours(const EvidenceFile& file) {
  return memcmp(file.magic, magic, sizeof magic) == 0 && file.size == sizeof(EvidenceFile);
}

// Its space is there before anybody maps it: a full disk must not become a SIGBUS.
bool allocate(int file) {
  int error = 0;
  do {
    error = posix_fallocate(file, 0, sizeof(EvidenceFile));
  } while (error == EINTR);
  errno = error;
  return error == 0;
}

// False with errno, and *what went wrong.
bool write_draft(const char* path, const char** what) {
  unlink(path);  // of a process of that number that was killed at it
  *what = "create";
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        static_cast<mode_t>(pg_file_create_mode));
  if (file < 0) {
    return false;
  }
  *what = "allocate";
  EvidenceFile* draft = allocate(file) ? map(file) : nullptr;
  const int error = errno;
  close(file);
  errno = error;
  if (draft == nullptr) {
    return false;
  }
  draft->size = sizeof(EvidenceFile);  // the rest is zero, and that is right
  memcpy(draft->magic, magic, sizeof magic);
  munmap(draft, sizeof(EvidenceFile));
  return true;
}

// Of several who make it at once the first one's counts.
bool create(const char* path) {
  remove_earlier_lives();
  const Path draft = path_of_draft();
  const char* what = nullptr;
  if (!write_draft(draft.text, &what)) {
    give_up(what, draft.text);
    unlink(draft.text);
    return false;
  }
  const bool linked = link(draft.text, path) == 0 || errno == EEXIST;
  if (!linked) {
    give_up("link", path);
  }
  unlink(draft.text);
  return linked;
}

// nullptr with errno; ENOENT: there is none.
EvidenceFile* open_file(const char* path, const char** what) {
  *what = "open";
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    return nullptr;
  }
  struct stat found;
  EvidenceFile* opened = nullptr;
  *what = "read";
  if (fstat(file, &found) == 0) {
    errno = EINVAL;
    if (S_ISREG(found.st_mode) && found.st_size == static_cast<off_t>(sizeof(EvidenceFile))) {
      opened = map(file);
    }
  }
  if (opened != nullptr && !is_ours(*opened)) {
    munmap(opened, sizeof(EvidenceFile));
    opened = nullptr;
    errno = EINVAL;
  }
  const int error = errno;
  close(file);
  errno = error;
  return opened;
}

EvidenceFile* attach(bool make) {
  if (mapped != nullptr || given_up) {
    return mapped;
  }
  const Path path = path_of_file();
  const char* what = nullptr;
  mapped = open_file(path.text, &what);
  if (mapped == nullptr && errno == ENOENT && make && create(path.text)) {
    mapped = open_file(path.text, &what);
  }
  if (mapped == nullptr && !given_up && (errno != ENOENT || make)) {
    give_up(what, path.text);
  }
  return mapped;
}

}  // namespace

EvidenceFile* make_evidence_file() { return attach(true); }

EvidenceFile* find_evidence_file(bool* unusable) {
  EvidenceFile* found = attach(false);
  *unusable = given_up;
  return found;
}

}  // namespace fence
