// The key that a row of a protected table belongs to.
#ifndef FENCE_PG_EXT_ROW_KEY_H
#define FENCE_PG_EXT_ROW_KEY_H

#include "core/composite_key.h"
#include "pg_ext/protected_table.h"

namespace fence {

// Holds the bytes of one row's key, as far as they do not stand in the row.
class RowKey {
 public:
  // The key of the row, until this object or the row goes. ZF010 where it is no key.
  std::string_view of(const ProtectedTable& table, TupleTableSlot* row);

 private:
  std::string_view text_of(Oid type, Datum value);

  CompositeKey composite_;
  char buffer_[40];  // a number or a UUID
};

}  // namespace fence

#endif
