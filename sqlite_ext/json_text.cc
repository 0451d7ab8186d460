#include "sqlite_ext/json_text.h"

#include <cstring>

namespace fence {

namespace {
// By this subtype SQLite's JSON functions know a value that needs no quotes.
constexpr unsigned json_subtype = 'J';
}  // namespace

JsonText::JsonText(sqlite3_context* context) noexcept
    : context_(context), text_(sqlite3_str_new(sqlite3_context_db_handle(context))) {}

JsonText::~JsonText() { sqlite3_free(sqlite3_str_finish(text_)); }

void JsonText::put(const char* text) noexcept { sqlite3_str_appendall(text_, text); }

void JsonText::put_name(std::string_view name) noexcept {
  char buffer[message_capacity];
  TextSink sink(buffer, sizeof buffer);
  sink.put_json(name);
  put(buffer);
}

void JsonText::put_number_or_null(const Maybe<int64_t>& number) noexcept {
  if (number.known) {
    sqlite3_str_appendf(text_, "\"%lld\"", static_cast<long long>(number.value));
  } else {
    put("null");
  }
}

void JsonText::put_members(const Refusal& refusal) noexcept {
  char buffer[message_capacity];
  TextSink sink(buffer, sizeof buffer);
  render_detail_members(refusal, &sink);
  put(buffer);
}

void JsonText::finish() noexcept {
  const int rc = sqlite3_str_errcode(text_);
  if (rc != SQLITE_OK) {
    sqlite3_result_error_code(context_, rc);
    return;
  }
  const int size = sqlite3_str_length(text_);
  sqlite3_result_text(context_, sqlite3_str_finish(text_), size, sqlite3_free);
  sqlite3_result_subtype(context_, json_subtype);
  text_ = nullptr;
}

bool is_json_array(std::string_view json) noexcept {
  for (const char c : json) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      return c == '[';
    }
  }
  return false;
}

bool has_nul(std::string_view json) noexcept {
  static const char escaped[] = "\\u0000";
  constexpr size_t size = sizeof escaped - 1;
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\0') {
      return true;
    }
    if (json[i] != '\\') {
      continue;
    }
    if (json.size() - i >= size && std::memcmp(json.data() + i, escaped, size) == 0) {
      return true;
    }
    ++i;  // a backslash of its own, or another escape
  }
  return false;
}

}  // namespace fence
