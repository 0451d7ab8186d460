/* Another library in the same session: it runs SQL in a callback of its own when the
 * transaction commits, before or after Fence's. */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(at_commit);

static char *statements = NULL;

static void run(XactEvent event, void *unused)
{
    char *sql = statements;

    statements = NULL; /* also where it ends otherwise */
    if (event != XACT_EVENT_PRE_COMMIT || sql == NULL)
        return;
    PushActiveSnapshot(GetTransactionSnapshot());
    SPI_connect();
    if (SPI_execute(sql, false, 0) < 0)
        elog(ERROR, "it could not be run: %s", sql);
    SPI_finish();
    PopActiveSnapshot();
}

/* The statements are run at the commit of this transaction, by the youngest callback as of now. */
Datum at_commit(PG_FUNCTION_ARGS)
{
    statements = MemoryContextStrdup(TopMemoryContext, text_to_cstring(PG_GETARG_TEXT_PP(0)));
    UnregisterXactCallback(run, NULL);
    RegisterXactCallback(run, NULL);
    PG_RETURN_VOID();
}
