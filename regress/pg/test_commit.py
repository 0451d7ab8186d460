"""What a commit refuses, and what it does beside that: of a transaction that lost its key
between its last append and COMMIT nothing is kept, here or elsewhere."""
import itertools
import random
import threading
import time
from collections import Counter

import psycopg
import pytest
from pgserver import Server
from scene import Background, Scene, code_of, evict, owner, repeat_until, wait_until


# ---- savepoints ------------------------------------------------------------------------

class Savepoints:
    """A transaction of appends and savepoints at random, and what of it should be left."""

    def __init__(self, scene, keys, chance):
        self.scene, self.keys, self.chance = scene, keys, chance
        self.levels = [set()]  # the keys written since each savepoint
        self.idx = 0
        self.said = []

    def run(self, connection):
        steps = [self.append, self.append, self.caught, self.savepoint, self.end, self.end]
        for _ in range(self.chance.randint(1, 14)):
            if sql := self.chance.choice(steps)():
                self.said.append(sql)
                connection.execute(sql)

    def written(self):
        return set().union(*self.levels)

    def call(self):
        key = self.chance.choice(self.keys)
        self.idx += 1
        return key, f"fence.fenced_append('n', '{key}', 1, '{owner(1)}', {self.idx}, 'p')"

    def append(self):
        key, call = self.call()
        self.levels[-1].add(key)
        return "SELECT " + call

    def caught(self):
        return (f"DO $$ BEGIN PERFORM {self.call()[1]}; PERFORM 1 / 0;"
                " EXCEPTION WHEN division_by_zero THEN NULL; END $$")

    def savepoint(self):
        self.levels.append(set())
        return f"SAVEPOINT s{len(self.levels) - 1}"

    def end(self):
        if len(self.levels) == 1:
            return None
        level = self.chance.randint(1, len(self.levels) - 1)
        gone, self.levels = self.levels[level:], self.levels[:level]
        if self.chance.random() < 0.5:
            self.levels[-1] |= set().union(*gone)
            return f"RELEASE s{level}"
        self.levels.append(set())
        return f"ROLLBACK TO s{level}"


def test_commit_is_refused_exactly_for_what_savepoints_have_left(scene):  # P5
    writer = scene.connect()
    chance = random.Random(1)
    for turn in range(150):
        keys = [f"{scene.key}-{turn}-{i}" for i in range(3)]
        for key in keys:
            scene.claim(1, key=key)
        writer.execute("BEGIN")
        savepoints = Savepoints(scene, keys, chance)
        savepoints.run(writer)
        taken = chance.choice(keys)
        scene.claim(2, key=taken)
        commit = Background(writer.execute, "COMMIT")
        commit.get()
        assert code_of(commit.error) == ("ZF001" if taken in savepoints.written() else None), \
            savepoints.said


def test_cancel_while_the_refusal_is_logged_does_not_undo_it(scene):
    """The last argument cancels this very statement: the server sees to that when next it looks,
    which it does after each line of its log."""
    scene.claim(1)
    scene.claim(2)
    writer = scene.connect()
    assert Background(writer.execute, scene.append_sql(1, 6)).get() == "ZF001"  # all is loaded now
    writer.execute("BEGIN; SAVEPOINT s")
    cancel = "pg_cancel_backend(pg_backend_pid())::text::bytea"
    assert Background(writer.execute, scene.append_sql(1, 6, cancel)).get() == "57014"
    writer.execute("ROLLBACK TO s")
    assert Background(writer.execute, "COMMIT").get() == "ZF009"


# ---- other servers ---------------------------------------------------------------------

@pytest.fixture(scope="module")
def foreign(server):
    """A table of another database, as a foreign table here; and a session there."""
    if server.sql("SELECT count(*) FROM pg_database WHERE datname = 'other'") == "0":
        server.sql("CREATE DATABASE other")
        server.sql("CREATE TABLE far (a int)", database="other")
        server.sql(f"""CREATE EXTENSION postgres_fdw;
            CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'other',
              host '{server.folder}', port '{server.variables()["PGPORT"]}');
            CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user 'postgres');
            CREATE FOREIGN TABLE far (a int) SERVER other""")
    with psycopg.connect(server.dsn(dbname="other"), autocommit=True) as there:
        there.execute("TRUNCATE far")
        yield there


