#include "pg_ext/failure.h"

#include "pg_ext/settings.h"

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

// The server copies what it is given, so the texts may lie on the stack.
[[noreturn]] void raise(Code code, const Texts& texts) {
  ereport(ERROR, (errcode(sqlstate_of(code)), errmsg_internal("%s", texts.message),
                  errdetail_internal("%s", texts.detail), errhint("%s", texts.hint),
                  // The statement holds the writer, which is a secret: not in the log.
                  errhidestmt(true), errhidecontext(true),
                  err_generic_string(PG_DIAG_SCHEMA_NAME, "fence"),
                  err_generic_string(PG_DIAG_TABLE_NAME, "oplog_metadata")));
  pg_unreachable();
}

}  // namespace

void raise_error(const Refusal& refusal) {
  Texts texts;
  TextSink message(texts.message, sizeof texts.message);
  TextSink detail(texts.detail, sizeof texts.detail);
  TextSink hint(texts.hint, sizeof texts.hint);
  message.put(rule_of(refusal.code()).name);
  message.put(": ");
  render_text(refusal, &message);
  render_detail(refusal, &detail);
  render_hint(refusal, &hint);
  raise(refusal.code(), texts);
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
  TextSink detail(texts.detail, sizeof texts.detail);
  TextSink hint(texts.hint, sizeof texts.hint);
  message.put(rule_of(Code::transaction_refused).name);
  message.put(": ");
  render_doomed_text(first, &message);
  render_detail(first, &detail);
  render_doomed_hint(first, &hint);
  raise(Code::transaction_refused, texts);
}

void log_refusal(const Refusal& refusal) {
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
