// How the rows of one table are protected, as the trigger on it needs it: remembered by the
// session until something about it changes.
#ifndef FENCE_PG_EXT_PROTECTED_TABLE_H
#define FENCE_PG_EXT_PROTECTED_TABLE_H

#include "core/name.h"
#include "core/protection.h"
#include "pg_ext/protection_store.h"
#include "pg_ext/record_name.h"
#include "pg_ext/server.h"

namespace fence {

struct ProtectedTable {
  Oid table;            // a partition has an entry of its own: its columns are numbered anew
  uint64_t generation;  // right as of that many changes
  bool is_protected;
  Subscriber subscriber;
  int columns;  // 0: the key is constant
  AttrNumber attribute[most_key_columns];
  Oid type[most_key_columns];
  size_t ns_size;
  size_t key_size;
  char ns_text[longest_name];
  char key_text[longest_name];  // the constant one

  std::string_view ns() const { return {ns_text, ns_size}; }
  std::string_view constant_key() const { return {key_text, key_size}; }
};

// Of an open table, looked up through its ancestors where it is a partition. ZF012 where a key
// column is not what it was: nobody could say whose its rows are. Stays where it is to the end
// of the session; look it up anew when protection_generation() has moved on.
const ProtectedTable* find_protected(Relation table);

// Rises with each change of what is protected, and of a table that was looked up here.
uint64_t protection_generation();

// Of what types and kinds a key column can be. Returns why not, in a few words, or nullptr.
const char* judge_key_column(const FormData_pg_attribute* column);

// The number of the column of that name, or InvalidAttrNumber.
AttrNumber find_column(Relation table, const char* name);

}  // namespace fence

#endif
