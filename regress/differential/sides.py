"""The engines as the fuzzer drives them: fresh databases, and as few round trips as can be."""
import contextlib
import json
import os
import tempfile

import steps as said

from engines import ENGINES, Done, Refusal, Rows  # found by steps

BYTES = ("payload", "value")
MEMORY = "/dev/shm"


class SqliteSide:
    """What the file would wait for the disk tells nothing here."""
    name = "sqlite"

    def __init__(self, session):
        self.session = session
        self.ask_sql("PRAGMA journal_mode = WAL")
        self.ask_sql("PRAGMA synchronous = OFF")

    def ask_sql(self, sql):
        return self.session.execute(sql)

    def ask(self, step, inside):
        """Inside a transaction a call stands between savepoints, as PostgreSQL needs it."""
        sql = said.sql_of(step, self.name)
        if not inside or step[0] in said.TRANSACTION:
            return self.ask_sql(sql)
        self.ask_sql("SAVEPOINT call")
        answer = self.ask_sql(sql)
        if not isinstance(answer, (Rows, Done)):
            self.ask_sql("ROLLBACK TO call")
        self.ask_sql("RELEASE call")
        return answer

    def close(self):
        self.ask_sql("ROLLBACK")  # of what a round may have left open


class PostgresqlSide:
    """By libpq itself: psycopg spends more time on an answer than the server does."""
    name = "postgresql"
    DECODE = {16: lambda value: value == b"t", 17: lambda value: bytes.fromhex(value[2:].decode()),
              20: int, 23: int, 114: json.loads, 3802: json.loads, 2278: lambda _: None}

    def __init__(self, session):
        self.session = session
        self.connection = session.connection.pgconn
        self.asked = 0
        self.left_open = False
        self.ask_sql("SET synchronous_commit = off")

    def ask_sql(self, sql):
        """Every other statement by the extended protocol, if it is one."""
        self.asked += 1
        if self.asked % 2 and ";" not in sql:
            return self.answer(self.connection.exec_params(sql.encode(), None))
        return self.answer(self.connection.exec_(sql.encode()))

    def answer(self, result):
        from psycopg import errors, pq  # pylint: disable=import-outside-toplevel (as in engines)
        if result.status == pq.ExecStatus.COMMAND_OK:
            return Done()
        if result.status != pq.ExecStatus.TUPLES_OK:
            return self.session.take_apart(errors.error_from_result(result, "utf-8"))
        decode = [self.DECODE.get(result.ftype(column), bytes.decode)
                  for column in range(result.nfields)]
        return Rows([tuple(None if value is None else read(value)
                           for column, read in enumerate(decode)
                           for value in [result.get_value(row, column)])
                     for row in range(result.ntuples)])

    def ask(self, step, inside):
        """The savepoint of a call that went well is released by the next statement."""
        sql = said.sql_of(step, self.name)
        if step[0] in said.VIEWS:
            # One value is read faster than a thousand.
            sql = f"SELECT coalesce(json_agg(t), '[]') FROM ({sql}) AS t"
        before = "RELEASE call; " if self.left_open else ""
        self.left_open = inside and step[0] not in said.TRANSACTION
        answer = self.ask_sql(before + ("SAVEPOINT call; " if self.left_open else "") + sql)
        if self.left_open and not isinstance(answer, (Rows, Done)):
            self.ask_sql("ROLLBACK TO call; RELEASE call")
            self.left_open = False
        if step[0] in said.VIEWS and isinstance(answer, Rows):
            return Rows([tuple(bytes.fromhex(value[2:]) if name in BYTES else value
                               for name, value in row.items()) for row in answer.rows[0][0]])
        return answer

    def close(self):
        self.ask_sql("ROLLBACK")  # likewise


SIDES = {side.name: side for side in (SqliteSide, PostgresqlSide)}


@contextlib.contextmanager
def in_memory():
    """Temporary files in memory, where there is such a place: a claim waits for its flush."""
    before = tempfile.tempdir
    tempfile.tempdir = MEMORY if os.path.isdir(MEMORY) else before
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextlib.contextmanager
def open_sides(names):
    with contextlib.ExitStack() as stack:
        with in_memory():
            sides = [SIDES[name](stack.enter_context(ENGINES[name]().session()))
                     for name in names]
        try:
            yield sides
        finally:
            for side in sides:
                side.close()


# ---- what must be the same ---------------------------------------------------------

def plain(value):
    """As JSON has it: numbers are strings."""
    if isinstance(value, dict):
        return {name: str(item) if isinstance(item, int) and not isinstance(item, bool) else item
                for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def has(whole, part):
    return isinstance(whole, dict) and all(whole.get(name, "missing") == value
                                           for name, value in plain(part).items())


def result_of(step, answer):
    """The value of a call, the rows of a read; the answer itself if it is an error."""
    if isinstance(answer, Done):
        return None
    if not isinstance(answer, Rows):
        return answer
    if step[0] in said.COLUMNS:
        rows = [tuple(row) for row in answer.rows]
        return sorted(rows, key=lambda row: row[:3]) if step[0] in said.VIEWS else rows
    return answer.rows[0][0]


def agrees(step, expected, answer):
    """Whether an engine's answer is the model's, a result or a Refused."""
    if not isinstance(answer, (Rows, Done)):
        return (isinstance(answer, Refusal) and answer.message[:5] == getattr(expected, "code", "")
                and has(answer.detail, expected.detail))
    found = result_of(step, answer)
    if isinstance(expected, dict):
        return has(found, expected)
    return found == (plain(expected) if step[0] == "oplog_metadata_upsert_many" else expected)


def alike(step, one, other):
    """Whether two engines answer the same, to the last word of a message."""
    if isinstance(one, Refusal) and isinstance(other, Refusal) and (
            step[0] == "fenced_append_many" and one.message[:5] == "ZF010"):
        return one.detail == other.detail  # arrays are not JSON text: each is told its own
    return result_of(step, one) == result_of(step, other)
