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
  std::string_view part(const ProtectedTable& table, int i, TupleTableSlot* row);
  std::string_view text_of(Oid type, Datum value);

  CompositeKey composite_;
  char buffer_[40];  // a number or a UUID
};

// Whether both rows have the same values in the columns of the key; false where that takes more
// than a look at them.
bool is_same_key(const ProtectedTable& table, TupleTableSlot* left, TupleTableSlot* right);

}  // namespace fence

#endif
