// From the arguments of a SQL call to what core/ works with. What cannot be that is
// raised at once (ZF010), in the order in which it is asked for.
#ifndef FENCE_PG_EXT_ARGUMENTS_H
#define FENCE_PG_EXT_ARGUMENTS_H

#include <string_view>

#include "core/ownership.h"
#include "pg_ext/failure.h"
#include "pg_ext/record_name.h"

namespace fence {

// (namespace, key, epoch, writer): the first four arguments of most calls.
struct OwnerCall {
  RecordName name;
  Claimant claimant;
  // judge_call_mode says when that counts.
  bool writer_sound = true;
};

// The bytes of a text or bytea, decompressed if need be; they live as long as the
// memory context of the call.
std::string_view bytes_of(Datum datum);

// A refusal about a key, for a caller that has to fill in more.
Refusal about(const RecordName& name, const Reason& reason, int64_t number = 0);

// The arguments of one call, from the function manager or from a trigger's row.
class Arguments {
 public:
  explicit Arguments(FunctionCallInfo call) : values_(call->args), count_(call->nargs) {}
  Arguments(const NullableDatum* values, int count) : values_(values), count_(count) {}

  bool is_null(int argument) const { return argument >= count_ || values_[argument].isnull; }
  Datum datum(int argument) const { return values_[argument].value; }

  // 0 and 1: errors from then on name them.
  const RecordName& record_name();
  const std::string_view& ns();
  // 0 to 3, of a write. Where the epoch is NULL nobody looks at the writer; whether it may
  // be NULL is for the mode of the namespace (ZF012, after every ZF010).
  OwnerCall write_call();
  // 0 to 3, of a call that needs an epoch in every mode: ZF012, where nothing else is
  // wrong. rest reads the arguments that follow, since their ZF010 comes first.
  template <typename ReadRest>
  OwnerCall owner_call(ReadRest rest) {
    OwnerCall call;
    call.name = record_name();
    read_claimant(&call.claimant, rest);
    return call;
  }
  OwnerCall owner_call() {
    return owner_call([] {});
  }
  // The same where argument 1 names many keys, which read_keys reads.
  template <typename ReadKeys>
  OwnerCall many_keys_call(ReadKeys read_keys) {
    OwnerCall call;
    call.name.ns = ns();
    read_keys();
    read_claimant(&call.claimant, [] {});
    return call;
  }

  // Text that names something; errors do not name it.
  std::string_view name(int argument, const Reason& fault) const;
  // The same for what may be empty; NULL is empty.
  std::string_view name_prefix(int argument, const Reason& fault) const;

  int64_t number(int argument, const Reason& fault) const;
  int64_t number_or(int argument, const Reason& fault, int64_t fallback) const;
  WriterHash writer(int argument) const;
  std::string_view payload(int argument, const Reason& fault) const;

  [[noreturn]] void refuse(const Reason& fault, int64_t number = 0) const;

 private:
  template <typename ReadRest>
  void read_claimant(Claimant* claimant, ReadRest rest) const {
    const bool epoch_given = !is_null(2);
    claimant->epoch = epoch_given ? epoch(2) : 0;
    claimant->writer = writer(3);
    rest();
    if (!epoch_given) {
      refuse_missing_epoch();
    }
  }
  int64_t epoch(int argument) const;
  [[noreturn]] void refuse_missing_epoch() const;

  const NullableDatum* values_;
  int count_;
  RecordName name_;
};

}  // namespace fence

#endif
