#!/usr/bin/python3
"""A paused writer wakes up: real processes, one SQLite file, a real SIGSTOP.

A owns a log and is frozen. B takes the log over and goes on. A is thawed, knows
nothing of all that, and goes on as well: it must be refused.

The library is $FENCE_EXTENSION, or else build/sqlite/fence.so. Ends with `ok`,
or says what went wrong and exits with 1.
"""
import os
import shutil
import sqlite3
import sys
import tempfile

from actor import uninterrupted
from play import EPOCH_OF_A, EPOCH_OF_B, Play, parser, perform
from process import KEY, NAMESPACE

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

BY_A = {1: "drafted", 2: "reviewed", 3: "sent to be signed"}
BY_B = {4: "signed", 5: "countersigned", 6: "filed"}
BY_A_TOO_LATE = "withdrawn"
BY_B_AT_THE_END = {7: "delivered"}

FROZEN_INSIDE = ("Frozen inside a write transaction, A would hold the file's one write lock until "
                 "it ends: B waits, nothing is lost.")


class PausedWriter(Play):
    acts = ("own", "freeze", "take_over", "wake_up", "go_on", "read_back")

    def __init__(self, options):
        super().__init__(options)
        self.kind = "--plain" if options.plain else "--fenced"
        self.extension = os.path.abspath(
            os.environ.get("FENCE_EXTENSION") or os.path.join(TOP, "build/sqlite/fence.so"))
        self.folder = None

    # ---- the stage -------------------------------------------------------------

    def set_up(self):
        with uninterrupted():
            self.folder = tempfile.mkdtemp(prefix="fence-demo-")

    def clean_up(self):
        super().clean_up()
        if self.folder is not None:
            shutil.rmtree(self.folder)

    @property
    def file(self):
        return os.path.join(self.folder, "contracts.db")

    def where(self):
        return f"the file is {self.file}"

    def start(self, actor):
        actor.start("writer.py", self.kind, self.file, self.extension)
        actor.about = self.need(actor, "introduce").value

    # ---- the acts --------------------------------------------------------------

    def own(self):
        self.start(self.a)
        about = self.a.about
        self.timeline.say("One log in one SQLite file, two processes, one of them frozen. "
                          f"SQLite {about['sqlite']}, {about['fence']}.")
        self.act("A owns the log.")
        self.introduce(self.a)
        self.need(self.a, "install")
        self.claim_empty(self.a, EPOCH_OF_A)
        self.append_all(self.a, BY_A)

    def freeze(self):
        self.act("A is frozen: a paused VM, a swapping machine, a debugger.")
        inside = self.need(self.a, "report").value["in_transaction"]
        self.expect(not inside, "A is still inside a transaction")
        self.freeze_a(f"is outside any call; its next entry will be {max(BY_A) + 1}")

    def take_over(self):
        self.act("B takes over, and waits for nobody.")
        self.start(self.b)
        self.introduce(self.b)
        claim = self.need(self.b, "claim", epoch=EPOCH_OF_B)
        self.timeline.event("B", f"claims {NAMESPACE}/{KEY} at epoch {EPOCH_OF_B}, "
                                 f"in {claim.ms:.0f} ms: the last entry is {claim.value}")
        self.expect(claim.value == max(BY_A), f"the last entry is {max(BY_A)}, not {claim.value}")
        self.append_all(self.b, BY_B)

    def wake_up(self):
        self.act("A wakes up, and does not know that it slept.")
        idx = max(BY_A) + 1
        self.a.send("append", idx=idx, payload=BY_A_TOO_LATE)
        self.thaw_a()
        reply = self.a.receive()
        self.timeline.event("A", f"appends {idx} {BY_A_TOO_LATE!r}, as if nothing had happened")
        self.check_refusal(reply.error, "its entry is stored")

        insisted = self.need(self.a, "insist", payload=BY_A_TOO_LATE).value
        self.timeline.event("A", f"insists: BEGIN, append {insisted['idx']} {BY_A_TOO_LATE!r}, "
                                 "ignore the error, COMMIT")
        self.check_doomed(insisted["commit"])

    def go_on(self):
        self.timeline.event("B", "has noticed nothing")
        self.append_all(self.b, BY_B_AT_THE_END)

    def read_back(self):
        self.act("The log, read back by a third connection that has no extension loaded:")
        db = sqlite3.connect(self.file)
        try:
            rows = db.execute("SELECT idx, epoch, payload FROM oplog_entries"
                              " ORDER BY idx").fetchall()
            intact = db.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            db.close()
        log = self.show_log(rows)
        self.check_log(log, BY_A, {**BY_B, **BY_B_AT_THE_END})
        self.expect(intact == "ok", f"the file is damaged: {intact}")
        self.sum_up(log)


def main():
    options = parser(__doc__)
    options.add_argument("--plain", action="store_true",
                         help="the same on an ordinary table: shows the damage, and fails")
    play = PausedWriter(options.parse_args())
    if not play.options.plain and not os.path.exists(play.extension):
        print(f"demo: {play.extension} is not there; `make sqlite` builds it", file=sys.stderr)
        return 1
    return perform(play, sqlite3.Error, FROZEN_INSIDE)


if __name__ == "__main__":
    sys.exit(main())