@pytest.mark.parametrize("order", [["append", "far"], ["far", "append"],
                                   ["far", "commit", "append", "far"],
                                   ["append", "commit", "far", "append"],
                                   ["append", "savepoint", "far", "append"]])
def test_foreign_row_beside_a_stale_append_is_not_there(scene, foreign, order):  # M12, P61
    scene.claim(1)
    foreign.execute("TRUNCATE far")
    writer = scene.connect()
    steps = {"append": scene.append_sql(1, 6), "far": "INSERT INTO far VALUES (1)",
             "savepoint": "SAVEPOINT s", "commit": "COMMIT; BEGIN"}
    writer.execute("BEGIN")
    for step in order:
        writer.execute(steps[step])
    committed = 1 if "commit" in order and "far" in order[:order.index("commit")] else 0
    scene.without_waiting(scene.claim, 2)
    with pytest.raises(psycopg.Error) as refused:
        writer.execute("COMMIT")
    assert code_of(refused.value) == "ZF001"
    assert foreign.execute("SELECT count(*) FROM far").fetchone()[0] == committed


@pytest.mark.parametrize("how", ["COPY far FROM STDIN", "TRUNCATE far", "SELECT add_far()",
                                 "INSERT INTO parts VALUES (1)", "INSERT INTO later VALUES (1)"])
def test_other_ways_to_a_foreign_table_likewise(scene, foreign, how):
    """Each as the first use of the foreign server in its session, after the append."""
    scene.claim(1)
    foreign.execute("TRUNCATE far; INSERT INTO far VALUES (7)")
    scene.observer.execute("""
        CREATE OR REPLACE FUNCTION add_far() RETURNS void LANGUAGE plpgsql
          AS $$ BEGIN INSERT INTO far VALUES (1); END $$;
        CREATE OR REPLACE FUNCTION add_far_later() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN INSERT INTO far VALUES (1); RETURN NULL; END $$;
        DROP TABLE IF EXISTS parts, later;
        CREATE TABLE parts (a int) PARTITION BY LIST (a);
        CREATE FOREIGN TABLE part PARTITION OF parts FOR VALUES IN (1) SERVER other
          OPTIONS (table_name 'far');
        CREATE TABLE later (a int);
        CREATE CONSTRAINT TRIGGER later AFTER INSERT ON later DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION add_far_later()""")
    writer = scene.connect()
    writer.execute("BEGIN")
    scene.append(1, 6, by=writer)
    if how.startswith("COPY"):
        with writer.cursor().copy(how) as copy:
            copy.write("1\n")
    else:
        writer.execute(how)
    scene.claim(2)
    with pytest.raises(psycopg.Error) as refused:
        writer.execute("COMMIT")
    assert code_of(refused.value) == "ZF001"
    assert foreign.execute("SELECT a FROM far").fetchall() == [(7,)]


@pytest.fixture
def stalling():
    """A server whose commits wait for a standby once stall() was called."""
    with Server() as server:
        scene = Scene(server)
        scene.stall = lambda: server.conf(synchronous_standby_names="nobody")
        scene.go_on = lambda: server.conf(synchronous_standby_names=None)
        yield scene
        scene.close()


