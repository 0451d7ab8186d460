#!/usr/bin/python3
"""A paused writer wakes up: real processes, one SQLite file, a real SIGSTOP.

A owns a log and is frozen. B takes the log over and goes on. A is thawed, knows
nothing of all that, and goes on as well: it must be refused.

The library is $FENCE_EXTENSION, or else build/sqlite/fence.so. Ends with `ok`,
or says what went wrong and exits with 1.
"""
import argparse
import os
import shutil
import signal
import sqlite3
import sys
import tempfile

from actor import STOPPING, Actor, ActorGone, uninterrupted
from refusal import split_refusal
from timeline import Timeline
from writer import KEY, NAMESPACE

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST_RUN = 60  # seconds; it takes less than one
EPOCH_OF_A, EPOCH_OF_B = 1, 2

BY_A = {1: "drafted", 2: "reviewed", 3: "sent to be signed"}
BY_B = {4: "signed", 5: "countersigned", 6: "filed"}
BY_A_TOO_LATE = "withdrawn"
BY_B_AT_THE_END = {7: "delivered"}

FROZEN_INSIDE = ("Frozen inside a write transaction, A would hold the file's one write lock until "
                 "it ends: B waits, nothing is lost.")


class Interrupted(Exception):
    """A signal ended the demo."""


class Impossible(Exception):
    """What comes next would make no sense."""


