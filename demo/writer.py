"""A writer on SQLite, as a process of its own: writer.py PARENT --fenced|--plain FILE EXTENSION

process.py says how it is talked to.
"""
import os
import sqlite3
import sys
import uuid

from process import KEY, NAMESPACE, end_with_parent, serve


class FencedLog:
    """The log as it should be: each call says under which epoch it is made."""

    def __init__(self, file, extension):
        # isolation_level=None: BEGIN and COMMIT are said here, not guessed by Python.
        self.db = sqlite3.connect(file, isolation_level=None)
        self.db.enable_load_extension(True)
        self.db.load_extension(extension)
        self.db.enable_load_extension(False)
        self.writer = str(uuid.uuid4())  # of this process; nobody else ever sees it
        self.epoch = None

    def query(self, sql, *values):
        return self.db.execute(sql, values).fetchone()[0]

    def install(self):
        self.query("PRAGMA journal_mode = WAL")
        return self.query("SELECT fence_install()")

    def fingerprint(self):
        return self.query("SELECT fence_fingerprint(?)", self.writer)

    def version(self):
        return f"Fence {self.query('SELECT fence_version()')}"

    def claim(self, epoch):
        """Takes the log over; returns its last idx (None: it is empty)."""
        last = self.query("SELECT oplog_metadata_upsert(?, ?, ?, ?)", NAMESPACE, KEY, epoch,
                          self.writer)
        self.epoch = epoch
        return last

    def append(self, idx, payload):
        return self.query("SELECT fenced_append(?, ?, ?, ?, ?, ?)", NAMESPACE, KEY, self.epoch,
                          self.writer, idx, payload)

    def append_in_transaction(self, idx, payload):
        self.db.execute("INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
                        (NAMESPACE, KEY, self.epoch, self.writer, idx, payload))

    def last_idx(self):
        return self.query("SELECT last_idx FROM oplog_status WHERE namespace = ? AND key = ?",
                          NAMESPACE, KEY)


class PlainLog:
    """The same log as an ordinary table: the epoch is there, and nobody checks it."""

    def __init__(self, file, _extension):
        self.db = sqlite3.connect(file, isolation_level=None)
        self.epoch = None

    def install(self):
        self.db.execute("PRAGMA journal_mode = WAL").fetchone()
        self.db.execute("CREATE TABLE oplog_entries(idx INTEGER PRIMARY KEY, epoch INT, payload)")

    def fingerprint(self):
        return None

    def version(self):
        return "no fence"

    def claim(self, epoch):
        self.epoch = epoch
        return self.last_idx()

    def append(self, idx, payload):
        self.db.execute("INSERT INTO oplog_entries VALUES (?, ?, ?)", (idx, self.epoch, payload))
        return idx

    append_in_transaction = append

    def last_idx(self):
        return self.db.execute("SELECT max(idx) FROM oplog_entries").fetchone()[0]


def insist(log, payload):
    """What a stubborn program does: looks where the log ends now, writes there, takes
    the refusal for a hiccup and commits. Returns the idx and the error it swallowed."""
    swallowed = None
    log.db.execute("BEGIN IMMEDIATE")
    idx = log.last_idx() + 1
    try:
        log.append_in_transaction(idx, payload)
    except sqlite3.Error as error:
        swallowed = str(error)
    try:
        log.db.execute("COMMIT")
    except sqlite3.Error as error:
        return {"idx": idx, "swallowed": swallowed, "commit": str(error)}
    return {"idx": idx, "swallowed": swallowed, "commit": None}


def answer(log, command):
    do = command["do"]
    if do == "install":
        return log.install()
    if do == "introduce":
        return {"pid": os.getpid(), "fingerprint": log.fingerprint(), "fence": log.version(),
                "sqlite": sqlite3.sqlite_version}
    if do == "claim":
        return log.claim(command["epoch"])
    if do == "append":
        return log.append(command["idx"], command["payload"])
    if do == "insist":
        return insist(log, command["payload"])
    if do == "report":
        return {"in_transaction": log.db.in_transaction}
    raise ValueError(f"unknown command {do}")


def main(parent, kind, file, extension):
    end_with_parent(int(parent))
    log = {"--fenced": FencedLog, "--plain": PlainLog}[kind](file, extension)
    serve(lambda command: answer(log, command), sqlite3.Error)


if __name__ == "__main__":
    main(*sys.argv[1:])
