// Claims of many keys with one flush: oplog_metadata_upsert_many.
#include <cstring>

#include "core/argument.h"
#include "core/name.h"
#include "sqlite_ext/claim.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/json_text.h"
#include "sqlite_ext/namespace_store.h"
#include "sqlite_ext/write_scope.h"

namespace fence {

namespace {

// The claims of one call, read from a JSON array of {"key", "epoch"}.
class ClaimList {
 public:
  ClaimList() = default;
  ~ClaimList();
  ClaimList(const ClaimList&) = delete;
  ClaimList& operator=(const ClaimList&) = delete;

  // common: namespace and writer of all of them.
  bool read(Connection* connection, const OwnerCall& common, std::string_view json,
            Failure* failure) noexcept;

  int count() const noexcept { return count_; }
  const OwnerCall* calls() const noexcept { return calls_; }
  LastIdx* last() noexcept { return last_; }

 private:
  bool add(sqlite3_stmt* element, const OwnerCall& common, Failure* failure) noexcept;
  bool push(OwnerCall call) noexcept;

  OwnerCall* calls_ = nullptr;  // their keys are copies, freed with the list
  LastIdx* last_ = nullptr;
  int count_ = 0;
  int capacity_ = 0;
  AssertedKeys seen_;
};

ClaimList::~ClaimList() {
  for (int i = 0; i < count_; ++i) {
    sqlite3_free(const_cast<char*>(calls_[i].name.key.data()));
  }
  sqlite3_free(calls_);
  sqlite3_free(last_);
}

bool ClaimList::push(OwnerCall call) noexcept {
  if (count_ == capacity_) {
    const int capacity = capacity_ == 0 ? 16 : capacity_ * 2;
    void* grown = sqlite3_realloc64(calls_, sizeof(OwnerCall) * static_cast<size_t>(capacity));
    if (grown == nullptr) {
      return false;
    }
    calls_ = static_cast<OwnerCall*>(grown);
    capacity_ = capacity;
  }
  auto* copy = static_cast<char*>(sqlite3_malloc64(call.name.key.size()));
  if (copy == nullptr) {
    return false;
  }
  std::memcpy(copy, call.name.key.data(), call.name.key.size());
  call.name.key = {copy, call.name.key.size()};
  calls_[count_++] = call;
  return true;
}

// The element as it stands in the claims.
std::string_view json_of(sqlite3_stmt* element) noexcept {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(element, 3));
  return text == nullptr
             ? std::string_view()
             : std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(element, 3)));
}

bool ClaimList::add(sqlite3_stmt* element, const OwnerCall& common, Failure* failure) noexcept {
  Failure fault;
  OwnerCall call = common;
  if (sqlite3_column_int(element, 0) != 1 || has_nul(json_of(element)) ||
      !read_name(sqlite3_column_value(element, 1), reasons::bad_key, &call.name.key, &fault) ||
      !read_number(sqlite3_column_value(element, 2), reasons::bad_epoch, &call.claimant.epoch,
                   &fault)) {
    failure->refuse(reasons::bad_claims, count_ + 1);
    return false;
  }
  if (seen_.find(call.name.ns, call.name.key) != nullptr) {
    failure->refuse(reasons::repeated_claim, count_ + 1);
    return false;
  }
  if (!seen_.add(call.name.ns, call.name.key, call.claimant.epoch, 0) || !push(call)) {
    failure->out_of_memory();
    return false;
  }
  return true;
}

bool ClaimList::read(Connection* connection, const OwnerCall& common, std::string_view json,
                     Failure* failure) noexcept {
  Use use(connection, Sql::claims);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(json));
  }
  while (use.step()) {
    if (!add(use.get(), common, failure)) {
      return false;
    }
  }
  const bool cut = use.rc() == SQLITE_OK && has_nul(json);  // SQLite stopped reading there
  if (cut || (use.ready() && (use.rc() & 0xff) == SQLITE_ERROR)) {
    failure->refuse(reasons::bad_claims, count_ + 1);  // not JSON from here on
    return false;
  }
  if (use.rc() != SQLITE_OK) {
    failure->pass_on(connection->db, use.rc());
    return false;
  }
  last_ =
      static_cast<LastIdx*>(sqlite3_malloc64(sizeof(LastIdx) * static_cast<size_t>(count_ + 1)));
  if (last_ == nullptr) {
    failure->out_of_memory();
    return false;
  }
  for (int i = 0; i < count_; ++i) {
    last_[i] = LastIdx();
  }
  return true;
}

// (namespace, claims, writer)
bool claim_many(Connection* connection, sqlite3_value** values, ClaimList* list,
                Failure* failure) noexcept {
  OwnerCall common;
  std::string_view json;
  if (!read_name(values[0], reasons::bad_namespace, &common.name.ns, failure)) {
    return false;
  }
  const auto in_namespace = [&](bool done) {
    if (!done && failure->refusal().ns.empty()) {
      failure->name_key(common.name.ns, {});
    }
    return done;
  };
  if (!read_writer(values[2], &common.claimant.writer, failure)) {
    return in_namespace(false);
  }
  if (sqlite3_value_type(values[1]) != SQLITE_TEXT || !read_payload(values[1], &json, failure) ||
      !is_json_array(json)) {
    failure->refuse(reasons::bad_claims, 1);
    return in_namespace(false);
  }
  if (!list->read(connection, common, json, failure)) {
    return in_namespace(false);
  }
  if (list->count() == 0) {
    return in_namespace(check_alone(connection, failure) &&
                        check_mode(connection, common, judge_owner_mode, failure));
  }
  return in_namespace(run_claims(connection, list->calls(), list->count(), list->last(), failure));
}

}  // namespace

void oplog_metadata_upsert_many(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  ClaimList list;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !claim_many(connection, values, &list, &failure)) {
    failure.raise(context);
    return;
  }
  JsonText json(context);
  json.put("[");
  for (int i = 0; i < list.count(); ++i) {
    json.put(i == 0 ? "{\"key\":" : ",{\"key\":");
    json.put_name(list.calls()[i].name.key);
    json.put(",\"last\":");
    json.put_number_or_null(list.last()[i]);
    json.put("}");
  }
  json.put("]");
  json.finish();
}

}  // namespace fence
