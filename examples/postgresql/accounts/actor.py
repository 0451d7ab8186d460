#!/usr/bin/python3
"""Owns accounts and books their transfers, from memory.

    actor.py CONNINFO ACCOUNT...

Something outside decides which process has which accounts, and starts another one for the
accounts of one that seems dead. If that one was only paused it wakes up with balances that are
not true any more: it is refused, whatever it was about to write, and ends with exit status 3.
"""
import sys
import time
import uuid

import psycopg
from psycopg.types.json import Jsonb

# One epoch for all accounts of the actor: one assertion then names them all.
NEXT_EPOCH = """
    SELECT 1 + greatest(0,
        (SELECT max(epoch) FROM fence.oplog_status WHERE namespace = 'accounts' AND key = ANY(%s)),
        (SELECT floor FROM fence.fence_namespaces WHERE namespace = 'accounts'))"""
LOAD = "SELECT id, balance FROM account WHERE id = ANY(%s)"
REQUESTS = """
    SELECT id, sender, receiver, amount FROM request AS r WHERE sender = ANY(%s)
      AND NOT EXISTS (SELECT FROM transfer WHERE request = r.id) ORDER BY id LIMIT 100"""
MESSAGES = """
    SELECT request, receiver, amount FROM transfer AS t WHERE accepted AND receiver = ANY(%s)
      AND NOT EXISTS (SELECT FROM arrival WHERE request = t.request) ORDER BY request LIMIT 100"""
SET_BALANCE = "UPDATE account SET balance = %s WHERE id = %s"
BOOK = "INSERT INTO transfer VALUES (%s, %s, %s, %s, %s)"
ARRIVE = "INSERT INTO arrival VALUES (%s, %s)"

PAUSE = 0.1  # seconds between two looks for work

CLAIM_MANY = "SELECT fence.oplog_metadata_upsert_many('accounts', %s, %s)"
EVICT = "SELECT fence.fence_evict('accounts', %s, %s, %s)"
ASSERT_MANY = "SELECT fence.fence_assert_many('accounts', %s, %s, %s)"

RETRIED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected,
           psycopg.errors.LockNotAvailable)


class Actor:
    """Owns its accounts under one epoch. After a refusal it is of no use: its balances may
    be wrong."""

    def __init__(self, conn, accounts):
        self.conn, self.accounts = conn, accounts
        self.writer = str(uuid.uuid4())
        (self.epoch,) = conn.execute(NEXT_EPOCH, [accounts]).fetchone()
        # First the claim, alone in its transaction: all accounts, or none where another actor
        # was faster.
        claims = [{"key": account, "epoch": self.epoch} for account in accounts]
        conn.execute(CLAIM_MANY, [Jsonb(claims), self.writer])
        # Then an end to what an earlier owner, frozen inside a transaction, still has locked.
        for account in accounts:
            conn.execute(EVICT, [account, self.epoch, self.writer])
        # Then read. From the claim on nobody else can change these rows, so what was read stays
        # true for as long as the epoch is ours: and that is asked at each write.
        self.balances = dict(conn.execute(LOAD, [accounts]).fetchall())

    def write(self, balances, *statements):
        """The fenced part. balances: what becomes of those that change. In memory they change
        behind the commit."""
        for left in (2, 1, 0):
            try:
                with self.conn.transaction():
                    self.conn.execute(ASSERT_MANY, [Jsonb(self.accounts), self.epoch, self.writer])
                    for account, balance in balances.items():
                        self.conn.execute(SET_BALANCE, [balance, account])
                    for sql, values in statements:
                        self.conn.execute(sql, values)
                break
            except RETRIED:  # PostgreSQL's own, and no refusal
                if not left:
                    raise
        self.balances.update(balances)

    def transfer(self, request, sender, receiver, amount):
        accepted = amount <= self.balances[sender]
        balances, statements = {}, [(BOOK, [request, sender, receiver, amount, accepted])]
        if accepted:
            balances[sender] = self.balances[sender] - amount
            if receiver in self.balances:
                # Both are ours: one transaction moves the money, under both keys.
                balances[receiver] = self.balances[receiver] + amount
                statements.append((ARRIVE, [request, receiver]))
            # Else the row of transfer is the message: the receiver's owner finds it.
        self.write(balances, *statements)

    def receive(self, request, receiver, amount):
        self.write({receiver: self.balances[receiver] + amount}, (ARRIVE, [request, receiver]))

    def run(self):
        while True:
            requests = self.conn.execute(REQUESTS, [self.accounts]).fetchall()
            for request in requests:
                self.transfer(*request)
            messages = self.conn.execute(MESSAGES, [self.accounts]).fetchall()
            for message in messages:
                self.receive(*message)
            if not requests and not messages:
                time.sleep(PAUSE)


def main():
    conninfo, *accounts = sys.argv[1:]
    try:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            actor = Actor(conn, accounts)
            print("owns", *accounts, "at epoch", actor.epoch, flush=True)
            actor.run()
    except psycopg.OperationalError as error:
        # A lost connection: whether the last commit was stored is not known here. A new actor
        # reads what is true.
        print("connection lost:", error.sqlstate, flush=True)
        sys.exit(1)
    except psycopg.DatabaseError as error:
        if not (error.sqlstate or "").startswith("ZF"):
            raise
        # Not again by this process, at no epoch: who should own the accounts is decided elsewhere.
        print("stopped:", error.sqlstate, error.diag.message_primary, flush=True)
        sys.exit(3)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
