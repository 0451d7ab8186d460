// Refusals as errors of the server (spec section 3): SQLSTATE, "stale_epoch: text",
// the JSON detail, the hint.
#ifndef FENCE_PG_EXT_FAILURE_H
#define FENCE_PG_EXT_FAILURE_H

#include "core/refusal.h"
#include "pg_ext/server.h"

namespace fence {

// ERROR, and never returns: the server unwinds by longjmp. So whatever stands on the
// stack of pg_ext must need no destructor. Nothing is doomed: see refuse().
[[noreturn]] void raise_error(const Refusal& refusal);
// The same about a table of the user's, which the error names.
[[noreturn]] void raise_error(const Refusal& refusal, Relation table);
[[noreturn]] void raise_error(const Reason& reason, int64_t number = 0);
// The same for a transaction that cannot commit any more (ZF009).
[[noreturn]] void raise_doomed(const Refusal& first);

// 55P03: an open transaction has changed a row of the key that this call must change.
[[noreturn]] void raise_busy();

// UTF-8 as the client can take it: as it is, or with JSON escapes for letters that its
// encoding may lack.
void put_for_client(std::string_view text, TextSink* out);

// One LOG line about an epoch that an administrator lowered.
void log_reset(std::string_view ns, std::string_view key, int64_t before, int64_t epoch);

// One LOG line about a refusal of ownership, and what fence_refusals shows of it: both
// survive whatever becomes of the error. Says nothing that lets a reader of the log write as
// somebody else.
void log_refusal(const Refusal& refusal);

}  // namespace fence

#endif
