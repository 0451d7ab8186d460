"""Trims, values and deletes under claims on PostgreSQL, from real processes.

PG_STRESS_SECONDS is how long each run takes, 30 by default."""

import os

import pg_content_stress
import pytest
from pgserver import Server

SECONDS = float(os.environ.get("PG_STRESS_SECONDS", "30"))


@pytest.mark.parametrize("level", ["read committed", "repeatable read"])
def test_what_older_owners_left_never_grows_and_no_entry_lies_below_a_trim(tmp_path, level):
    with Server(conf={"default_transaction_isolation": level}) as server:
        outcome = pg_content_stress.Stress(server, tmp_path).run(SECONDS)
    print(outcome.claims, outcome.done, outcome.codes)
    assert outcome.violations() == {}
    assert outcome.claims > 10 * SECONDS
    assert min(outcome.done[call] for call in ("append", "trim", "put", "remove")) > SECONDS
    assert outcome.codes["ZF001"] > outcome.claims
    assert outcome.codes["ZF013"] > 0
