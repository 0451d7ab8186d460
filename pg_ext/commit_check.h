// What is judged a last time where a transaction commits, under the locks that a claim cannot
// pass: the owner, the mode, and that nothing stored lies below a trim of others.
#ifndef FENCE_PG_EXT_COMMIT_CHECK_H
#define FENCE_PG_EXT_COMMIT_CHECK_H

#include <optional>

#include "core/mode.h"
#include "core/ownership.h"
#include "pg_ext/record_store.h"
#include "pg_ext/trim_store.h"

namespace fence {

// What is to be looked at again beside the ownership, when the transaction commits.
struct FinalCheck {
  Mode mode = Mode::required;
  // The lowest idx that was stored: nobody may have trimmed it meanwhile, or the entry would
  // be acknowledged and gone.
  Maybe<int64_t> lowest_stored;
  // The log was trimmed: that comes before or after the commit of an append, not beside it.
  bool trims = false;
  // Where the record stood when it was read: looked at there first. Not valid: nowhere yet.
  ItemPointerData row{};
};

// ZF012 where the mode is another one. Nobody changes the rules of namespaces any more when
// this counts.
void check_mode_now(const RecordName& name, Mode mode);

// Of one key after the other; the tables are opened once.
class CommitCheck {
 public:
  // Raises a refusal where the claimant is not the owner, or something stored is trimmed.
  void check_owner(const RecordName& name, const Claimant& claimant, const FinalCheck& check);
  // The same in two steps, of which the second is quick. First before claims are locked out, but
  // not trims: no record means nothing. Returns where it stands.
  ItemPointerData glance(const RecordName& name, const Claimant& claimant, const FinalCheck& check);
  // check.row: what the first returned.
  void check_again(const RecordName& name, const Claimant& claimant, const FinalCheck& check);
  // Raises (ZF013) where an entry of this transaction, lowest_stored or above, lies below a
  // trim of somebody else.
  void check_not_trimmed(const RecordName& name, const StoredRecord& record,
                         const Claimant& claimant, const Maybe<int64_t>& lowest_stored);
  void end();

 private:
  StoredRecord read(const RecordName& name, const ItemPointerData& row);

  std::optional<RecordReader> records_;
  std::optional<TrimsOfOthers> trims_;
};

}  // namespace fence

#endif
