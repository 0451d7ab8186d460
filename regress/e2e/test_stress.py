"""Claims against appends, from real processes on one file."""

import os

import stress
import variant

SECONDS = float(os.environ.get("STRESS_SECONDS", "30"))


def test_no_entry_of_an_older_epoch_appears_after_a_claim_has_returned(tmp_path):
    outcome = stress.Stress(str(tmp_path / "log.db"), variant.extension()).run(SECONDS)

    assert outcome.late == []
    assert outcome.lost == []
    assert outcome.unexpected == []
    # The test has met what it is about: takeovers, work between them, zombies refused.
    assert outcome.claims > 2 * SECONDS
    assert outcome.acknowledged > outcome.claims
    assert outcome.refused > outcome.claims
    print(
        f"{outcome.claims} claims, {outcome.acknowledged} entries acknowledged, "
        f"{outcome.refused} stale calls refused, none late"
    )


def test_without_the_check_the_same_stress_finds_violations(tmp_path):
    unchecked = variant.build("without/ownership", f"WITHOUT={variant.OWNERSHIP_CHECK}")

    outcome = stress.Stress(str(tmp_path / "log.db"), unchecked).run(60, stop_at_first=True)

    assert outcome.late != []
