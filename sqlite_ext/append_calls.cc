// The scalar forms: fenced_append, fenced_append_many, and fence_blobs, which
// builds what the latter takes.
#include <cstdlib>
#include <cstring>

#include "core/argument.h"
#include "core/batch.h"
#include "sqlite_ext/append.h"
#include "sqlite_ext/connection.h"
#include "sqlite_ext/functions.h"

namespace fence {

namespace {

// The entries of a batch, in ascending order of idx.
class Batch {
 public:
  Batch() = default;
  ~Batch() { sqlite3_free(entries_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool read(std::string_view idxs, std::string_view frames, Failure* failure) noexcept;

  NewEntry* entries() noexcept { return entries_; }
  int64_t count() const noexcept { return count_; }

 private:
  bool read_idxs(std::string_view idxs, Failure* failure) noexcept;
  bool read_payloads(std::string_view frames, Failure* failure) noexcept;
  bool sort(Failure* failure) noexcept;

  NewEntry* entries_ = nullptr;
  int64_t count_ = 0;
};

bool Batch::read_idxs(std::string_view idxs, Failure* failure) noexcept {
  int64_t capacity = 0;
  IdxArray array(idxs);
  int64_t idx = 0;
  Step step = Step::value;
  while ((step = array.next(&idx)) == Step::value) {
    if (count_ == capacity) {
      capacity = capacity == 0 ? 64 : capacity * 2;
      void* grown = sqlite3_realloc64(entries_, static_cast<size_t>(capacity) * sizeof(NewEntry));
      if (grown == nullptr) {
        failure->out_of_memory();
        return false;
      }
      entries_ = static_cast<NewEntry*>(grown);
    }
    NewEntry entry;
    entry.idx = idx;
    entries_[count_++] = entry;
  }
  if (step == Step::fault) {
    failure->refuse(array.opened() ? reasons::bad_idxs : reasons::idxs_no_array, count_ + 1);
    return false;
  }
  return true;
}

bool Batch::read_payloads(std::string_view frames, Failure* failure) noexcept {
  FramedPayloads payloads(frames);
  int64_t read = 0;
  std::string_view payload;
  Step step = Step::value;
  while ((step = payloads.next(&payload)) == Step::value) {
    if (read < count_) {
      entries_[read].payload = payload;
    }
    ++read;
  }
  if (step == Step::fault) {
    failure->refuse(reasons::bad_frames, read + 1);
    return false;
  }
  if (read != count_) {
    failure->refuse(reasons::different_lengths);
    return false;
  }
  return true;
}

int compare_idx(const void* left, const void* right) noexcept {
  const int64_t a = static_cast<const NewEntry*>(left)->idx;
  const int64_t b = static_cast<const NewEntry*>(right)->idx;
  return a < b ? -1 : a > b ? 1 : 0;
}

bool Batch::sort(Failure* failure) noexcept {
  const auto first_not_above = [&]() -> int64_t {
    for (int64_t i = 1; i < count_; ++i) {
      if (entries_[i].idx <= entries_[i - 1].idx) {
        return i;
      }
    }
    return 0;
  };
  if (first_not_above() > 0) {
    std::qsort(entries_, static_cast<size_t>(count_), sizeof(NewEntry), compare_idx);
  }
  const int64_t repeated = first_not_above();
  if (repeated > 0) {
    failure->refuse(reasons::repeated_idx, entries_[repeated].idx);
    return false;
  }
  return true;
}

bool Batch::read(std::string_view idxs, std::string_view frames, Failure* failure) noexcept {
  return read_idxs(idxs, failure) && read_payloads(frames, failure) && sort(failure);
}

// The empty log, in whatever form a driver sends the number (see read_number).
bool is_minus_one(sqlite3_value* value) noexcept {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(value) == -1;
    case SQLITE_FLOAT:
      return sqlite3_value_double(value) == -1;
    case SQLITE_TEXT: {
      std::string_view text;
      Failure none;
      return read_payload(value, &text, &none) && text == "-1";
    }
    default:
      return false;
  }
}

// NULL is no question.
bool read_expected_last(sqlite3_value* value, Maybe<int64_t>* expected, Failure* failure) noexcept {
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    return true;
  }
  int64_t number = -1;
  if (!is_minus_one(value) && !read_number(value, reasons::bad_expected_last, &number, failure)) {
    return false;
  }
  *expected = number;
  return true;
}

bool read_batch(int count, sqlite3_value** values, AppendCall* call, Batch* batch,
                Failure* failure) noexcept {
  if (!read_owner_call(values, &call->owner, failure)) {
    return false;
  }
  std::string_view idxs;
  if (sqlite3_value_type(values[4]) != SQLITE_TEXT || !read_payload(values[4], &idxs, failure)) {
    failure->refuse(reasons::idxs_no_array);
    return false;
  }
  std::string_view frames;
  if (sqlite3_value_type(values[5]) != SQLITE_BLOB || !read_payload(values[5], &frames, failure)) {
    failure->refuse(reasons::bad_frames, 1);
    return false;
  }
  if (!batch->read(idxs, frames, failure)) {
    return false;
  }
  return count < 7 || read_expected_last(values[6], &call->expected_last, failure);
}

// (namespace, key, epoch, writer, idxs, payloads[, expected_last])
bool append_many(Connection* connection, int count, sqlite3_value** values, int64_t* stored,
                 Failure* failure) noexcept {
  AppendCall call;
  Batch batch;
  if (!read_batch(count, values, &call, &batch, failure)) {
    failure->name_key(call.owner.name.ns, call.owner.name.key);
    return false;
  }
  call.entries = batch.entries();
  call.count = batch.count();
  return call.count == 0 ? run_empty_append(connection, call, failure)
                         : run_append(connection, call, stored, failure);
}

void put_length(unsigned char* to, size_t length) noexcept {
  for (int i = 0; i < 4; ++i) {
    to[i] = static_cast<unsigned char>((length >> (24 - 8 * i)) & 0xff);
  }
}

}  // namespace

void fenced_append(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  NewEntry entry;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !append_one(connection, values, &entry, &failure)) {
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, entry.idx);
}

void fenced_append_many(sqlite3_context* context, int count, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  int64_t stored = 0;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !append_many(connection, count, values, &stored, &failure)) {
    failure.raise(context);
    return;
  }
  sqlite3_result_int64(context, stored);
}

void fence_blobs(sqlite3_context* context, int count, sqlite3_value** values) {
  Failure failure;
  std::string_view payload;
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    if (!read_payload(values[i], &payload, &failure)) {
      failure.raise(context);
      return;
    }
    size += 4 + payload.size();
  }
  auto* frames = static_cast<unsigned char*>(sqlite3_malloc64(size + 1));
  if (frames == nullptr) {
    sqlite3_result_error_nomem(context);
    return;
  }
  unsigned char* at = frames;
  for (int i = 0; i < count; ++i) {
    read_payload(values[i], &payload, &failure);
    put_length(at, payload.size());
    if (!payload.empty()) {
      std::memcpy(at + 4, payload.data(), payload.size());
    }
    at += 4 + payload.size();
  }
  sqlite3_result_blob64(context, frames, size, sqlite3_free);
}

}  // namespace fence
