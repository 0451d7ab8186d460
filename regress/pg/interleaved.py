"""Sessions that interleave at random, and what must be committed after each step: all that was
acknowledged, and nothing that was refused, undone or never committed.

The model knows what is committed, and of each session what it has done since its BEGIN. It
does not foresee refusals (that is for regress/differential): a call that succeeded has its
effect, one that failed has none.
"""
import random
from typing import NamedTuple, Optional

import psycopg

KEYS = "abc"
NAMES = "xy"
WRITERS = [f"00000000-0000-0000-0000-{i:012d}" for i in range(1, 5)]
# Nobody may wait for long: the others stand still meanwhile.
SETTINGS = ("SET fence.commit_wait = 30", "SET lock_timeout = 50", "SET statement_timeout = 2000",
            "SET fence.evict_after = 3600000")
EXPECTED = {"ZF001", "ZF002", "ZF003", "ZF004", "ZF009", "ZF010", "ZF012", "ZF013",
            "55P03", "40001", "40P01", "57014", "25P02"}


class Key(NamedTuple):
    """Nothing in it is ever changed, only replaced."""
    epoch: int = -1
    writer: Optional[str] = None
    lives: bool = False
    entries: dict = {}  # idx: (epoch or None, payload)
    trimmed: int = -1
    values: dict = {}   # name: (epoch or None, value)

    def last(self):
        return max([self.trimmed, *self.entries]) if self.lives else -1

    def content(self):
        return (sorted(self.entries.items()), sorted(self.values.items())) if self.lives else ([], [])

    # ---- what a call that succeeded does; the answer tells whether it changed anything

    def append(self, epoch, idx, payload):
        return self._replace(lives=True, entries={idx: (epoch, payload), **self.entries})

    def trim(self, through):
        trimmed = max(self.trimmed, min(through, self.last()))
        kept = {idx: entry for idx, entry in self.entries.items() if idx > trimmed}
        return self._replace(trimmed=trimmed, entries=kept)

    def put(self, name, epoch, value):
        return self._replace(lives=True, values={**self.values, name: (epoch, value)})

    def remove(self, name):
        return self._replace(values={k: v for k, v in self.values.items() if k != name})

    def ended(self):
        return Key(self.epoch, self.writer)


class Session:
    def __init__(self, connection):
        self.connection = connection
        for setting in SETTINGS:
            connection.execute(setting)
        self.owner = dict.fromkeys(KEYS, (0, WRITERS[0]))
        self.leave()

    def leave(self):
        self.in_block, self.done, self.savepoints = False, [], []


class Failed(Exception):
    """The call failed, as it may: its code."""


