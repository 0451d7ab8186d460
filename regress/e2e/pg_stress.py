"""The stress of test_pg_stress.py: three processes append while a fourth takes the key
away every ten milliseconds. Who has lost it goes on all the same, as a process does that
was paused and knows nothing; some transactions stand for a while between their last
append and COMMIT.

The claimant counts the entries of older epochs right after its claim returned. Were a
single one to appear later, a stale writer got past the fence. What was acknowledged is
written down at once, so it is known also of a process that was killed."""

import json
import multiprocessing
import os
import random
import signal
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

import psycopg

CLAIM_EVERY = 0.010
APPENDERS = 3
CLAIMS_A_KEY = 30   # then another key, so that the logs stay short enough to be counted
ZOMBIE_TRIES = 50   # refusals that an appender takes before it waits for a new order
EXPECTED = {"ZF001", "ZF009", "ZF013"}
LOST_CONNECTION = {"57P01", "none"}

APPEND = "SELECT fence.fenced_append('stress', %s, %s, %s, %s, %s)"
APPEND_MANY = "SELECT fence.fenced_append_many('stress', %s, %s, %s, %s::bigint[], %s::bytea[])"
CLAIM = "SELECT fence.oplog_metadata_upsert('stress', %s, %s, %s)"
OLDER = ("SELECT count(*), max(idx) FROM fence.oplog_entries"
         " WHERE namespace = 'stress' AND key = %s AND epoch < %s")


def connect(dsn):
    return psycopg.connect(dsn, autocommit=True)


class Appender:
    """Appends under whatever ownership it was handed last."""

    def __init__(self, dsn, orders, diary, seed):
        self.dsn, self.orders = dsn, orders
        self.random = random.Random(seed)
        self.diary = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.connection = None
        self.idx = None  # of the last call

    def write_down(self, *what):
        os.write(self.diary, (json.dumps(what) + "\n").encode())

    def run(self):
        self.connection = connect(self.dsn)
        self.orders.send("ready")
        order = self.orders.recv()
        while order is not None:
            order = self.work(*order)

    def work(self, key, epoch, writer, last):
        """Appends until there is a new order; returns it."""
        tail = last
        tries = 0
        while tries < ZOMBIE_TRIES and not self.orders.poll():
            idxs = sorted({self.choose(tail, i) for i in range(self.random.randint(1, 4))})
            tail = max(tail, idxs[-1])
            code = self.attempt(key, epoch, writer, idxs)
            if code:
                tries += code != "ZF013"
                self.write_down("code", key, epoch, self.idx, code)
        order = self.orders.recv()
        while order is not None and self.orders.poll():
            order = self.orders.recv()  # the newest, after a pause
        return order

    def choose(self, tail, step):
        """A third lies below the end, where steps of two leave gaps."""
        below = tail > 0 and self.random.random() < 1 / 3
        return self.random.randint(max(0, tail - 20), tail) if below else tail + 2 * (step + 1)

    def attempt(self, key, epoch, writer, idxs):
        """Returns the code of the error, if there was one."""
        try:
            if self.connection is None:
                self.connection = connect(self.dsn)
            way = self.random.random()
            if way < 0.1:
                self.append_many(key, epoch, writer, idxs[-1])
            elif way < 0.5:
                for idx in idxs:
                    self.append(key, epoch, writer, idx)
                    self.write_down("stored", key, epoch, [idx])
            else:
                self.run_block(key, epoch, writer, idxs)
            return None
        except psycopg.Error as error:
            self.recover()
            return error.sqlstate or "none"

    def append_many(self, key, epoch, writer, first):
        """It takes its time between the first look and the last."""
        idxs = list(range(first, first + 30))
        self.idx = None
        self.connection.execute(APPEND_MANY, [key, epoch, writer, idxs,
                                              [payload(epoch, idx) for idx in idxs]])
        self.write_down("stored", key, epoch, idxs)

    def append(self, key, epoch, writer, idx):
        self.idx = idx
        self.connection.execute(APPEND, [key, epoch, writer, idx, payload(epoch, idx)])

    def run_block(self, key, epoch, writer, idxs):
        kept = []
        self.connection.execute("BEGIN")
        for idx in idxs:
            savepoint = self.random.random() < 0.3
            if savepoint:
                self.connection.execute("SAVEPOINT s")
            self.append(key, epoch, writer, idx)
            if savepoint and self.random.random() < 0.5:
                self.connection.execute("ROLLBACK TO s")
            else:
                kept.append(idx)
        if self.random.random() < 0.5:
            time.sleep(self.random.random() * CLAIM_EVERY)
        if self.random.random() < 0.1:
            self.connection.execute("ROLLBACK")
            return
        self.connection.execute("COMMIT")
        self.write_down("stored", key, epoch, kept)

    def recover(self):
        try:
            self.connection.execute("ROLLBACK")
        except (psycopg.Error, AttributeError):
            self.connection = None


