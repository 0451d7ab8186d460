"""PostgreSQL, SQLite and a model of the contract answer the same to the same calls.

FENCE_FUZZ_STEPS is how many random steps are taken, 20000 by default."""
import collections
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fuzz  # noqa: E402 (the line before is for it)
import model  # noqa: E402
import steps as said  # noqa: E402
from arguments import CALLS, Contract  # noqa: E402
from cases import CASES  # noqa: E402

STEPS = int(os.environ.get("FENCE_FUZZ_STEPS", "20000"))
SEED = 2026
BOTH = ["sqlite", "postgresql"]
KEPT = sorted(HERE.glob("seeds/*.json"))


@pytest.fixture(name="both")
def make_both(server, monkeypatch):
    """Given a server, by whose variables the engine finds it."""
    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    return BOTH


# ---- the model, against values written by hand -------------------------------------

@pytest.mark.parametrize("case", CASES)
def test_the_model_answers_what_the_scenario_says(case):
    contract = Contract()
    for *step, expected in CASES[case]:
        try:
            answer = said.run_model(step, contract)
        except model.Refused as refusal:
            answer = refusal.code
        assert answer == expected, step


def test_the_model_names_what_is_stored():
    """L35: given an entry at epoch 4, when its writer resends it after a takeover."""
    contract = Contract()
    for step in (["oplog_metadata_upsert", "n", "k", 4, "w1"],
                 ["fenced_append", "n", "k", 4, "w1", 1, "a"],
                 ["oplog_metadata_upsert", "n", "k", 5, "w2"]):
        said.run_model(step, contract)
    with pytest.raises(model.Refused) as refused:
        said.run_model(["fenced_append", "n", "k", 4, "w1", 1, "a"], contract)
    assert refused.value.detail == {
        "code": "ZF001", "namespace": "n", "key": "k", "asserted_epoch": 4, "stored_epoch": 5,
        "already_stored": True}


# ---- the engines -------------------------------------------------------------------

@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_sequence_has_the_same_answers(path, both):
    assert fuzz.run_steps(both, fuzz.load(path)) is None


@pytest.mark.parametrize("case", CASES)
def test_the_engines_answer_what_the_scenario_says(case, both):
    assert fuzz.run_steps(both, [step for *step, _ in CASES[case]]) is None


OWNER = {"ZF001", "ZF002", "ZF003", "ZF004", "ZF009", "ZF010", "ZF012"}
CLAIM = {"ZF001", "ZF002", "ZF009", "ZF010", "ZF012"}
ADMIN = {"some", "ZF009", "ZF010", "ZF012"}
OUTCOMES = {
    "oplog_metadata_upsert": CLAIM | {"some", "none"},
    "try_oplog_metadata_upsert": CLAIM | {"owned"},
    "oplog_metadata_upsert_many": CLAIM | {"some"},
    "fenced_append": OWNER | {"some", "ZF013"},
    "insert_fenced_append": OWNER | {"none", "ZF013"},
    "fenced_append_many": OWNER | {"some", "ZF013"},
    "fence_check": OWNER | {"true"},
    "fenced_drop_prefix": OWNER | {"some"},
    "fenced_delete": OWNER | {"some"},
    "fenced_put": OWNER | {"true", "false"},
    "fenced_remove": OWNER | {"true", "false"},
    "fenced_publish": OWNER | {"true", "false", "ZF013"},
    "fence_namespace_set": {"none", "ZF009", "ZF010", "ZF012"},
    "fence_purge": ADMIN, "fence_reset": ADMIN | {"ZF003"},
    "oplog_read": {"some", "none", "ZF010"}, "oplog_keys": {"some", "none", "ZF010"},
    "COMMIT": {"none", "ZF009"},
}


