"""Claims against appends, from real processes on one file."""

import os
import sqlite3

import log_file
import pytest
import stress
import variant

SECONDS = float(os.environ.get("STRESS_SECONDS", "30"))


def test_no_entry_of_an_older_epoch_appears_after_a_claim_has_returned(tmp_path):
    outcome = stress.Stress(str(tmp_path / "log.db"), variant.extension()).run(SECONDS)

    assert outcome.late == []
    assert outcome.lost == []
    assert outcome.unexpected == []
    connection = log_file.connect(tmp_path / "log.db", variant.extension())
    errors = "SELECT * FROM fence_verify WHERE severity = 'error'"
    assert connection.execute(errors).fetchall() == []
    # The test has met what it is about: takeovers, work between them, zombies refused.
    assert outcome.claims > 2 * SECONDS
    assert outcome.acknowledged > outcome.claims
    assert outcome.refused > outcome.claims
    print(
        f"{outcome.claims} claims, {outcome.acknowledged} entries acknowledged, "
        f"{outcome.refused} stale calls refused, none late"
    )


def test_two_builds_in_one_process_stay_apart():
    unchecked = variant.build("without/ownership", f"WITHOUT={variant.OWNERSHIP_CHECK}")
    writer = log_file.new_writer()
    for library, refused in ((variant.extension(), True), (unchecked, False)) * 2:
        connection = log_file.connect(":memory:", library)
        connection.execute("SELECT fence_install()")
        log_file.claim(connection, "k", 2, writer)
        if refused:
            with pytest.raises(sqlite3.DatabaseError, match="^ZF001"):
                log_file.append(connection, "k", 1, writer, 1, "stale")
        else:
            log_file.append(connection, "k", 1, writer, 1, "stale")


def test_without_the_check_the_same_stress_finds_violations(tmp_path):
    unchecked = variant.build("without/ownership", f"WITHOUT={variant.OWNERSHIP_CHECK}")

    outcome = stress.Stress(str(tmp_path / "log.db"), unchecked).run(60, stop_at_first=True)

    # Or a claim has met the entry first: it does not fit the seal of the record.
    assert outcome.late != [] or [one for one in outcome.unexpected if one.startswith("ZF020")] != []
