"""A writer on PostgreSQL, as a process of its own: pg_writer.py PARENT CONNINFO

process.py says how it is talked to.
"""
import os
import sys
import uuid

import psycopg
from process import KEY, NAMESPACE, end_with_parent, serve


class FencedLog:
    def __init__(self, conninfo):
        # autocommit: one call is one transaction, and what is more is said by
        # conn.transaction().
        self.conn = psycopg.connect(conninfo, autocommit=True)
        self.writer = str(uuid.uuid4())  # of this process; nobody else ever sees it
        self.epoch = None

    def query(self, sql, *values):
        return self.conn.execute(sql, values).fetchone()[0]

    def introduce(self):
        return {"pid": os.getpid(), "backend": self.query("SELECT pg_backend_pid()"),
                "fingerprint": self.query("SELECT fence.fence_fingerprint(%s)", self.writer)}

    def claim(self, epoch):
        """Takes the log over; returns its last idx (None: it is empty)."""
        last = self.query("SELECT fence.oplog_metadata_upsert(%s, %s, %s, %s)", NAMESPACE, KEY,
                          epoch, self.writer)
        self.epoch = epoch
        return last

    def append(self, idx, payload):
        return self.query("SELECT fence.fenced_append(%s, %s, %s, %s, %s, %s)", NAMESPACE, KEY,
                          self.epoch, self.writer, idx, payload.encode())

    def begin_and_append(self, idx, payload):
        self.conn.execute("BEGIN")
        return self.append(idx, payload)

    def commit(self):
        self.conn.execute("COMMIT")

    def insist(self, idx, payload):
        """What a stubborn program does: takes the refusal for a hiccup, goes back to a
        savepoint and commits the rest. Returns the error it swallowed, and COMMIT's."""
        swallowed = None
        self.conn.execute("BEGIN")
        self.conn.execute("SAVEPOINT hiccup")
        try:
            self.append(idx, payload)
        except psycopg.Error as error:
            swallowed = one_line(error)
            self.conn.execute("ROLLBACK TO hiccup")
        try:
            self.commit()
        except psycopg.Error as error:
            return {"swallowed": swallowed, "commit": one_line(error)}
        return {"swallowed": swallowed, "commit": None}

    def report(self):
        return {"transaction": self.conn.info.transaction_status.name,
                "backend": self.query("SELECT pg_backend_pid()")}


def one_line(error):
    """The fields of a refusal as SQLite has them: in one line."""
    if error.sqlstate is None:
        return str(error)
    said = error.diag
    if not error.sqlstate.startswith("ZF"):
        return f"{error.sqlstate} {said.message_primary}"
    return f"{error.sqlstate} {said.message_primary}; hint: {said.message_hint} {said.message_detail}"


def answer(log, command):
    do = command.pop("do")
    if do not in ("introduce", "claim", "append", "begin_and_append", "commit", "insist", "report"):
        raise ValueError(f"unknown command {do}")
    return getattr(log, do)(**command)


def main(parent, conninfo):
    end_with_parent(int(parent))
    log = FencedLog(conninfo)
    serve(lambda command: answer(log, command), psycopg.Error, one_line)


if __name__ == "__main__":
    main(*sys.argv[1:])
