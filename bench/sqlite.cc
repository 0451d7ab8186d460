// What the fence costs on SQLite, as ratios measured side by side in one run:
// every round runs the fenced and the unfenced variant in turn, and the median
// of the rounds' ratios is printed. Seconds are noise; nothing here can fail.
//
//   build/bench/sqlite [rounds] [result.json]
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int keys = 64;
constexpr int payload_size = 128;
constexpr const char* writer = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

struct Times {
  double wall = 0;
  double cpu = 0;
};

Times now() {
  timespec wall{};
  timespec cpu{};
  clock_gettime(CLOCK_MONOTONIC, &wall);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto seconds = [](const timespec& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  return {seconds(wall), seconds(cpu)};
}

[[noreturn]] void give_up(sqlite3* db, const char* what) {
  std::fprintf(stderr, "bench: %s: %s\n", what, sqlite3_errmsg(db));
  std::exit(1);
}

// One file with one table pair or the fence in it.
class File {
 public:
  File(const std::string& directory, const char* name, const char* synchronous, bool fenced)
      : path_(directory + "/" + name) {
    if (sqlite3_open(path_.c_str(), &db_) != SQLITE_OK) {
      give_up(db_, "open");
    }
    run("PRAGMA journal_mode = WAL");
    run(std::string("PRAGMA synchronous = ") + synchronous);
    if (fenced) {
      sqlite3_enable_load_extension(db_, 1);
      const char* extension = std::getenv("FENCE_EXTENSION");
      if (sqlite3_load_extension(db_, extension == nullptr ? "build/sqlite/fence" : extension,
                                 nullptr, nullptr) != SQLITE_OK) {
        give_up(db_, "load_extension");
      }
      run("SELECT fence_install()");
    } else {
      run("CREATE TABLE record(namespace TEXT, key TEXT, epoch INTEGER, writer TEXT,"
          " PRIMARY KEY (namespace, key))");
      run("CREATE TABLE entry(namespace TEXT, key TEXT, idx INTEGER, epoch INTEGER, payload BLOB,"
          " PRIMARY KEY (namespace, key, idx))");
    }
    for (int i = 0; i < keys; ++i) {
      run(fenced ? "SELECT oplog_metadata_upsert('bench', 'key" + std::to_string(i) + "', 1, '" +
                       writer + "')"
                 : "INSERT INTO record VALUES ('bench', 'key" + std::to_string(i) + "', 1, '" +
                       writer + "')");
    }
  }
  ~File() {
    for (sqlite3_stmt* statement : statements_) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(db_);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      unlink((path_ + suffix).c_str());
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      give_up(db_, sql.c_str());
    }
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
        SQLITE_OK) {
      give_up(db_, sql);
    }
    statements_.push_back(statement);
    return statement;
  }
  void step(sqlite3_stmt* statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    if (sqlite3_reset(statement) != SQLITE_OK) {
      give_up(db_, sqlite3_sql(statement));
    }
  }
  int64_t next() { return next_++; }

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
  int64_t next_ = 0;
};

std::string key_of(int64_t i) { return "key" + std::to_string(i % keys); }

// (namespace, key, epoch, writer, idx, payload) of the i-th entry.
void bind_entry(sqlite3_stmt* statement, int64_t i, const std::string& payload, bool with_writer) {
  int at = 0;
  sqlite3_bind_text(statement, ++at, "bench", -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, ++at, key_of(i).c_str(), -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, ++at, 1);
  if (with_writer) {
    sqlite3_bind_text(statement, ++at, writer, -1, SQLITE_STATIC);
  }
  sqlite3_bind_int64(statement, ++at, i / keys + 1);
  sqlite3_bind_blob(statement, ++at, payload.data(), static_cast<int>(payload.size()),
                    SQLITE_STATIC);
}

using Variant = std::function<void(int64_t count)>;

const std::string payload(payload_size, 'p');
constexpr const char* plain_insert =
    "INSERT INTO entry(namespace, key, epoch, idx, payload) VALUES (?1, ?2, ?3, ?4, ?5)";

Variant fenced_commits(File& file) {
  sqlite3_stmt* append = file.prepare("SELECT fenced_append(?1, ?2, ?3, ?4, ?5, ?6)");
  return [&file, append](int64_t count) {
    for (int64_t n = 0; n < count; ++n) {
      bind_entry(append, file.next(), payload, true);
      file.step(append);
    }
  };
}

// What people write by hand: lock, look, store.
Variant hand_rolled_commits(File& file) {
  sqlite3_stmt* begin = file.prepare("BEGIN IMMEDIATE");
  sqlite3_stmt* look =
      file.prepare("SELECT epoch, writer FROM record WHERE namespace = ?1 AND key = ?2");
  sqlite3_stmt* insert = file.prepare(plain_insert);
  sqlite3_stmt* commit = file.prepare("COMMIT");
  return [=, &file](int64_t count) {
    for (int64_t n = 0; n < count; ++n) {
      const int64_t i = file.next();
      sqlite3_bind_text(look, 1, "bench", -1, SQLITE_STATIC);
      sqlite3_bind_text(look, 2, key_of(i).c_str(), -1, SQLITE_TRANSIENT);
      bind_entry(insert, i, payload, false);
      for (sqlite3_stmt* statement : {begin, look, insert, commit}) {
        file.step(statement);
      }
    }
  };
}

