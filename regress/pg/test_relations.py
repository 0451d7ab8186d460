"""Fence's own tables, changed or out of reach while sessions know them."""
import threading

import psycopg
import pytest
from pgserver import Server
from scene import Background, Scene, code_of


@pytest.fixture(scope="module")
def own_server():
    """With a role that Fence looks up the rights of."""
    with Server() as server:
        server.sql("CREATE ROLE app LOGIN")
        yield server


@pytest.fixture
def scene(own_server):
    scene = Scene(own_server)
    scene.observer.execute("DROP EXTENSION IF EXISTS fence CASCADE")
    scene.observer.execute("CREATE EXTENSION fence")
    scene.observer.execute("SELECT fence.fence_grant_writer('app', 'n')")
    yield scene
    scene.close()


@pytest.mark.parametrize("table", ["record", "entry", "access"])
def test_table_with_another_column_is_not_touched(scene, table):
    """As where the library is older than the tables, or newer."""
    scene.claim(1)
    scene.append(1, 6)
    old = scene.connect(user="app")
    scene.append(1, 6, by=old)
    read = "SELECT count(*) FROM fence.oplog_read('n', %s)"
    for change in ("ADD COLUMN more text", "DROP COLUMN more"):  # which stays, as a gap
        scene.observer.execute(f"ALTER TABLE fence_internal.{table} {change}")
        for session in (old, scene.connect(user="app")):
            assert [Background(*call).get() for call in (
                (scene.append, 1, 7, "p", None, session), (scene.claim, 2, None, session),
                (lambda session=session: scene.ask(read, scene.key, by=session),))] == ["ZF012"] * 3
            assert scene.ask("SELECT 1", by=session) == 1
    scene.observer.execute("DROP EXTENSION fence CASCADE")
    scene.observer.execute("CREATE EXTENSION fence")
    scene.observer.execute("SELECT fence.fence_grant_writer('app', 'n')")
    assert scene.claim(1, by=old) is None
    assert scene.append(1, 6, by=old) == 6


@pytest.mark.parametrize("table, index", [("record", "(lower(key))"), ("entry", "(epoch) WHERE idx > 5"),
                                          ("access", "((NOT may_write))")])
def test_session_that_knows_a_table_notices_an_index_that_it_could_not_fill(scene, table, index):
    scene.claim(1)
    writer = scene.connect(user="app")
    scene.append(1, 6, by=writer)
    scene.observer.execute(f"CREATE INDEX CONCURRENTLY foreign_one ON fence_internal.{table} {index}")
    with pytest.raises(psycopg.Error) as failed:
        scene.append(1, 7, by=writer)
    assert code_of(failed.value) == "ZF012"
    assert failed.value.diag.message_hint == "drop the index fence_internal.foreign_one"
    scene.observer.execute("DROP INDEX fence_internal.foreign_one")
    assert scene.append(1, 7, by=writer) == 7


def test_reindex_concurrently_disturbs_no_call(scene):
    """Sessions old and new, while each index is exchanged for its like many times."""
    scene.claim(1)
    stop, errors = threading.Event(), []

    def write(number):
        session = scene.connect()
        idx = 1000000 * number
        while not stop.is_set():
            idx += 1
            try:
                if number % 2:
                    session.close()
                    session = psycopg.connect(scene.server.dsn(), autocommit=True)
                scene.append(1, idx, by=session)
                scene.claim(1, by=session)
            except psycopg.Error as error:
                errors.append(str(error))
        session.close()

    writers = [threading.Thread(target=write, args=[number]) for number in range(1, 5)]
    for writer in writers:
        writer.start()
    for _ in range(40):
        for table in ("record", "entry", "trim_mark", "lineage"):
            scene.observer.execute(f"REINDEX TABLE CONCURRENTLY fence_internal.{table}")
    stop.set()
    for writer in writers:
        writer.join()
    assert errors == []


def test_session_outlives_an_error_while_it_looks_them_up(scene):
    scene.claim(1)
    writer, locker = scene.connect(), scene.connect()
    writer.execute("SELECT fence.fence_version()")
    writer.execute("SET lock_timeout = '100ms'")
    locker.execute("BEGIN")
    locker.execute("LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(psycopg.Error) as failed:
        scene.append(1, 6, by=writer)
    assert code_of(failed.value) == "55P03"
    locker.execute("ROLLBACK")
    assert scene.append(1, 6, by=writer) == 6
