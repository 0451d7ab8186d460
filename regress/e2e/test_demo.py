"""The demo as a person or a script meets it: what it says, how it ends, what it leaves behind."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
import variant

DEMO = str(variant.TOP / "demo/paused_writer.py")
PYTHON = "/usr/bin/python3"
PROMPT = "-- Enter goes on"
LONGEST = 60  # seconds that any of this may take


class Stage:
    """Where a demo runs: a temporary folder of its own, by which its processes are known."""

    def __init__(self, folder):
        self.folder = str(folder)

    def environment(self, extension=None, **more):
        inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        return {**inherited, "FENCE_EXTENSION": extension or variant.extension(),
                "TMPDIR": self.folder, "TERM": "xterm", **more}

    def run(self, *options, extension=None):
        return subprocess.run([PYTHON, DEMO, *options], env=self.environment(extension), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST,
                              check=False)

    def start_stepping(self):
        return subprocess.Popen([PYTHON, DEMO, "--step"], env=self.environment(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def processes(self):
        """{pid: state letter} of all that runs with this temporary folder."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = f"TMPDIR={self.folder}".encode() in file.read().split(b"\0")
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    state = file.read().rpartition(")")[2].split()[0]
            except OSError:
                continue  # it has ended meanwhile, or is somebody else's
            if ours:
                found[int(pid)] = state
        return found

    def assert_empty(self):
        assert self.processes() == {}
        assert os.listdir(self.folder) == []


@pytest.fixture(name="stage")
def fixture_stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    for pid in stage.processes():  # of a test that failed
        os.kill(pid, signal.SIGKILL)


def go_to_prompt(demo, number):
    """Presses Enter until the demo waits before its act of that number; returns its output."""
    output = b""
    deadline = time.monotonic() + LONGEST
    for act in range(1, number + 1):
        while output.count(PROMPT.encode()) < act or not output.endswith(b"\n"):
            ready, _, _ = select.select([demo.stdout], [], [], deadline - time.monotonic())
            assert ready, f"no act {act}: {output.decode()}"
            chunk = os.read(demo.stdout.fileno(), 65536)
            assert chunk, f"ended before act {act}: {output.decode()}"
            output += chunk
        if act < number:
            demo.stdin.write(b"\n")
            demo.stdin.flush()
    return output.decode()


def test_the_thawed_writer_is_refused_and_the_log_is_whole(stage):
    done = stage.run()

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "ok"
    owner = re.search(r"B +is process \d+, writer ([0-9a-f]{8})$", done.stdout, re.M)[1]
    for wanted in (
        r"kernel +process \d+ is stopped \(SIGSTOP\)",
        r"refused +ZF001 stale_epoch",
        rf"because +epoch 1 is asserted, the record is already at epoch 2, held by writer {owner}",
        r"epochs +1 is A's, 2 is the record's",
        rf"owner +{owner}, which is B",
        r"to do +this process lost the ownership: .+",
        r"refused +ZF009 transaction_refused",
        r"7 entries: no gap, no duplicate, epochs never fall",
    ):
        assert re.search(wanted, done.stdout), wanted
    # In one line: what it would mean to be frozen inside a write transaction.
    assert lines[-2].startswith("Frozen inside a write transaction, A would hold")
    assert "WRONG" not in done.stdout


def test_it_runs_twice_and_leaves_neither_files_nor_processes(stage):
    for _ in range(2):
        assert stage.run().returncode == 0
        stage.assert_empty()


def test_a_pipe_gets_no_colour_codes(stage):
    assert "\x1b" not in stage.run().stdout


@pytest.mark.parametrize("more, coloured", [({}, True), ({"NO_COLOR": "1"}, False),
                                            ({"TERM": "dumb"}, False)])
def test_a_terminal_gets_colours_unless_they_are_not_wanted(stage, more, coloured):
    ours, terminal = pty.openpty()
    demo = subprocess.Popen([PYTHON, DEMO], env=stage.environment(**more),
                            stdin=subprocess.DEVNULL, stdout=terminal)
    os.close(terminal)
    output = b""
    try:
        while chunk := os.read(ours, 65536):
            output += chunk
    except OSError:
        pass  # EIO: the last process has closed the terminal
    os.close(ours)

    assert demo.wait(LONGEST) == 0
    assert (b"\x1b[" in output) == coloured


def test_without_the_check_of_ownership_the_demo_fails(stage):
    unchecked = variant.build("without/ownership", f"WITHOUT={variant.OWNERSHIP_CHECK}")

    done = stage.run(extension=unchecked)

    assert done.returncode == 1
    assert "A was not refused" in done.stdout or "ZF001 stale_epoch was due" in done.stdout
    assert "A's COMMIT was not refused by a fence: it is done" in done.stdout
    assert "an epoch falls: a stale writer got in" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("FAILED: ")
    stage.assert_empty()


def test_on_an_ordinary_table_the_demo_shows_the_damage_and_fails(stage):
    done = stage.run("--plain")

    assert done.returncode == 1
    assert "an epoch falls: a stale writer got in" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("FAILED: ")
    stage.assert_empty()


def test_without_the_library_it_says_how_to_build_it(stage):
    done = stage.run(extension=os.path.join(stage.folder, "fence.so"))

    assert done.returncode == 1
    assert done.stderr == f"demo: {stage.folder}/fence.so is not there; `make sqlite` builds it\n"


# Act 2: A runs. Act 3: A is frozen. Act 5: B has gone on, A was refused.
@pytest.mark.parametrize("act, frozen", [(2, [False]), (3, [True]), (5, [False, False])])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_leaves_nothing_behind(stage, act, frozen, number):
    demo = stage.start_stepping()
    go_to_prompt(demo, act)
    writers = {pid: state for pid, state in stage.processes().items() if pid != demo.pid}
    assert [state == "T" for state in writers.values()] == frozen

    demo.send_signal(number)
    _, errors = demo.communicate(timeout=LONGEST)

    assert demo.returncode == 130
    assert errors.decode() == f"demo: ended by {number.name}\n"
    stage.assert_empty()


def test_a_frozen_writer_does_not_outlive_a_demo_that_was_killed(stage):
    demo = stage.start_stepping()
    go_to_prompt(demo, 3)
    (frozen,) = [pid for pid, state in stage.processes().items() if state == "T"]
    end_of_frozen = os.pidfd_open(frozen)

    demo.kill()
    demo.communicate(timeout=LONGEST)

    ended, _, _ = select.select([end_of_frozen], [], [], LONGEST)
    os.close(end_of_frozen)
    assert ended
    assert stage.processes() == {}