class Run:
    """connect(): a connection in autocommit; features: of unfenced, identical, reset, purge."""

    def __init__(self, connect, seed, features):
        self.random = random.Random(seed)
        self.features = features
        self.namespace = f"interleaved {seed} {' '.join(features)}"
        self.administrator = Session(connect()).connection
        self.sessions = [Session(connect()) for _ in range(4)]
        self.keys = dict.fromkeys(KEYS, Key())
        self.said = []
        self.number = 0
        self.call(self.administrator, "fence_namespace_set",
                  "optional" if "unfenced" in features else "required", "identical" in features)

    # ---- calls ---------------------------------------------------------------------

    def execute(self, connection, sql, values=()):
        self.said.append(f"{connection.info.backend_pid}: {sql} {values}")
        try:
            cursor = connection.execute(sql, values)
            return cursor.fetchone()[0] if cursor.description else cursor.statusmessage
        except psycopg.Error as error:
            assert error.sqlstate in EXPECTED, f"{error.sqlstate}: {error}"
            self.said.append(f"  {error.sqlstate}")
            raise Failed(error.sqlstate) from error

    def call(self, connection, function, *values):
        marks = ", ".join(["%s"] * (len(values) + 1))
        return self.execute(connection, f"SELECT fence.{function}({marks})",
                            (self.namespace, *values))

    def write(self, session, effect, function, key, *values):
        """effect(view, answer): the key after the call, in the eyes of who made it."""
        epoch, writer = session.owner[key]
        if "unfenced" in self.features and self.random.random() < 0.15:
            epoch = writer = None
        answer = self.call(session.connection, function, key, epoch, writer, *values)
        view = self.keys[key]
        for of_key, earlier in session.done:
            view = earlier(view) if of_key == key else view
        if effect(view, epoch, answer) != view:
            session.done.append((key, lambda now: effect(now, epoch, answer)))
        if not session.in_block:
            self.commit_done(session)

    def commit_done(self, session):
        for key, effect in session.done:
            self.keys[key] = effect(self.keys[key])
        session.leave()

    # ---- steps: in a block or alone ------------------------------------------------------

    def append(self, session, key):
        self.number += 1
        payload = self.random.choice([b"same", b"p%d" % self.number])
        idx = self.random.randint(0, 12)
        self.write(session, lambda now, epoch, _: now if idx in now.entries
                   else now.append(epoch, idx, payload), "fenced_append", key, idx, payload)

    def trim(self, session, key):
        through = self.random.randint(0, 12)
        self.write(session, lambda now, *_: now.trim(through), "fenced_drop_prefix", key, through)

    def put(self, session, key):
        self.number += 1
        name, value = self.random.choice(NAMES), b"v%d" % self.number
        self.write(session, lambda now, epoch, _: now.put(name, epoch, value),
                   "fenced_put", key, name, value)

    def remove(self, session, key):
        name = self.random.choice(NAMES)
        self.write(session, lambda now, *_: now.remove(name), "fenced_remove", key, name)

    # ---- of a block ----------------------------------------------------------------------

    def begin(self, session, _):
        level = self.random.choice(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
        self.execute(session.connection, f"BEGIN ISOLATION LEVEL {level}")
        session.in_block = True

    def commit(self, session, _):
        try:
            kept = self.execute(session.connection, "COMMIT") == "COMMIT"
        except Failed:
            kept = False
        self.commit_done(session) if kept else session.leave()

    def rollback(self, session, _):
        self.execute(session.connection, "ROLLBACK")
        session.leave()

    def savepoint(self, session, _):
        self.execute(session.connection, f"SAVEPOINT s{len(session.savepoints)}")
        session.savepoints.append(len(session.done))

    def undo(self, session, _):
        if session.savepoints:
            level = self.random.randrange(len(session.savepoints))
            self.execute(session.connection, f"ROLLBACK TO s{level}")
            del session.done[session.savepoints[level]:]
            del session.savepoints[level + 1:]

    # ---- transactions of their own -------------------------------------------------------

    def claim(self, session, key):
        now = self.keys[key]
        epoch = max(0, now.epoch + self.random.choice([-1, 0, 1, 1, 2]))
        writer = self.random.choice(WRITERS)
        last = self.call(session.connection, "oplog_metadata_upsert", key, epoch, writer)
        assert last == (now.last() if now.last() >= 0 else None)
        begun = now if now.lives else now.ended()
        self.keys[key] = begun._replace(epoch=epoch, writer=writer, lives=True)
        for owner in [session, *self.random.sample(self.sessions, 2)]:
            owner.owner[key] = (epoch, writer)

    def delete(self, session, key):
        self.call(session.connection, "fenced_delete", key, *session.owner[key])
        self.keys[key] = self.keys[key].ended()

    def publish(self, session, key):
        staged = self.random.choice([one for one in KEYS if one != key])
        epoch, writer = session.owner[key]
        if self.call(session.connection, "fenced_publish", key, epoch, writer, self.namespace,
                     staged, self.random.randint(1, 3)) and self.keys[staged].lives:
            entries = {i: (epoch, payload) for i, (_, payload) in self.keys[staged].entries.items()}
            self.keys[key] = self.keys[key]._replace(entries=entries)
            self.keys[staged] = self.keys[staged].ended()

    def reset(self, _, key):
        now = self.keys[key]
        epoch = max(0, now.epoch - self.random.randint(1, 2))
        self.call(self.administrator, "fence_reset", key, epoch)
        self.keys[key] = now._replace(epoch=epoch, writer=None)

    def purge(self, *_):
        self.call(self.administrator, "fence_purge", 0)

    # ---- the run -------------------------------------------------------------------------

    def choose(self, session):
        steps = [self.append] * 7 + [self.trim] * 2 + [self.put] * 3 + [self.remove] * 2
        if session.in_block:
            steps += [self.commit] * 4 + [self.rollback, self.savepoint, self.undo]
        else:
            steps += [self.begin] * 5 + [self.claim] * 4 + [self.delete] * 2 + [self.publish]
            steps += [self.reset] * ("reset" in self.features)
            steps += [self.purge] * ("purge" in self.features)
        return self.random.choice(steps)

    def step(self):
        session = self.random.choice(self.sessions)
        try:
            self.choose(session)(session, self.random.choice(KEYS))
        except Failed:
            if session.in_block:
                self.rollback(session, None)
        assert self.committed() == {key: now.content() for key, now in self.keys.items()}

    def committed(self):
        """As the model has it: what everybody can read now."""
        content = {key: ([], []) for key in KEYS}
        for key, idx, epoch, payload in self.administrator.execute(
                "SELECT key, idx, epoch, payload FROM fence.oplog_entries WHERE namespace = %s"
                " ORDER BY idx", [self.namespace]):
            content[key][0].append((idx, (epoch, payload)))
        for key, name, epoch, value in self.administrator.execute(
                "SELECT key, name, epoch, value FROM fence.fenced_values WHERE namespace = %s"
                " ORDER BY name", [self.namespace]):
            content[key][1].append((name, (epoch, value)))
        return content

    def go(self, steps):
        try:
            for _ in range(steps):
                self.step()
            found = self.administrator.execute(
                "SELECT * FROM fence.fence_verify(%s) WHERE severity = 'error'", [self.namespace])
            assert found.fetchall() == []
        except AssertionError:
            print("\n".join(self.said[-60:]))
            raise
