#!/usr/bin/python3
"""Runs the tasks of table schedule as soon as they are due, if it leads.

    scheduler.py [--lease SECONDS] NAME CONNINFO

Start several: one leads, the others wait. A leader that is paused for longer than its lease
is replaced. When it wakes up it believes that it still leads: its next write is refused, and it
is one of those that wait.
"""
import argparse
import time
import uuid
from datetime import timedelta

import psycopg

# One statement: of all that wait one wins, and its term is above every term before. Above
# what Fence has recorded, too: after a failover the row here may have lost more than that.
WIN = """
    UPDATE election SET leads_until = clock_timestamp() + %s, term = 1 + greatest(term, (
      SELECT epoch FROM fence.oplog_status WHERE namespace = 'services' AND key = 'scheduler'))
    WHERE name = 'scheduler' AND leads_until < clock_timestamp() RETURNING term"""
EXTEND = """
    UPDATE election SET leads_until = clock_timestamp() + %s
    WHERE name = 'scheduler' AND term = %s"""
ANNOUNCE = """
    INSERT INTO settings VALUES ('leader', %s)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
RUN_DUE = """
    WITH due AS (
      UPDATE schedule SET due = clock_timestamp() + every
      WHERE due < clock_timestamp() RETURNING task)
    INSERT INTO run(task, term) SELECT task, %s FROM due"""

CLAIM = "SELECT fence.oplog_metadata_upsert(%s, %s, %s, %s)"
EVICT = "SELECT fence.fence_evict(%s, %s, %s, %s)"
ASSERT = "SELECT fence.fence_assert(%s, %s, %s, %s)"

PAUSE = 0.1  # seconds between two looks

# Somebody else leads, or the database is a copy (ZF007). Other refusals are mistakes of the program or of its set-up.
LOST = {"ZF001", "ZF002", "ZF003", "ZF004", "ZF007", "ZF009"}
RETRIED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected,
           psycopg.errors.LockNotAvailable)


class Term:
    """One term of one leader. A refusal ends it for good."""

    def __init__(self, conn, number, lease):
        self.conn, self.number, self.lease = conn, number, lease
        self.me = ("services", "scheduler", number, str(uuid.uuid4()))

    def begin(self, name):
        """A claim is a transaction of its own: in autocommit, before any other write."""
        self.conn.execute(CLAIM, self.me)
        # A leader of before may be frozen inside a transaction and hold locks on rows. It could
        # not commit any more; this ends it.
        self.conn.execute(EVICT, self.me)
        self.write(ANNOUNCE, [name])

    def write(self, sql, values):
        """The fenced part. COMMIT asks once more who leads, so it can be refused as well."""
        for left in (2, 1, 0):
            try:
                with self.conn.transaction():
                    self.conn.execute(ASSERT, self.me)
                    self.conn.execute(sql, values)
                return
            except RETRIED:  # PostgreSQL's own, and no refusal
                if not left:
                    raise

    def tick(self):
        # The lease in autocommit: frozen in a transaction that has written to the row of the
        # election, it would keep everybody from winning it. A term that is over extends nothing;
        # the write finds out.
        self.conn.execute(EXTEND, [self.lease, self.number])
        self.write(RUN_DUE, [self.number])


def lead(name, term):
    """Until it is refused."""
    try:
        term.begin(name)
        print(f"{name} leads, term {term.number}", flush=True)
        while True:
            term.tick()
            time.sleep(PAUSE)
    except psycopg.DatabaseError as error:
        if error.sqlstate not in LOST:
            raise
        # Whatever else runs for this term is to be stopped here. It may lead again, but only
        # after it has won another term: claiming at once would take it from the new leader.
        print(f"{name}: term {term.number} is over:", error.sqlstate, error.diag.message_primary,
              flush=True)


def serve(conn, name, lease):
    while True:
        won = conn.execute(WIN, [lease]).fetchone()
        if won is None:
            time.sleep(PAUSE)
        else:
            lead(name, Term(conn, won[0], lease))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lease", type=float, default=10)
    parser.add_argument("name")
    parser.add_argument("conninfo")
    options = parser.parse_args()
    while True:
        try:
            with psycopg.connect(options.conninfo, autocommit=True) as conn:
                serve(conn, options.name, timedelta(seconds=options.lease))
        except psycopg.OperationalError as error:
            # A lost connection, and with it the term: a new one is won, or not.
            print(f"{options.name} connects again:", error.sqlstate or "connection lost", flush=True)
            time.sleep(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
