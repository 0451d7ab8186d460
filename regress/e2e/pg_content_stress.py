"""The stress of test_pg_content_stress.py: processes append, trim, put and remove under
whatever ownership they were handed last, while another one takes the key away every ten
milliseconds, deletes it now and then, and begins a new life of it.

The claimant reads all that older owners have left right after its claim returned, and again
before the next one: nothing may have been added meanwhile. An entry that was acknowledged is
read back at once. If it is not there, somebody must have trimmed it, or taken the key, since its
call began: else it was appended below a trim, and acknowledged all the same."""

import json
import multiprocessing
import os
import random
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

import psycopg

CLAIM_EVERY = 0.010
WORKERS = 3
# 40P01: two sessions of one owner, one of which has appended an idx and goes on to trim, while
# the other has trimmed and goes on to append that idx.
EXPECTED = {"ZF001", "ZF002", "ZF003", "ZF009", "ZF013", "40P01"}
CALLS = {
    "claim": "SELECT fence.oplog_metadata_upsert('content', %s, %s, %s)",
    "delete": "SELECT fence.fenced_delete('content', %s, %s, %s)",
    "append": "SELECT fence.fenced_append('content', %s, %s, %s, %s, %s)",
    "trim": "SELECT fence.fenced_drop_prefix('content', %s, %s, %s, %s)",
    "put": "SELECT fence.fenced_put('content', %s, %s, %s, %s, %s)",
    "remove": "SELECT fence.fenced_remove('content', %s, %s, %s, %s)",
}
READ = "SELECT epoch FROM fence.oplog_read('content', %s, %s, %s)"
LEFT = ("SELECT 'entry', idx::text, epoch, payload FROM fence.oplog_entries"
        " WHERE namespace = 'content' AND key = %(key)s AND epoch < %(epoch)s"
        " UNION ALL SELECT 'value', name, epoch, value FROM fence.fenced_values"
        " WHERE namespace = 'content' AND key = %(key)s AND epoch < %(epoch)s")


class Worker:
    def __init__(self, dsn, orders, diary, seed):
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.orders, self.random = orders, random.Random(seed)
        self.diary = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.tail = 0

    def run(self):
        self.orders.send("ready")
        order = self.orders.recv()
        while order is not None:
            self.tail = order[3]
            tries = 0
            while tries < 50 and not self.orders.poll():
                tries += self.attempt(*order[:3])
            order = self.orders.recv()
            while order is not None and self.orders.poll():
                order = self.orders.recv()

    def choose(self):
        """(call, its arguments)"""
        call = self.random.choices(["append", "trim", "put", "remove"], [8, 2, 4, 1])[0]
        if call == "append":
            below = self.random.random() < 0.4
            idx = max(0, self.tail - self.random.randint(0, 9)) if below else self.tail + 2
            self.tail = max(self.tail, idx)
            return call, (idx, b"x")
        if call == "trim":
            return call, (max(0, self.tail - self.random.randint(0, 6)),)
        name = self.random.choice("ab")
        return call, (name, str(self.random.random()).encode()) if call == "put" else (name,)

    def attempt(self, key, epoch, writer):
        """Returns whether it was refused."""
        begin = time.monotonic()
        chosen = [self.choose() for _ in range(self.random.choice([1, 1, 1, 2, 4]))]
        try:
            if len(chosen) > 1:
                self.connection.execute("BEGIN")
            for call, arguments in chosen:
                self.connection.execute(CALLS[call], [key, epoch, writer, *arguments])
            if len(chosen) > 1:
                time.sleep(self.random.random() * CLAIM_EVERY)
                self.connection.execute("COMMIT")
        except psycopg.Error as error:
            self.write_down("code", error.sqlstate)
            self.connection.execute("ROLLBACK")
            return True
        end = time.monotonic()
        for call, arguments in chosen:
            if call == "trim":
                self.write_down(call, key, epoch, arguments[0], end)
            self.write_down("done", call)
        if len(chosen) == 1 and chosen[0][0] == "append":
            self.read_back(key, epoch, chosen[0][1][0], begin)
        return False

    def read_back(self, key, epoch, idx, begin):
        found = self.connection.execute(READ, [key, idx, idx]).fetchone()
        if found != (epoch,):
            self.write_down("gone", key, epoch, idx, begin)

    def write_down(self, *what):
        os.write(self.diary, (json.dumps(what) + "\n").encode())


