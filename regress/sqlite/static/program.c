/*
** A program without extension loading: Fence is linked in and registered for
** every connection that the process opens. Prints one line for each answer.
*/
#include <sqlite3.h>
#include <stdio.h>

#include "fence_sqlite.h"

#define WRITER "'6f1c2f0e-4b7a-4d43-9d0e-2f5a8c1b7e90'"

static int print_row(void *unused, int count, char **values, char **names) {
  (void)unused;
  (void)names;
  for (int i = 0; i < count; ++i) {
    printf("%s%s", values[i] == NULL ? "NULL" : values[i], i + 1 < count ? "|" : "\n");
  }
  return 0;
}

/* The result code; of a message only what stands before the first colon. */
static void run(sqlite3 *db, const char *sql) {
  int rc = sqlite3_exec(db, sql, print_row, NULL, NULL);
  if (rc != SQLITE_OK) {
    printf("%d ", rc);
    for (const char *at = sqlite3_errmsg(db); *at != '\0' && *at != ':'; ++at) {
      putchar(*at);
    }
    putchar('\n');
  }
}

int main(void) {
  sqlite3 *db = NULL;
  sqlite3_auto_extension((void (*)(void))sqlite3_fence_init);
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
    return 1;
  }
  run(db, "SELECT fence_install()");
  run(db, "SELECT oplog_metadata_upsert('n', 'k', 5, " WRITER ")");
  run(db, "SELECT fenced_append('n', 'k', 5, " WRITER ", 1, 'a')");
  run(db, "INSERT INTO fenced_append VALUES ('n', 'k', 5, " WRITER ", 2, 'b')");
  run(db, "SELECT idx, epoch, payload FROM oplog_read('n', 'k')");
  run(db, "BEGIN");
  run(db, "SELECT fenced_append('n', 'k', 4, " WRITER ", 3, 'late')");
  run(db, "COMMIT");
  run(db, "DELETE FROM fence_oplog_v1");
  /* Registered again by hand, as a program that does both would. */
  printf("%d\n", sqlite3_fence_init(db, NULL, NULL) == SQLITE_OK_LOAD_PERMANENTLY);
  run(db, "SELECT count(*) FROM oplog_entries");
  printf("close %d\n", sqlite3_close(db));
  return 0;
}
