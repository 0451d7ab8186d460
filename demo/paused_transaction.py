#!/usr/bin/python3
"""A writer is paused inside a transaction: real processes, PostgreSQL, a real SIGSTOP.

A owns a log, opens a transaction, appends to it and is frozen before its COMMIT. B
takes the log over and writes the same idx: it waits for nobody, and nobody is killed.
A is thawed and says COMMIT: it must be refused.

The server is the one that PGHOST and the like name: `make demo-pg` starts one for it.
The demo makes a database there, and drops it in the end. Ends with `ok`, or says what
went wrong and exits with 1.
"""
import os
import select
import sys
import time

import psycopg
from actor import uninterrupted
from play import EPOCH_OF_A, EPOCH_OF_B, Impossible, Play, parser, perform
from process import KEY, NAMESPACE
from psycopg.conninfo import make_conninfo

BY_A = {1: "drafted", 2: "reviewed", 3: "sent to be signed", 4: "signed", 5: "countersigned"}
IDX = max(BY_A) + 1  # that both write
BY_A_TOO_LATE = "withdrawn"
BY_B = {IDX: "filed"}
BY_B_AT_THE_END = {IDX + 1: "delivered"}

FROZEN_INSIDE = ("A transaction that changed rows of your own holds their locks, with Fence as "
                 "without: docs/limits.md says what ends it.")