@pytest.mark.parametrize("form", ["block", "alone"])
def test_claim_waits_for_a_commit_that_may_be_durable(stalling, form):
    scene = stalling
    scene.claim(1)
    writer, claimant, evictor = scene.connect(), scene.connect(), scene.connect()
    commits, claims = writer.info.backend_pid, claimant.info.backend_pid
    if form == "block":
        writer.execute("BEGIN")
        scene.append(1, 6, by=writer)
    scene.stall()
    commit = Background(writer.execute, "COMMIT" if form == "block" else scene.append_sql(1, 6))
    wait_until(lambda: scene.ask("SELECT wait_event FROM pg_stat_activity WHERE pid = %s",
                                 commits) == "SyncRep")
    assert scene.key_locks(commits) == \
        (["AccessShareLock", "ShareLock"] if form == "block" else ["ShareLock"])

    def claim():
        waiting = Background(scene.claim, 2, None, claimant)
        wait_until(lambda: (claims, "advisory", "ExclusiveLock") in scene.waiting())
        return waiting
    waiting = claim()
    # Not to be ended by anybody, and nothing is decided yet.
    evictor.execute("SET fence.evict_after = '100ms'")
    assert evict(scene, 1, evictor) == 0
    assert not commit.done()
    assert not waiting.done()
    scene.observer.execute(f"SELECT pg_cancel_backend({claims})")
    assert waiting.get() == "57014"
    assert scene.log() == []

    waiting = claim()
    scene.observer.execute(f"SELECT pg_cancel_backend({commits})")  # it keeps what it has
    assert code_of(commit.get()) is None
    assert scene.log() == [(6, 1, "p")]
    wait_until(lambda: scene.key_locks(claims) == ["ExclusiveLock"])
    assert not waiting.done()  # not durable itself
    scene.go_on()
    assert waiting.get() == 6


# ---- many at once ----------------------------------------------------------------------

def test_cursor_that_the_commit_runs_holds_up_no_claim(scene):
    """A function in the arguments has declared it WITH HOLD: the call is not all that is left to
    do, so the claim passes, and the commit that comes after it is refused."""
    scene.observer.execute("""
        CREATE OR REPLACE FUNCTION hold_a_cursor() RETURNS bytea LANGUAGE plpgsql AS $$
        BEGIN
          EXECUTE 'DECLARE held CURSOR WITH HOLD FOR SELECT pg_advisory_xact_lock(4711)';
          RETURN 'x';
        END $$""")
    scene.ask("SELECT fence.oplog_metadata_upsert('n', %s, 1, %s)", scene.key, owner(1))
    gate = scene.connect()
    gate.execute("SELECT pg_advisory_lock(4711)")
    zombie = scene.connect()
    append = Background(lambda: scene.ask(
        "SELECT fence.fenced_append('n', %s, 1, %s, 1, hold_a_cursor())", scene.key, owner(1),
        by=zombie))
    wait_until(scene.waiting)
    assert scene.without_waiting(scene.claim, 2, by=scene.connect(),
                                 besides=[zombie.info.backend_pid]) is None
    assert not append.done()
    gate.execute("SELECT pg_advisory_unlock(4711)")
    assert append.get() == "ZF001"


def test_commits_in_opposite_order_beside_claims_do_not_deadlock(scene):  # M22
    keys = [scene.key + "a", scene.key + "b"]
    current, codes, stop = [0], Counter(), threading.Event()
    numbers = itertools.count(1)

    def claim_both(connection, order):
        epoch = current[0] + 1
        claims = ", ".join(f"jsonb_build_object('key', '{keys[i]}', 'epoch', {epoch})" for i in order)
        try:
            connection.execute("SELECT fence.oplog_metadata_upsert_many('n', jsonb_build_array("
                               f"{claims}), '{owner(epoch)}')")
            current[0] = max(current[0], epoch)
        except psycopg.Error as error:
            codes[error.sqlstate] += 1
        time.sleep(0.005)

    def write_both(connection, order):
        epoch, idx = current[0], next(numbers)
        try:
            connection.execute("BEGIN")
            for i in order:
                scene.append(epoch, idx, key=keys[i], by=connection)
            connection.execute("COMMIT")
            codes["committed"] += 1
        except psycopg.Error as error:
            codes[error.sqlstate] += 1
            connection.execute("ROLLBACK")

    claim_both(scene.observer, (0, 1))
    work = [(write_both, (0, 1)), (write_both, (1, 0)), (claim_both, (0, 1)), (claim_both, (1, 0))]
    threads = [threading.Thread(target=repeat_until, args=(
        stop, lambda f=f, c=scene.connect(), o=o: f(c, o))) for f, o in work]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: codes["committed"] > 1000 and codes["ZF001"] > 10 and current[0] > 300, 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    print(f"{current[0]} claims of both, {codes}")
    assert not any(thread.is_alive() for thread in threads)
    assert set(codes) <= {"committed", "ZF001", "ZF009"}
