"""A process on a fenced file that does what it is told, one line a command (test_processes.py).

usage: process_worker.py PATH WRITER BUSY_MS

Commands: claim EPOCH | append EPOCH IDX | insert EPOCH IDX | check EPOCH | sql STATEMENT.
Answers one line each: "ok VALUE", or "error CODE MESSAGE" with SQLite's name of the code.
Between two commands it is outside of any call."""

import sqlite3
import sys

import fenced_file


def perform(connection, writer, name, rest):
    if name == "sql":
        row = connection.execute(rest).fetchone()
        return row[0] if row else None
    numbers = [int(number) for number in rest.split()]
    if name == "claim":
        return fenced_file.claim(connection, numbers[0], writer)
    if name == "check":
        sql = "SELECT fence_check('n', 'k', ?, ?)"
        return connection.execute(sql, (numbers[0], writer)).fetchone()[0]
    form = {"append": fenced_file.append_by_select, "insert": fenced_file.append_by_insert}[name]
    form(connection, *numbers, writer=writer)
    return numbers[1]


def main():
    path, writer, busy_ms = sys.argv[1:]
    connection = fenced_file.connect(path, isolation_level=None, timeout=int(busy_ms) / 1000)
    print("ok ready", flush=True)
    for line in sys.stdin:
        name, _, rest = line.strip().partition(" ")
        try:
            answer = f"ok {perform(connection, writer, name, rest)}"
        except sqlite3.Error as error:
            answer = f"error {error.sqlite_errorname} {error}"
        print(answer, flush=True)


if __name__ == "__main__":
    main()
