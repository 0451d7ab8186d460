"""PostgreSQL in the documents: what they show is what psql and the programs print.

A fenced block of a document is run when its language is
  console  and a line of it begins with psql's prompt: a session that the command in its
           first line begins, then what a person types and what psql answers
  python   and it imports psycopg: a program; the next block is what it prints
The blocks of a document run in its order, on one server with a database fence.
"""
import os
import pty
import re
import select
import shlex
import subprocess
import termios
import time
from collections import namedtuple
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
LONGEST = 60  # seconds that one block may take

Session = namedtuple("Session", "language line text printed")  # printed: of python only

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# Of database fence, in all states of a statement and a transaction; of COPY's data.
PROMPT = r"(?:fence[-=*!?'\"($^]+[#>]|>>) "
AT_PROMPT = re.compile(rf"(?:\A|\n){PROMPT}\Z")
INPUT = re.compile(rf"^{PROMPT}(.*)$", re.M)


def sessions(document):
    text = Path(document).read_text(encoding="utf-8")
    blocks = [(found[1], text.count("\n", 0, found.start()) + 1, found[2])
              for found in BLOCK.finditer(text)]
    found = []
    for i, (language, line, body) in enumerate(blocks):
        if language == "console" and INPUT.search(body):
            found.append(Session(language, line, body, None))
        elif language == "python" and "import psycopg" in body:
            found.append(Session(language, line, body, blocks[i + 1][2]))
    return found


def inputs(session):
    return INPUT.findall(session.text)


class Terminal:
    """A psql that believes in a person before it."""

    def __init__(self, command, environment):
        self.ours, theirs = pty.openpty()
        modes = termios.tcgetattr(theirs)
        modes[1] &= ~termios.OPOST  # a new line is a new line
        modes[3] &= ~termios.ECHO   # what is typed is noted here
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs,
                                        stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.printed = ""
        self.deadline = time.monotonic() + LONGEST

    def wait_for_prompt(self):
        while not AT_PROMPT.search(self.printed):
            ready, _, _ = select.select([self.ours], [], [], self.deadline - time.monotonic())
            assert ready, f"no prompt after\n{self.printed}"
            self.printed += os.read(self.ours, 65536).decode()

    def type(self, line):
        self.printed += f"{line}\n"
        os.write(self.ours, f"{line}\n".encode())

    def close(self):
        os.close(self.ours)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_psql(session, server):
    """(what the document shows, what psql prints), without its greeting."""
    command, _, shown = session.text.partition("\n")
    words = shlex.split(command.rpartition("&& ")[2].removeprefix("$ "))
    assert words[0] == "psql", command
    terminal = Terminal([server.bindir / "psql", "-X", "-n", *words[1:]],
                        {**server.environment(), "PSQL_PAGER": "", "LANG": "C.UTF-8"})
    try:
        terminal.wait_for_prompt()
        terminal.printed = re.search(rf"{PROMPT}\Z", terminal.printed)[0]
        for line in inputs(session):
            terminal.type(line)
            terminal.wait_for_prompt()
    finally:
        terminal.close()
    return shown, re.sub(rf"{PROMPT}\Z", "", terminal.printed)


def squeeze(transcript):
    """The parts of a transcript, each without white space: documents break long lines."""
    parts = re.split(rf"^(?={PROMPT})", transcript, flags=re.M)
    return ["".join(part.split()) for part in parts]


def run_python(session, server, folder):
    """What the program prints, errors included."""
    done = subprocess.run([PYTHON, "-c", session.text], cwd=folder, env=server.environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LONGEST, check=False)
    return done.stdout