def payload(epoch, idx):
    return f"{epoch}:{idx}".encode()


def appender_process(*arguments):
    Appender(*arguments).run()


@dataclass
class Outcome:
    claims: int = 0
    stored: int = 0
    codes: Counter = field(default_factory=Counter)
    events: Counter = field(default_factory=Counter)  # of a disturbed run
    late: list = field(default_factory=list)         # entries that came after a claim
    lost: list = field(default_factory=list)         # acknowledged and not there
    wrong_tail: list = field(default_factory=list)   # what a claim returned, and what is there
    duplicates: list = field(default_factory=list)
    misnamed: list = field(default_factory=list)     # stale, but told of a taken idx
    unexpected: list = field(default_factory=list)
    slowest_claim_ms: float = 0

    def violations(self):
        return {name: found for name in ("late", "lost", "wrong_tail", "duplicates", "misnamed",
                                             "unexpected") if (found := getattr(self, name))}

    def __str__(self):
        codes = ", ".join(f"{n} {code}" for code, n in sorted(self.codes.items()))
        events = ", ".join(f"{n} {what}" for what, n in sorted(self.events.items()))
        return (f"{self.claims} claims (the slowest {self.slowest_claim_ms:.0f} ms), {self.stored} "
                f"entries acknowledged; {codes}; {events or 'undisturbed'}; "
                f"{len(self.late)} late")


