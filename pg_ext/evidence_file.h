// The memory that the sessions of one database share without a preloaded library: a file
// under pg_stat_tmp, which base backups leave out, mapped by whoever has something to note.
// It lives as long as the server runs, also past the crash of a session.
#ifndef FENCE_PG_EXT_EVIDENCE_FILE_H
#define FENCE_PG_EXT_EVIDENCE_FILE_H

#include "pg_ext/server.h"

extern "C" {
#include "port/atomics.h"
#include "utils/timestamp.h"
}

namespace fence {

constexpr int evidence_slots = 512;
constexpr int evidence_codes = 22;  // Code, from 0

// One refusal, in a form that needs nothing of the session it comes from.
struct Evidence {
  TimestampTz at;
  int64_t asserted_epoch;
  int64_t stored_epoch;
  uint64_t ticket;  // how many were noted before
  int32_t pid;
  Oid role;
  uint8_t code;
  bool asserted_epoch_known;
  bool stored_epoch_known;
  uint8_t namespace_size;
  uint8_t key_size;
  char asserted_writer[9];  // fingerprints, or empty
  char stored_writer[9];
  char application_name[NAMEDATALEN];
  char ns[255];
  char key[255];
};

struct EvidenceSlot {
  // 2 * ticket + 1 while it is written, one more from then on. Of two writers the one with
  // the greater ticket has the slot; what both have written to, checksum tells.
  pg_atomic_uint64 state;
  unsigned char checksum[16];
  Evidence evidence;
};

// What the file consists of. Another layout: another magic.
struct EvidenceFile {
  char magic[16];
  uint64_t size;
  pg_atomic_uint64 next;  // ticket
  pg_atomic_uint64 counts[evidence_codes];
  EvidenceSlot slots[evidence_slots];
};

// Both answer nullptr where there is none, and raise nothing. The file of this database,
// made if need be; what goes wrong with that is a line in the server's log, once a session.
EvidenceFile* make_evidence_file();
// Only if it is there. *unusable: it is, or should be, and cannot be used.
EvidenceFile* find_evidence_file(bool* unusable);

}  // namespace fence

#endif
