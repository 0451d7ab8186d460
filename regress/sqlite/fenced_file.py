"""A fenced SQLite file as Python's own sqlite3 module sees it (conftest.py makes one)."""

import json
import os
import pathlib
import sqlite3

TOP = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = os.environ.get("FENCE_EXTENSION", str(TOP / "build/sqlite/fence.so"))

OWNER = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
FINGERPRINT = {OWNER: "e3e6ae2c", OTHER: "f963e82c"}

EPOCH = 5  # at which OWNER holds ('n', 'k')
STALE = 4


def connect(path, **arguments):
    """A connection with Fence loaded; arguments are those of sqlite3.connect."""
    connection = sqlite3.connect(path, **arguments)
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    connection.enable_load_extension(False)
    return connection


def claim(connection, epoch, writer=OWNER, key="k"):
    sql = "SELECT oplog_metadata_upsert('n', ?, ?, ?)"
    return connection.execute(sql, (key, epoch, writer)).fetchone()[0]


def append_by_select(connection, epoch, idx, payload=b"x", writer=OWNER, key="k"):
    sql = "SELECT fenced_append('n', ?, ?, ?, ?, ?)"
    connection.execute(sql, (key, epoch, writer, idx, payload)).fetchone()


def append_by_insert(connection, epoch, idx, payload=b"x", writer=OWNER, key="k"):
    connection.execute(INSERT, (key, epoch, writer, idx, payload))


INSERT = (
    "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)"
    " VALUES ('n', ?, ?, ?, ?, ?)"
)
FORMS = {"select": append_by_select, "insert": append_by_insert}


def stored(connection, key="k"):
    """The idx of all entries of a key."""
    sql = "SELECT idx FROM oplog_entries WHERE namespace = 'n' AND key = ? ORDER BY idx"
    return [row[0] for row in connection.execute(sql, (key,))]


def steps(connection):
    """What the application's own table holds."""
    return [row[0] for row in connection.execute("SELECT step FROM work ORDER BY step")]


def code_of(error):
    """'ZF001' of a refusal, None of any other error."""
    text = str(error)
    return text[:5] if text.startswith("ZF") else None


def detail_of(error):
    """The JSON of a refusal: it begins at the first brace and ends the message."""
    text = str(error)
    return json.loads(text[text.index("{") :])
