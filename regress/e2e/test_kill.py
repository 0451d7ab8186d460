"""kill -9 at named points inside claim and append: what was acknowledged stays,
what was not is either there whole or not at all, and the fence still stands."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import log_file
import pytest
import sqlite3
import variant

KEY = "kill"
OLD, NEW = log_file.new_writer(), log_file.new_writer()

CLAIM_POINTS = ["claim.judged", "claim.stored", "claim.before_commit", "claim.after_commit"]
APPEND_POINTS = [
    "append.entered",
    "append.locked",
    "append.judged",
    "append.entry_stored",
    "append.before_commit",
    "append.after_commit",
]
FORMS = ["scalar", "insert", "batch", "block"]


@pytest.fixture(scope="module")
def failing():
    return variant.build("failpoint", "FAILPOINTS=1")


@pytest.fixture(params=["wal", "delete"])
def path(request, tmp_path):
    """A log at epoch 1 with the entries 1 and 2, acknowledged."""
    path = str(tmp_path / "log.db")
    connection = log_file.connect(path, variant.extension())
    connection.execute(f"PRAGMA journal_mode = {request.param}")
    connection.execute("SELECT fence_install()")
    log_file.claim(connection, KEY, 1, OLD)
    log_file.append(connection, KEY, 1, OLD, 1, "one")
    log_file.append(connection, KEY, 1, OLD, 2, "two")
    connection.close()
    return path


def run_to_death(path, failing, point, *command):
    """Runs kill_worker.py until it kills itself at the point."""
    environment = dict(os.environ, FENCE_FAILPOINT=point)
    worker = Path(__file__).with_name("kill_worker.py")
    ended = subprocess.run(
        [sys.executable, worker, path, failing, *command], env=environment, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL, f"{point} was not reached"


def reopen(path):
    connection = log_file.connect(path, variant.extension())
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return connection


def epoch_of(connection):
    return connection.execute("SELECT epoch FROM oplog_metadata WHERE key = ?", (KEY,)).fetchone()[0]


@pytest.mark.parametrize("point", CLAIM_POINTS)
def test_a_claim_killed_half_way_is_there_whole_or_not_at_all(path, failing, point):
    run_to_death(path, failing, point, "claim", "2", NEW)

    connection = reopen(path)
    taken = point == "claim.after_commit"
    assert epoch_of(connection) == (2 if taken else 1)
    owner, loser = ((2, NEW), (1, OLD)) if taken else ((1, OLD), (2, NEW))
    with pytest.raises(sqlite3.DatabaseError) as refused:
        log_file.append(connection, KEY, *loser, 3, "three")
    assert log_file.code_of(refused.value) == ("ZF001" if taken else "ZF004")
    log_file.append(connection, KEY, *owner, 3, "three")
    assert log_file.claim(connection, KEY, 3, NEW) == 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("point", APPEND_POINTS)
def test_an_append_killed_half_way_is_there_whole_or_not_at_all(path, failing, point, form):
    run_to_death(path, failing, point, form, "1", OLD)

    connection = reopen(path)
    # Only a call in autocommit has committed when it is over.
    committed = point == "append.after_commit" and form in ("scalar", "batch")
    count = 10 if form == "batch" else 1
    expected = ["one", "two"] + ["new"] * (count if committed else 0)
    assert [payload.decode() for _, _, payload in log_file.entries(connection, KEY)] == expected
    # The caller never learnt what became of it: sending it again is safe.
    for idx in range(3, 3 + count):
        log_file.append(connection, KEY, 1, OLD, idx, "new")
    assert len(log_file.entries(connection, KEY)) == 2 + count
    assert log_file.claim(connection, KEY, 2, NEW) == 2 + count
    with pytest.raises(sqlite3.DatabaseError) as refused:
        log_file.append(connection, KEY, 1, OLD, 99, "late")
    assert log_file.code_of(refused.value) == "ZF001"
