/*
** Fence for SQLite, linked statically (libfence.a).
**
** A program that loads extensions needs none of this: load_extension('fence').
*/
#ifndef FENCE_SQLITE_H
#define FENCE_SQLITE_H

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3_api_routines;

/*
** Registers Fence on one connection. Harmless when repeated.
**
**   db       an open connection; needs SQLite 3.34 or newer
**   message  receives an error text to be freed with sqlite3_free(), or may be NULL
**   api      ignored in a static build; pass NULL
**
** Returns SQLITE_OK or SQLITE_OK_LOAD_PERMANENTLY when Fence is ready, else an
** error code. Switches SQLITE_DBCONFIG_DEFENSIVE on (fence_config('defensive', 0)
** switches it off again). To have every new connection of a process fenced:
**
**   sqlite3_auto_extension((void (*)(void))sqlite3_fence_init);
*/
int sqlite3_fence_init(sqlite3* db, char** message, const struct sqlite3_api_routines* api);

#ifdef __cplusplus
}
#endif

#endif
