"""A key of its own for each test, with the calls that the tests make of it, and what
pg_locks says: no test of these measures whether somebody waited."""
import itertools
import os
import signal
import threading
import time

import psycopg

NUMBERS = itertools.count(1)
KEY_LOCK = 0x4fe1  # objsubid in pg_locks, as in pg_ext/key_lock.h


def owner(epoch):
    """The writer that claims at this epoch."""
    return f"00000000-0000-0000-0000-{epoch:012d}"


def code_of(error):
    return error.sqlstate if isinstance(error, psycopg.Error) else None


def wait_until(condition, seconds=30):
    """What the condition gave when it held."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.002)
    return result


def evict(scene, epoch, by):
    return scene.ask("SELECT fence.fence_evict('n', %s, %s, %s)", scene.key, epoch, owner(epoch),
                     by=by)


def repeat_until(stop, function):
    while not stop.is_set():
        function()


def crash(server):
    """SIGKILL for a session, upon which the server ends all others. It is up again then."""
    def again():
        return server.log().count("all server processes terminated; reinitializing")

    def is_up():
        try:
            psycopg.connect(server.dsn()).close()
        except psycopg.OperationalError:
            return False
        return True

    before = again()
    victim = psycopg.connect(server.dsn(), autocommit=True)
    os.kill(victim.info.backend_pid, signal.SIGKILL)
    wait_until(lambda: again() > before)
    wait_until(is_up)
    victim.close()


class Background:
    """A statement in a thread of its own."""

    def __init__(self, function, *arguments):
        self.result = self.error = None
        self.thread = threading.Thread(target=self.run, args=(function, arguments), daemon=True)
        self.thread.start()

    def run(self, function, arguments):
        try:
            self.result = function(*arguments)
        except psycopg.Error as error:
            self.error = error

    def done(self):
        return not self.thread.is_alive()

    def get(self, seconds=30):
        """Its result, or the code of its error."""
        self.thread.join(seconds)
        assert self.done(), "it still waits"
        return code_of(self.error) if self.error else self.result


class Scene:
    def __init__(self, server):
        self.server = server
        self.key = f"k{next(NUMBERS)}"
        self.connections = []
        self.observer = self.connect("observer")

    def connect(self, name="test", **options):
        connection = psycopg.connect(self.server.dsn(), autocommit=True, application_name=name,
                                     **options)
        self.connections.append(connection)
        return connection

    def close(self):
        for connection in self.connections:
            connection.close()

    # ---- calls ---------------------------------------------------------------------

    def ask(self, sql, *values, by=None):
        return (by or self.observer).execute(sql, values).fetchone()[0]

    def claim(self, epoch, key=None, by=None):
        return self.ask("SELECT fence.oplog_metadata_upsert('n', %s, %s, %s)", key or self.key,
                        epoch, owner(epoch), by=by)

    def append(self, epoch, idx, payload="p", key=None, by=None):
        return self.ask("SELECT fence.fenced_append('n', %s, %s, %s, %s, %s)", key or self.key,
                        epoch, owner(epoch), idx, payload.encode(), by=by)

    def append_sql(self, epoch, idx, payload="'p'"):
        return (f"SELECT fence.fenced_append('n', '{self.key}', {epoch}, '{owner(epoch)}',"
                f" {idx}, {payload})")

    def claim_sql(self, epoch):
        return (f"SELECT fence.oplog_metadata_upsert('n', '{self.key}', {epoch},"
                f" '{owner(epoch)}')")

    def log(self, key=None):
        return self.observer.execute("SELECT idx, epoch, convert_from(payload, 'UTF8')"
                                     " FROM fence.oplog_read('n', %s)", [key or self.key]).fetchall()

    # ---- what the server says ------------------------------------------------------

    def waiting(self):
        """Who waits for a lock: [(pid, locktype, mode)]."""
        return self.observer.execute("SELECT pid, locktype, mode FROM pg_locks"
                                     " WHERE NOT granted").fetchall()

    def key_locks(self, pid):
        """The modes of the key's lock that a process holds."""
        found = self.observer.execute("SELECT mode FROM pg_locks WHERE pid = %s AND granted AND"
                                      " locktype = 'advisory' AND objsubid = %s ORDER BY mode",
                                      [pid, KEY_LOCK]).fetchall()
        return [mode for mode, in found]

    def is_alive(self, pid):
        return self.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", pid) == 1

    def waits_for_client(self, pid):
        return self.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND"
                        " wait_event_type = 'Client'", pid) == 1

    def without_waiting(self, function, *arguments, besides=(), **named):
        """What the call returned; while it ran, nobody was seen to wait for a lock, besides
        these processes."""
        begin = time.monotonic()
        call = Background(lambda: function(*arguments, **named))
        while not call.done():
            assert [one for one in self.waiting() if one[0] not in besides] == []
        print(f"{function.__name__}{arguments}: {1000 * (time.monotonic() - begin):.1f} ms")
        return call.get()
