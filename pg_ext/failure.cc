#include "pg_ext/failure.h"

#include "pg_ext/evidence.h"
#include "pg_ext/settings.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace fence {

namespace {

int sqlstate_of(Code code) {
  const char* s = rule_of(code).sqlstate;
  return MAKE_SQLSTATE(s[0], s[1], s[2], s[3], s[4]);
}

// The four texts of an error, each rendered by core/.
struct Texts {
  char message[message_capacity];
  char detail[message_capacity];
  char hint[message_capacity];
};

void render_detail_for_client(const Refusal& refusal, char* text, size_t capacity) {
  char utf8[message_capacity];
  TextSink whole(utf8, sizeof utf8);
  render_detail(refusal, &whole);
  TextSink sink(text, capacity);
  put_for_client({utf8, whole.size()}, &sink);
}

// Which table an error is about.
struct TableName {
  const char* schema = "fence";
  const char* table = "oplog_metadata";
};

// The server copies what it is given, so the texts may lie on the stack.
[[noreturn]] void raise(Code code, const Texts& texts, const TableName& name = {}) {
  count_error(code);
  ereport(ERROR, (errcode(sqlstate_of(code)), errmsg_internal("%s", texts.message),
                  errdetail_internal("%s", texts.detail), errhint("%s", texts.hint),
                  // The statement holds the writer, which is a secret: not in the log.
                  errhidestmt(true), errhidecontext(true),
                  err_generic_string(PG_DIAG_SCHEMA_NAME, name.schema),
                  err_generic_string(PG_DIAG_TABLE_NAME, name.table)));
  pg_unreachable();
}

void put_escape(pg_wchar letter, TextSink* out) {
  char escape[16];
  if (letter > 0xffff) {
    letter -= 0x10000;
    snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd800 + (letter >> 10),
             0xdc00 + (letter & 0x3ff));
  } else {
    snprintf(escape, sizeof escape, "\\u%04x", letter);
  }
  out->put(std::string_view(escape));
}

}  // namespace

// It would get an error about the letter instead of the refusal.
void put_for_client(std::string_view text, TextSink* out) {
  if (pg_get_client_encoding() == PG_UTF8) {
    out->put(text);
    return;
  }
  size_t at = 0;
  while (at < text.size()) {
    const auto* letter = reinterpret_cast<const unsigned char*>(text.data() + at);
    if (*letter < 0x80) {
      out->put(text[at]);
      ++at;
      continue;
    }
    put_escape(utf8_to_unicode(letter), out);
    at += static_cast<size_t>(pg_utf_mblen(letter));
  }
}

namespace {

[[noreturn]] void raise_refusal(const Refusal& refusal, const TableName& name) {
  Texts texts;
  TextSink message(texts.message, sizeof texts.message);
  TextSink hint(texts.hint, sizeof texts.hint);
  message.put(rule_of(refusal.code()).name);
  message.put(": ");
  render_text(refusal, &message);
  render_detail_for_client(refusal, texts.detail, sizeof texts.detail);
  render_hint(refusal, &hint);
  raise(refusal.code(), texts, name);
}

}  // namespace

void raise_error(const Refusal& refusal) { raise_refusal(refusal, {}); }

void raise_error(const Refusal& refusal, Relation table) {
  raise_refusal(refusal,
                {get_namespace_name(RelationGetNamespace(table)), RelationGetRelationName(table)});
}

void raise_error(const Reason& reason, int64_t number) {
  Refusal refusal;
  refusal.reason = &reason;
  refusal.number = number;
  raise_error(refusal);
}

void raise_doomed(const Refusal& first) {
  Texts texts;
  TextSink message(texts.message, sizeof texts.message);
  TextSink hint(texts.hint, sizeof texts.hint);
  message.put(rule_of(Code::transaction_refused).name);
  message.put(": ");
  render_doomed_text(first, &message);
  render_detail_for_client(first, texts.detail, sizeof texts.detail);
  render_doomed_hint(first, &hint);
  raise(Code::transaction_refused, texts);
}

void log_reset(std::string_view ns, std::string_view key, int64_t before, int64_t epoch) {
  char detail[message_capacity];
  TextSink sink(detail, sizeof detail);
  sink.put("{\"namespace\":");
  sink.put_json(ns);
  sink.put(",\"key\":");
  sink.put_json(key);
  sink.put('}');
  ereport(LOG,
          (errmsg("fence_reset lowered the epoch of a key from " INT64_FORMAT " to " INT64_FORMAT,
                  before, epoch),
           errdetail_internal("%s", detail)));
}

void raise_busy() {
  ereport(
      ERROR,
      (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("an open transaction is at what the key holds"),
       errhint("Try again when it has ended: fence_holders shows it, fence_evict ends it if it "
               "waits for its client."),
       errhidestmt(true), errhidecontext(true)));
  pg_unreachable();
}

void log_refusal(const Refusal& refusal) {
  note_refusal(refusal);
  if (!settings.log_refusals) {
    return;
  }
  char text[message_capacity];
  char detail[message_capacity];
  TextSink text_sink(text, sizeof text);
  TextSink detail_sink(detail, sizeof detail);
  render_text(refusal, &text_sink);
  render_detail(refusal, &detail_sink);
  ereport(LOG, (errmsg_internal("fence refused: %s %s: %s", rule_of(refusal.code()).sqlstate,
                                rule_of(refusal.code()).name, text),
                errdetail_internal("%s", detail), errhidestmt(true), errhidecontext(true)));
}

}  // namespace fence