Variant in_one_transaction(File& file, const char* sql, bool with_writer) {
  sqlite3_stmt* insert = file.prepare(sql);
  return [=, &file](int64_t count) {
    file.run("BEGIN IMMEDIATE");
    for (int64_t n = 0; n < count; ++n) {
      bind_entry(insert, file.next(), payload, with_writer);
      file.step(insert);
    }
    file.run("COMMIT");
  };
}

Variant fenced_batches(File& file) {
  sqlite3_stmt* append = file.prepare("SELECT fenced_append_many('bench', 'key0', 1, ?1, ?2, ?3)");
  return [=, &file](int64_t count) {
    std::string idxs = "[";
    std::string frames;
    for (int64_t n = 0; n < count; ++n) {
      idxs += (n == 0 ? "" : ",") + std::to_string(file.next() + 1);
      frames += std::string{0, 0, 0, static_cast<char>(payload_size)} + payload;
    }
    idxs += "]";
    sqlite3_bind_text(append, 1, writer, -1, SQLITE_STATIC);
    sqlite3_bind_text(append, 2, idxs.c_str(), -1, SQLITE_STATIC);
    sqlite3_bind_blob(append, 3, frames.data(), static_cast<int>(frames.size()), SQLITE_STATIC);
    file.step(append);
    sqlite3_clear_bindings(append);
  };
}

struct Result {
  std::string name;
  std::vector<double> wall;
  std::vector<double> cpu;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Result compare(const char* name, int rounds, int64_t count, const Variant& fenced,
               const Variant& plain) {
  Result result{name, {}, {}};
  fenced(count);
  plain(count);
  for (int round = 0; round < rounds; ++round) {
    const Times start = now();
    fenced(count);
    const Times middle = now();
    plain(count);
    const Times end = now();
    result.wall.push_back((middle.wall - start.wall) / (end.wall - middle.wall));
    result.cpu.push_back((middle.cpu - start.cpu) / (end.cpu - middle.cpu));
  }
  std::printf("%-24s wall %.2f (%.2f..%.2f)   cpu %.2f\n", name, median(result.wall),
              *std::min_element(result.wall.begin(), result.wall.end()),
              *std::max_element(result.wall.begin(), result.wall.end()), median(result.cpu));
  return result;
}

std::vector<Result> measure(const std::string& directory, int rounds) {
  std::vector<Result> results;
  {
    File fenced(directory, "full-fenced", "FULL", true);
    File plain(directory, "full-plain", "FULL", false);
    results.push_back(
        compare("sqlite.full.b1", rounds, 200, fenced_commits(fenced), hand_rolled_commits(plain)));
  }
  {
    File fenced(directory, "normal-fenced", "NORMAL", true);
    File plain(directory, "normal-plain", "NORMAL", false);
    results.push_back(compare("sqlite.normal.b1", rounds, 2000, fenced_commits(fenced),
                              hand_rolled_commits(plain)));
  }
  {
    File fenced(directory, "block-fenced", "NORMAL", true);
    File plain(directory, "block-plain", "NORMAL", false);
    results.push_back(
        compare("sqlite.normal.block", rounds, 1000,
                in_one_transaction(fenced, "SELECT fenced_append(?1, ?2, ?3, ?4, ?5, ?6)", true),
                in_one_transaction(plain, plain_insert, false)));
  }
  {
    File fenced(directory, "batch-fenced", "NORMAL", true);
    File plain(directory, "batch-plain", "NORMAL", false);
    results.push_back(compare("sqlite.normal.b1000", rounds, 1000, fenced_batches(fenced),
                              in_one_transaction(plain, plain_insert, false)));
  }
  return results;
}

void write_json(const char* path, const std::vector<Result>& results) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::perror(path);
    std::exit(1);
  }
  const char* separator = "{\n";
  for (const Result& result : results) {
    std::fprintf(file, "%s  \"%s_ratio\": %.3f,\n  \"%s_cpu_ratio\": %.3f", separator,
                 result.name.c_str(), median(result.wall), result.name.c_str(), median(result.cpu));
    separator = ",\n";
  }
  std::fprintf(file, "\n}\n");
  std::fclose(file);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 9;
  const char* base = std::getenv("TMPDIR");
  std::string directory = std::string(base == nullptr ? "/tmp" : base) + "/fence-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  std::printf("fenced over plain, %d rounds, medians (least..greatest); SQLite %s\n", rounds,
              sqlite3_libversion());
  const std::vector<Result> results = measure(directory, rounds);
  rmdir(directory.c_str());
  if (count > 2) {
    write_json(arguments[2], results);
  }
  return 0;
}
