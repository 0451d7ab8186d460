"""The sqlite3 shell: what it says, how it ends, and that the dump of a fenced file works."""

import contextlib
import json
import shutil
import subprocess

import pytest
from fenced_file import EPOCH, EXTENSION, OTHER, OWNER, STALE, append_by_select, claim, connect
from fenced_file import steps, stored

SHELL = shutil.which("sqlite3")
LOAD = f".load {EXTENSION}"
BOUND = 60  # seconds that one run of the shell may take

pytestmark = pytest.mark.skipif(SHELL is None, reason="there is no sqlite3 shell here")


def run(arguments, text=None):
    return subprocess.run(
        [SHELL, *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )


def pipe(path, *lines, options=()):
    """When a script is piped into the shell, with Fence loaded by its first line."""
    return run([*options, path], "".join(f"{line}\n" for line in (LOAD, *lines)))


def command(path, *statements):
    """When the statements are arguments of the shell, with Fence loaded before."""
    return run(["-cmd", LOAD, path, *statements])


def append_sql(epoch, idx, writer=OWNER):
    return f"SELECT fenced_append('n', 'k', {epoch}, '{writer}', {idx}, 'x');"


def look(path, question):
    """Asks in another connection, as somebody else does afterwards."""
    with contextlib.closing(connect(path, isolation_level=None)) as connection:
        return question(connection)


def detail_in(text):
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_load_command_and_function_and_loading_twice(path):
    for lines in (
        [LOAD],
        [f"SELECT load_extension('{EXTENSION}') IS NULL;"],
        [f"SELECT load_extension('{EXTENSION}', 'sqlite3_fence_init') IS NULL;"],
    ):
        done = pipe(path, *lines, append_sql(EPOCH, 1), append_sql(EPOCH, 2))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split()[-2:] == ["1", "2"]
    assert look(path, stored) == [1, 2]


def test_refusal_goes_to_stderr_and_the_script_goes_on_with_a_bad_status(path):
    done = pipe(path, append_sql(STALE, 1), "SELECT 'went on';", append_sql(EPOCH, 2))

    assert done.returncode != 0
    assert done.stdout.splitlines() == ["went on", "2"]
    assert "ZF001 stale_epoch: " in done.stderr
    assert detail_in(done.stderr)["stored_epoch"] == str(EPOCH)
    assert OWNER not in done.stderr
    assert look(path, stored) == [2]


def test_bail_ends_the_script_at_the_refusal(path):
    done = pipe(
        path,
        "BEGIN;",
        "INSERT INTO work VALUES (1);",
        append_sql(EPOCH, 1),
        append_sql(EPOCH, 2, OTHER),
        "COMMIT;",
        "SELECT 'went on';",
        options=["-bail"],
    )

    assert done.returncode != 0
    assert done.stdout.splitlines() == ["1"]
    assert "ZF002 other_writer: " in done.stderr
    assert (look(path, steps), look(path, stored)) == ([], [])


def test_refused_argument_ends_the_shell_with_a_bad_status(path):
    done = command(path, append_sql(STALE, 1), "SELECT 'went on'")

    assert done.returncode != 0
    assert done.stdout == ""
    assert "ZF001 stale_epoch: " in done.stderr
    assert detail_in(done.stderr)["key"] == "k"


@pytest.mark.parametrize("commit", ["COMMIT;", "END;"])
@pytest.mark.parametrize(
    "refused",
    [
        append_sql(STALE, 1),
        f"INSERT INTO fenced_append VALUES ('n', 'k', {STALE}, '{OWNER}', 1, 'x');",
    ],
)
def test_piped_transaction_that_went_on_after_a_refusal_is_not_committed(path, refused, commit):
    done = pipe(
        path,
        "BEGIN;",
        "INSERT INTO work VALUES (1);",
        refused,
        "INSERT INTO work VALUES (2);",
        commit,
        "SELECT count(*) FROM work;",
        # and the session works on:
        "BEGIN;",
        "INSERT INTO work VALUES (3);",
        append_sql(EPOCH, 1),
        "COMMIT;",
    )

    assert done.returncode != 0
    first, at_commit = done.stderr.splitlines()
    assert "ZF001 stale_epoch: " in first
    assert "ZF009 transaction_refused: " in at_commit
    assert done.stdout.splitlines() == ["0", "1"]
    assert (look(path, steps), look(path, stored)) == ([3], [1])


def test_savepoint_does_not_heal_a_piped_transaction(path):
    done = pipe(
        path,
        "BEGIN;",
        "INSERT INTO work VALUES (1);",
        "SAVEPOINT s;",
        append_sql(STALE, 1),
        "ROLLBACK TO s;",
        "RELEASE s;",
        "COMMIT;",
    )
    assert "ZF009 transaction_refused: " in done.stderr.splitlines()[-1]
    assert (look(path, steps), look(path, stored)) == ([], [])


def test_parameters_are_exact(path):
    done = pipe(
        path,
        f".parameter set :epoch {EPOCH}",
        f""".parameter set @writer "'{OWNER}'" """,
        ".parameter set $odd 9007199254740993",
        ".parameter set $greatest 9223372036854775807",
        ".parameter set :text \"'12'\"",
        "SELECT fenced_append('n', 'k', :epoch, @writer, $odd, 'x');",
        "SELECT fenced_append('n', 'k', :epoch, @writer, $greatest, 'x');",
        "SELECT fenced_append('n', 'k', :epoch, @writer, :text, 'x');",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert look(path, stored) == [12, 2**53 + 1, 2**63 - 1]


@pytest.mark.parametrize(
    "value", ["9223372036854775808", "-1", "1.5", "\"'012'\"", "\"' 12'\"", "\"x'3132'\"", "NULL"]
)
def test_parameter_that_is_no_idx_is_refused(path, value):
    done = pipe(
        path,
        f".parameter set :idx {value}",
        f"SELECT fenced_append('n', 'k', {EPOCH}, '{OWNER}', :idx, 'x');",
    )
    assert done.returncode != 0
    assert "ZF010 out_of_range: " in done.stderr
    assert look(path, stored) == []


@pytest.fixture(name="full")
def file_with_entries(path):
    """Given that OTHER took the key over, with entries of both owners in the log."""
    with contextlib.closing(connect(path, isolation_level=None)) as connection:
        append_by_select(connection, EPOCH, 1, b"one")
        claim(connection, EPOCH + 1, OTHER)
        append_by_select(connection, EPOCH + 1, 2, b"two", OTHER)
    return path


def test_dump_is_the_same_with_and_without_the_extension(full):
    with_fence = command(full, ".dump")
    without = run([full, ".dump"])
    assert (with_fence.returncode, with_fence.stderr) == (0, "")
    assert (without.returncode, without.stderr) == (0, "")
    assert with_fence.stdout == without.stdout
    assert with_fence.stdout.count("INSERT INTO fence_oplog_v1 VALUES") == 2


def test_restored_dump_still_fences(full, tmp_path):
    restored = tmp_path / "restored.db"
    done = run([restored], run([full, ".dump"]).stdout)
    assert (done.returncode, done.stderr) == (0, "")

    assert look(restored, stored) == [1, 2]
    stale = command(restored, append_sql(EPOCH, 3))
    assert "ZF001 stale_epoch: " in stale.stderr
    direct = command(restored, "DELETE FROM fence_oplog_v1")
    assert direct.returncode != 0
    owner = command(restored, append_sql(EPOCH + 1, 3, OTHER))
    assert (owner.returncode, owner.stderr) == (0, "")
    assert look(restored, stored) == [1, 2, 3]


def test_restoring_with_fence_loaded_fails_and_says_so(full, tmp_path):
    restored = tmp_path / "restored.db"
    done = run(["-bail", "-cmd", LOAD, restored], run([full, ".dump"]).stdout)
    assert done.returncode != 0
    assert "may not be modified" in done.stderr
    assert run([restored, "SELECT count(*) FROM sqlite_schema"]).stdout == "0\n"


@pytest.mark.parametrize(
    "look_at", [".schema", ".schema --indent", ".tables", ".indexes", ".fullschema"]
)
def test_schema_can_be_looked_at_with_and_without_the_extension(full, look_at):
    for done in (command(full, look_at), run([full, look_at])):
        assert (done.returncode, done.stderr) == (0, "")
        assert "fence_oplog_v1" in done.stdout


def test_log_can_be_read_but_not_written_without_the_extension(full):
    read = run([full, "SELECT key, idx, epoch, payload FROM oplog_entries ORDER BY idx"])
    assert read.stdout.splitlines() == ["k|1|5|one", "k|2|6|two"]
    status = run([full, "SELECT epoch, writer, last_idx, length FROM oplog_status"])
    assert status.stdout.splitlines() == ["6|f963e82c|2|2"]
    for write in (
        "DELETE FROM fence_oplog_v1",
        "UPDATE fence_meta_v1 SET epoch = 9",
        "INSERT INTO fence_oplog_v1 SELECT namespace, key, 3, epoch, writer, payload, late, seal"
        " FROM fence_oplog_v1 WHERE idx = 2",
    ):
        refused = run([full, write])
        assert refused.returncode != 0
        assert "no such function: fence_guard_v1" in refused.stderr
    assert look(full, stored) == [1, 2]


def test_a_reset_is_told_to_the_log_of_sqlite(path):
    done = pipe(path, ".log stdout", f"SELECT fence_reset('n', 'k', {EPOCH - 1});",
                "SELECT fence_reset('n', 'none', 1);")
    lines = [line for line in done.stdout.splitlines() if "fence_reset:" in line]
    assert lines == [f"(27) fence_reset: epoch {EPOCH} lowered to {EPOCH - 1}, "
                     "namespace n, key k"], done.stdout
