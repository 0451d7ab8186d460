"""More keys than a transaction shows one by one, all of one owner."""
from scene import Scene, code_of, owner

SHOWN = 64
KEYS = 100      # more than that
MANY = 100_000  # far more than the lock table of the small server has room for
DOMAIN = 20452  # objsubid in pg_locks, as in pg_ext/key_lock.h, with these objid:
CLAIMS, TRIMS = 0, 2


class ManyKeys(Scene):
    """The keys are KEY-0, KEY-1 and so on; all of them have the owner of epoch 1."""

    def __init__(self, server):
        super().__init__(server)
        self.key += "-"

    def claim_all(self, count=KEYS):
        for begin in range(0, count, 2000):
            self.ask("SELECT fence.oplog_metadata_upsert_many('n', (SELECT jsonb_agg("
                     "jsonb_build_object('key', %s || i, 'epoch', 1)) FROM generate_series(%s::int, %s) AS i), %s)",
                     self.key, begin, min(begin + 2000, count) - 1, owner(1))

    def append_all(self, idx, by, first=0, last=KEYS - 1):
        step = 1 if first <= last else -1
        by.execute("INSERT INTO fence.fenced_append(namespace, key, epoch, writer, idx, payload)"
                   " SELECT 'n', %s || i, 1, %s, %s, 'p' FROM generate_series(%s::int, %s, %s) AS i",
                   [self.key, owner(1), idx, first, last, step])

    def begin(self, idx=1, **keys):
        """A transaction that has appended to all of them, and is open."""
        connection = self.connect("many")
        connection.execute("BEGIN")
        self.append_all(idx, connection, **keys)
        return connection

    def name(self, number):
        return f"{self.key}{number}"

    def trim(self, through, number, by=None):
        return self.ask("SELECT fence.fenced_drop_prefix('n', %s, 1, %s, %s)", self.name(number),
                        owner(1), through, by=by)

    def entries(self):
        return self.ask("SELECT count(*) FROM fence_internal.entry WHERE key LIKE %s",
                        self.key + "%")

    def shown(self, connection):
        """What fence_holders says of a session: {state: how many rows}"""
        rows = self.observer.execute("SELECT state, count(*) FROM fence.fence_holders WHERE pid = %s"
                                     " GROUP BY state", [connection.info.backend_pid])
        return dict(rows.fetchall())

    def locks(self, connection, granted=True, against=CLAIMS):
        """The modes of a session's lock of all keys."""
        rows = self.observer.execute(
            "SELECT mode FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND objsubid = %s"
            " AND objid = %s AND granted = %s",
            [connection.info.backend_pid, DOMAIN, against, granted])
        return [mode for mode, in rows.fetchall()]

    def naps(self, connection):
        return self.ask("SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s",
                        connection.info.backend_pid) == "Extension"

    def lock_table(self, table, mode):
        """Held until the connection says COMMIT."""
        connection = self.connect("gate", options="-c lock_timeout=30s")
        connection.execute(f"BEGIN; LOCK TABLE fence_internal.{table} IN {mode} MODE")
        return connection


def commit(connection):
    """The code of its error, if there is one."""
    try:
        connection.execute("COMMIT")
        return None
    except Exception as error:  # pylint: disable=broad-exception-caught
        return code_of(error) or repr(error)
