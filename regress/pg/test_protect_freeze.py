"""Protected tables and clients that stop: frozen in a transaction, behind a pooler, or gone in a
crash. A claim waits for none of them, and a row for no longer than until its holder is evicted."""
import statistics
import threading
import time

import psycopg
import pytest
from client_process import Client
from pgserver import Server
from pooler import Pooler
from protected import assert_sql, make_table, rows, update_sql, write
from scene import Background, Scene, code_of, evict, owner, repeat_until, wait_until

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


@pytest.fixture(autouse=True)
def table(server):
    make_table(server)


@pytest.fixture
def zombie(server):
    client = Client(server, "zombie")
    yield client
    client.end()


def freeze_after_update(scene, client, level=LEVELS[0]):
    """Two rows there, the first of them written by a client that has stopped since."""
    scene.claim(1)
    for part in (1, 2):
        write(scene, 1, "old", part)
    client.ask(f"BEGIN ISOLATION LEVEL {level}")
    assert client.ask(assert_sql(scene, 1)) == ""
    assert client.ask(update_sql(scene, "late")) == "done"
    client.freeze()


@pytest.mark.parametrize("level", LEVELS)
def test_frozen_owner_holds_up_its_own_row_until_it_is_evicted(scene, zombie, level):  # P44, pain 59
    freeze_after_update(scene, zombie, level)
    successor, evictor = scene.connect(), scene.connect()
    scene.without_waiting(scene.claim, 2)
    scene.without_waiting(scene.append, 2, 1, "new")
    scene.without_waiting(write, scene, 2, "new", 2, by=successor)

    waiting = Background(write, scene, 2, "new", 1, successor)
    wait_until(lambda: successor.info.backend_pid in [pid for pid, _, _ in scene.waiting()])
    wait_until(lambda: scene.waits_for_client(zombie.pid))
    assert scene.ask("SELECT state FROM fence.fence_holders WHERE pid = %s", zombie.pid) == "superseded"
    evictor.execute("SET fence.evict_after = '150ms'")
    assert evict(scene, 2, evictor) == 1
    assert waiting.get() is None
    assert rows(scene) == [(1, "new"), (2, "new")]

    zombie.thaw()
    assert zombie.ask("COMMIT") in ("57P01", "no connection")
    assert rows(scene) == [(1, "new"), (2, "new")]


@pytest.mark.parametrize("level", LEVELS)
def test_frozen_owner_that_nobody_ended_cannot_commit(scene, zombie, level):  # pains 5, 11
    freeze_after_update(scene, zombie, level)
    scene.without_waiting(scene.claim, 2)
    write(scene, 2, "new", 2)
    zombie.send("COMMIT")
    zombie.thaw()
    assert zombie.answer() == "ZF001"
    assert rows(scene) == [(1, "old"), (2, "new")]
    zombie.ask("BEGIN")
    assert zombie.ask(assert_sql(scene, 1)) == "ZF001"


def test_session_that_has_asserted_nothing_is_not_evicted(scene, zombie):  # P64, documented
    """It holds a row as it could of any table; the server's own time-out is what ends it."""
    scene.claim(1)
    write(scene, 1, "old")
    zombie.ask("SET idle_in_transaction_session_timeout = '2s'")
    zombie.ask("BEGIN")
    assert zombie.ask(f"SELECT v FROM job WHERE id = '{scene.key}' FOR UPDATE") == "old"
    zombie.freeze()
    scene.without_waiting(scene.claim, 2)
    scene.without_waiting(scene.append, 2, 1, "new")
    successor, evictor = scene.connect(), scene.connect()
    waiting = Background(write, scene, 2, "new", 1, successor)
    wait_until(lambda: successor.info.backend_pid in [pid for pid, _, _ in scene.waiting()])
    evictor.execute("SET fence.evict_after = '100ms'")
    assert evict(scene, 2, evictor) == 0
    assert waiting.get() is None
    assert not scene.is_alive(zombie.pid)
    assert rows(scene) == [(1, "new")]


# ---- connections -----------------------------------------------------------------------

