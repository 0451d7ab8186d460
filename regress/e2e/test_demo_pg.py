"""The demo on PostgreSQL as a person or a script meets it: what it says, how it ends, and
what it leaves behind."""
import os
import re
import select
import signal
import subprocess

import pytest
import test_demo
import variant
from pgserver import Server

DEMO = str(variant.TOP / "demo/paused_transaction.py")
LONGEST = 60  # seconds that any of this may take


class Stage(test_demo.Stage):
    """Where the demo runs: a server, and a temporary folder by which its processes are known."""

    def __init__(self, folder, server):
        super().__init__(folder)
        self.server = server

    def environment(self, extension=None, **more):
        inherited = {k: v for k, v in self.server.environment().items() if k != "NO_COLOR"}
        return {**inherited, "TMPDIR": self.folder, "TERM": "xterm", **more}

    def run(self, *options, **more):
        return subprocess.run([test_demo.PYTHON, DEMO, *options], env=self.environment(**more),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LONGEST, check=False)

    def start_stepping(self):
        return subprocess.Popen([test_demo.PYTHON, DEMO, "--step"], env=self.environment(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def assert_empty(self):
        super().assert_empty()
        assert self.server.sql("SELECT datname FROM pg_database WHERE datname ~ 'demo'") == ""


@pytest.fixture(name="stage")
def fixture_stage(tmp_path, server):
    stage = Stage(tmp_path, server)
    yield stage
    for pid in stage.processes():  # of a test that failed
        os.kill(pid, signal.SIGKILL)


def test_the_commit_of_the_thawed_writer_is_refused_and_the_log_is_whole(stage):
    done = stage.run()

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "ok"
    assert "WRONG" not in done.stdout
    owner = re.search(r"B +is process \d+, writer ([0-9a-f]{8})$", done.stdout, re.M)[1]
    session = re.search(r"A's session (\d+) is idle in transaction, and waits for ClientRead",
                        done.stdout)[1]
    in_order = (
        r"A +says BEGIN, appends 6 'withdrawn', is answered 6",
        r"A +is inside the open transaction; COMMIT would be next",
        r"kernel +process \d+ is stopped \(SIGSTOP\)",
        r"B +claims contracts/c-42 at epoch 2, in \d+\.\d ms: the last entry is 5",
        r"B +appends 6 'filed', in \d+\.\d ms",
        r"locks +\d+ looks at pg_locks meanwhile: 0 locks not granted",
        rf"holders +A's session {session}: superseded",
        r"kernel +process \d+ goes on \(SIGCONT\)",
        r"A +says COMMIT",
        r"refused +ZF001 stale_epoch",
        rf"because +epoch 1 is asserted, the record is already at epoch 2, held by writer {owner}",
        r"epochs +1 is A's, 2 is the record's",
        rf"owner +{owner}, which is B",
        r"to do +this process lost the ownership: .+",
        rf"session +{session} still serves A: nobody was killed",
        r"refused +ZF009 transaction_refused",
        r"6 +2 +filed",
        r"7 entries: no gap, no duplicate, epochs never fall",
    )
    assert re.search(".*?".join(in_order), done.stdout, re.S), done.stdout


def test_it_runs_twice_and_leaves_neither_database_nor_processes(stage):
    for _ in range(2):
        assert stage.run().returncode == 0
        stage.assert_empty()


def test_a_pipe_gets_no_colour_codes(stage):
    assert "\x1b" not in stage.run().stdout


def test_without_the_check_at_commit_the_demo_fails(tmp_path):
    build = "build/without/commit_check"
    subprocess.run(["make", "--no-print-directory", "-s", f"-j{os.cpu_count()}", f"BUILD={build}",
                    "WITHOUT=commit_check", "pg"], cwd=variant.TOP, check=True, timeout=600)
    with Server(build=build) as unchecked:
        done = Stage(tmp_path, unchecked).run()

    assert done.returncode == 1
    assert "A was not refused by a fence: its transaction is committed" in done.stdout
    assert "the log has an idx twice" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("FAILED: ")


def test_without_a_server_it_says_what_starts_one(stage):
    done = stage.run(PGHOST=stage.folder)

    assert done.returncode == 1
    assert done.stderr.startswith("demo: no server: ")
    assert done.stderr.endswith("; `make demo-pg` starts one\n")


def test_the_command_of_make_demo_pg_needs_no_server_that_runs(stage):
    # The server's own folder lies in /tmp: it runs as another user, where this one is root.
    place = {"PGHOST": stage.folder, "TMPDIR": "/tmp"}
    done = subprocess.run([str(variant.TOP / "scripts/pg"), "run", test_demo.PYTHON, DEMO],
                          env=stage.environment(**place), stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=LONGEST, check=False)

    assert (done.returncode, done.stderr, done.stdout.splitlines()[-1]) == (0, "", "ok")


# Act 2: A is in autocommit. Act 3: A is frozen. Act 4: B has gone on.
@pytest.mark.parametrize("act, frozen", [(2, [False]), (3, [True]), (4, [True, False])])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_leaves_nothing_behind(stage, act, frozen, number):
    demo = stage.start_stepping()
    test_demo.go_to_prompt(demo, act)
    writers = {pid: state for pid, state in stage.processes().items() if pid != demo.pid}
    assert [state == "T" for _, state in sorted(writers.items())] == frozen

    demo.send_signal(number)
    _, errors = demo.communicate(timeout=LONGEST)

    assert demo.returncode == 130
    assert errors.decode() == f"demo: ended by {number.name}\n"
    stage.assert_empty()


def test_a_frozen_writer_does_not_outlive_a_demo_that_was_killed(stage):
    demo = stage.start_stepping()
    test_demo.go_to_prompt(demo, 3)
    (frozen,) = [pid for pid, state in stage.processes().items() if state == "T"]
    end_of_frozen = os.pidfd_open(frozen)

    demo.kill()
    demo.communicate(timeout=LONGEST)

    ended, _, _ = select.select([end_of_frozen], [], [], LONGEST)
    os.close(end_of_frozen)
    assert ended
    assert stage.processes() == {}
    stage.server.sql(f"DROP DATABASE fence_demo_{demo.pid} WITH (FORCE)")
