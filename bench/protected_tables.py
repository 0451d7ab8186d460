#!/usr/bin/python3
"""What a protected table costs on PostgreSQL: CPU of the server's process over that of the same
statement on a table without protection, interleaved in one run. Likewise a table without protection
in a session that uses Fence over one in a session that does not.

usage: scripts/pg run bench/protected_tables.py [ROWS]   (make bench-pg)
"""
import json
import statistics
import sys
import uuid

import psycopg

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
ROUNDS = 7
WRITER = str(uuid.uuid4())

TABLES = ("bare", "plain", "fenced")
# What is one key: how many rows share it.
SHAPES = {"constant key": 0, "100 rows a key": 100, "1 row a key": 1}


def cpu_ns(session):
    """The time that the process of the session has run so far."""
    with open(f"/proc/{session.info.backend_pid}/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[0])


def make_tables(session, rows_of_key):
    session.execute("DROP TABLE IF EXISTS bare, plain, fenced")
    for table in TABLES:
        session.execute(f"CREATE TABLE {table}(id bigint PRIMARY KEY, owner bigint NOT NULL, balance bigint)")
        session.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    if rows_of_key == 0:
        session.execute("SELECT fence.fence_protect('fenced', 'bench', key => 'all')")
        return ["all"]
    session.execute("SELECT fence.fence_protect('fenced', 'bench', '[\"owner\"]')")
    return [str(owner) for owner in range((ROWS - 1) // rows_of_key + 1)]


def claim(session, keys):
    claims = json.dumps([{"key": key, "epoch": 1} for key in keys])
    session.execute("SELECT fence.oplog_metadata_upsert_many('bench', %s, %s)", (claims, WRITER))


def timed(session, statement):
    before = cpu_ns(session)
    session.execute(statement)
    return cpu_ns(session) - before


STATEMENTS = {
    "INSERT": "INSERT INTO {table} SELECT i, i / {share}, 0 FROM generate_series(0, {rows} - 1) AS i",
    "UPDATE": "UPDATE {table} SET balance = balance + 1",
    "DELETE": "DELETE FROM {table}",
}


def run_round(session, other, keys, share, spent):
    with session.transaction(), other.transaction():
        before = cpu_ns(session)
        session.execute("SELECT fence.fence_assert_many('bench', %s, 1, %s)", (json.dumps(keys), WRITER))
        spent["assert"].append(cpu_ns(session) - before)
        for name, statement in STATEMENTS.items():
            for table, by in (("bare", other), ("plain", session), ("fenced", session)):
                text = statement.format(table=table, share=share, rows=ROWS)
                spent[f"{name} {table}"].append(timed(by, text))
    session.execute("VACUUM bare, plain, fenced")


def report(shape, spent):
    middle = {name: statistics.median(values[1:]) for name, values in spent.items()}
    for name in STATEMENTS:
        bare, plain, fenced = (middle[f"{name} {table}"] for table in TABLES)
        print(f"{shape:16} {name}  {fenced / plain:5.2f}   {plain / ROWS:6.0f} -> {fenced / ROWS:6.0f} ns a row"
              f"   (without protection {plain / bare:5.2f})")
    print(f"{shape:16} fence_assert_many  {middle['assert'] / 1e6:8.2f} ms of CPU", flush=True)


def main():
    print(f"{ROWS} rows, CPU over that of an unprotected table, median of {ROUNDS - 1}")
    with (psycopg.connect("", autocommit=True) as session,
          psycopg.connect("", autocommit=True) as other):
        for shape, rows_of_key in SHAPES.items():
            keys = make_tables(session, rows_of_key)
            for start in range(0, len(keys), 5000):
                claim(session, keys[start:start + 5000])
            spent = {name: [] for name in ["assert"] + [f"{s} {t}" for s in STATEMENTS for t in TABLES]}
            for _ in range(ROUNDS):
                run_round(session, other, keys, max(rows_of_key, 1), spent)
            report(shape, spent)


if __name__ == "__main__":
    main()
