// The library's entry: what happens when a backend loads it.
#include "pg_ext/server.h"
#include "pg_ext/settings.h"
#include "pg_ext/transaction.h"

extern "C" {
PG_MODULE_MAGIC;
// The server's name for it.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
void _PG_init(void);
}

void _PG_init(void) {
  fence::define_settings();
  fence::watch_transactions();
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
