#include "core/refusal.h"

#include <cstring>

namespace fence {

namespace {

constexpr CodeRule rules[] = {
    {Code::stale_epoch, "ZF001", "stale_epoch", true},
    {Code::other_writer, "ZF002", "other_writer", true},
    {Code::no_record, "ZF003", "no_record", true},
    {Code::ahead_of_record, "ZF004", "ahead_of_record", true},
    {Code::not_asserted, "ZF005", "not_asserted", false},
    {Code::cannot_prepare, "ZF006", "cannot_prepare", false},
    {Code::lineage_changed, "ZF007", "lineage_changed", true},
    {Code::delegation_lost, "ZF008", "delegation_lost", true},
    {Code::transaction_refused, "ZF009", "transaction_refused", false},
    {Code::out_of_range, "ZF010", "out_of_range", false},
    {Code::capacity, "ZF011", "capacity", false},
    {Code::configuration, "ZF012", "configuration", false},
    {Code::index_conflict, "ZF013", "index_conflict", false},
    {Code::not_home, "ZF014", "not_home", false},
    {Code::membership_epoch, "ZF015", "membership_epoch", false},
    {Code::contended, "ZF016", "contended", false},
    {Code::quarantined, "ZF017", "quarantined", false},
    {Code::unknown_member, "ZF018", "unknown_member", false},
    {Code::corrupt, "ZF019", "corrupt", false},
    {Code::guard_broken, "ZF020", "guard_broken", true},
    {Code::lease_not_found, "ZF021", "lease_not_found", false},
};

void put_fingerprint(const Maybe<WriterHash>& writer, TextSink* out) noexcept {
  out->put(std::string_view(fingerprint(writer.value).text, 8));
}

void put_template(const char* text, const Refusal& refusal, TextSink* out) noexcept {
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at != '%') {
      out->put(*at);
      continue;
    }
    switch (*++at) {
      case 'e':
        out->put_number(refusal.asserted_epoch.value);
        break;
      case 's':
        out->put_number(refusal.stored_epoch.value);
        break;
      case 'w':
        put_fingerprint(refusal.stored_writer, out);
        break;
      case 'n':
        out->put_number(refusal.number);
        break;
      case 'f':
        out->put(refusal.fault);
        break;
      default:
        return;  // an unfinished template: nothing sensible can follow
    }
  }
}

void put_name(const char* member, std::string_view name, TextSink* out) noexcept {
  out->put(member);
  if (name.empty()) {
    out->put("null");
  } else {
    out->put_json(name);
  }
}

void put_epoch(const char* member, const Maybe<int64_t>& epoch, TextSink* out) noexcept {
  out->put(member);
  if (!epoch.known) {
    out->put("null");
    return;
  }
  out->put('"');
  out->put_number(epoch.value);
  out->put('"');
}

void put_writer(const char* member, const Maybe<WriterHash>& writer, TextSink* out) noexcept {
  out->put(member);
  if (!writer.known) {
    out->put("null");
    return;
  }
  out->put('"');
  put_fingerprint(writer, out);
  out->put('"');
}

void put_flag(const char* member, const Maybe<bool>& flag, TextSink* out) noexcept {
  out->put(member);
  out->put(!flag.known ? "null" : flag.value ? "true" : "false");
}

void put_code(Code code, TextSink* out) noexcept {
  out->put(rule_of(code).sqlstate);
  out->put(' ');
  out->put(rule_of(code).name);
}

std::string_view copy_name(std::string_view from, char (&to)[255]) noexcept {
  const size_t size = from.size() <= sizeof to ? from.size() : sizeof to;
  if (size > 0) {
    std::memcpy(to, from.data(), size);
  }
  return {to, size};
}

}  // namespace

const CodeRule& rule_of(Code code) noexcept { return rules[static_cast<size_t>(code) - 1]; }

void KeptRefusal::keep(const Refusal& refusal) noexcept {
  refusal_ = refusal;
  refusal_.ns = copy_name(refusal.ns, ns_);
  refusal_.key = copy_name(refusal.key, key_);
}

void render_text(const Refusal& refusal, TextSink* out) noexcept {
  put_template(refusal.reason->text, refusal, out);
}

void render_hint(const Refusal& refusal, TextSink* out) noexcept {
  put_template(refusal.reason->hint, refusal, out);
}

void render_detail_members(const Refusal& refusal, TextSink* out) noexcept {
  out->put("\"code\":\"");
  out->put(rule_of(refusal.code()).sqlstate);
  out->put('"');
  put_name(",\"namespace\":", refusal.ns, out);
  put_name(",\"key\":", refusal.key, out);
  put_epoch(",\"asserted_epoch\":", refusal.asserted_epoch, out);
  put_epoch(",\"stored_epoch\":", refusal.stored_epoch, out);
  put_writer(",\"asserted_writer\":", refusal.asserted_writer, out);
  put_writer(",\"stored_writer\":", refusal.stored_writer, out);
  put_flag(",\"already_stored\":", refusal.already_stored, out);
  put_flag(",\"deleted\":", refusal.deleted, out);
}

void render_detail(const Refusal& refusal, TextSink* out) noexcept {
  out->put('{');
  render_detail_members(refusal, out);
  out->put('}');
}

void render_message(const Refusal& refusal, TextSink* out) noexcept {
  put_code(refusal.code(), out);
  out->put(": ");
  render_text(refusal, out);
  out->put("; hint: ");
  render_hint(refusal, out);
  out->put(' ');
  render_detail(refusal, out);
}

void render_doomed_text(const Refusal& first, TextSink* out) noexcept {
  if (first.code() == Code::transaction_refused) {
    render_text(first, out);  // nothing was refused before it
    return;
  }
  out->put("a call in this transaction was refused with ");
  put_code(first.code(), out);
  out->put(", so nothing of it can be committed");
}

void render_doomed_hint(const Refusal& first, TextSink* out) noexcept {
  if (first.code() == Code::transaction_refused) {
    render_hint(first, out);
    return;
  }
  out->put("ROLLBACK; about ");
  out->put(rule_of(first.code()).sqlstate);
  out->put(": ");
  render_hint(first, out);
}

void render_doomed_message(const Refusal& first, TextSink* out) noexcept {
  put_code(Code::transaction_refused, out);
  out->put(": ");
  render_doomed_text(first, out);
  out->put("; hint: ");
  render_doomed_hint(first, out);
  out->put(' ');
  render_detail(first, out);
}

}  // namespace fence
