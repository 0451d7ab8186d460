"""What the COMMIT of a transaction that lost its key refuses of protected tables, and beside them;
and that in any order of claims and commits each row has been its owner's."""
import random
import threading
import time
from collections import Counter

import psycopg
import pytest
from protected import assert_sql, make_table, rows, update_sql, write
from scene import Background, code_of, repeat_until, wait_until

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


@pytest.fixture(autouse=True)
def table(server):
    make_table(server)


# ---- other servers ---------------------------------------------------------------------

@pytest.fixture(scope="module")
def foreign(server):
    """A table of another database, as a foreign table here; and a session there."""
    server.sql("CREATE DATABASE protect_other")
    server.sql("CREATE TABLE far_row (a int)", database="protect_other")
    server.sql(f"""CREATE EXTENSION IF NOT EXISTS postgres_fdw;
        CREATE SERVER protect_other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'protect_other',
          host '{server.folder}', port '{server.variables()["PGPORT"]}');
        CREATE USER MAPPING FOR CURRENT_USER SERVER protect_other OPTIONS (user 'postgres');
        CREATE FOREIGN TABLE far_row (a int) SERVER protect_other""")
    with psycopg.connect(server.dsn(dbname="protect_other"), autocommit=True) as there:
        yield there
    server.sql("DROP SERVER protect_other CASCADE")


@pytest.mark.parametrize("order", [["assert", "write", "far"], ["far", "assert", "write"],
                                   ["assert", "far", "write"], ["assert", "far"],
                                   ["savepoint", "assert", "write", "back", "far", "assert", "write"]])
def test_foreign_row_beside_a_stale_assertion_is_not_there(scene, foreign, order):  # P61, M12
    foreign.execute("TRUNCATE far_row")
    scene.claim(1)
    write(scene, 1, "old")
    writer = scene.connect()
    steps = {"assert": assert_sql(scene, 1), "write": update_sql(scene, "late"),
             "far": "INSERT INTO far_row VALUES (1)", "savepoint": "SAVEPOINT s", "back": "ROLLBACK TO s"}
    writer.execute("BEGIN")
    for step in order:
        writer.execute(steps[step])
    scene.without_waiting(scene.claim, 2)
    with pytest.raises(psycopg.Error) as refused:
        writer.execute("COMMIT")
    assert code_of(refused.value) == "ZF001"
    assert foreign.execute("SELECT count(*) FROM far_row").fetchone()[0] == 0
    assert rows(scene) == [(1, "old")]


@pytest.mark.parametrize("order", [["far", "write"], ["write", "far"]])
def test_foreign_row_beside_a_row_without_assertion_is_not_there(scene, foreign, order):  # P14
    foreign.execute("TRUNCATE far_row")
    scene.claim(1)
    write(scene, 1, "old")
    writer = scene.connect()
    steps = {"write": update_sql(scene, "late"), "far": "INSERT INTO far_row VALUES (1)"}
    writer.execute("BEGIN")
    with pytest.raises(psycopg.Error) as refused:
        for step in order:
            writer.execute(steps[step])
    assert code_of(refused.value) == "ZF005"
    writer.execute("COMMIT")
    assert foreign.execute("SELECT count(*) FROM far_row").fetchone()[0] == 0
    assert rows(scene) == [(1, "old")]


# ---- old snapshots ---------------------------------------------------------------------

@pytest.mark.parametrize("level", LEVELS[1:])
def test_imported_snapshot_makes_no_stale_assertion_good(scene, level):  # P4
    scene.claim(1)
    write(scene, 1, "old")
    exporter, late = scene.connect(), scene.connect()
    exporter.execute(f"BEGIN ISOLATION LEVEL {level}")
    snapshot = scene.ask("SELECT pg_export_snapshot()", by=exporter)
    scene.claim(2)
    late.execute(f"BEGIN ISOLATION LEVEL {level}")
    late.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
    epoch = "SELECT epoch FROM fence.oplog_metadata WHERE key = %s"
    assert scene.ask(epoch, scene.key, by=late) == 1  # so it looks to the zombie
    assert Background(late.execute, assert_sql(scene, 1)).get() == "ZF001"
    late.execute("ROLLBACK")
    assert rows(scene) == [(1, "old")]


