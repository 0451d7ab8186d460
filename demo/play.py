"""What the demos have in common: two actors, one log, acts, and what must hold."""
import argparse
import signal
import sys

from actor import STOPPING, Actor, ActorGone
from process import KEY, NAMESPACE
from refusal import split_refusal
from timeline import Timeline

LONGEST_RUN = 60  # seconds; it takes a few at most
EPOCH_OF_A, EPOCH_OF_B = 1, 2


class Interrupted(Exception):
    """A signal ended the demo."""


class Impossible(Exception):
    """What comes next would make no sense."""


class Play:
    """The processes, their log and what went wrong so far. A demo says what happens
    in the acts, and sets the stage: set_up, clean_up, where, start."""

    def __init__(self, options):
        self.options = options
        self.timeline = Timeline()
        self.a = Actor("A")
        self.b = Actor("B")
        self.problems = []

    # ---- for a demo to fill in -------------------------------------------------

    acts = ()  # names of methods

    def set_up(self):
        pass

    def clean_up(self):
        for actor in (self.a, self.b):
            actor.end()

    def where(self):
        """What a person looks at who stops between two acts."""
        raise NotImplementedError

    # ---- stage directions ------------------------------------------------------

    def run(self):
        try:
            self.set_up()
            for act in self.acts:
                getattr(self, act)()
        finally:
            try:
                handle_signals(signal.SIG_IGN)
            finally:
                self.clean_up()

    def act(self, text):
        if self.options.step:
            self.timeline.say(f"\n-- Enter goes on; {self.where()}", "dim")
            sys.stdin.readline()
        self.timeline.act(text)

    def expect(self, holds, problem):
        if not holds:
            self.problems.append(problem)
            self.timeline.detail("WRONG", problem, "bad")
        return holds

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

    def claim_empty(self, actor, epoch):
        last = self.need(actor, "claim", epoch=epoch).value
        self.timeline.event(actor.name, f"claims {NAMESPACE}/{KEY} at epoch {epoch}: "
                                        "the log is empty")
        self.expect(last is None, f"the log is not empty, it ends with {last}")

    def append_all(self, actor, entries):
        errors = [actor.ask("append", idx=idx, payload=payload).error
                  for idx, payload in entries.items()]
        self.timeline.event(actor.name, "appends " + ", ".join(
            f"{idx} {payload!r}" for idx, payload in entries.items()))
        for idx, error in zip(entries, errors):
            self.expect(error is None, f"{idx} is not stored: {error}")

    def freeze_a(self, where):
        self.timeline.event("A", where)
        self.a.freeze()
        self.timeline.event("kernel", f"process {self.a.pid} is stopped (SIGSTOP)")

    def thaw_a(self):
        self.a.thaw()
        self.timeline.event("kernel", f"process {self.a.pid} goes on (SIGCONT)")

    # ---- what must hold --------------------------------------------------------

    def check_refusal(self, message, instead):
        refusal = split_refusal(message or "")
        if refusal is None:
            self.expect(False, f"A was not refused by a fence: {message or instead}")
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

    def check_doomed(self, message):
        """Of the COMMIT of a transaction in which A had swallowed a refusal."""
        refusal = split_refusal(message or "")
        if refusal is None:
            self.expect(False, "A's COMMIT was not refused by a fence: "
                               f"{message or 'it is done'}")
            return
        self.timeline.detail("refused", f"{refusal.code} {refusal.name}", "bad")
        self.timeline.detail("because", refusal.text)
        self.expect((refusal.code, refusal.detail["code"]) == ("ZF009", "ZF001"),
                    f"ZF009 for ZF001 was due at COMMIT, not {refusal.code}")

    def show_log(self, rows):
        """Prints (idx, epoch, payload) rows; returns them with payloads as text."""
        log = [(idx, epoch, text(payload)) for idx, epoch, payload in rows]
        self.timeline.say("   idx  epoch  payload")
        for idx, epoch, payload in log:
            owner = {EPOCH_OF_A: "A", EPOCH_OF_B: "B"}.get(epoch, "kernel")
            self.timeline.say(f"{idx:6} {epoch:6}  {self.timeline.paint(payload, owner)}")
        self.timeline.say()
        return log

    def check_log(self, log, by_a, by_b):
        indices = [idx for idx, _, _ in log]
        epochs = [epoch for _, epoch, _ in log]
        expected = ([(idx, EPOCH_OF_A, payload) for idx, payload in by_a.items()] +
                    [(idx, EPOCH_OF_B, payload) for idx, payload in by_b.items()])
        self.expect(set(indices) >= set(range(1, max(indices, default=0) + 1)), "the log has a gap")
        self.expect(len(indices) == len(set(indices)), "the log has an idx twice")
        self.expect(epochs == sorted(epochs), "an epoch falls: a stale writer got in")
        self.expect(log == expected, "the log is not what its owners appended")

    def sum_up(self, log):
        if not self.problems:
            self.timeline.say(f"{len(log)} entries: no gap, no duplicate, epochs never fall, "
                              "nothing of A after B's claim.")


def text(payload):
    return payload.decode() if isinstance(payload, bytes) else payload


def parser(document):
    """Of the options that all demos have."""
    made = argparse.ArgumentParser(description=document.split("\n", 1)[0])
    made.add_argument("--step", action="store_true", help="wait for Enter between the acts")
    return made


def handle_signals(handler):
    for number in STOPPING:
        signal.signal(number, handler)


def stop(number, _frame):
    handle_signals(signal.SIG_IGN)  # a second Ctrl-C must not get between the cleaning up
    raise Interrupted("it took too long" if number == signal.SIGALRM
                      else f"ended by {signal.Signals(number).name}")


def perform(play, database_error, last_word):
    """The whole demo; returns its exit status."""
    handle_signals(stop)
    signal.alarm(LONGEST_RUN)
    try:
        play.run()
    except Interrupted as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 130
    except (ActorGone, Impossible, OSError, database_error) as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 1
    if play.problems:
        play.timeline.say(f"FAILED: {len(play.problems)} of the promises above did not hold", "bad")
        return 1
    play.timeline.say(last_word)
    play.timeline.say("ok", "good")
    return 0
