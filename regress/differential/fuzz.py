#!/usr/bin/python3
"""Random calls on PostgreSQL, SQLite and the model of the contract: all must answer the same.

usage: fuzz.py [--steps N] [--seed S] [--engines sqlite,postgresql] [--calls A,B]
               [--coverage] [--replay FILE] [--keep FOLDER]

A run consists of rounds of 1000 steps, each on a fresh database, with the seeds S, S+1
and so on. Compared are results and codes, the members of the detail that the contract
fixes, between engines also message, hint and the whole detail; now and then all that
views and oplog_read show.

On a difference it is printed what was asked and answered, and a shorter sequence that
shows the same is left in FOLDER: --replay runs such a file. --calls leaves out the other
calls, --coverage counts what came of each. For PostgreSQL: `scripts/pg run fuzz.py`;
without engines (--engines "") only the model runs.
"""
import argparse
import collections
import json
import sys
import time
from pathlib import Path

import steps as said
from arguments import CALLS, Contract
from generator import KEYS, NAMESPACES, Generator
from model import Refused
from sides import agrees, alike, open_sides, result_of

ROUND = 1000
LOOK_EVERY = 15  # steps, then all views
SHRINK_SECONDS = 60
SHOWN = 40  # steps of a transcript, the last ones
KEEP = Path(__file__).resolve().parents[2] / "build/differential"


class Difference(Exception):
    """The answers to one step are not the same: the message shows them."""

    def __init__(self, step, number, text):
        super().__init__(text)
        self.step = step
        self.number = number


def outcome(expected):
    """In a word: a code, or what kind of success."""
    if isinstance(expected, Refused):
        return expected.code
    if isinstance(expected, dict):
        return "owned" if expected["owned"] else expected["code"]
    if isinstance(expected, bool):
        return str(expected).lower()
    return "some" if expected or expected == 0 and not isinstance(expected, list) else "none"


# ---- running -----------------------------------------------------------------------

def clipped(text):
    return text if len(text) <= 900 else f"{text[:700]} … {text[-150:]}"


class Run:
    """A model and some engines on their way through the same steps."""

    def __init__(self, sides, calls=None, look_every=LOOK_EVERY, model=None):
        self.sides = sides
        self.model = model or Contract()
        self.views = said.views(calls or CALLS)
        self.look_every = look_every
        self.taken = []
        self.may_check = True
        self.coverage = collections.Counter()

    def take(self, step):
        if step[0] == "BEGIN" and not self.model.stack:
            self.may_check = "IMMEDIATE" in step
        if not said.applies(step, self.model) or (
                # SQLite does not answer it where it might read what is old: ZF012.
                step[0] == "fence_check" and self.model.stack and not self.may_check):
            return
        self.taken.append(step)
        self.compare(step, count=True)
        if len(self.taken) % self.look_every == 0:
            self.look()

    def compare(self, step, count=False):
        inside = bool(self.model.stack)
        try:
            expected = said.run_model(step, self.model)
        except Refused as refusal:
            expected = refusal
        if count:
            self.coverage[step[0], outcome(expected)] += 1
        answers = [side.ask(step, inside) for side in self.sides]
        if not (all(agrees(step, expected, answer) for answer in answers)
                and all(alike(step, answers[0], answer) for answer in answers[1:])):
            raise Difference(step, len(self.taken), self.show(step, expected, answers))

    def look(self):
        """All that can be read."""
        for view in self.views:
            self.compare([view])
        if len(self.taken) % (5 * self.look_every) == 0:
            for namespace in NAMESPACES:
                for key in KEYS:
                    self.compare(["oplog_read", namespace, key])

    def show(self, step, expected, answers):
        lines = [f"{side.name}: {said.sql_of(step, side.name)};" for side in self.sides]
        said_so = ({"code": expected.code, "detail": expected.detail}
                   if isinstance(expected, Refused) else expected)
        lines.append(f"model answers {said_so!r}")
        lines += [f"{side.name} answers {result_of(step, answer)!r}"
                  for side, answer in zip(self.sides, answers)]
        return "\n".join(clipped(line) for line in lines)


