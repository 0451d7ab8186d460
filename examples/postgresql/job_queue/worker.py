#!/usr/bin/python3
"""Runs the shell commands of table job, one after the other, and stores what became of them.

    worker.py [--lease SECONDS] CONNINFO

Any number of workers may run. One that is paused for longer than its lease is taken for dead,
and its job is given to another. When it wakes up it goes on as if nothing had happened: then
all that it stores is refused, and it takes another job.
"""
import argparse
import os
import subprocess
import time
import uuid
from datetime import timedelta

import psycopg

# One statement in autocommit: it chooses a job, counts the attempt and begins its lease. The
# clock is the database's; machines need not agree on the time.
TAKE = """
    UPDATE job SET attempt = attempt + 1, taken_until = clock_timestamp() + %s
    WHERE id = (SELECT id FROM job
                WHERE taken_until < clock_timestamp() AND NOT EXISTS (
                  SELECT FROM job_outcome AS o
                  WHERE o.job_id = job.id AND (o.state = 'done' OR o.attempt >= 3))
                ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING id, attempt, command"""
EXTEND = "UPDATE job SET taken_until = clock_timestamp() + %s WHERE id = %s AND attempt = %s"
IS_DONE = "SELECT FROM job_outcome WHERE job_id = %s AND state = 'done'"
FINISH = """
    INSERT INTO job_outcome(job_id, attempt, state, output) VALUES (%s, %s, %s, %s)
    ON CONFLICT (job_id) DO UPDATE SET attempt = excluded.attempt, state = excluded.state,
      output = excluded.output, since = clock_timestamp()"""

CLAIM = "SELECT fence.oplog_metadata_upsert(%s, %s, %s, %s)"
EVICT = "SELECT fence.fence_evict(%s, %s, %s, %s)"
CHECK = "SELECT fence.fence_check(%s, %s, %s, %s)"
ASSERT = "SELECT fence.fence_assert(%s, %s, %s, %s)"

PAUSE = 0.1  # seconds between two looks at an empty queue

# Somebody else owns the job, or the database is a copy (ZF007). Other refusals are mistakes of the program or of its set-up.
LOST = {"ZF001", "ZF002", "ZF003", "ZF004", "ZF007", "ZF009"}
RETRIED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected,
           psycopg.errors.LockNotAvailable)


def say(*what):
    print(*what, flush=True)


class Attempt:
    """One attempt at one job. A refusal ends it for good: a new one has another number."""

    def __init__(self, conn, job, number, lease):
        self.conn, self.job, self.number, self.lease = conn, job, number, lease
        # The writer is made for this attempt, not for the worker: under a name that stays, a
        # worker that lost its job and took it again could not be told from its former self.
        self.me = ("jobs", str(job), number, str(uuid.uuid4()))

    def own(self):
        """Before anything else, and in autocommit: a claim is a transaction of its own, so that
        no open transaction holds up whoever comes next."""
        self.conn.execute(CLAIM, self.me)
        # An attempt before this one may be frozen inside a transaction and hold the lock on the
        # row of the outcome. It could not commit any more; this ends it.
        self.conn.execute(EVICT, self.me)

    def is_done(self):
        """Asked after the claim. TAKE saw the job unfinished, but the attempt before this one
        was free to finish it until the claim; since then nobody else is."""
        return self.conn.execute(IS_DONE, [self.job]).fetchone() is not None

    def write(self, sql, *values):
        """The fenced part: say who is writing, write, commit. COMMIT asks once more whether the
        job is still ours, so it can be refused as well."""
        for left in (2, 1, 0):
            try:
                with self.conn.transaction():
                    self.conn.execute(ASSERT, self.me)
                    self.conn.execute(sql, values)
                return
            except RETRIED:  # PostgreSQL's own, and no refusal
                if not left:
                    raise

    def keep(self):
        """Extends the lease, or raises where the job is somebody else's. In autocommit: frozen in
        a transaction that has written to the row of the job, it would keep everybody from taking
        it. "The job is running" alone would be true of another attempt's lease, too."""
        self.conn.execute(CHECK, self.me)
        self.conn.execute(EXTEND, [self.lease, self.job, self.number])

    def finish(self, state, output):
        self.write(FINISH, self.job, self.number, state, output)


def run(command, attempt):
    """The work itself: no transaction is open meanwhile, however long it takes."""
    process = subprocess.Popen(command, shell=True, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env={**os.environ, "JOB_ATTEMPT": str(attempt.number)})
    try:
        while True:
            try:
                output, _ = process.communicate(timeout=attempt.lease.total_seconds() / 3)
                return "failed" if process.returncode else "done", output
            except subprocess.TimeoutExpired:
                attempt.keep()  # a refusal ends the command, too
    finally:
        process.kill()


def work(attempt, command):
    try:
        attempt.own()
        if not attempt.is_done():
            state, output = run(command, attempt)
            attempt.finish(state, output)
            say(f"job {attempt.job}: attempt {attempt.number} is {state}")
    except psycopg.DatabaseError as error:
        if error.sqlstate not in LOST:
            raise
        # Never the same again under this number, nor under a higher one that was not given by
        # the queue: whoever has the job now would lose it.
        say(f"job {attempt.job}: attempt {attempt.number} is over:",
            error.sqlstate, error.diag.message_primary)


def serve(conn, lease):
    while True:
        job = conn.execute(TAKE, [lease]).fetchone()
        if job is None:
            time.sleep(PAUSE)
        else:
            number, attempt, command = job
            work(Attempt(conn, number, attempt, lease), command)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lease", type=float, default=30)
    parser.add_argument("conninfo")
    options = parser.parse_args()
    while True:
        try:
            with psycopg.connect(options.conninfo, autocommit=True) as conn:
                serve(conn, timedelta(seconds=options.lease))
        except psycopg.OperationalError as error:
            # A lost connection. Whether the last commit was stored nobody knows here: the lease
            # runs out, and the next attempt looks.
            say("connecting again:", error.sqlstate or "connection lost")
            time.sleep(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
