// Is a call all that its transaction does?
#ifndef FENCE_PG_EXT_BARE_CALL_H
#define FENCE_PG_EXT_BARE_CALL_H

#include "pg_ext/server.h"

namespace fence {

// True where the server commits right after this call, without waiting for anything
// and above all not for the client: then the ownership can be checked a last time at
// the end of the call, and a refusal comes before the result row. When in doubt,
// false: the check at commit is always right.
bool is_bare_call(FunctionCallInfo call);

// Whether a statement of the client is at work, rather than a commit: by then the portals
// of the client are closed, or, around a COMMIT in a procedure, have no owner any more.
// Those that functions open say nothing.
bool runs_a_client_statement();

// No transaction is open but the one of this statement.
bool in_autocommit();
// In autocommit, but an earlier statement of a pipeline belongs to the same transaction.
bool in_pipeline();

// In autocommit with the client's Sync at hand: commit before success is reported, so
// that a refusal at commit replaces the report. (A driver that has read "done" may
// well drop the error behind it.)
void commit_before_report();
// The same whatever comes next: for calls that are a transaction of their own.
void commit_at_once();

}  // namespace fence

#endif
