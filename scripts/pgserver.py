"""Throw-away PostgreSQL servers with the extension in them.

    with Server() as server:
        subprocess.run(["psql"], env=server.environment())

A server lies in one temporary folder: a private copy of the server's tree with the
extension added, the data, the log and the socket. So nothing is written to the system,
and several servers run beside each other. It listens on the socket alone, and the
folder is closed to others, since everybody who reaches the socket is a superuser.

PostgreSQL does not run as root: there it runs as user postgres, or else nobody.
"""
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PREFIX = "fence-pg-"
DATABASE = "fence"
USER = "postgres"
PORT = "5432"

# What an application could depend on stays as the server has it; these are for tests.
SETTINGS = {
    "listen_addresses": "",
    "max_connections": 100,
    "max_prepared_transactions": 10,
    "fsync": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


class ServerError(Exception):
    """The message says which command failed, and what it printed."""


def quoted(value):
    """The value as postgresql.conf wants it."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


def identity():
    """The arguments that make subprocess leave root; none for an ordinary user."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        except KeyError:
            pass
    raise ServerError("there is neither a user postgres nor a user nobody")


def is_running(pid):
    """A process that nobody has waited for yet does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended meanwhile
    return found


class Server:
    """build: the folder of `make BUILD=...`; conf: more settings; extension: created in
    the database. As a context manager it is started, and in the end removed, also when
    this process is killed."""

    def __init__(self, build=None, conf=None, extension=True, pg_config=None):
        self.build = TOP / (build or os.environ.get("BUILD", "build"))
        self.settings = {**SETTINGS, **(conf or {})}
        self.extension = extension
        self.pg_config = pg_config or os.environ.get("PG_CONFIG", "pg_config")
        self.identity = identity()
        self.folder = self.data = self.guard = self.process = None

    @classmethod
    def attach(cls, folder, **options):
        """A server that another process has made."""
        server = cls(**options)
        server.place(Path(folder))
        return server

    def __enter__(self):
        try:
            self.make()
            self.watch()
            self.start()
            self.create_database()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    # ---- the folder ----------------------------------------------------------------

    def place(self, folder):
        """The server finds its library and share folders relative to where its own
        executable really lies, so the private tree has the paths of the real one."""
        self.folder = folder
        self.data = folder / "data"
        self.log_file = folder / "log"
        self.real = {}
        for name in ("bindir", "pkglibdir", "sharedir"):
            self.real[name] = Path(self.output([self.pg_config, f"--{name}"]).strip())
        self.own = {name: folder / "tree" / path.relative_to("/")
                    for name, path in self.real.items()}
        self.bindir = self.own["bindir"]

    def make(self):
        """The tree and an empty cluster."""
        self.place(Path(tempfile.mkdtemp(prefix=PREFIX)))
        self.copy_tree()
        self.copy_extension()
        if self.identity:
            for folder, _, _ in os.walk(self.folder):
                os.chown(folder, self.identity["user"], self.identity["group"])
        self.run("initdb", "-D", self.data, "-U", USER, "--auth=trust", "--encoding=UTF8",
                 "--locale=C.UTF-8", "--no-sync", "--no-instructions")
        self.write_conf("postgresql.conf", {**self.settings, "unix_socket_directories": self.folder,
                                            "port": PORT})

    def copy_tree(self):
        """Real copies of the programs that look around from where they lie."""
        for name, real in self.real.items():
            own = self.own[name]
            own.mkdir(parents=True)
            for entry in real.iterdir():
                (own / entry.name).symlink_to(entry)
        for program in ("postgres", "initdb", "pg_ctl"):
            (self.bindir / program).unlink()
            shutil.copy2(self.real["bindir"] / program, self.bindir / program)
        extensions = self.own["sharedir"] / "extension"
        extensions.unlink()
        extensions.mkdir()
        for entry in (self.real["sharedir"] / "extension").iterdir():
            if not entry.name.startswith("fence"):  # an installed version is not under test
                (extensions / entry.name).symlink_to(entry)

    def copy_extension(self):
        """Puts in what was built; returns the names of the files that were not yet there.
        A file is replaced, never written to: sessions may have it mapped."""
        if not self.extension:
            return []
        changed = []
        files = [self.build / "pg/fence.so", *self.build.glob("pg/fence--*.sql"),
                 self.build / "pg/fence.control"]
        for file in files:
            if not file.exists():
                raise ServerError(f"{file} does not exist: run `make pg`")
            folder = self.own["pkglibdir"] if file.suffix == ".so" else \
                self.own["sharedir"] / "extension"
            target = folder / file.name
            if target.is_file() and not target.is_symlink() and \
                    target.read_bytes() == file.read_bytes():
                continue
            new = folder / (file.name + ".new")
            shutil.copyfile(file, new)
            new.chmod(0o755 if file.suffix == ".so" else 0o644)
            new.replace(target)
            changed.append(file.name)
        return changed

    def remove(self):
        """Ends all that belongs to the server. Not to be interrupted half-way."""
        stopping = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        try:
            if self.folder and self.folder.exists():
                self.end()
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
            if self.guard:
                self.guard.stdin.close()
                self.guard.wait()
                self.guard = None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end(self):
        """It goes at once, and frees its shared memory if it can."""
        if self.pid():
            try:
                self.stop("immediate", seconds=10)
            except ServerError:
                self.kill9()

    def leave(self):
        """Lets it run on after this process."""
        os.killpg(self.guard.pid, signal.SIGKILL)
        self.guard.wait()
        self.guard = self.folder = None

    def watch(self):
        """A shell that removes the server when this process has gone, even by SIGKILL:
        then the pipe that it reads ends."""
        script = ('cat >/dev/null; read -r pid 2>/dev/null <"$1/data/postmaster.pid" &&'
                  ' kill -QUIT "$pid" 2>/dev/null && sleep 2; rm -rf "$1"')
        self.guard = subprocess.Popen(["sh", "-c", script, "fence-pg-guard", self.folder],
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, cwd="/",
                                      start_new_session=True, **self.identity)

    # ---- commands ------------------------------------------------------------------

    def output(self, command, **options):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL, **options)
        if done.returncode:
            raise ServerError(f"{shlex.join(map(str, done.args))} failed:\n"
                              f"{done.stdout}{done.stderr}".rstrip())
        return done.stdout

    def run(self, program, *arguments):
        """Runs a program of the server's tree as the server's user."""
        return self.output([self.bindir / program, *arguments], cwd=self.folder,
                           env=self.environment(), **self.identity)

    def sql(self, text, database=DATABASE):
        """What psql prints for it, a line a row."""
        return self.output([self.bindir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database,
                            "-c", text], env=self.environment()).strip()

    def variables(self):
        """What clients need to find the server."""
        return {"PGHOST": str(self.folder), "PGPORT": PORT, "PGUSER": USER,
                "PGDATABASE": DATABASE}

    def environment(self):
        """A whole environment: of PG... only what leads to this server."""
        rest = {k: v for k, v in os.environ.items() if not k.startswith("PG") or k == "PG_CONFIG"}
        return {**rest, **self.variables(),
                "PATH": f"{self.bindir}:{os.environ.get('PATH', os.defpath)}"}

    def dsn(self, **more):
        values = {"host": self.folder, "port": PORT, "user": USER, "dbname": DATABASE, **more}
        return " ".join(f"{name}={value}" for name, value in values.items())

    # ---- its life ------------------------------------------------------------------

    def create_database(self):
        self.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
        if self.extension:
            self.sql("CREATE EXTENSION fence")

    def start(self, seconds=60):
        """Returns when it accepts connections. A child of this process and not of a
        pg_ctl: somebody must take note of its end, or the next start finds its pid in use."""
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [self.bindir / "postgres", "-D", self.data], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd=self.folder, env=self.environment(), start_new_session=True,
                **self.identity)
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServerError(f"the server does not start:\n{self.log()[-2000:]}".rstrip())
            time.sleep(0.01)

    def is_ready(self):
        """What the server itself says, in the last line of the file about it."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        return lines[0] == str(self.process.pid) and lines[7:8] and lines[7].strip() == "ready"

    def stop(self, mode="fast", seconds=60):
        self.run("pg_ctl", "stop", "-w", "-t", seconds, "-s", "-D", self.data, "-m", mode)
        if self.process:
            self.process.wait()

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def pid(self):
        """Of the postmaster; None where none runs."""
        if self.process:
            return self.process.pid if self.process.poll() is None else None
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n")[0])
        except (FileNotFoundError, ValueError):
            return None
        return pid if is_running(pid) else None

    def kill9(self):
        """SIGKILL for all processes of the server at once; returns when they have gone."""
        postmaster = self.pid()
        if postmaster is None:
            return
        os.kill(postmaster, signal.SIGSTOP)  # makes no more children
        family = [postmaster, *children(postmaster)]
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 30
        while any(map(is_running, family)):
            if time.monotonic() > deadline:
                raise ServerError("the server's processes do not end on SIGKILL")
            time.sleep(0.01)
        if self.process:
            self.process.wait()

    # ---- settings and log ----------------------------------------------------------

    def write_conf(self, name, settings):
        """The last line about a setting counts. None takes out what conf() has set."""
        path = self.data / name
        lines = path.read_text().splitlines() if path.exists() else []
        lines = [line for line in lines if line.partition("=")[0].strip() not in settings]
        lines += [f"{key} = {quoted(value)}" for key, value in settings.items()
                  if value is not None]
        path.write_text("\n".join(lines) + "\n")

    def conf(self, **settings):
        """Sets values (None: back to the default) for all sessions; a dot in a name is
        written __, as in fence__evict_after. Sessions that begin after the call have them."""
        self.write_conf("postgresql.auto.conf",
                        {name.replace("__", "."): value for name, value in settings.items()})
        if self.pid() is None:
            return
        loaded = self.sql("SELECT pg_conf_load_time()")
        self.run("pg_ctl", "reload", "-s", "-D", self.data)
        deadline = time.monotonic() + 30
        while self.sql("SELECT pg_conf_load_time()") == loaded:
            if time.monotonic() > deadline:
                raise ServerError("the server does not read its settings again")
            time.sleep(0.01)

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
