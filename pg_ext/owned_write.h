// What every write to a key does before and after its own work: say who one is, read the
// record, judge; and judge again under the lock that a claim cannot pass.
#ifndef FENCE_PG_EXT_OWNED_WRITE_H
#define FENCE_PG_EXT_OWNED_WRITE_H

#include "core/append.h"
#include "core/mode.h"
#include "pg_ext/arguments.h"
#include "pg_ext/record_store.h"
#include "pg_ext/transaction.h"

namespace fence {

// ZF010 where the epoch is NULL, the mode wants one, and the writer is none, either: that
// comes before every ZF012.
void check_writer(const OwnerCall& call);

// The rule of the call's namespace; ZF012 where it does not take the call.
NamespaceRule check_mode(const OwnerCall& call);
// The same for calls that are about ownership, and need an epoch in every mode.
NamespaceRule check_owner_mode(const OwnerCall& call);

// As these, and the rule stays as it is to the end of the transaction: after every lock.
NamespaceRule settle_mode(const OwnerCall& call);
NamespaceRule settle_owner_mode(const OwnerCall& call);

class OwnedWrite {
 public:
  // First thing in a write, after its ZF010. call: the one that may be all its transaction
  // does (nullptr: it is not). Checks rights and mode, and asserts; read the record next.
  OwnedWrite(FunctionCallInfo call, const OwnerCall& owner);

  // Reads the record anew. Returns why the caller does not own the key, or nullptr.
  const Reason* judge();
  // The same, and refuses with what a detail can say.
  void check_owner();

  // Whether it is all that its transaction does.
  bool is_bare() const { return bare_; }
  const OwnerCall& owner() const { return owner_; }
  const NamespaceRule& rule() const { return rule_; }
  // Of what was judged last.
  const StoredRecord& record() const { return record_; }
  int64_t trimmed() const;
  // Where the log ends, by looking for its last entry.
  LogEnd find_end() const;

  // Two sessions of one owner that both need this come one after the other.
  void exclude_other_sessions() const;

  // For who writes without an epoch: the key lives, if it did not, and has no owner.
  void give_life();
  // Such an entry was stored: the owner, if there is one, must look before it stores there.
  void note_unfenced_entry(int64_t idx);

  // Last thing, with what is to be looked at again at commit.
  void end(FinalCheck check);

 private:
  const OwnerCall& owner_;
  NamespaceRule rule_;
  bool bare_ = false;
  StoredRecord record_;
};

}  // namespace fence

#endif
