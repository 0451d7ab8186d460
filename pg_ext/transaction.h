// What this transaction has asserted, and whether it was refused. Both are looked at
// when it commits: spec sections 0 and 1.
#ifndef FENCE_PG_EXT_TRANSACTION_H
#define FENCE_PG_EXT_TRANSACTION_H

#include "pg_ext/commit_check.h"
#include "pg_ext/failure.h"
#include "pg_ext/record_store.h"

namespace fence {

// When the library is loaded.
void watch_transactions();

// ZF009 where an earlier call was refused: first thing in every call that acts.
void check_not_doomed();

// Raises a refusal of a write or an assertion. Where its code says "not the owner" the
// transaction cannot commit any more, also if the error is swallowed.
[[noreturn]] void refuse(const Refusal& refusal);

bool has_assertions();
// Whether that key is among them.
bool is_asserted(std::string_view ns, std::string_view key);

// A claim is a transaction of its own, so there is one at most.
bool has_claimed();
void note_claim();

// Remembers that the claimant's ownership of the key is to be checked again at commit
// (ZF012 where the transaction used the key under another epoch), and shows it to
// others by two locks that block nobody; beyond 64 keys of the transaction by one for all the
// rest. Read the record after it, not before: a claim that comes in between is found by the
// check at commit. mode: of the namespace; it has to be the same at commit.
void assert_owner(const RecordName& name, const Claimant& claimant, Mode mode);

// Adds to what is looked at again for a key that was asserted.
void check_at_commit_too(const RecordName& name, const FinalCheck& check);

// Raises (ZF013) where this transaction has stored an entry that somebody else has trimmed
// since.
void check_nothing_trimmed(const RecordName& name, const StoredRecord& record);

// For a transaction that ends with this very call (see bare_call.h): takes the lock under
// which a commit stands and reads the record a last time. Nothing may be waited for
// afterwards.
void check_owner_finally(const RecordName& name, const Claimant& claimant, const FinalCheck& check);

// An owner's write where the mode takes writes without an epoch, too: there is none on its key
// beside it, to the end of the transaction.
void shut_out_unfenced(const RecordName& name);

// A write without an epoch: asserts nothing, but stands alone on its key to the end of the
// transaction, and the mode must be the same when that commits.
void write_without_epoch(const RecordName& name, Mode mode);

}  // namespace fence

#endif
