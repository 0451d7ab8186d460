#include "pg_ext/evidence.h"

#include <cstring>

#include "core/siphash.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/guc.h"
}

namespace fence {

namespace {

// It tells a slot that two sessions have written to, and guards nothing.
Seal checksum_of(const Evidence& evidence) {
  const unsigned char none[16] = {};
  SipHash128 sum(none);
  sum.add(&evidence, sizeof evidence);
  return sum.finish();
}

uint8_t copy_name(std::string_view from, char* to) {
  const size_t size = from.size() <= 255 ? from.size() : 0;  // longer ones cannot be
  if (size > 0) {
    std::memcpy(to, from.data(), size);
  }
  return static_cast<uint8_t>(size);
}

void copy_fingerprint(const Maybe<WriterHash>& writer, char* to) {
  if (writer.known) {
    const Fingerprint shown = fingerprint(writer.value);
    std::memcpy(to, shown.text, sizeof shown.text);
  }
}

// Zeros first: the checksum goes over the gaps as well.
void fill(const Refusal& refusal, uint64_t ticket, Evidence* evidence) {
  std::memset(evidence, 0, sizeof *evidence);
  evidence->at = GetCurrentTimestamp();
  evidence->ticket = ticket;
  evidence->pid = MyProcPid;
  evidence->role = GetSessionUserId();
  evidence->code = static_cast<uint8_t>(refusal.code());
  evidence->asserted_epoch_known = refusal.asserted_epoch.known;
  evidence->asserted_epoch = refusal.asserted_epoch.value;
  evidence->stored_epoch_known = refusal.stored_epoch.known;
  evidence->stored_epoch = refusal.stored_epoch.value;
  copy_fingerprint(refusal.asserted_writer, evidence->asserted_writer);
  copy_fingerprint(refusal.stored_writer, evidence->stored_writer);
  evidence->namespace_size = copy_name(refusal.ns, evidence->ns);
  evidence->key_size = copy_name(refusal.key, evidence->key);
  if (application_name != nullptr) {
    std::memcpy(evidence->application_name, application_name,
                strnlen(application_name, sizeof evidence->application_name));
  }
}

uint64_t busy_state(uint64_t ticket) { return 2 * ticket + 1; }
uint64_t done_state(uint64_t ticket) { return 2 * ticket + 2; }

// Never waits for one that was stopped while it wrote there: it is overtaken.
bool take_slot(EvidenceSlot* slot, uint64_t ticket) {
  uint64_t seen = pg_atomic_read_u64(&slot->state);
  while (seen < busy_state(ticket)) {
    if (pg_atomic_compare_exchange_u64(&slot->state, &seen, busy_state(ticket))) {
      return true;
    }
  }
  return false;
}

EvidenceSlot* slot_of(EvidenceFile* file, uint64_t ticket) {
  return &file->slots[ticket % evidence_slots];
}

bool is_text(const char* bytes, uint8_t size) {
  return pg_verify_mbstr(PG_UTF8, bytes, size, true);
}

}  // namespace

void note_refusal(const Refusal& refusal) {
  EvidenceFile* file = make_evidence_file();
  if (file == nullptr) {
    return;
  }
  const uint64_t ticket = pg_atomic_fetch_add_u64(&file->next, 1);
  Evidence evidence;
  fill(refusal, ticket, &evidence);
  const Seal checksum = checksum_of(evidence);
  EvidenceSlot* slot = slot_of(file, ticket);
  if (!take_slot(slot, ticket)) {
    return;
  }
  std::memcpy(&slot->evidence, &evidence, sizeof evidence);  // the gaps as well
  std::memcpy(slot->checksum, checksum.bytes, sizeof slot->checksum);
  pg_write_barrier();
  uint64_t busy = busy_state(ticket);
  pg_atomic_compare_exchange_u64(&slot->state, &busy, done_state(ticket));
}

void count_error(Code code) {
  EvidenceFile* file = make_evidence_file();
  if (file != nullptr) {
    pg_atomic_fetch_add_u64(&file->counts[static_cast<size_t>(code)], 1);
  }
}

bool read_evidence(EvidenceFile* file, uint64_t ticket, Evidence* evidence) {
  EvidenceSlot* slot = slot_of(file, ticket);
  if (pg_atomic_read_u64(&slot->state) != done_state(ticket)) {
    return false;
  }
  pg_read_barrier();
  Seal checksum;
  std::memcpy(evidence, &slot->evidence, sizeof *evidence);
  std::memcpy(checksum.bytes, slot->checksum, sizeof checksum.bytes);
  pg_read_barrier();
  return pg_atomic_read_u64(&slot->state) == done_state(ticket) &&
         checksum == checksum_of(*evidence) && evidence->ticket == ticket && evidence->code > 0 &&
         evidence->code < evidence_codes && is_text(evidence->ns, evidence->namespace_size) &&
         is_text(evidence->key, evidence->key_size);
}

}  // namespace fence
