#include "pg_ext/arguments.h"

#include <cstring>

#include "core/argument.h"
#include "core/mode.h"
#include "core/name.h"
#include "core/number.h"

namespace fence {

namespace {

// SHA-256 at each call would cost a fifth of an append, and a session has few
// writers: the last one is remembered. Text, since that is what comes in; it stays
// in the memory of the session that sent it.
struct HashedWriter {
  char text[40];  // the longest spelling that parse_writer takes has 41 characters
  size_t size = 0;
  WriterHash hash;
};
HashedWriter last_writer;

bool hash_writer(std::string_view text, WriterHash* hash) {
  if (!text.empty() && text.size() == last_writer.size &&
      std::memcmp(text.data(), last_writer.text, text.size()) == 0) {
    *hash = last_writer.hash;
    return true;
  }
  if (!parse_writer(text, hash)) {
    return false;
  }
  if (text.size() <= sizeof last_writer.text) {
    std::memcpy(last_writer.text, text.data(), text.size());
    last_writer.size = text.size();
    last_writer.hash = *hash;
  }
  return true;
}

}  // namespace

std::string_view bytes_of(Datum datum) {
  const auto* bytes = DatumGetTextPP(datum);
  return {VARDATA_ANY(bytes), static_cast<size_t>(VARSIZE_ANY_EXHDR(bytes))};
}

Refusal about(const RecordName& name, const Reason& reason, int64_t number) {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.ns = name.ns;
  refusal.key = name.key;
  refusal.number = number;
  return refusal;
}

std::string_view Arguments::name(int argument, const Reason& fault) const {
  const std::string_view text = is_null(argument) ? std::string_view() : bytes_of(datum(argument));
  const NameFault found = check_name(text);
  if (found == NameFault::none) {
    return text;
  }
  Refusal refusal = about(name_, fault);
  refusal.fault = is_null(argument) ? "is NULL" : describe(found);
  raise_error(refusal);
}

std::string_view Arguments::name_prefix(int argument, const Reason& fault) const {
  if (is_null(argument) || bytes_of(datum(argument)).empty()) {
    return {};
  }
  return name(argument, fault);
}

const std::string_view& Arguments::ns() {
  name_.ns = name(0, reasons::bad_namespace);
  return name_.ns;
}

const RecordName& Arguments::record_name() {
  ns();
  name_.key = name(1, reasons::bad_key);
  name_.hash = record_hash(name_.ns, name_.key);
  return name_;
}

int64_t Arguments::number(int argument, const Reason& fault) const {
  const ParsedNumber parsed = is_null(argument)
                                  ? ParsedNumber{false, 0}
                                  : number_from_integer(DatumGetInt64(datum(argument)));
  if (!parsed.ok) {
    refuse(fault);
  }
  return parsed.value;
}

int64_t Arguments::number_or(int argument, const Reason& fault, int64_t fallback) const {
  return is_null(argument) ? fallback : number(argument, fault);
}

int64_t Arguments::epoch(int argument) const { return number(argument, reasons::bad_epoch); }

WriterHash Arguments::writer(int argument) const {
  WriterHash hash{};
  if (is_null(argument) || !hash_writer(bytes_of(datum(argument)), &hash)) {
    refuse(reasons::bad_writer);
  }
  return hash;
}

OwnerCall Arguments::write_call() {
  OwnerCall call;
  call.name = record_name();
  call.claimant = nobody;
  if (!is_null(2)) {
    call.claimant.epoch = epoch(2);
    call.claimant.writer = writer(3);
  } else {
    WriterHash unused;
    call.writer_sound = !is_null(3) && hash_writer(bytes_of(datum(3)), &unused);
  }
  return call;
}

std::string_view Arguments::payload(int argument, const Reason& fault) const {
  if (is_null(argument)) {
    refuse(fault);
  }
  return bytes_of(datum(argument));
}

void Arguments::refuse_missing_epoch() const { refuse(reasons::owner_epoch_missing); }

void Arguments::refuse(const Reason& fault, int64_t number) const {
  raise_error(about(name_, fault, number));
}

}  // namespace fence
