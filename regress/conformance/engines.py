"""The database engines that the conformance files run on.

An engine is a class with a `name` and a method `session()`: a context manager that
gives a fresh database with Fence installed, as an object with one method,
`execute(sql)`. That runs one statement in autocommit and answers with

    Rows     what a query gave (None, bool, int, str, bytes; JSON as list or dict)
    Done     a statement that gives no rows
    Refusal  an error of Fence, taken apart
    Failure  any other error, which no conformance file may meet

What differs between engines ends here. A new engine is a new class in ENGINES.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import sqlite3
import tempfile
import uuid

TOP = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Rows:
    rows: list


@dataclasses.dataclass
class Done:
    pass


@dataclasses.dataclass
class Refusal:
    message: str  # "ZF001 stale_epoch: …"
    detail: dict
    hint: str


@dataclasses.dataclass
class Failure:
    text: str


class Sqlite:
    name = "sqlite"

    @contextlib.contextmanager
    def session(self):
        extension = os.environ.get("FENCE_EXTENSION", str(TOP / "build/sqlite/fence.so"))
        with tempfile.TemporaryDirectory() as folder:
            connection = sqlite3.connect(os.path.join(folder, "log.db"), isolation_level=None)
            with contextlib.closing(connection):
                connection.enable_load_extension(True)
                connection.load_extension(extension)
                connection.execute("SELECT fence_install()")
                yield SqliteSession(connection)


class SqliteSession:
    # SQLite has neither booleans nor JSON values: the contract says which results are
    # of these types. A result is known by its column's name, which is that of the
    # function where the column is a call.
    BOOLEAN = {"deleted", "fence_check", "fenced_publish", "fenced_put", "fenced_remove",
               "identical_repeat"}
    JSON = {"oplog_metadata_upsert_many", "try_oplog_metadata_upsert"}

    # All that SQLite has room for is one text: "ZF001 stale_epoch: text; hint: hint {detail}".
    MESSAGE = re.compile(r"(ZF\d{3} \w+: [^{]+); hint: ([^{]+) ({.*})", re.DOTALL)

    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql):
        try:
            cursor = self.connection.execute(sql)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            return self.take_apart(str(error))
        if cursor.description is None:
            return Done()
        names = [re.match(r"\w*", column[0]).group() for column in cursor.description]
        return Rows([[self.convert(*pair) for pair in zip(names, row)] for row in rows])

    def convert(self, name, value):
        if name in self.BOOLEAN and value in (0, 1):
            return bool(value)
        if name in self.JSON and value is not None:
            return json.loads(value)
        return value

    def take_apart(self, text):
        found = self.MESSAGE.fullmatch(text)
        if found is None:
            return Failure(text)
        return Refusal(found[1], json.loads(found[3]), found[2])


class Postgresql:
    """Of the server that PGHOST and the like name: call it by `scripts/pg run`."""
    name = "postgresql"

    @contextlib.contextmanager
    def session(self):
        import psycopg  # pylint: disable=import-outside-toplevel (SQLite needs none of it)
        database = f"conformance_{uuid.uuid4().hex}"
        with psycopg.connect(dbname="postgres", autocommit=True) as administrator:
            administrator.execute(f"CREATE DATABASE {database}")
            try:
                with psycopg.connect(dbname=database, autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION fence")
                    connection.execute("SET search_path = fence, public")
                    yield PostgresqlSession(connection)
            finally:
                administrator.execute(f"DROP DATABASE {database}")


class PostgresqlSession:
    # A call that returns nothing is of type void, which SQLite has not.
    VOID = 2278

    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql):
        import psycopg  # pylint: disable=import-outside-toplevel
        try:
            cursor = self.connection.execute(sql)
        except psycopg.Error as error:
            return self.take_apart(error)
        if cursor.description is None:
            return Done()
        void = [column.type_code == self.VOID for column in cursor.description]
        return Rows([[None if nothing else value for nothing, value in zip(void, row)]
                     for row in cursor.fetchall()])

    @staticmethod
    def take_apart(error):
        state = error.sqlstate or ""
        if not state.startswith("ZF"):
            return Failure(f"{state} {error}")
        said = error.diag
        return Refusal(f"{state} {said.message_primary}", json.loads(said.message_detail),
                       said.message_hint)


ENGINES = {engine.name: engine for engine in (Sqlite, Postgresql)}