class Play:
    """The processes, the file and what went wrong so far."""

    def __init__(self, options):
        self.options = options
        self.kind = "--plain" if options.plain else "--fenced"
        self.extension = os.path.abspath(
            os.environ.get("FENCE_EXTENSION") or os.path.join(TOP, "build/sqlite/fence.so"))
        self.timeline = Timeline()
        self.folder = None
        self.a = Actor("A")
        self.b = Actor("B")
        self.problems = []

    # ---- stage directions ------------------------------------------------------

    def run(self):
        try:
            with uninterrupted():
                self.folder = tempfile.mkdtemp(prefix="fence-demo-")
            self.claim_and_append()
            self.freeze_a()
            self.take_over()
            self.thaw_a()
            self.go_on()
            self.read_back()
        finally:
            try:
                handle_signals(signal.SIG_IGN)
            finally:
                self.clean_up()

    def clean_up(self):
        for actor in (self.a, self.b):
            actor.end()
        if self.folder is not None:
            shutil.rmtree(self.folder)

    @property
    def file(self):
        return os.path.join(self.folder, "contracts.db")

    def act(self, text):
        if self.options.step:
            self.timeline.say(f"\n-- Enter goes on; the file is {self.file}", "dim")
            sys.stdin.readline()
        self.timeline.act(text)

    def expect(self, holds, problem):
        if not holds:
            self.problems.append(problem)
            self.timeline.detail("WRONG", problem, "bad")
        return holds

    def start(self, actor):
        actor.start(self.kind, self.file, self.extension)
        actor.about = self.need(actor, "introduce").value

    def introduce(self, actor):
        writer = actor.about["fingerprint"]
        self.timeline.event(actor.name, f"is process {actor.pid}" +
                            (f", writer {writer}" if writer else ""))

    def need(self, actor, do, **values):
        """Asks for something without which the play cannot go on."""
        reply = actor.ask(do, **values)
        if reply.error is not None:
            raise Impossible(f"{actor.name} cannot {do}: {reply.error}")
        return reply

    def append_all(self, actor, entries):
        errors = [actor.ask("append", idx=idx, payload=payload).error
                  for idx, payload in entries.items()]
        self.timeline.event(actor.name, "appends " + ", ".join(
            f"{idx} {payload!r}" for idx, payload in entries.items()))
        for idx, error in zip(entries, errors):
            self.expect(error is None, f"{idx} is not stored: {error}")

    # ---- the acts --------------------------------------------------------------

    def claim_and_append(self):
        self.start(self.a)
        about = self.a.about
        self.timeline.say("One log in one SQLite file, two processes, one of them frozen. "
                          f"SQLite {about['sqlite']}, {about['fence']}.")
        self.act("A owns the log.")
        self.introduce(self.a)
        self.need(self.a, "install")
        last = self.need(self.a, "claim", epoch=EPOCH_OF_A).value
        self.timeline.event("A", f"claims {NAMESPACE}/{KEY} at epoch {EPOCH_OF_A}: "
                                 "the log is empty")
        self.expect(last is None, f"the log is not empty, it ends with {last}")
        self.append_all(self.a, BY_A)

    def freeze_a(self):
        self.act("A is frozen: a paused VM, a swapping machine, a debugger.")
        inside = self.need(self.a, "report").value["in_transaction"]
        self.expect(not inside, "A is still inside a transaction")
        self.timeline.event("A", f"is outside any call; its next entry will be {max(BY_A) + 1}")
        self.a.freeze()
        self.timeline.event("kernel", f"process {self.a.pid} is stopped (SIGSTOP)")

    def take_over(self):
        self.act("B takes over, and waits for nobody.")
        self.start(self.b)
        self.introduce(self.b)
        claim = self.need(self.b, "claim", epoch=EPOCH_OF_B)
        self.timeline.event("B", f"claims {NAMESPACE}/{KEY} at epoch {EPOCH_OF_B}, "
                                 f"in {claim.ms:.0f} ms: the last entry is {claim.value}")
        self.expect(claim.value == max(BY_A), f"the last entry is {max(BY_A)}, not {claim.value}")
        self.append_all(self.b, BY_B)

    def thaw_a(self):
        self.act("A wakes up, and does not know that it slept.")
        idx = max(BY_A) + 1
        self.a.send("append", idx=idx, payload=BY_A_TOO_LATE)
        self.a.thaw()
        self.timeline.event("kernel", f"process {self.a.pid} goes on (SIGCONT)")
        reply = self.a.receive()
        self.timeline.event("A", f"appends {idx} {BY_A_TOO_LATE!r}, as if nothing had happened")
        self.check_refusal(reply.error)

        insisted = self.need(self.a, "insist", payload=BY_A_TOO_LATE).value
        self.timeline.event("A", f"insists: BEGIN, append {insisted['idx']} {BY_A_TOO_LATE!r}, "
                                 "ignore the error, COMMIT")
        self.check_commit(insisted)

    def go_on(self):
        self.timeline.event("B", "has noticed nothing")
        self.append_all(self.b, BY_B_AT_THE_END)

    # ---- what must hold --------------------------------------------------------

    def check_refusal(self, message):
        refusal = split_refusal(message or "")
        if refusal is None:
            self.expect(False, f"A was not refused by a fence: {message or 'its entry is stored'}")
            return
        detail = refusal.detail
        owner = detail["stored_writer"]
        self.timeline.detail("refused", f"{refusal.code} {refusal.name}", "bad")
        self.timeline.detail("because", refusal.text)
        self.timeline.detail("epochs", f"{detail['asserted_epoch']} is A's, "
                                       f"{detail['stored_epoch']} is the record's")
        self.timeline.detail("owner", f"{owner}, which is B"
                             if owner == self.b.about["fingerprint"] else f"{owner}")
        self.timeline.detail("to do", refusal.hint)
        self.expect((refusal.code, refusal.name) == ("ZF001", "stale_epoch"),
                    f"ZF001 stale_epoch was due, not {refusal.code} {refusal.name}")
        self.expect((detail["asserted_epoch"], detail["stored_epoch"]) ==
                    (str(EPOCH_OF_A), str(EPOCH_OF_B)), "the refusal does not name both epochs")
        self.expect(owner == self.b.about["fingerprint"], "the refusal does not name B as owner")
        self.expect(refusal.hint, "the refusal does not say what to do")

    def check_commit(self, insisted):
        refusal = split_refusal(insisted["commit"] or "")
        if refusal is None:
            self.expect(False, "A's COMMIT was not refused by a fence: "
                               f"{insisted['commit'] or 'it is done'}")
            return
        self.timeline.detail("refused", f"{refusal.code} {refusal.name}", "bad")
        self.timeline.detail("because", refusal.text)
        self.expect((refusal.code, refusal.detail["code"]) == ("ZF009", "ZF001"),
                    f"ZF009 for ZF001 was due at COMMIT, not {refusal.code}")

    def read_back(self):
        self.act("The log, read back by a third connection that has no extension loaded:")
        db = sqlite3.connect(self.file)
        try:
            rows = db.execute("SELECT idx, epoch, payload FROM oplog_entries"
                              " ORDER BY idx").fetchall()
            intact = db.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            db.close()
        log = [(idx, epoch, text(payload)) for idx, epoch, payload in rows]
        self.timeline.say("   idx  epoch  payload")
        for idx, epoch, payload in log:
            owner = {EPOCH_OF_A: "A", EPOCH_OF_B: "B"}.get(epoch, "kernel")
            self.timeline.say(f"{idx:6} {epoch:6}  {self.timeline.paint(payload, owner)}")
        self.timeline.say()
        self.check_log(log, intact)

    def check_log(self, log, intact):
        indices = [idx for idx, _, _ in log]
        epochs = [epoch for _, epoch, _ in log]
        by_b = {**BY_B, **BY_B_AT_THE_END}
        expected = ([(idx, EPOCH_OF_A, payload) for idx, payload in BY_A.items()] +
                    [(idx, EPOCH_OF_B, payload) for idx, payload in by_b.items()])
        self.expect(set(indices) >= set(range(1, max(indices, default=0) + 1)), "the log has a gap")
        self.expect(len(indices) == len(set(indices)), "the log has an idx twice")
        self.expect(epochs == sorted(epochs), "an epoch falls: a stale writer got in")
        self.expect(log == expected, "the log is not what its owners appended")
        self.expect(intact == "ok", f"the file is damaged: {intact}")
        if not self.problems:
            self.timeline.say(f"{len(log)} entries: no gap, no duplicate, epochs never fall, "
                              "nothing of A after B's claim.")


def text(payload):
    return payload.decode() if isinstance(payload, bytes) else payload


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--step", action="store_true", help="wait for Enter between the acts")
    parser.add_argument("--plain", action="store_true",
                        help="the same on an ordinary table: shows the damage, and fails")
    return parser.parse_args()


def handle_signals(handler):
    for number in STOPPING:
        signal.signal(number, handler)


def stop(number, _frame):
    handle_signals(signal.SIG_IGN)  # a second Ctrl-C must not get between the cleaning up
    raise Interrupted("it took too long" if number == signal.SIGALRM
                      else f"ended by {signal.Signals(number).name}")


def main():
    play = Play(parse_options())
    if not play.options.plain and not os.path.exists(play.extension):
        print(f"demo: {play.extension} is not there; `make sqlite` builds it", file=sys.stderr)
        return 1
    handle_signals(stop)
    signal.alarm(LONGEST_RUN)
    try:
        play.run()
    except Interrupted as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 130
    except (ActorGone, Impossible, OSError, sqlite3.Error) as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 1
    if play.problems:
        play.timeline.say(f"FAILED: {len(play.problems)} of the promises above did not hold", "bad")
        return 1
    play.timeline.say(FROZEN_INSIDE)
    play.timeline.say("ok", "good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
