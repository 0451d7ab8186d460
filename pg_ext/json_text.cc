#include "pg_ext/json_text.h"

#include "core/name.h"

extern "C" {
#include "utils/jsonb.h"
}

namespace fence {

JsonText::JsonText() { initStringInfo(&text_); }

void JsonText::put(std::string_view json) {
  appendBinaryStringInfo(&text_, json.data(), static_cast<int>(json.size()));
}

// At most a name.
void JsonText::put_text(std::string_view text) {
  char quoted[6 * longest_name + 3];
  TextSink sink(quoted, sizeof quoted);
  sink.put_json(text);
  put({quoted, sink.size()});
}

void JsonText::put_number_or_null(const Maybe<int64_t>& number) {
  if (!number.known) {
    put("null");
    return;
  }
  char digits[24];
  TextSink sink(digits, sizeof digits);
  sink.put('"');
  sink.put_number(number.value);
  sink.put('"');
  put({digits, sink.size()});
}

void JsonText::put_members(const Refusal& refusal) {
  char members[message_capacity];
  TextSink sink(members, sizeof members);
  render_detail_members(refusal, &sink);
  put({members, sink.size()});
}

Datum JsonText::as_jsonb() const {
  return DirectFunctionCall1(jsonb_in, CStringGetDatum(text_.data));
}

}  // namespace fence
