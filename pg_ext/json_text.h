// A JSON answer, put together as text. 64-bit numbers are decimal strings.
#ifndef FENCE_PG_EXT_JSON_TEXT_H
#define FENCE_PG_EXT_JSON_TEXT_H

#include "core/refusal.h"
#include "pg_ext/server.h"

extern "C" {
#include "lib/stringinfo.h"
}

namespace fence {

class JsonText {
 public:
  JsonText();
  void put(std::string_view json);
  void put_text(std::string_view text);
  void put_number_or_null(const Maybe<int64_t>& number);
  // The members of a refusal's detail.
  void put_members(const Refusal& refusal);
  Datum as_jsonb() const;

 private:
  StringInfoData text_;
};

}  // namespace fence

#endif