# ---- pipelines -------------------------------------------------------------------------

def test_pipeline_asserts_inside_BEGIN_only(scene):
    """Without one nobody can tell at the assertion that anything follows; nothing of it is kept."""
    scene.claim(1)
    write(scene, 1, "old")
    sender = scene.connect()

    def send(*statements):
        with sender.pipeline():
            for statement in statements:
                sender.execute(statement)

    assert Background(send, assert_sql(scene, 1), update_sql(scene, "outside")).get() == "ZF012"
    assert rows(scene) == [(1, "old")]
    send("BEGIN", assert_sql(scene, 1), update_sql(scene, "inside"), "COMMIT")
    assert rows(scene) == [(1, "inside")]
    scene.claim(2)
    late = ["BEGIN", assert_sql(scene, 1), update_sql(scene, "late"), "COMMIT"]
    assert Background(send, *late).get() == "ZF001"
    assert rows(scene) == [(1, "inside")]


# ---- savepoints ------------------------------------------------------------------------

class Savepoints:
    """A transaction of assertions, writes and savepoints at random, and what of it should be left."""

    def __init__(self, scene, parts, chance):
        self.scene, self.chance = scene, chance
        self.keys = [f"{scene.key}-{part}" for part in range(parts)]
        self.levels = [{}]  # since each savepoint: {key: the value that was written, or None}
        self.said = []

    def held(self):
        return {key for level in self.levels for key in level}

    def left(self):
        found = {}
        for level in self.levels:
            for key, value in level.items():
                found[key] = value or found.get(key)
        return found

    def run(self, connection):
        steps = [self.claims, self.writes, self.writes, self.savepoint, self.end, self.end]
        for number in range(self.chance.randint(1, 16)):
            self.chance.choice(steps)(connection, str(number))

    def execute(self, connection, sql):
        self.said.append(sql)
        return Background(connection.execute, sql).get()

    def claims(self, connection, _):
        key = self.chance.choice(self.keys)
        assert not isinstance(self.execute(connection, assert_sql(self.scene, 1, key)), str), self.said
        self.levels[-1].setdefault(key, None)

    def writes(self, connection, value):
        """In a savepoint of its own, which goes where the key is not asserted."""
        key = self.chance.choice(self.keys)
        connection.execute("SAVEPOINT one")
        code = self.execute(connection, f"UPDATE job SET v = '{value}' WHERE id = '{key}'")
        if key in self.held():
            assert not isinstance(code, str), self.said
            connection.execute("RELEASE one")
            self.levels[-1][key] = value
        else:
            assert code == "ZF005", self.said
            connection.execute("ROLLBACK TO one; RELEASE one")

    def savepoint(self, connection, _):
        self.execute(connection, f"SAVEPOINT s{len(self.levels)}")
        self.levels.append({})

    def end(self, connection, _):
        if len(self.levels) == 1:
            return
        level = self.chance.randint(1, len(self.levels) - 1)
        gone, self.levels = self.levels[level:], self.levels[:level]
        if self.chance.random() < 0.5:
            for one in gone:
                for key, value in one.items():
                    self.levels[-1][key] = value or self.levels[-1].get(key)
            self.execute(connection, f"RELEASE s{level}")
        else:
            self.levels.append({})
            self.execute(connection, f"ROLLBACK TO s{level}")


def test_what_savepoints_leave_is_what_is_asserted_and_judged(scene):  # P5
    writer = scene.connect()
    chance = random.Random(1)
    outcomes = Counter()
    for turn in range(150):
        scene.key = f"savepoints-{turn}"
        savepoints = Savepoints(scene, 3, chance)
        for key in savepoints.keys:
            scene.claim(1, key=key)
            with scene.observer.transaction():
                scene.observer.execute(assert_sql(scene, 1, key))
                scene.observer.execute("INSERT INTO job VALUES (%s, 1, 'first')", [key])
        writer.execute("BEGIN")
        savepoints.run(writer)
        taken = chance.choice(savepoints.keys)
        scene.claim(2, key=taken)
        code = Background(writer.execute, "COMMIT").get()
        lost = taken in savepoints.held()
        assert (code == "ZF001") == lost, savepoints.said
        outcomes[lost] += 1
        written = {} if lost else savepoints.left()
        for key in savepoints.keys:
            assert scene.ask("SELECT v FROM job WHERE id = %s", key) == (written.get(key) or "first"), \
                savepoints.said
    assert min(outcomes[True], outcomes[False]) > 20, outcomes


