// A JSON array among the arguments of a call.
#ifndef FENCE_PG_EXT_JSON_ARRAY_H
#define FENCE_PG_EXT_JSON_ARRAY_H

#include <string_view>

#include "pg_ext/server.h"

extern "C" {
#include "utils/jsonb.h"
}

namespace fence {

class JsonArray {
 public:
  // A jsonb that is not NULL.
  explicit JsonArray(Datum json) : root_(&DatumGetJsonbP(json)->root) {}

  bool is_array() const { return JsonContainerIsArray(root_) && !JsonContainerIsScalar(root_); }
  int count() const { return static_cast<int>(JsonContainerSize(root_)); }
  const JsonbValue* at(int i) const {
    return getIthJsonbValueFromContainer(root_, static_cast<uint32>(i));
  }
  // False where the element is no string. *text lives as long as the argument.
  bool text_at(int i, std::string_view* text) const {
    const JsonbValue* element = at(i);
    if (element->type != jbvString) {
      return false;
    }
    *text = {element->val.string.val, static_cast<size_t>(element->val.string.len)};
    return true;
  }

 private:
  JsonbContainer* root_;
};

}  // namespace fence

#endif
