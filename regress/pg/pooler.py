"""A pgbouncer in transaction mode, with one connection to the server for all clients.

    with Pooler(server) as pooler:
        psycopg.connect(pooler.dsn(), prepare_threshold=None)
"""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pgserver

PORT = "6432"
PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class Pooler:
    def __init__(self, server, connections=1):
        self.server = server
        self.connections = connections
        self.folder = self.process = None

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="fence-pool-"))
        self.write("users", f'"{pgserver.USER}" ""\n')
        self.write("pgbouncer.ini", f"""[databases]
* = host={self.server.folder} port={pgserver.PORT}
[pgbouncer]
pool_mode = transaction
default_pool_size = {self.connections}
listen_addr =
listen_port = {PORT}
unix_socket_dir = {self.folder}
auth_type = trust
auth_file = {self.folder}/users
logfile = {self.folder}/log
""")
        who = pgserver.identity()  # it does not run as root either
        if who:
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, who["user"], who["group"])
        self.process = subprocess.Popen([PROGRAM, "-q", self.folder / "pgbouncer.ini"],
                                        stdin=subprocess.DEVNULL, cwd=self.folder,
                                        start_new_session=True, **who)
        deadline = time.monotonic() + 30
        while not (self.folder / f".s.PGSQL.{PORT}").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                log = self.folder / "log"
                said = log.read_text() if log.exists() else "nothing"
                self.__exit__()
                raise RuntimeError(f"pgbouncer does not start: {said}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def dsn(self):
        return (f"host={self.folder} port={PORT} user={pgserver.USER}"
                f" dbname={pgserver.DATABASE}")
