"""Sessions in the documents: what they show is what the programs print.

A fenced block of a document is a session when its language is
  console  a sqlite3 shell: `$ sqlite3 FILE` or `$ make sqlite-shell FILE=...`, then
           what a person types behind `sqlite> ` and what the shell answers
  pycon    Python's own prompt
  js       a program for Node; the next block is what it prints
The sessions of a document run in its order in one folder that is empty before.
"""
import os
import re
import shlex
import subprocess
from collections import namedtuple
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
LONGEST = 60  # seconds that one session may take

Session = namedtuple("Session", "language line text printed")  # printed: of js only

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def extension():
    """The extension under test."""
    return Path(os.environ.get("FENCE_EXTENSION", TOP / "build/sqlite/fence.so")).resolve()


def environment(folder):
    """As after `make install`: the library is found by its name. No personal settings."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LANG": "C.UTF-8",
            "INPUTRC": "/dev/null", "COLUMNS": "1000",  # no line is cut short
            "LD_LIBRARY_PATH": str(extension().parent)}


def sessions(document):
    """The sessions of a document, in its order."""
    text = Path(document).read_text(encoding="utf-8")
    blocks = [(found[1], text.count("\n", 0, found.start()) + 1, found[2])
              for found in BLOCK.finditer(text)]
    found = []
    for i, (language, line, body) in enumerate(blocks):
        if language == "console" and "sqlite> " in body or language == "pycon":
            found.append(Session(language, line, body, None))
        elif language == "js":
            found.append(Session(language, line, body, blocks[i + 1][2]))
    return found


# ---- the sqlite3 shell ---------------------------------------------------------

INPUT = re.compile(r"^(?:sqlite> |   \.\.\.> )(.*)$", re.M)


def shell_command(line):
    """What starts the shell, told to show prompts and input although it reads a pipe."""
    words = shlex.split(line.removeprefix("$ "))
    if words[:2] == ["make", "sqlite-shell"]:
        file = words[2].removeprefix("FILE=")
        return ["sqlite3", "-interactive", "-cmd", f".load {extension()}", file]
    return [words[0], "-interactive", *words[1:]]


def run_shell(session, folder):
    """(what the document shows, what the shell prints), without the shell's greeting."""
    command, _, shown = session.text.partition("\n")
    done = subprocess.run(shell_command(command), cwd=folder, env=environment(folder),
                          input="".join(f"{line}\n" for line in INPUT.findall(shown)),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LONGEST, check=False)
    greeting, prompt, printed = done.stdout.partition("sqlite> ")
    assert prompt, greeting
    return shown, (prompt + printed).removesuffix("sqlite> \n")


def squeeze(transcript):
    """The parts of a transcript, each without white space: documents break long lines."""
    parts = re.split(r"^(?=sqlite> |   \.\.\.> )", transcript, flags=re.M)
    return ["".join(part.split()) for part in parts]


# ---- Python and Node -----------------------------------------------------------

def run_python(document, folder):
    """Runs all Python sessions of a document as one doctest; returns its complaints."""
    source = Path(folder, "session.txt")
    texts = [s.text for s in sessions(document) if s.language == "pycon"]
    source.write_text("\n\n".join(texts), encoding="utf-8")
    done = subprocess.run([PYTHON, "-m", "doctest", source.name], cwd=folder,
                          env=environment(folder), capture_output=True, text=True, timeout=LONGEST,
                          check=False)
    return done.stdout + done.stderr


def run_node(session, folder, modules):
    """What the program prints."""
    done = subprocess.run(["node", "-"], input=session.text, cwd=folder,
                          env={**environment(folder), "NODE_PATH": str(modules)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LONGEST, check=False)
    return done.stdout
