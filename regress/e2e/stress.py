"""The stress of test_stress.py: three processes append to one log while a fourth
takes the ownership away every ten milliseconds. An appender that has lost it goes
on all the same, as a process does that was paused and knows nothing.

The claimant counts the entries of older epochs right after its claim returned.
Were a single one to appear later, a stale writer got past the fence."""

import multiprocessing
import os
import sqlite3
import time
from dataclasses import dataclass, field

import log_file

KEY = "stress"
CLAIM_EVERY = 0.010
# How many refusals of its stale epoch an appender takes before it waits for a new one.
ZOMBIE_TRIES = 50


@dataclass
class Outcome:
    claims: int = 0
    acknowledged: int = 0
    refused: int = 0
    unexpected: list = field(default_factory=list)
    late: list = field(default_factory=list)
    lost: list = field(default_factory=list)

    @property
    def violations(self):
        return len(self.late) + len(self.lost)


class Appender:
    """Appends under whatever ownership it was handed last."""

    def __init__(self, path, extension, orders):
        self.connection = log_file.connect(path, extension)
        self.orders = orders
        self.acknowledged = []
        self.refused = 0
        self.unexpected = []
        self.turn = 0

    def run(self):
        order = self.orders.recv()
        while order is not None:
            order = self.work(*order)
        self.orders.send((self.acknowledged, self.refused, self.unexpected))

    def work(self, epoch, writer, last):
        """Appends until there is a new order; returns it."""
        idx = last + 1
        tries = 0
        while tries < ZOMBIE_TRIES and not self.orders.poll():
            count = 1 + self.turn % 2
            batch = [(idx + i, f"{epoch}:{idx + i}") for i in range(count)]
            try:
                self.append(epoch, writer, batch)
                self.acknowledged += [(i, epoch, payload) for i, payload in batch]
                idx += count
            except sqlite3.Error as error:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                code = log_file.code_of(error)
                if code in ("ZF001", "ZF009"):
                    self.refused += 1
                    tries += 1
                elif code == "ZF013":
                    idx += count  # taken: only a stale writer meets that
                    tries += 1
                elif "locked" not in str(error):
                    self.unexpected.append(str(error))
                    tries += 1
        return self.orders.recv()

    def append(self, epoch, writer, batch):
        """One of the three ways, in turn."""
        self.turn += 1
        if self.turn % 3 == 0:
            log_file.insert(self.connection, KEY, epoch, writer, batch)
        elif self.turn % 3 == 1:
            self.connection.execute("BEGIN IMMEDIATE")
            for idx, payload in batch:
                log_file.append(self.connection, KEY, epoch, writer, idx, payload)
            self.connection.execute("COMMIT")
        else:
            for idx, payload in batch:
                log_file.append(self.connection, KEY, epoch, writer, idx, payload)


def appender_process(path, extension, orders):
    Appender(path, extension, orders).run()


class Stress:
    def __init__(self, path, extension):
        self.path = path
        self.extension = extension
        self.connection = log_file.connect(path, extension, busy_ms=0)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("SELECT fence_install()")
        self.acknowledged = []
        self.older = {}  # epoch -> entries of older epochs when its claim returned
        self.outcome = Outcome()

    def count_older(self, epoch):
        sql = "SELECT count(*) FROM oplog_entries WHERE key = ? AND epoch < ?"
        return self.connection.execute(sql, (KEY, epoch)).fetchone()[0]

    def claim(self, epoch, writer):
        """Tries again at once where SQLite's busy handler would sleep: three busy
        appenders would leave it few chances."""
        for _ in range(1_000_000):
            try:
                return log_file.claim(self.connection, KEY, epoch, writer)
            except sqlite3.OperationalError as busy:
                if busy.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                os.sched_yield()
        raise TimeoutError("the write lock was never free")

    def take_over(self, epoch, appender):
        writer = log_file.new_writer()
        last = self.claim(epoch, writer)
        self.older[epoch] = self.count_older(epoch)
        self.outcome.claims += 1
        appender.send((epoch, writer, 0 if last is None else last))

    def late_now(self):
        return [e for e in (max(self.older),) if self.count_older(e) != self.older[e]]

    def run(self, seconds, stop_at_first=False):
        context = multiprocessing.get_context("spawn")
        pipes = [context.Pipe() for _ in range(3)]
        appenders = [
            context.Process(target=appender_process, args=(self.path, self.extension, theirs))
            for _, theirs in pipes
        ]
        for process in appenders:
            process.start()
        try:
            self.claim_until(time.monotonic() + seconds, [ours for ours, _ in pipes], stop_at_first)
            self.collect([ours for ours, _ in pipes])
            for process in appenders:
                process.join(30)
        finally:
            for process in appenders:
                process.kill()
                process.join()
        return self.judge()

    def claim_until(self, deadline, orders, stop_at_first):
        epoch = 0
        while time.monotonic() < deadline:
            epoch += 1
            try:
                self.take_over(epoch, orders[epoch % len(orders)])
            except sqlite3.DatabaseError as refused:
                self.outcome.unexpected.append(str(refused))
                return
            # The pace of the claims; an appender that has died ends it.
            orders[epoch % len(orders)].poll(CLAIM_EVERY)
            if stop_at_first and self.late_now():
                return

    def collect(self, orders):
        for one in orders:
            one.send(None)
        for one in orders:
            if not one.poll(60):
                raise TimeoutError("an appender did not report")
            acknowledged, refused, unexpected = one.recv()
            self.acknowledged += acknowledged
            self.outcome.refused += refused
            self.outcome.unexpected += unexpected

    def judge(self):
        rows = log_file.entries(self.connection, KEY)
        stored = {(idx, epoch, payload.decode()) for idx, epoch, payload in rows}
        self.outcome.acknowledged = len(self.acknowledged)
        self.outcome.lost = [one for one in self.acknowledged if one not in stored]
        self.outcome.late = [e for e, n in self.older.items() if self.count_older(e) != n]
        self.connection.close()
        return self.outcome
