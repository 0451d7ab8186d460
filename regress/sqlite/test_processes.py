"""Real processes on one file: one is stopped, another takes over, the first is thawed."""

import contextlib
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import uuid

import pytest
from fenced_file import EPOCH, FINGERPRINT, OTHER, OWNER, connect, detail_of

WORKER = pathlib.Path(__file__).with_name("process_worker.py")
BOUND = 60  # seconds after which a wait has failed
PATIENT, IMPATIENT = 1000 * BOUND, 0  # milliseconds of SQLite's busy timeout


class Process:
    """A process with the file open, outside of any call unless it was told a command."""

    def __init__(self, path, writer, busy_ms=PATIENT):
        self.process = subprocess.Popen(
            [sys.executable, WORKER, path, writer, str(busy_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def tell(self, command):
        self.process.stdin.write(f"{command}\n".encode())

    def answer(self):
        line = b""
        deadline = time.monotonic() + BOUND
        while not line.endswith(b"\n"):
            left = max(0, deadline - time.monotonic())
            assert select.select([self.process.stdout], [], [], left)[0], "no answer in time"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            assert chunk, "the process has ended"
            line += chunk
        return line.decode().rstrip("\n")

    def ask(self, command):
        self.tell(command)
        return self.answer()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        # Returns at once when it has stopped already; it cannot refuse to.
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait(BOUND)

    def close(self):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture(name="start")
def starter(path):
    """Starts processes on the file; they end with the test, stopped ones too."""
    with contextlib.ExitStack() as started:

        def start(*arguments):
            process = started.enter_context(contextlib.closing(Process(path, *arguments)))
            assert process.answer() == "ok ready"
            return process

        yield start


@pytest.fixture(name="wal")
def wal_file(path):
    with contextlib.closing(connect(path, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)


def log_of(path):
    with contextlib.closing(connect(path, isolation_level=None)) as connection:
        return connection.execute("SELECT idx, epoch FROM oplog_read('n', 'k')").fetchall()


def assert_superseded(answer, epoch=EPOCH, by=OTHER):
    """Then it was told that it is stale, by whom, and by which epoch."""
    assert answer.startswith("error SQLITE_AUTH ZF001 stale_epoch: "), answer
    detail = detail_of(answer)
    assert detail["asserted_epoch"] == str(epoch)
    assert detail["stored_epoch"] == str(epoch + 1)
    assert detail["stored_writer"] == FINGERPRINT[by]


def test_process_stopped_outside_a_call_holds_up_nobody_and_is_refused_when_thawed(start, path):
    a = start(OWNER)
    assert a.ask("append 5 1") == "ok 1"
    assert a.ask("insert 5 2") == "ok 2"
    a.stop()

    b = start(OTHER, IMPATIENT)
    assert b.ask("claim 6") == "ok 2"
    assert b.ask("append 6 3") == "ok 3"
    a.thaw()

    assert_superseded(a.ask("append 5 3"))
    assert_superseded(a.ask("insert 5 4"))
    assert_superseded(a.ask("check 5"))
    assert_superseded(a.ask("claim 5"))
    assert b.ask("insert 6 4") == "ok 4"
    assert log_of(path) == [(1, 5), (2, 5), (3, 6), (4, 6)]


def test_process_stopped_in_a_read_transaction_is_refused_when_thawed(start, path, wal):
    a = start(OWNER)
    a.ask("append 5 1")
    a.ask("sql BEGIN")
    assert a.ask("sql SELECT count(*) FROM oplog_entries") == "ok 1"
    a.stop()

    b = start(OTHER, IMPATIENT)
    assert b.ask("claim 6") == "ok 1"
    assert b.ask("append 6 2") == "ok 2"
    a.thaw()

    # In its old snapshot it still is the owner. It may neither write nor be told so.
    assert a.ask("append 5 2").startswith("error SQLITE_BUSY_SNAPSHOT ")
    assert a.ask("check 5").startswith("error SQLITE_ERROR ZF012 ")
    assert a.ask("sql COMMIT").startswith("ok")
    assert_superseded(a.ask("append 5 2"))
    assert log_of(path) == [(1, 5), (2, 6)]


def test_process_stopped_after_a_write_holds_up_the_next_until_it_ends(start, path):
    a = start(OWNER)
    a.ask("append 5 1")
    a.ask("sql BEGIN")
    assert a.ask("append 5 2") == "ok 2"
    a.stop()

    impatient = start(OTHER, IMPATIENT)
    assert impatient.ask("claim 6").startswith("error SQLITE_BUSY "), "busy is no refusal"
    b = start(OTHER)
    b.tell("claim 6")
    a.kill()

    assert b.answer() == "ok 1"
    assert log_of(path) == [(1, 5)], "what was not committed is not there"
    assert b.ask("append 6 2") == "ok 2"


def test_stale_process_is_told_so_while_another_one_is_writing(start, path):
    a = start(OWNER, IMPATIENT)
    b = start(OTHER)
    assert b.ask("claim 6") == "ok None"
    b.ask("sql BEGIN IMMEDIATE")
    assert b.ask("append 6 1") == "ok 1"
    b.stop()

    assert_superseded(a.ask("append 5 1"))
    assert_superseded(a.ask("claim 5"))

    b.thaw()
    assert b.ask("sql COMMIT") == "ok None"
    assert log_of(path) == [(1, 6)]


def test_process_refused_by_what_it_has_read_locks_nobody_out(start, path, wal):
    b = start(OTHER, IMPATIENT)
    assert b.ask("claim 6") == "ok None"
    a = start(OWNER)
    a.ask("sql BEGIN")
    assert a.ask("sql SELECT count(*) FROM oplog_entries") == "ok 0"
    assert_superseded(a.ask("append 5 1"))
    a.stop()

    assert b.ask("append 6 1") == "ok 1"

    a.thaw()
    assert a.ask("sql COMMIT").startswith("error SQLITE_AUTH ZF009 transaction_refused: ")
    assert log_of(path) == [(1, 6)]


def test_killed_process_loses_nothing_that_was_acknowledged(start, path):
    a = start(OWNER)
    assert [a.ask(f"append 5 {idx}") for idx in (1, 2, 3)] == ["ok 1", "ok 2", "ok 3"]
    a.kill()

    assert log_of(path) == [(1, 5), (2, 5), (3, 5)]
    b = start(OTHER, IMPATIENT)
    assert b.ask("append 5 4").startswith("error SQLITE_AUTH ZF002 other_writer: ")
    assert b.ask("claim 6") == "ok 3"


def test_one_of_many_claimants_of_an_epoch_owns_it(start, path):
    claimants = [start(str(uuid.uuid4())) for _ in range(4)]
    for claimant in claimants:
        claimant.tell("claim 6")
    answers = [claimant.answer() for claimant in claimants]

    winners = [who for who, answer in zip(claimants, answers) if answer == "ok None"]
    refused = [answer for answer in answers if answer.startswith("error SQLITE_AUTH ZF002 ")]
    assert (len(winners), len(refused)) == (1, 3), answers
    for idx, claimant in enumerate(claimants):
        assert claimant.ask(f"append 6 {idx}").startswith("ok ") == (claimant in winners)
    assert len(log_of(path)) == 1
