"""A second server in a folder of the first one's: a standby, or a copy that recovers."""
import subprocess

import psycopg
from pgserver import quoted
from scene import wait_until


class Replica:
    """Made by pg_basebackup of the server, or of another replica of it. With standby it
    follows that; else recover() says from where and up to what."""

    def __init__(self, server, name, port, standby=True, of=None):
        self.server = server
        self.port = str(port)
        self.folder = server.folder / name
        self.process = None
        self.source = of.ask if of else server.sql
        server.run("pg_basebackup", "-D", self.folder, "-c", "fast", "--no-sync",
                   *(["-R"] if standby else []), *(["-p", of.port] if of else []))

    def recover(self, **settings):
        """Recovers up to a target when it is started, and goes on from there."""
        lines = {"recovery_target_action": "promote", **settings}
        with open(self.folder / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.writelines(f"{name} = {quoted(value)}\n" for name, value in lines.items())
        signal = self.folder / "recovery.signal"
        signal.touch()
        if self.server.identity:
            subprocess.run(["chown", "--reference", self.folder, signal], check=True)

    def start(self):
        with open(f"{self.folder}.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.server.bindir / "postgres", "-D", self.folder, "-c", f"port={self.port}",
                 "-c", "archive_mode=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.server.folder,
                env=self.server.environment(), start_new_session=True, **self.server.identity)
        wait_until(self.is_up, 60)
        return self

    def is_up(self):
        assert self.process.poll() is None, open(f"{self.folder}.log", encoding="utf-8").read()
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def connect(self):
        return psycopg.connect(self.server.dsn(port=self.port), autocommit=True)

    def ask(self, sql):
        with self.connect() as connection:
            return connection.execute(sql).fetchone()[0]

    def catch_up(self):
        end = self.source("SELECT pg_current_wal_lsn()::text")
        wait_until(lambda: self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{end}'"))

    def promote(self):
        assert self.ask("SELECT pg_promote()")
        wait_until(lambda: not self.ask("SELECT pg_is_in_recovery()"))

    def wait_for_end_of_recovery(self):
        wait_until(lambda: not self.ask("SELECT pg_is_in_recovery()"), 60)

    def stop(self):
        if self.process:
            self.process.poll()
            if self.process.returncode is None:
                self.server.run("pg_ctl", "stop", "-s", "-D", self.folder, "-m", "immediate")
                self.process.wait()
            self.process = None
