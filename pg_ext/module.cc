// The library's entry: what happens when a backend loads it.
#include "pg_ext/server.h"
#include "pg_ext/settings.h"

extern "C" {
PG_MODULE_MAGIC;
// The server's name for it.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
void _PG_init(void);
}

void _PG_init(void) { fence::define_settings(); }
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
