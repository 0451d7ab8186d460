// The one way in which this shim includes SQLite.
#ifndef FENCE_SQLITE_EXT_SQLITE_H
#define FENCE_SQLITE_EXT_SQLITE_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
