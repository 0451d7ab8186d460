// The server's headers, as C. postgres.h comes before every other one of them, and
// after those of C++: it defines names like snprintf as macros.
#ifndef FENCE_PG_EXT_SERVER_H
#define FENCE_PG_EXT_SERVER_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" {
// clang-format off
#include "postgres.h"
// clang-format on

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/elog.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
}

// What one function of SQL is: its registration, and its C name.
#define FENCE_FUNCTION(name)    \
  extern "C" {                  \
  PG_FUNCTION_INFO_V1(name);    \
  Datum name(PG_FUNCTION_ARGS); \
  }                             \
  Datum name(PG_FUNCTION_ARGS)

#endif
