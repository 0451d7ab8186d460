"""Claims against appends on PostgreSQL, from real processes.

PG_STRESS_SECONDS is how long each run takes, 30 by default."""

import os
import subprocess

import pg_stress
import pytest
import variant
from pgserver import Server

SECONDS = float(os.environ.get("PG_STRESS_SECONDS", "30"))
LEVELS = ["read committed", "repeatable read", "serializable"]


def start(level=LEVELS[0], build=None):
    return Server(build=build, conf={"default_transaction_isolation": level})


def check(outcome, seconds):
    print(outcome)
    assert outcome.violations() == {}
    # The test has met what it is about: takeovers, work between them, zombies refused.
    assert outcome.claims > 10 * seconds
    assert outcome.stored > outcome.claims
    assert outcome.codes["ZF001"] > outcome.claims


@pytest.mark.parametrize("level", LEVELS)
def test_no_entry_of_an_older_epoch_appears_after_a_claim_has_returned(tmp_path, level):
    with start(level) as server:
        check(pg_stress.Stress(server, tmp_path).run(SECONDS), SECONDS)


@pytest.mark.parametrize("level", LEVELS[:2])
def test_nor_when_clients_are_paused_and_killed(tmp_path, level):
    with start(level) as server:
        outcome = pg_stress.Stress(server, tmp_path, disturbed=True).run(SECONDS)
        check(outcome, SECONDS)
        assert len(outcome.events) == 3


@pytest.mark.parametrize("layer", ["commit_check", "bare_check"])
def test_without_a_check_the_same_stress_finds_violations(tmp_path, layer):
    folder = f"build/without/{layer}"
    subprocess.run(["make", "--no-print-directory", "-s", f"BUILD={folder}", f"WITHOUT={layer}", "pg"],
                   cwd=variant.TOP, check=True, timeout=600)
    with start(build=folder) as server:
        outcome = pg_stress.Stress(server, tmp_path).run(120, stop_at_first=True)
    print(outcome)
    assert outcome.late != []
