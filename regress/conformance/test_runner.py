"""The runner of the conformance files: a wrong answer never passes."""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

RUN = pathlib.Path(__file__).with_name("run.py")

CLAIM = "-- The first claim.\nSELECT oplog_metadata_upsert('n', 'k', 4, :w1);\n"
CLAIM_OUT = CLAIM + "NULL\n"


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    """Given a folder with one file, claim.sql, and its right output."""
    (tmp_path / "expected").mkdir()
    (tmp_path / "claim.sql").write_text(CLAIM)
    (tmp_path / "expected/claim.out").write_text(CLAIM_OUT)
    return tmp_path


@pytest.fixture(name="engine", params=["sqlite", "postgresql"])
def make_engine(request):
    """Given an engine: the arguments that name it, and the environment that it needs."""
    if request.param == "sqlite":
        return ["--engine", request.param], None
    return ["--engine", request.param], request.getfixturevalue("server").environment()


def run(folder, *arguments, environment=None):
    """When the runner runs there: (exit status, what it printed)."""
    done = subprocess.run([sys.executable, RUN, "--folder", folder, *arguments],
                          capture_output=True, text=True, timeout=60, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_right_output_passes(folder):
    status, output = run(folder)
    assert status == 0, output
    assert "claim: ok" in output
    assert "1 of 1 files as expected" in output


@pytest.mark.parametrize("wrong", [
    CLAIM + "7\n",                  # another value
    CLAIM + "NULL \n",              # a blank more
    CLAIM,                          # no result
    CLAIM_OUT + "\nSELECT 1;\n1\n", # more than ran
    "",
])
def test_wrong_output_fails_and_shows_the_difference(folder, wrong):
    (folder / "expected/claim.out").write_text(wrong)
    status, output = run(folder)
    assert status == 1, output
    assert "claim: FAILED" in output
    assert "--- expected/claim.out" in output
    assert (folder / "expected/claim.out").read_text() == wrong


def test_missing_output_fails(folder):
    (folder / "expected/claim.out").unlink()
    status, output = run(folder)
    assert status == 1
    assert "expected/claim.out does not exist" in output


def test_output_without_its_file_fails(folder):
    (folder / "expected/forgotten.out").write_text("")
    status, output = run(folder)
    assert status == 1
    assert "forgotten.sql does not exist" in output
    assert "1 of 2 files as expected" in output


def test_nothing_to_run_fails(folder):
    (folder / "claim.sql").unlink()
    (folder / "expected/claim.out").unlink()
    status, output = run(folder)
    assert status == 1
    assert "0 of 0 files" in output


def test_named_file_runs_alone(folder):
    (folder / "broken.sql").write_text("SELECT 1;\n")
    assert run(folder)[0] == 1
    status, output = run(folder, "claim.sql")
    assert status == 0, output


def test_junit_counts_what_passed_and_what_failed(folder):
    (folder / "wrong.sql").write_text("SELECT 1;\n")
    (folder / "expected/wrong.out").write_text("SELECT 1;\n2\n")
    status, _ = run(folder, "--junit", folder / "results/sqlite.xml")
    cases = {case.get("name"): case for case in
             ET.parse(folder / "results/sqlite.xml").iter("testcase")}
    assert status == 1
    assert sorted(cases) == ["claim", "wrong"]
    assert cases["claim"].find("failure") is None
    assert "+1" in cases["wrong"].find("failure").text


def test_update_writes_what_then_passes(folder):
    (folder / "expected/claim.out").write_text("wrong\n")
    assert run(folder, "--update")[0] == 0
    assert (folder / "expected/claim.out").read_text() == CLAIM_OUT
    assert run(folder)[0] == 0


def test_error_of_the_engine_is_never_an_expected_result(folder, engine):
    arguments, environment = engine
    (folder / "claim.sql").write_text("SELECT a FROM nowhere;\n")
    status, output = run(folder, "--update", *arguments, environment=environment)
    assert status == 1
    assert "an error that is not Fence's: " in output
    assert re.search('no such table: nowhere|42P01 relation "nowhere" does not exist', output)
    assert "statement: SELECT a FROM nowhere;" in output
    assert (folder / "expected/claim.out").read_text() == CLAIM_OUT


def test_statement_without_an_end_fails(folder):
    (folder / "claim.sql").write_text("SELECT 1;\nSELECT 2\n")
    status, output = run(folder)
    assert status == 1
    assert "no semicolon ends the statement: SELECT 2" in output


def test_each_file_starts_on_a_fresh_database(folder, engine):
    arguments, environment = engine
    (folder / "again.sql").write_text(CLAIM)
    (folder / "expected/again.out").write_text(CLAIM_OUT)
    (folder / "look.sql").write_text("SELECT count(*) FROM oplog_metadata;\n")
    (folder / "expected/look.out").write_text("SELECT count(*) FROM oplog_metadata;\n0\n")
    status, output = run(folder, *arguments, environment=environment)
    assert status == 0, output


def test_databases_are_removed(folder, server):
    (folder / "broken.sql").write_text("SELECT a FROM nowhere;\n")
    status, output = run(folder, "--engine", "postgresql", environment=server.environment())
    assert status == 1 and "claim: ok" in output
    assert server.sql("SELECT datname FROM pg_database WHERE datname ~ 'conformance'") == ""


def test_values_and_refusals_are_shown_one_way_for_every_engine(folder, engine):
    arguments, environment = engine
    (folder / "claim.sql").write_text(CLAIM + """\
SELECT fenced_append('n', 'k', 4, :w1, 1, 'a;
b');
SELECT idx, epoch, payload, NULL FROM oplog_read('n', 'k');
SELECT deleted FROM oplog_status;
SELECT fence_check('n', 'k', 4, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT idx FROM oplog_read('n', 'none');
BEGIN;
ROLLBACK;
SELECT oplog_metadata_upsert('n', 'k', 4, 'me');
""")
    assert run(folder, "--update", *arguments, environment=environment)[0] == 1, \
        "a semicolon at the end of a line ends a statement"
    (folder / "claim.sql").write_text((folder / "claim.sql").read_text().replace("a;\n", "a; "))
    assert run(folder, "--update", *arguments, environment=environment)[0] == 0
    lines = (folder / "expected/claim.out").read_text().splitlines()
    echoed = ("--", "SELECT", "BEGIN", "ROLLBACK")
    assert [line for line in lines if not line.startswith(echoed)] == [
        "NULL",
        "1",
        r"1 | 4 | \x613b2062 | NULL",
        "f",
        "t",
        '{"last": "1", "owned": true}',
        "(no rows)",
        "ok",
        "ok",
        "ZF010 out_of_range: the writer is not a UUID",
        'detail: {"already_stored": null, "asserted_epoch": null, "asserted_writer": null, '
        '"code": "ZF010", "deleted": null, "key": "k", "namespace": "n", "stored_epoch": null, '
        '"stored_writer": null}',
        "hint: make one random UUID for each process incarnation and pass it as text",
    ]
