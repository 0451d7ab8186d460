#include "pg_ext/protected_table.h"

#include "pg_ext/failure.h"
#include "pg_ext/relations.h"

extern "C" {
#include "catalog/partition.h"
#include "utils/inval.h"
}

namespace fence {

namespace {

HTAB* known = nullptr;  // by the table's oid
uint64_t changes = 1;   // of tables that stand there

// Counts and nothing else: it may come in the middle of a look-up.
void on_table_change(Datum, Oid table) {
  if (table == InvalidOid || hash_search(known, &table, HASH_FIND, nullptr) != nullptr) {
    ++changes;
  }
}

void make_known() {
  HASHCTL layout;
  std::memset(&layout, 0, sizeof layout);
  layout.keysize = sizeof(Oid);
  layout.entrysize = sizeof(ProtectedTable);
  layout.hcxt = CacheMemoryContext;
  known = hash_create("fence protected tables", 16, &layout, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  CacheRegisterRelcacheCallback(on_table_change, 0);
}

// The nearest that has a row, going up from the table.
void read_nearest(Relation table, Protection* found) {
  read_protection(RelationGetRelid(table), found);
  if (found->exists || !table->rd_rel->relispartition) {
    return;
  }
  const List* ancestors = get_partition_ancestors(RelationGetRelid(table));
  for (int i = 0; i < list_length(ancestors) && !found->exists; ++i) {
    read_protection(list_nth_oid(ancestors, i), found);
  }
}

[[noreturn]] void raise_lost_key(Relation table, const char* column, const char* what) {
  Refusal refusal;
  refusal.reason = &reasons::lost_key;
  refusal.fault = psprintf("the key column %s of %s %s", quote_identifier(column),
                           quote_identifier(RelationGetRelationName(table)), what);
  raise_error(refusal);
}

void take_columns(Relation table, const Protection& protection, ProtectedTable* entry) {
  for (int i = 0; i < protection.columns; ++i) {
    const char* name = NameStr(protection.column[i]);
    const AttrNumber attribute = find_column(table, name);
    if (attribute == InvalidAttrNumber) {
      raise_lost_key(table, name, "is not there any more");
    }
    const FormData_pg_attribute* column = TupleDescAttr(RelationGetDescr(table), attribute - 1);
    const char* fault = judge_key_column(column);
    if (fault != nullptr) {
      raise_lost_key(table, name, fault);
    }
    entry->attribute[i] = attribute;
    entry->type[i] = column->atttypid;
  }
  entry->columns = protection.columns;
}

void take_text(std::string_view text, char (&into)[longest_name], size_t* size) {
  *size = text.size() < sizeof into ? text.size() : sizeof into;
  if (*size > 0) {  // no text has no bytes to point to
    std::memcpy(into, text.data(), *size);
  }
}

void look_up(Relation table, ProtectedTable* entry) {
  entry->generation = 0;  // an error leaves it so
  const uint64_t before = protection_generation();
  Protection found;
  read_nearest(table, &found);
  entry->is_protected = found.exists;
  entry->subscriber = found.subscriber;
  take_columns(table, found, entry);
  take_text(found.ns, entry->ns_text, &entry->ns_size);
  take_text(found.key, entry->key_text, &entry->key_size);
  entry->generation = before;
}

bool is_deterministic(Oid collation) {
  return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

}  // namespace

AttrNumber find_column(Relation table, const char* name) {
  TupleDescData* columns = RelationGetDescr(table);
  for (int i = 0; i < columns->natts; ++i) {
    const FormData_pg_attribute* column = TupleDescAttr(columns, i);
    if (!column->attisdropped && strcmp(NameStr(column->attname), name) == 0) {
      return column->attnum;
    }
  }
  return InvalidAttrNumber;
}

// Two texts that such a collation calls equal are one key to an index and two to Fence.
const char* judge_key_column(const FormData_pg_attribute* column) {
  if (column->attgenerated != '\0' && column->attgenerated != ATTRIBUTE_GENERATED_STORED) {
    return "is not stored";  // from version 18 on it may be computed when it is read
  }
  switch (column->atttypid) {
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case UUIDOID:
    case BOOLOID:
      break;
    case TEXTOID:
    case VARCHAROID:
      if (!is_deterministic(column->attcollation)) {
        return "has a collation that is not deterministic";
      }
      break;
    default:
      return "is not of type smallint, integer, bigint, text, varchar, uuid or boolean";
  }
  return column->attnotnull ? nullptr : "may be NULL";
}

uint64_t protection_generation() { return settings_generation() + changes; }

const ProtectedTable* find_protected(Relation table) {
  relations();  // brings news, and watches for them
  if (known == nullptr) {
    make_known();
  }
  const Oid oid = RelationGetRelid(table);
  bool existed = false;
  auto* entry = static_cast<ProtectedTable*>(hash_search(known, &oid, HASH_ENTER, &existed));
  if (!existed) {
    entry->generation = 0;
  }
  if (entry->generation != protection_generation()) {
    look_up(table, entry);
  }
  return entry;
}

}  // namespace fence