def test_random_steps_have_the_same_answers(both):
    coverage = collections.Counter()
    for seed in range(SEED, SEED + -(-STEPS // fuzz.ROUND)):
        run, difference = fuzz.run_round(both, seed, fuzz.ROUND)
        assert difference is None, f"fuzz.py --seed {seed} --steps {fuzz.ROUND}\n{difference}"
        coverage.update(run.coverage)
    fuzz.print_coverage(coverage)
    if STEPS >= 20000:
        missed = {(call, what) for call, whats in OUTCOMES.items() for what in whats
                  if coverage[call, what] < 3}
        assert missed == set()


# ---- the fuzzer itself -------------------------------------------------------------

WRONG = {
    "a claim of equal epoch by anybody": ("elif epoch <= key.epoch:", "elif epoch < key.epoch:"),
    "a claim one below": ("demand(epoch == key.epoch and key",
                          "demand(epoch >= key.epoch - 1 and key"),
    "a claim of a deleted key at its floor": ('epoch == key.epoch and key.standing() == "owned"',
                                              "epoch == key.epoch"),
    "a write one epoch late": ('demand(epoch >= key.epoch, "ZF001"',
                               'demand(epoch >= key.epoch - 1, "ZF001"'),
    "a write one epoch early": ('demand(epoch == key.epoch, "ZF004", **known)', "pass"),
    "a write of another writer": ('"ZF004", **known)\n            demand(writer == key.writer',
                                  '"ZF004", **known)\n            demand(True'),
    "already_stored by idx alone": ("key.entries.get(idx) == (epoch, payload)",
                                    "idx in key.entries"),
    "other bytes": (" and payload == stored[1]", ""),
    "a trimmed idx": ("idx > key.mark and same", "same"),
    "a repeat of any epoch": ("same = epoch == stored[0] or", "same = True or"),
    "identical_repeat ignored": (" or self.namespace(where[0]).identical_repeat", ""),
    "expected_last not compared": ("not stored or expected_last in (None, last)", "True"),
    "expected_last compared on a repeat": ("not stored or expected_last", "expected_last"),
    "last of what is visible": ("return None if key.last == -1 else key.last",
                                "return max(key.entries, default=None)"),
    "no doom": ("self.doomed = refusal if self.stack else None", "self.doomed = None"),
    "two epochs": ('demand(self.now.asserted.get(where, epoch) == epoch, "ZF012")', "pass"),
    "an assertion that outlives its savepoint": (
        "self.now = self.release(name)",
        "self.now = self.release(name)._replace(asserted=self.now.asserted)"),
    "the floor is lost": ("Key(key.epoch, key.writer, deleted=True)", "Key(deleted=True)"),
    "the floor of the namespace is lost": ("epoch > self.namespace(where[0]).floor", "True"),
    "publish forgets": ("source.published == call and final.last >= 0", "False"),
    "publish to what was trimmed": ("if final.last >= 0:", "if final.entries:"),
    "publish by another owner": ('if source.standing() == "owned":', "if False:"),
    "published entries keep their epoch": ("idx: (epoch, payload) for idx, (_, payload)",
                                           "idx: (_, payload) for idx, (_, payload)"),
    "put tells no repeat": ("return key.values.get(name) != (epoch, value)", "return True"),
    "values outlive the key": ("Key(key.epoch, key.writer, deleted=True)",
                               "Key(key.epoch, key.writer, deleted=True, values=key.values)"),
    "reset below the floor": ("demand(epoch < key.epoch)", "pass"),
    "reset keeps the owner": ("key._replace(epoch=epoch, writer=None)",
                              "key._replace(epoch=epoch)"),
    "keys above or at": ("key > (after or", "key >= (after or"),
    "keys that are deleted": ("and not one.deleted and key.startswith", "and key.startswith"),
}


def wrong_model(old, new):
    """The contract with one rule changed in its text."""
    text = (HERE / "model.py").read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    names = {"__name__": "wrong_model"}
    exec(compile(text.replace(old, new), "wrong_model", "exec"), names)  # pylint: disable=exec-used
    names["Refused"] = model.Refused  # what everybody else catches
    return type("Wrong", (names["Model"],), {name: value for name, value in vars(Contract).items()
                                             if not name.startswith("__")})


def first_difference(make_model, rounds=40):
    for seed in range(SEED, SEED + rounds):
        run, difference = fuzz.run_round(["sqlite"], seed, fuzz.ROUND, model=make_model())
        if difference:
            print(f"after {len(run.taken)} steps of round {seed}: {difference}")
            return difference
    return None


@pytest.mark.parametrize("rule", WRONG)
def test_the_fuzzer_notices_a_wrong_rule(rule):
    assert first_difference(wrong_model(*WRONG[rule])) is not None


def test_and_none_where_no_rule_is_wrong():
    assert first_difference(wrong_model("ZF004", "ZF004"), rounds=10) is None


def test_a_shrunk_sequence_is_short_and_still_differs():
    wrong = wrong_model(*WRONG["a write one epoch late"])
    run, difference = fuzz.run_round(["sqlite"], SEED, fuzz.ROUND, model=wrong())
    assert difference is not None

    def differs(steps):
        return fuzz.run_steps(["sqlite"], steps, model=wrong()) is not None

    steps = fuzz.shrink(run.taken, differs)
    assert differs(steps)
    assert len(steps) <= 8 < len(run.taken)


def test_every_call_is_generated():
    assert set(CALLS) - {"oplog_metadata", "oplog_entries", "oplog_status", "fenced_values",
                         "fence_namespaces"} <= set(OUTCOMES)