# ---- many at once ----------------------------------------------------------------------

def test_of_many_who_would_lead_only_the_leader_acts(scene, server):  # M17, pain 70
    """Given a table with one key for all of it. Each turn of a leader writes its epoch at the end of a
    list that never falls, though leaders are replaced between their assertion and their COMMIT."""
    server.sql("DROP TABLE IF EXISTS election; CREATE TABLE election (turns int[] NOT NULL);"
               " INSERT INTO election VALUES ('{}');"
               f" SELECT fence.fence_protect('election', 'n', key => '{scene.key}')")
    scene.claim(1)
    newest, codes, stop = [1], Counter(), threading.Event()

    def claim(connection):
        epoch = newest[0] + 1
        try:
            scene.claim(epoch, by=connection)
            newest[0] = max(newest[0], epoch)
        except psycopg.Error as error:
            codes[error.sqlstate] += 1
        time.sleep(0.004)

    def act(connection):
        epoch = newest[0]
        try:
            with connection.transaction():
                connection.execute(assert_sql(scene, epoch))
                time.sleep(random.random() / 300)
                connection.execute("UPDATE election SET turns = turns || %s::int", [epoch])
            codes["acted"] += 1
        except psycopg.Error as error:
            codes[error.sqlstate] += 1

    work = [(claim, scene.connect()), (claim, scene.connect())] + [(act, scene.connect()) for _ in range(4)]
    threads = [threading.Thread(target=repeat_until, args=(stop, lambda f=f, c=c: f(c))) for f, c in work]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: codes["acted"] > 300 and codes["ZF001"] > 100 and newest[0] > 100, 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    turns = scene.observer.execute("SELECT turns FROM election").fetchone()[0]
    print(f"{newest[0]} leaders, {codes}, {len(turns)} turns")
    assert len(turns) == codes["acted"]
    assert turns == sorted(turns)
    assert set(codes) <= {"acted", "ZF001", "ZF002", "ZF004"}
    # Nobody without the key, whoever else he owns.
    other = scene.key + "-other"
    scene.claim(1, key=other)
    with pytest.raises(psycopg.Error) as refused, scene.observer.transaction():
        scene.observer.execute(assert_sql(scene, 1, other))
        scene.observer.execute("UPDATE election SET turns = '{}'")
    assert code_of(refused.value) == "ZF005"
    server.sql("SELECT fence.fence_unprotect('election'); DROP TABLE election")


def test_protection_that_comes_and_goes_beside_writers_lets_none_through(scene, server):
    """Each writer has a statement prepared. fence_protect waits for those under way; from its commit on
    none changes the table, until fence_unprotect."""
    server.sql("DROP TABLE IF EXISTS turn; CREATE TABLE turn (id text NOT NULL, n int NOT NULL);"
               " INSERT INTO turn VALUES ('nobody', 0)")
    codes, stop, admin = Counter(), threading.Event(), scene.connect()

    def bump(connection):
        try:
            connection.execute("UPDATE turn SET n = n + 1", prepare=True)
            codes["written"] += 1
        except psycopg.Error as error:
            codes[error.sqlstate] += 1

    threads = [threading.Thread(target=repeat_until, args=(stop, lambda c=scene.connect(): bump(c)))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            admin.execute("SELECT fence.fence_protect('turn', 'n', '[\"id\"]')")
            protected = scene.ask("SELECT n FROM turn")
            refused = codes["ZF005"]
            wait_until(lambda refused=refused: codes["ZF005"] > refused + 3)
            assert scene.ask("SELECT n FROM turn") == protected
            admin.execute("SELECT fence.fence_unprotect('turn')")
            written = codes["written"]
            wait_until(lambda written=written: codes["written"] > written + 3)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    print(codes)
    assert set(codes) == {"written", "ZF005"}
    assert scene.ask("SELECT n FROM turn") == codes["written"]
    server.sql("DROP TABLE turn")