def run_steps(names, steps, model=None, look_every=1, calls=None):
    """The difference that the steps lead to on fresh databases, or None."""
    with open_sides(names) as sides:
        run = Run(sides, calls, look_every, model)
        try:
            for step in steps:
                run.take(step)
            run.look()
        except Difference as difference:
            return difference
    return None


def run_round(names, seed, count, calls=None, model=None):
    """(the run, its difference or None) of a round of random steps."""
    with open_sides(names) as sides:
        run = Run(sides, calls, model=model)
        generator = Generator(seed, run.model, calls)
        try:
            while len(run.taken) < count:
                run.take(generator.step())
            run.look()
        except Difference as difference:
            return run, difference
    return run, None


def shrink(steps, differs, seconds=SHRINK_SECONDS):
    """Fewer steps that still differ: drops ever smaller parts, until none can go."""
    end = time.monotonic() + seconds
    size = max(len(steps) // 2, 1)
    while time.monotonic() < end:
        at, before = len(steps) - size, len(steps)
        while at > -size and time.monotonic() < end:
            shorter = steps[:max(at, 0)] + steps[at + size:]
            if shorter and len(shorter) < len(steps) and differs(shorter):
                steps = shorter
            at -= size
        if size == 1 and len(steps) == before:
            break
        size = max(size // 2, 1)
    return steps


# ---- files and reports -------------------------------------------------------------

def save(path, steps):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(step, ensure_ascii=False) for step in steps)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def load(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def transcript(steps, engine):
    return "\n".join(f"  {clipped(said.sql_of(step, engine))};" for step in steps[-SHOWN:])


def report(arguments, seed, run, difference):
    """Prints the difference, then what is left of the sequence when it is shrunk."""
    print(f"DIFFERENCE: seed {seed}, step {difference.number}: {difference.step[0]}\n{difference}")
    sys.stdout.flush()
    look_every = 1 if said.COLUMNS.get(difference.step[0]) else LOOK_EVERY

    def differs(steps):
        found = run_steps(arguments.engines, steps, look_every=look_every, calls=arguments.calls)
        return found is not None and found.step[0] == difference.step[0]

    if not differs(run.taken):
        print("(a replay does not show it: it depends on something else)")
        return
    steps = shrink(run.taken, differs, arguments.shrink_seconds)
    path = arguments.keep / f"seed-{seed}.json"
    save(path, steps)
    print(f"{len(steps)} steps are enough, in {path}:\n"
          f"{transcript(steps, arguments.engines[0])}\n"
          f"{run_steps(arguments.engines, steps, look_every=look_every, calls=arguments.calls)}")


def print_coverage(coverage):
    for call in sorted({call for call, _ in coverage}):
        met = {what: number for (each, what), number in coverage.items() if each == call}
        print(f"{call}: " + ", ".join(f"{what} {met[what]}" for what in sorted(met)))


def split(text):
    return [part for part in text.split(",") if part]


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", type=split, default=["sqlite", "postgresql"])
    parser.add_argument("--calls", type=split)
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--replay")
    parser.add_argument("--keep", type=Path, default=KEEP)
    parser.add_argument("--shrink-seconds", type=float, default=SHRINK_SECONDS)
    return parser.parse_args()


def fuzz(arguments):
    """The number of differences."""
    coverage, taken, differences = collections.Counter(), 0, 0
    began = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + -(-arguments.steps // ROUND)):
        count = min(ROUND, arguments.steps - ROUND * (seed - arguments.seed))
        run, difference = run_round(arguments.engines, seed, count, arguments.calls)
        coverage.update(run.coverage)
        taken += len(run.taken)
        if difference:
            differences += 1
            report(arguments, seed, run, difference)
            break
    seconds = time.monotonic() - began
    if arguments.coverage:
        print_coverage(coverage)
    print(f"{taken} steps, {taken / seconds:.0f} a second, {differences} differences"
          f" (model, {', '.join(arguments.engines)})")
    return differences


def main():
    arguments = parse_arguments()
    if arguments.replay:
        difference = run_steps(arguments.engines, load(arguments.replay), calls=arguments.calls)
        print(difference or "no difference")
        return 1 if difference else 0
    return 1 if fuzz(arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
