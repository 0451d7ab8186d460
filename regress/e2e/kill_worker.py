"""One call on a fenced file, in a process that dies inside it (test_kill.py).

usage: kill_worker.py PATH EXTENSION (claim|scalar|insert|batch|block) EPOCH WRITER
"""

import sys

import log_file

KEY = "kill"


def batch(connection, epoch, writer):
    idxs = ",".join(str(idx) for idx in range(3, 13))
    frames = (b"\0\0\0\3" + b"new") * 10
    connection.execute(
        "SELECT fenced_append_many('e2e', ?, ?, ?, ?, ?)", (KEY, epoch, writer, f"[{idxs}]", frames)
    ).fetchone()


def block(connection, epoch, writer):
    connection.execute("BEGIN")
    log_file.append(connection, KEY, epoch, writer, 3, "new")
    connection.execute("COMMIT")


FORMS = {
    "claim": lambda connection, epoch, writer: log_file.claim(connection, KEY, epoch, writer),
    "scalar": lambda connection, epoch, writer: log_file.append(
        connection, KEY, epoch, writer, 3, "new"
    ),
    "insert": lambda connection, epoch, writer: log_file.insert(
        connection, KEY, epoch, writer, [(3, "new")]
    ),
    "batch": batch,
    "block": block,
}


def main():
    path, extension, form, epoch, writer = sys.argv[1:]
    FORMS[form](log_file.connect(path, extension), int(epoch), writer)


if __name__ == "__main__":
    main()
