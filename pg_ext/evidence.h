// What is left of refusals when their transactions are rolled back (spec 2.5): the newest
// of them, and how often each error came. Lost when the server restarts. Noting takes no
// lock, waits for nobody and raises nothing.
#ifndef FENCE_PG_EXT_EVIDENCE_H
#define FENCE_PG_EXT_EVIDENCE_H

#include "core/refusal.h"
#include "pg_ext/evidence_file.h"

namespace fence {

// A refused claim, write or assertion.
void note_refusal(const Refusal& refusal);

// An error of class ZF that goes out to the client, of whatever code.
void count_error(Code code);

// The evidence with that ticket, if it is still there and whole.
bool read_evidence(EvidenceFile* file, uint64_t ticket, Evidence* evidence);

}  // namespace fence

#endif
