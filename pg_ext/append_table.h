// The rows of INSERT INTO fence.fenced_append.
#ifndef FENCE_PG_EXT_APPEND_TABLE_H
#define FENCE_PG_EXT_APPEND_TABLE_H

#include "pg_ext/append.h"

namespace fence {

// One row of it: the six arguments of fenced_append.
void append_row(const NullableDatum* values, int count);

}  // namespace fence

#endif