def worker_process(*arguments):
    Worker(*arguments).run()


@dataclass
class Outcome:
    claims: int = 0
    done: Counter = field(default_factory=Counter)
    codes: Counter = field(default_factory=Counter)
    late: list = field(default_factory=list)     # of an older owner, after a claim had returned
    below: list = field(default_factory=list)    # acknowledged below a trim
    twice: list = field(default_factory=list)    # idx with two entries, names with two values
    verified: list = field(default_factory=list)  # what fence_verify says of it
    unexpected: list = field(default_factory=list)

    def violations(self):
        return {name: found for name in ("late", "below", "twice", "verified", "unexpected")
                if (found := getattr(self, name))}


class Stress:
    def __init__(self, server, folder, seed=1):
        self.dsn, self.folder, self.random = server.dsn(), folder, random.Random(seed)
        self.connection = psycopg.connect(self.dsn, autocommit=True)
        self.outcome = Outcome()
        self.left = None  # (key, epoch, what older owners had left)
        self.newest = {}  # key -> epoch

    def call(self, name, *arguments):
        return self.connection.execute(CALLS[name], arguments).fetchone()[0]

    def read_left(self, key, epoch):
        rows = self.connection.execute(LEFT, {"key": key, "epoch": epoch}).fetchall()
        return {(kind, name, e, bytes(value)) for kind, name, e, value in rows}

    def compare(self):
        if self.left is not None:
            key, epoch, before = self.left
            self.outcome.late += sorted(self.read_left(key, epoch) - before)

    def take_over(self, epoch, pipes):
        self.compare()
        key, writer = f"k{epoch % 3}", str(uuid.uuid4())
        last = self.call("claim", key, epoch, writer)
        self.left = (key, epoch, self.read_left(key, epoch))
        self.newest[key] = epoch
        self.outcome.claims += 1
        if self.random.random() < 0.1:
            self.call("delete", key, epoch, writer)
            self.left = (key, epoch + 1, set())
            return
        for pipe in self.random.sample(pipes, 2):
            pipe.send((key, epoch, writer, last or 0))

    def run(self, seconds):
        context = multiprocessing.get_context("spawn")
        pipes, processes = [], []
        try:
            for number in range(WORKERS):
                ours, theirs = context.Pipe()
                processes.append(context.Process(target=worker_process, daemon=True, args=(
                    self.dsn, theirs, str(self.folder / f"diary{number}"), number)))
                processes[-1].start()
                pipes.append(ours)
            for pipe in pipes:
                pipe.recv()
            deadline, epoch = time.monotonic() + seconds, 0
            while time.monotonic() < deadline:
                epoch += 1
                self.take_over(epoch, pipes)
                time.sleep(CLAIM_EVERY)
            for pipe in pipes:
                pipe.send(None)
            for process in processes:
                process.join(60)
        finally:
            for process in processes:
                process.kill()
        self.compare()
        self.judge()
        self.connection.close()
        return self.outcome

    def judge(self):
        lines = [json.loads(line) for path in self.folder.glob("diary*")
                 for line in path.read_text().splitlines()]
        trims = [line[1:] for line in lines if line[0] == "trim"]
        for what, *rest in lines:
            if what == "done":
                self.outcome.done[rest[0]] += 1
            elif what == "code":
                self.outcome.codes[rest[0]] += 1
                if rest[0] not in EXPECTED:
                    self.outcome.unexpected.append(rest[0])
            elif what == "gone":
                key, epoch, idx, begin = rest
                trimmed = any(k == key and through >= idx and end > begin
                              for k, _, through, end in trims)
                if not trimmed and self.newest[key] == epoch:
                    self.outcome.below.append((key, epoch, idx))
        self.outcome.twice = self.connection.execute(
            "SELECT key, idx::text FROM fence.oplog_entries GROUP BY 1, 2 HAVING count(*) > 1"
            " UNION ALL SELECT key, name FROM fence.fenced_values GROUP BY 1, 2"
            " HAVING count(*) > 1").fetchall()
        self.outcome.verified = self.connection.execute(
            "SELECT * FROM fence.fence_verify() WHERE severity = 'error'").fetchall()
