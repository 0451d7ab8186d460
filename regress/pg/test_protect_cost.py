"""Tables without protection pay nothing: the same log of the server, no lock, no trigger."""
import psycopg
import pytest

from pgserver import Server
from scene import owner

WORK = ("INSERT INTO plain SELECT i, 0 FROM generate_series(1, 1000) AS i",
        "UPDATE plain SET n = n + 1 WHERE id % 3 = 0",
        "DELETE FROM plain WHERE id % 5 = 0")


@pytest.fixture(name="bare")
def database_without_fence():
    """On a server where nobody else is at work, and no checkpoint counts."""
    with Server(conf={"autovacuum": "off", "full_page_writes": "off"}) as server:
        server.sql("CREATE DATABASE bare")
        yield server.dsn(dbname="bare")


def cost(session, sql):
    """What the statement wrote and touched."""
    plan = session.execute(f"EXPLAIN (ANALYZE, WAL, BUFFERS, FORMAT JSON) {sql}").fetchone()[0][0]
    return {"triggers": plan["Triggers"],
            **{name: plan["Plan"][name] for name in ("WAL Records", "WAL Bytes", "WAL FPI")}}


def costs(session):
    session.execute("DROP TABLE IF EXISTS plain")
    session.execute("CREATE TABLE plain(id bigint PRIMARY KEY, n bigint)")
    return [cost(session, sql) for sql in WORK]


def fence_locks(session):
    return session.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND"
                           " (locktype = 'advisory' OR relation IN (SELECT oid FROM pg_class WHERE"
                           " relnamespace = 'fence_internal'::regnamespace))").fetchone()[0]


def test_plain_table_costs_what_it_costs_without_fence(bare):
    with psycopg.connect(bare, autocommit=True) as session:
        without = costs(session)
        session.execute("CREATE EXTENSION fence")
        session.execute("CREATE TABLE fenced(id bigint PRIMARY KEY)")
        session.execute("SELECT fence.fence_protect('fenced', 'n', '[\"id\"]')")
        session.execute("SELECT fence.oplog_metadata_upsert('n', '1', 1, %s)", (owner(1),))
        with session.transaction():  # the library is loaded, and has work at commit
            session.execute("SELECT fence.fence_assert('n', '1', 1, %s)", (owner(1),))
            session.execute("INSERT INTO fenced VALUES (1)")
        assert costs(session) == without
        with session.transaction():
            session.execute(WORK[0].replace("1000", "10").replace(" i, 0", " i + 5000, 0"))
            assert fence_locks(session) == 0
        # The measure itself: in a transaction with an assertion there is something to see.
        with session.transaction():
            session.execute("SELECT fence.fence_assert('n', '1', 1, %s)", (owner(1),))
            assert fence_locks(session) >= 2