class PausedTransaction(Play):
    acts = ("own", "freeze", "take_over", "wake_up", "go_on", "read_back")

    def __init__(self, options):
        super().__init__(options)
        self.database = f"fence_demo_{os.getpid()}"
        self.conninfo = make_conninfo(dbname=self.database)  # the rest libpq finds by itself
        self.server = None    # a connection to the database that was there before
        self.observer = None  # one to ours

    # ---- the stage -------------------------------------------------------------

    def set_up(self):
        try:
            self.server = psycopg.connect(autocommit=True)
        except psycopg.OperationalError as error:
            raise Impossible(f"no server: {error}; `make demo-pg` starts one") from error
        with uninterrupted():
            self.server.execute(f"CREATE DATABASE {self.database}")
        self.observer = psycopg.connect(self.conninfo, autocommit=True)
        self.observer.execute("CREATE EXTENSION fence")

    def clean_up(self):
        super().clean_up()
        if self.observer is not None:
            self.observer.close()
        if self.server is not None:
            self.server.close()
            # By a new connection: a signal may have ended the old one's call half-way.
            with psycopg.connect(autocommit=True) as server:
                server.execute(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)")

    def where(self):
        return f"psql '{make_conninfo(host=self.server.info.host, dbname=self.database)}'"

    def start(self, actor):
        actor.start("pg_writer.py", self.conninfo)
        actor.about = self.need(actor, "introduce").value

    def look(self, sql, *values):
        return self.observer.execute(sql, values).fetchone()

    def waiting(self):
        """How many locks A and B wait for now."""
        backends = [actor.about["backend"] for actor in (self.a, self.b)]
        return self.look("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ANY(%s)",
                         backends)[0]

    def ask_and_watch(self, actor, do, **values):
        """Asks, and looks at pg_locks until the answer is there, and once more. Returns
        the reply, how often it looked and how many waiting locks it saw."""
        actor.send(do, **values)
        seen = []
        while not select.select([actor.process.stdout], [], [], 0)[0]:
            seen.append(self.waiting())
        seen.append(self.waiting())
        return actor.receive(), len(seen), sum(seen)

    # ---- the acts --------------------------------------------------------------

    def own(self):
        self.start(self.a)
        version, fence = self.look("SELECT current_setting('server_version'), fence.fence_version()")
        self.timeline.say("One log in PostgreSQL, two processes, one of them frozen inside a "
                          f"transaction.\nPostgreSQL {version}, Fence {fence}.")
        self.act("A owns the log.")
        self.introduce(self.a)
        self.claim_empty(self.a, EPOCH_OF_A)
        self.append_all(self.a, BY_A)

    def freeze(self):
        self.act("A is frozen inside an open transaction, after its append.")
        idx = self.need(self.a, "begin_and_append", idx=IDX, payload=BY_A_TOO_LATE).value
        self.expect(idx == IDX, f"A's append answered {idx}, not {IDX}")
        report = self.need(self.a, "report").value
        self.expect(report["transaction"] == "INTRANS",
                    f"A is not inside a transaction: {report['transaction']}")
        self.timeline.event("A", f"says BEGIN, appends {IDX} {BY_A_TOO_LATE!r}, is answered {idx}")
        self.freeze_a("is inside the open transaction; COMMIT would be next")
        state = self.session_of_a()
        self.timeline.detail("server", f"A's session {self.a.about['backend']} is {state[0]}, "
                                       f"and waits for {state[1]}")
        self.expect(state == ("idle in transaction", "ClientRead"), "A's session does not wait")

    def session_of_a(self):
        """Its state, when it has come to rest: the answer is sent a moment before that."""
        for _ in range(1000):
            state = self.look("SELECT state, wait_event FROM pg_stat_activity WHERE pid = %s",
                              self.a.about["backend"])
            if state[1] is not None:
                break
            time.sleep(0.002)
        return state

    def take_over(self):
        self.act(f"B takes over and writes {IDX} itself, and waits for nobody.")
        self.start(self.b)
        self.introduce(self.b)
        claim, looks, waits = self.ask_and_watch(self.b, "claim", epoch=EPOCH_OF_B)
        self.expect(claim.error is None, f"B cannot claim: {claim.error}")
        self.timeline.event("B", f"claims {NAMESPACE}/{KEY} at epoch {EPOCH_OF_B}, "
                                 f"in {claim.ms:.1f} ms: the last entry is {claim.value}")
        self.expect(claim.value == max(BY_A), f"the last entry is {max(BY_A)}, not {claim.value}")
        for idx, payload in BY_B.items():
            reply, more_looks, more_waits = self.ask_and_watch(self.b, "append", idx=idx,
                                                               payload=payload)
            self.timeline.event("B", f"appends {idx} {payload!r}, in {reply.ms:.1f} ms")
            self.expect(reply.error is None, f"{idx} is not stored: {reply.error}")
            looks += more_looks
            waits += more_waits
        self.timeline.detail("locks", f"{looks} looks at pg_locks meanwhile: {waits} locks "
                                      "not granted")
        self.expect(waits == 0, "B waited for a lock")
        self.show_holder()

    def show_holder(self):
        holder = self.look("SELECT state FROM fence.fence_holders WHERE pid = %s",
                           self.a.about["backend"])
        self.expect(holder == ("superseded",), f"fence_holders says {holder} of A")
        if holder:
            self.timeline.detail("holders", f"A's session {self.a.about['backend']}: {holder[0]}")

    def wake_up(self):
        self.act("A wakes up, and does not know that it slept.")
        self.a.send("commit")
        self.thaw_a()
        reply = self.a.receive()
        self.timeline.event("A", "says COMMIT, as if nothing had happened")
        self.check_refusal(reply.error, "its transaction is committed")
        report = self.need(self.a, "report").value
        self.expect(report == {"transaction": "IDLE", "backend": self.a.about["backend"]},
                    f"A's session is not the one it had: {report}")
        self.timeline.detail("session", f"{report['backend']} still serves A: nobody was killed")

        idx = max(BY_B) + 1
        insisted = self.need(self.a, "insist", idx=idx, payload=BY_A_TOO_LATE).value
        self.timeline.event("A", f"insists: BEGIN, SAVEPOINT, append {idx} {BY_A_TOO_LATE!r}, "
                                 "ROLLBACK TO, COMMIT")
        self.check_doomed(insisted["commit"])

    def go_on(self):
        self.timeline.event("B", "has noticed nothing")
        self.append_all(self.b, BY_B_AT_THE_END)

    def read_back(self):
        self.act("The log, read back by a third session:")
        log = self.show_log(self.observer.execute(
            "SELECT idx, epoch, payload FROM fence.oplog_entries ORDER BY idx, epoch").fetchall())
        self.check_log(log, BY_A, {**BY_B, **BY_B_AT_THE_END})
        self.sum_up(log)


def main():
    return perform(PausedTransaction(parser(__doc__).parse_args()), psycopg.Error, FROZEN_INSIDE)


if __name__ == "__main__":
    sys.exit(main())
