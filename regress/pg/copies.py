"""Copies of a database with Fence's state, by each way that there is."""
import subprocess

from scene import Background, owner

TABLES = ("record", "entry", "trim_mark", "value", "namespace", "access")
WEAK_GUARDS = ("SELECT count(*) FROM pg_trigger WHERE tgenabled <> 'A'"
               " AND tgname LIKE 'guard\\_%'")


def claim_sql(key, epoch, call="oplog_metadata_upsert"):
    return f"SELECT fence.{call}('n', '{key}', {epoch}, '{owner(epoch)}')"


def append_sql(key, epoch, idx):
    return f"SELECT fence.fenced_append('n', '{key}', {epoch}, '{owner(epoch)}', {idx}, 'p')"


def outcome(connection, sql):
    """What the statement answers, or the code of its refusal."""
    return Background(lambda: connection.execute(sql).fetchone()[0]).get()


class Log:
    """The log of one key, by one session."""

    def __init__(self, connection, key):
        self.connection = connection
        self.key = key

    def claim(self, epoch):
        return outcome(self.connection, claim_sql(self.key, epoch))

    def append(self, epoch, idx):
        return outcome(self.connection, append_sql(self.key, epoch, idx))

    def check(self, epoch):
        return outcome(self.connection,
                       f"SELECT fence.fence_check('n', '{self.key}', {epoch}, '{owner(epoch)}')")


def run(server, program, *arguments, **options):
    """Its exit status and what it printed."""
    done = subprocess.run([server.bindir / program, *map(str, arguments)], text=True, check=False,
                          env=server.environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout


def dump(server, source, *options):
    file = server.folder / "lineage.dump"
    assert run(server, "pg_dump", *options, "-f", file, source) == (0, "")
    return file


def load(server, file, target):
    """psql stops at the first error, and prints nothing where there is none."""
    assert run(server, "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f", file,
               target) == (0, "")


def by_psql(server, source, target):
    load(server, dump(server, source), target)


def by_inserts(server, source, target):
    load(server, dump(server, source, "--inserts"), target)


def by_pg_restore(*options, prepared=False):
    def copy(server, source, target):
        if prepared:
            server.sql("CREATE EXTENSION fence", database=target)
        file = dump(server, source, "-Fc")
        assert run(server, "pg_restore", "--exit-on-error", *options, "-d", target, file) == (0, "")
    return copy


def by_template(server, source, target):
    server.sql(f"DROP DATABASE {target}")
    server.sql(f"CREATE DATABASE {target} TEMPLATE {source}")


COPIES = {
    "psql": by_psql,
    "psql of inserts": by_inserts,
    "pg_restore": by_pg_restore(),
    "pg_restore -j 4": by_pg_restore("-j", "4"),
    "pg_restore in one transaction": by_pg_restore("--single-transaction"),
    "data only": by_pg_restore("--data-only", prepared=True),
    "data only, -j 4": by_pg_restore("--data-only", "-j", "4", prepared=True),
    "data only, triggers disabled": by_pg_restore("--data-only", "--disable-triggers", prepared=True),
    "template": by_template,
}


def rows(server, database):
    """All rows of all dumped tables but lineage, as text."""
    return {table: server.sql(f"SELECT t.*::text FROM fence_internal.{table} AS t ORDER BY 1",
                              database=database) for table in TABLES}