def test_pooled_connection_brings_no_assertion_along(scene, server):  # P11
    scene.claim(1)
    write(scene, 1, "old")
    with Pooler(server) as pooler:
        clients = [psycopg.connect(pooler.dsn(), autocommit=True, prepare_threshold=None)
                   for _ in range(2)]
        pids = set()
        for client, ending in zip(clients, ("COMMIT", "ROLLBACK")):
            client.execute("BEGIN")
            client.execute(assert_sql(scene, 1))
            client.execute(update_sql(scene, ending))
            pids.add(client.info.backend_pid or client.execute("SELECT pg_backend_pid()").fetchone()[0])
            client.execute(ending)
            for other in clients:
                for statements in ([update_sql(scene, "borrowed")], ["BEGIN", update_sql(scene, "borrowed")]):
                    with pytest.raises(psycopg.Error) as refused:
                        for statement in statements:
                            other.execute(statement)
                    assert code_of(refused.value) == "ZF005"
                    other.execute("ROLLBACK")
        seen = {client.execute("SELECT pg_backend_pid()").fetchone()[0] for client in clients}
        assert len(seen) == 1  # one session of the server served them all
        for client in clients:
            client.close()
    assert rows(scene) == [(1, "COMMIT")]


def test_ownership_belongs_to_no_connection(scene):  # pains 13, 53
    """The one that claimed is lost, and the others of its pool go on writing; until somebody else
    claims the key, and then none of them does."""
    lease = scene.connect()
    pool = [scene.connect() for _ in range(3)]
    scene.claim(1, by=lease)
    for connection in pool:
        write(scene, 1, "before", by=connection)
    scene.observer.execute("SELECT pg_terminate_backend(%s)", [lease.info.backend_pid])
    wait_until(lambda: not scene.is_alive(lease.info.backend_pid))
    for part, connection in enumerate(pool):
        write(scene, 1, "after", part, by=connection)
    scene.without_waiting(scene.claim, 2)
    for connection in pool:
        with pytest.raises(psycopg.Error) as refused:
            write(scene, 1, "late", by=connection)
        assert code_of(refused.value) == "ZF001"
    assert rows(scene) == [(0, "after"), (1, "after"), (2, "after")]


# ---- crashes ---------------------------------------------------------------------------

def test_claim_outlives_kill9_and_so_the_predecessor_stays_out():  # P12
    """Given synchronous_commit = off, so that the claim would be lost if it had its way."""
    conf = {"fsync": "on", "wal_writer_delay": "10s", "synchronous_commit": "off", "autovacuum": "off"}
    with Server(conf=conf) as server:
        make_table(server)
        scene = Scene(server)
        scene.claim(1)
        write(scene, 1, "old")
        server.sql("CHECKPOINT")
        scene.claim(2)
        server.kill9()
        scene.close()
        server.start()
        after = Scene(server)
        after.key = scene.key
        with pytest.raises(psycopg.Error) as refused:
            write(after, 1, "late")
        assert code_of(refused.value) == "ZF001"
        write(after, 2, "new")
        with pytest.raises(psycopg.Error) as refused:
            after.observer.execute(update_sql(after, "late"))
        assert code_of(refused.value) == "ZF005"
        assert rows(after) == [(1, "new")]
        after.close()


# ---- noise -----------------------------------------------------------------------------

def owner_p99(scene, count=400):
    """How long the owner's transactions take, the slowest of a hundred."""
    times = []
    for number in range(count):
        begin = time.perf_counter()
        write(scene, 2, str(number))
        times.append(time.perf_counter() - begin)
    return statistics.quantiles(times, n=100)[-1]


def test_zombie_that_loops_assertions_does_not_slow_the_owner(scene):  # P66
    """Against one that loops transactions with a question of the same cost."""
    scene.claim(1)
    scene.claim(2)
    ratios = []
    for _ in range(5):
        p99 = []
        for what in ("SELECT fence.fence_check('n', %s, 1, %s)", "SELECT fence.fence_assert('n', %s, 1, %s)"):
            stop, loop = threading.Event(), scene.connect()

            def ask(what=what, loop=loop):
                with pytest.raises(psycopg.Error) as refused, loop.transaction():
                    loop.execute(what, [scene.key, owner(1)])
                assert code_of(refused.value) == "ZF001"
            thread = threading.Thread(target=repeat_until, args=(stop, ask))
            thread.start()
            p99.append(owner_p99(scene))
            stop.set()
            thread.join()
        ratios.append(p99[1] / p99[0])
        if ratios[-1] < 2:
            break
    print(f"p99 beside a zombie's assertions over p99 beside its questions: {ratios}")
    assert ratios[-1] < 2
