"""PostgreSQL's protocol 3 by hand, over the unix socket: what no driver lets one do or
see, as a client that stops between two messages, or the order of the answers.

    wire = Wire(server)
    wire.send(extended("SELECT 1"), SYNC)
    wire.answers()  # ['parse', 'bind', 'row 1', 'done SELECT 1', 'ready I']
"""
import socket
import struct
from itertools import takewhile

import pgserver

PLAIN = {"1": "parse", "2": "bind", "3": "close", "n": "no data", "s": "suspended",
         "I": "empty", "G": "copy in", "t": "parameters", "T": "columns"}
IGNORED = "SKRN"  # settings, the key to cancel, authentication, notices


def message(kind, *parts):
    body = b"".join(parts)
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def text(value):
    return value.encode() + b"\0"


def query(sql):
    """The simple protocol: one statement or several."""
    return message("Q", text(sql))


def parse(sql, name=""):
    return message("P", text(name), text(sql), struct.pack("!h", 0))


def bind(*values, name="", portal=""):
    parts = [struct.pack("!i", len(value)) + value.encode() for value in map(str, values)]
    return message("B", text(portal), text(name), struct.pack("!hh", 0, len(values)), *parts,
                   struct.pack("!h", 0))


def execute(rows=0, portal=""):
    """At most that many rows; 0: all."""
    return message("E", text(portal), struct.pack("!i", rows))


def extended(sql, rows=0):
    return parse(sql) + bind() + execute(rows)


def call(function, *values):
    """The fast path: a function by its oid, arguments and result as text."""
    parts = [struct.pack("!i", len(value)) + value.encode() for value in map(str, values)]
    return message("F", struct.pack("!ihh", function, 0, len(values)), *parts,
                   struct.pack("!h", 0))


def copy_data(line):
    return message("d", line.encode())


COPY_DONE = message("c")
FLUSH = message("H")
SYNC = message("S")


def describe(kind, body):
    """One answer in a word or two."""
    if kind == "E":
        fields = takewhile(len, body.split(b"\0"))
        return "error " + next(field[1:].decode() for field in fields if field[:1] == b"C")
    if kind in "DV":  # the first column, or what the function returned
        start = 2 if kind == "D" else 0
        length = struct.unpack_from("!i", body, start)[0]
        return "row " + body[start + 4:start + 4 + length].decode() if length >= 0 else "row NULL"
    return {"C": "done " + body[:-1].decode(errors="replace"),
            "Z": "ready " + body.decode(errors="replace")}.get(kind) or PLAIN.get(kind, kind)


class Wire:
    def __init__(self, server, database=pgserver.DATABASE, **settings):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(server.folder / f".s.PGSQL.{pgserver.PORT}"))
        self.unread = b""
        settings = {"user": pgserver.USER, "database": database, **settings}
        body = struct.pack("!i", 3 << 16) + b"".join(text(name) + text(value)
                                                     for name, value in settings.items()) + b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        assert self.answers() == ["ready I"]
        self.pid = int(self.ask("SELECT pg_backend_pid()")[1].split()[1])

    def send(self, *messages):
        self.socket.sendall(b"".join(messages))

    def answers(self, until="ready", seconds=30):
        """All up to one that begins so, or up to the end of the connection."""
        found = []
        self.socket.settimeout(seconds)
        while not found or not (found[-1].startswith(until) or found[-1] == "end"):
            kind, body = self.receive()
            if kind not in IGNORED:
                found.append(describe(kind, body))
        return found

    def receive(self):
        while len(self.unread) < 5 or len(self.unread) <= self.length():
            more = self.socket.recv(65536)
            if not more:
                return "end", b""
            self.unread += more
        end = self.length() + 1
        kind, body = chr(self.unread[0]), self.unread[5:end]
        self.unread = self.unread[end:]
        return kind, body

    def length(self):
        return struct.unpack_from("!i", self.unread, 1)[0]

    def ask(self, sql):
        self.send(query(sql))
        return self.answers()

    def close(self):
        self.socket.close()
