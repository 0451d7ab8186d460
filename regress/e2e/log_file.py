"""A fenced SQLite file, as the processes of a test see it."""

import json
import sqlite3
import uuid


def new_writer():
    return str(uuid.uuid4())


def connect(path, extension, busy_ms=10000):
    """A connection with the extension loaded and no hidden BEGIN of Python's."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=busy_ms / 1000)
    connection.enable_load_extension(True)
    connection.load_extension(extension)
    connection.enable_load_extension(False)
    return connection


def claim(connection, key, epoch, writer):
    """Returns the greatest idx ever stored, or None."""
    sql = "SELECT oplog_metadata_upsert('e2e', ?, ?, ?)"
    return connection.execute(sql, (key, epoch, writer)).fetchone()[0]


def append(connection, key, epoch, writer, idx, payload):
    sql = "SELECT fenced_append('e2e', ?, ?, ?, ?, ?)"
    connection.execute(sql, (key, epoch, writer, idx, payload)).fetchone()


def insert(connection, key, epoch, writer, entries):
    """The INSERT form: entries is a list of (idx, payload), all stored or none."""
    values = ", ".join(["('e2e', ?, ?, ?, ?, ?)"] * len(entries))
    arguments = [one for idx, payload in entries for one in (key, epoch, writer, idx, payload)]
    connection.execute(
        "INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES " + values,
        arguments,
    )


def entries(connection, key):
    """(idx, epoch, payload) of the whole log, by idx."""
    sql = "SELECT idx, epoch, payload FROM oplog_entries WHERE namespace = 'e2e' AND key = ?"
    return connection.execute(sql + " ORDER BY idx", (key,)).fetchall()


def code_of(error):
    """'ZF001' of a refusal; None of any other error."""
    text = str(error)
    return text[:5] if text.startswith("ZF") else None


def detail_of(error):
    """The JSON detail of a refusal."""
    text = str(error)
    return json.loads(text[text.index("{") :])
