// fenced_publish: moves a staged log to its final name, for exactly one of many.
#include "core/publish.h"

#include "core/argument.h"
#include "core/layer.h"
#include "core/number.h"
#include "sqlite_ext/arguments.h"
#include "sqlite_ext/content.h"
#include "sqlite_ext/functions.h"
#include "sqlite_ext/own_transaction.h"
#include "sqlite_ext/owner_write.h"
#include "sqlite_ext/stored_row.h"

namespace fence {

namespace {

const Reason foreign_staged = {Code::guard_broken,
                               "an entry of the staged log was changed by somebody else than Fence",
                               "find out who writes to the file without the extension"};

struct PublishCall {
  OwnerCall target;
  OwnerCall staged;  // the same caller
  int64_t expected_last = 0;

  Seal mark() const noexcept {
    return publication_mark(target.name.ns, target.name.key, expected_last, target.claimant);
  }
};

// Everything that is asked before anything is written.
struct PublishState {
  LogState target;
  LogState staged;
  bool published = false;  // by an earlier call, which is repeated now
};

// Fills failure with the name of the key that is in the way.
bool refuse_at(const LogName& name, Failure* failure) noexcept {
  failure->name_key(name.ns, name.key);
  return false;
}

bool check_staged_owner(const PublishCall& call, const PublishState& state,
                        Failure* failure) noexcept {
  const Record record = state.staged.ownership();
  const Reason* reason = judge_staged_owner(record, call.staged.claimant);
  if (reason == nullptr) {
    return true;
  }
  failure->refuse(ownership_refusal(reason, record, call.staged.claimant));
  return refuse_at(call.staged.name, failure);
}

// Modes, owners, and whether this is a repeat.
bool judge_publisher(Connection* connection, const PublishCall& call, PublishState* state,
                     Failure* failure) noexcept {
  if (!judge_writer(connection, call.target, &state->target, failure)) {
    return refuse_at(call.target.name, failure);
  }
  if (!read_log(connection, call.staged, judge_staged_mode, &state->staged, failure)) {
    return refuse_at(call.staged.name, failure);
  }
  state->published = is_repeated_publication(state->staged.lives(), state->staged.record.published,
                                             call.mark(), state->target.end);
  return state->published || check_staged_owner(call, *state, failure);
}

bool read_staged_log(Connection* connection, const LogName& name, StagedLog* staged,
                     Failure* failure) noexcept {
  Use use(connection, Sql::entry_range);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(name.ns));
    bind_field(use.get(), 2, text_field(name.key));
  }
  if (!use.step()) {
    refuse_missing_row(connection, use.rc(), failure);
    return false;
  }
  if (sqlite3_column_int64(use.get(), 2) == 0) {
    return true;
  }
  if (!read_integer(use.get(), 0, &staged->first) || !read_integer(use.get(), 1, &staged->last)) {
    failure->refuse(reasons::corrupt_entry);
    return false;
  }
  staged->count = sqlite3_column_int64(use.get(), 2);
  return true;
}

bool check_staged_log(Connection* connection, const PublishCall& call, const LogState& log,
                      Failure* failure) noexcept {
  StagedLog staged;
  if (!read_staged_log(connection, call.staged.name, &staged, failure)) {
    return refuse_at(call.staged.name, failure);
  }
  const Reason* reason = judge_staged_log(staged, call.expected_last);
  if (reason == nullptr) {
    return true;
  }
  Refusal refusal = ownership_refusal(reason, log.ownership(), call.staged.claimant);
  refusal.number = call.expected_last;
  failure->refuse(refusal);
  return refuse_at(call.staged.name, failure);
}

// Follows the seals of a log from entry to entry, so that nothing passes on sealed
// anew that was not stored through Fence.
class SealWalk {
 public:
  SealWalk(const LogName& name, const LogState& log) noexcept
      : name_(name), log_(log), previous_(log.record.trim_seal) {}

  // Reads the entry of a row of Sql::entries; false: it is not as it was stored.
  bool take(sqlite3_stmt* row, Entry* entry, const Reason** fault) noexcept {
    int64_t late = 0;
    Seal seal{};
    if (!read_integer(row, 0, &entry->idx) || !read_integer(row, 1, &entry->epoch) ||
        !read_16_bytes(row, 2, entry->writer.bytes) || !read_blob(row, 3, &entry->payload) ||
        !read_integer(row, 4, &late) || !read_16_bytes(row, 5, seal.bytes)) {
      *fault = &reasons::corrupt_entry;
      return false;
    }
    entry->late = late != 0;
    const Seal expected =
        seal_entry(log_.seal_key, entry->late ? Seal{} : previous_, name_.ns, name_.key, *entry);
    if (entry->late) {
      late_sum_ = add_seals(late_sum_, seal);
    } else {
      previous_ = seal;
    }
    *fault = &foreign_staged;
    return seal == expected || !layer(Layer::tail_seal);
  }

