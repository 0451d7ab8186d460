"""Where an example of examples/postgresql runs: a database of its own, made by its schema.sql,
and its programs as processes."""
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import variant

EXAMPLES = variant.TOP / "examples/postgresql"
STOP_AT = str(Path(__file__).with_name("stop_at.py"))
LONGEST = 30  # seconds that anything is waited for
NUMBERS = itertools.count(1)


def wait_until(condition):
    """What the condition gave when it held."""
    deadline = time.monotonic() + LONGEST
    while not (result := condition()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)
    return result


class Program:
    """A process of an example. stop: where it stops itself, see stop_at.py."""

    def __init__(self, command, output, stop):
        watched = [STOP_AT, *map(str, stop)] if stop else []
        self.output = output
        with output.open("wb") as file:
            self.process = subprocess.Popen(["/usr/bin/python3", *watched, *command], stdout=file,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def said(self):
        return self.output.read_text()

    def wait_until_it_says(self, text):
        wait_until(lambda: text in self.said())

    def wait_until_stopped(self):
        def is_stopped():
            found = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOHANG |
                              os.WNOWAIT)
            assert found is None or found.si_code == os.CLD_STOPPED, self.said()
            return found is not None
        wait_until(is_stopped)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.wait_until_stopped()

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.kill()
        self.process.wait()
        print(self.output.name, "said:\n" + self.said(), file=sys.stderr)


class Stage:
    def __init__(self, server, folder, example):
        self.server, self.folder = server, folder
        self.place = EXAMPLES / example
        self.database = f"{example}_{next(NUMBERS)}"
        self.programs = []
        server.sql(f"CREATE DATABASE {self.database}", database="postgres")
        server.sql("CREATE EXTENSION fence", database=self.database)
        # How long a frozen session must have been idle before it is ended: 1 s by default.
        server.sql(f"ALTER DATABASE {self.database} SET fence.evict_after = 200")
        self.admin = psycopg.connect(self.dsn("postgres"), autocommit=True)
        self.before = self.roles()
        self.psql(self.place / "schema.sql")

    def close(self):
        for program in self.programs:
            program.end()
        self.admin.close()
        self.server.sql(f"DROP DATABASE {self.database} WITH (FORCE)", database="postgres")
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            for role in self.roles(connection) - self.before:
                connection.execute(f"DROP ROLE {role}")

    def roles(self, connection=None):
        found = (connection or self.admin).execute("SELECT rolname FROM pg_roles").fetchall()
        return {name for name, in found}

    def dsn(self, role):
        return self.server.dsn(dbname=self.database, user=role)

    def psql(self, script):
        subprocess.run([self.server.bindir / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d",
                        self.database], stdin=script.open("rb"), stdout=subprocess.DEVNULL,
                       env=self.server.environment(), timeout=LONGEST, check=True)

    def start(self, program, *arguments, stop=None):
        output = self.folder / f"output{len(self.programs)}"
        self.programs.append(Program([str(self.place / program), *map(str, arguments)], output,
                                     stop))
        return self.programs[-1]

    def ask(self, sql, *values):
        return self.admin.execute(sql, values).fetchall()

    def run_as(self, role, sql, *values):
        with psycopg.connect(self.dsn(role), autocommit=True) as connection:
            connection.execute(sql, values)

    def refusal_of(self, role, sql):
        """The code with which a statement of that role fails."""
        try:
            self.run_as(role, sql)
        except psycopg.Error as error:
            return error.sqlstate
        return None
