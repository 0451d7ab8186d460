// The rows of fence_internal.protected: which tables are protected, and by what.
#ifndef FENCE_PG_EXT_PROTECTION_STORE_H
#define FENCE_PG_EXT_PROTECTION_STORE_H

#include "core/protection.h"
#include "pg_ext/server.h"

namespace fence {

// A primary key has no more columns, either.
constexpr int most_key_columns = 32;

// As asked for by fence_protect, or as it is stored. The texts lie in memory of the call.
struct Protection {
  bool exists = false;
  std::string_view ns;
  std::string_view key;  // empty: the columns say it
  int columns = 0;
  NameData column[most_key_columns];
  AttrNumber attribute[most_key_columns];
  Authority authority = Authority::epoch;
  Subscriber subscriber = Subscriber::refuse;
  ItemPointerData row{};
};

// Of that very table: a partition has no row of its own. As committed now, or made by this
// transaction, whatever the snapshot.
void read_protection(Oid table, Protection* found);

// Adds the row, or puts another one in the place of protection.row. The caller holds a lock of
// the table that keeps writers out.
void write_protection(Oid table, const Protection& protection);
void remove_protection(const Protection& protection);

// The tables that have a row, whether they still exist or not.
List* list_protected();

}  // namespace fence

#endif