  bool whole() const noexcept {
    return late_sum_ == log_.record.late_sum || !layer(Layer::tail_seal);
  }

 private:
  const LogName& name_;
  const LogState& log_;
  Seal previous_;
  Seal late_sum_{};
};

bool copy_entries(Connection* connection, const PublishCall& call, PublishState* state,
                  Failure* failure) noexcept {
  Use use(connection, Sql::entries);
  if (use.ready()) {
    bind_field(use.get(), 1, text_field(call.staged.name.ns));
    bind_field(use.get(), 2, text_field(call.staged.name.key));
  }
  SealWalk walk(call.staged.name, state->staged);
  while (use.step()) {
    Entry entry;
    const Reason* fault = nullptr;
    if (!walk.take(use.get(), &entry, &fault)) {
      failure->refuse(*fault);
      return refuse_at(call.staged.name, failure);
    }
    if (!insert_entry(connection, call.target.name, call.target.claimant, entry.idx, entry.payload,
                      &state->target, failure)) {
      return refuse_at(call.target.name, failure);
    }
  }
  if (use.rc() != SQLITE_OK) {
    refuse_unreadable(connection, use.rc(), failure);
    return false;
  }
  if (!walk.whole()) {
    failure->refuse(foreign_staged);
    return refuse_at(call.staged.name, failure);
  }
  return true;
}

bool move_log(Connection* connection, const PublishCall& call, PublishState* state,
              WriteProgress* progress, Failure* failure) noexcept {
  LogState* target = &state->target;
  if (!bring_to_life(connection, call.target, target, progress, failure) ||
      !copy_entries(connection, call, state, failure)) {
    return false;
  }
  note_tail(target);
  int64_t removed = 0;
  return store_record(connection, call.target.name, target, failure) &&
         end_life(connection, call.staged.name, call.mark(), &state->staged, &removed, failure);
}

bool publish(Connection* connection, const PublishCall& call, bool* published,
             Failure* failure) noexcept {
  const auto judge = [&](Failure* stale) {
    PublishState state;
    return judge_publisher(connection, call, &state, stale);
  };
  const auto write = [&](WriteProgress* progress, Failure* refused) {
    PublishState state;
    if (!judge_publisher(connection, call, &state, refused)) {
      return false;
    }
    *published = state.published;
    if (state.published || !can_be_published_to(state.target.end)) {
      return true;
    }
    *published = true;
    return check_staged_log(connection, call, state.staged, refused) &&
           move_log(connection, call, &state, progress, refused);
  };
  return check_writer(connection, call.target, failure) &&
         run_alone(connection, judge, write, failure);
}

bool read_publish_call(sqlite3_value** values, PublishCall* call, Failure* failure) noexcept {
  LogName& staged = call->staged.name;
  if (!read_owner_call(values, &call->target, failure)) {
    return false;
  }
  call->staged = call->target;
  call->staged.writer_sound = true;  // the target's mode decides whether it matters
  if (!read_name(values[4], reasons::bad_staged_namespace, &staged.ns, failure) ||
      !read_name(values[5], reasons::bad_staged_key, &staged.key, failure) ||
      !read_number(values[6], reasons::bad_published_last, &call->expected_last, failure)) {
    return false;
  }
  if (staged.ns == call->target.name.ns && staged.key == call->target.name.key) {
    failure->refuse(reasons::same_key);
    return false;
  }
  return true;
}

}  // namespace

// (namespace, key, epoch, writer, staged_namespace, staged_key, expected_last)
void fenced_publish(sqlite3_context* context, int, sqlite3_value** values) {
  Connection* connection = connection_of(context);
  PublishCall call;
  bool published = false;
  Failure failure;
  const CallScope scope(connection, &failure);
  if (!scope.entered() || !read_publish_call(values, &call, &failure) ||
      !publish(connection, call, &published, &failure)) {
    if (failure.refusal().ns.empty()) {
      failure.name_key(call.target.name.ns, call.target.name.key);
    }
    failure.raise(context);
    return;
  }
  sqlite3_result_int(context, published ? 1 : 0);
}

}  // namespace fence