class Stress:
    """folder: for the diaries. disturbed: clients and their sessions are paused and killed."""

    def __init__(self, server, folder, disturbed=False, seed=1):
        self.dsn = server.dsn()
        self.folder, self.disturbed = folder, disturbed
        self.random = random.Random(seed)
        self.connection = connect(self.dsn)
        self.context = multiprocessing.get_context("spawn")
        self.processes, self.orders, self.thaws = [], [], {}
        self.older = {}  # (key, epoch) -> entries of older epochs when its claim returned
        self.outcome = Outcome()

    def spawn(self, number):
        ours, theirs = self.context.Pipe()
        diary = str(self.folder / f"diary{number}")
        process = self.context.Process(target=appender_process, daemon=True, args=(
            self.dsn + f" application_name=appender{number}", theirs, diary, self.random.random()))
        process.start()
        theirs.close()
        self.processes[number:number + 1] = [process]
        self.orders[number:number + 1] = [ours]

    def take_over(self, epoch):
        key, writer = f"k{epoch // CLAIMS_A_KEY}", str(uuid.uuid4())
        begin = time.monotonic()
        last = self.connection.execute(CLAIM, [key, epoch, writer]).fetchone()[0]
        took = 1000 * (time.monotonic() - begin)
        count, end = self.connection.execute(OLDER, [key, epoch]).fetchone()
        self.older[key, epoch] = count
        if end != last:
            self.outcome.wrong_tail.append((key, epoch, last, end))
        self.outcome.claims += 1
        self.outcome.slowest_claim_ms = max(self.outcome.slowest_claim_ms, took)
        # One owner has one session or two.
        for number in {self.random.randrange(APPENDERS) for _ in range(2)}:
            self.send(number, (key, epoch, writer, -1 if last is None else last))

    def send(self, number, order):
        try:
            self.orders[number].send(order)
        except OSError:
            pass  # it was killed

    def count_older(self, key, epoch):
        return self.connection.execute(OLDER, [key, epoch]).fetchone()[0]

    def late_now(self):
        newest = max(epoch for _, epoch in self.older)
        return any(self.count_older(key, epoch) != count
                   for (key, epoch), count in self.older.items() if epoch > newest - 15)

    def run(self, seconds, stop_at_first=False):
        try:
            for number in range(APPENDERS):
                self.spawn(number)
            for orders in self.orders:
                orders.recv()
            deadline = time.monotonic() + seconds
            epoch = 0
            while time.monotonic() < deadline:
                epoch += 1
                self.take_over(epoch)
                if self.disturbed:
                    self.disturb()
                if stop_at_first and epoch % 10 == 0 and self.late_now():
                    break
                time.sleep(CLAIM_EVERY)
            self.finish()
        finally:
            for process in self.processes:
                process.kill()
                process.join()
        self.judge()
        self.connection.close()
        return self.outcome

    def finish(self):
        for number, process in enumerate(self.processes):
            os.kill(process.pid, signal.SIGCONT)
            self.send(number, None)
        for process in self.processes:
            process.join(60)
            if process.exitcode is None:
                self.outcome.unexpected.append("an appender does not end")
            elif process.exitcode != 0:
                self.outcome.unexpected.append(f"an appender ended with {process.exitcode}")

    def disturb(self):
        """Now and then one is paused, one is killed, or a session ended."""
        now = time.monotonic()
        for number in [one for one, when in self.thaws.items() if when < now]:
            del self.thaws[number]
            os.kill(self.processes[number].pid, signal.SIGCONT)
        number, chance = self.random.randrange(APPENDERS), self.random.random()
        if number in self.thaws:
            return
        if chance < 0.04:
            os.kill(self.processes[number].pid, signal.SIGSTOP)
            self.thaws[number] = now + self.random.choice([0.02, 0.1, 0.4])
            self.outcome.events["pauses"] += 1
        elif chance < 0.045:
            self.processes[number].kill()
            self.processes[number].join()
            self.spawn(number)
            self.outcome.events["kills"] += 1
        elif chance < 0.055:
            self.connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                    " WHERE application_name = %s", [f"appender{number}"])
            self.outcome.events["sessions ended"] += 1

    def judge(self):
        rows = self.connection.execute("SELECT key, epoch, idx, payload FROM fence.oplog_entries"
                                       " WHERE namespace = 'stress'").fetchall()
        stored = {(key, epoch, idx) for key, epoch, idx, bytes_ in rows
                  if bytes(bytes_) == payload(epoch, idx)}
        times = Counter((key, idx) for key, _, idx, _ in rows)
        owners = {(key, idx): epoch for key, epoch, idx, _ in rows}
        self.outcome.duplicates = [place for place, count in times.items() if count > 1]
        self.outcome.late = [claim for claim, count in self.older.items()
                             if self.count_older(*claim) != count]
        allowed = EXPECTED | (LOST_CONNECTION if self.disturbed else set())
        for what, key, epoch, at, *code in self.diaries():
            if what == "stored":
                self.outcome.stored += len(at)
                self.outcome.lost += [(key, epoch, idx) for idx in at
                                      if (key, epoch, idx) not in stored]
                continue
            self.outcome.codes[code[0]] += 1
            if code[0] not in allowed:
                self.outcome.unexpected.append((key, epoch, at, code[0]))
            if code[0] == "ZF013" and owners.get((key, at), epoch) > epoch:
                self.outcome.misnamed.append((key, epoch, at))

    def diaries(self):
        for path in self.folder.glob("diary*"):
            yield from map(json.loads, path.read_text().splitlines())
