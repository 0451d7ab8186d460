"""Fence as applications reach it: psycopg in its modes, and a pooler in between."""
import contextlib
import time
import uuid

import pooler
import psycopg
import pytest
from psycopg import sql

NAMESPACE = "drivers"
CLAIM = "SELECT fence.oplog_metadata_upsert(%s, %s, %s, %s)"
APPEND = "SELECT fence.fenced_append(%s, %s, %s, %s, %s, %s)"
INSERT = ("INSERT INTO fence.fenced_append(namespace, key, epoch, writer, idx, payload)"
          " VALUES (%s, %s, %s, %s, %s, %s)")
COPY = sql.SQL("COPY fence.fenced_append(namespace, key, epoch, writer, idx, payload) FROM STDIN")


class Owner:
    """A process that owns, or owned, a key."""

    def __init__(self, key, epoch):
        self.key, self.epoch, self.writer = key, epoch, str(uuid.uuid4())

    @property
    def arguments(self):
        return NAMESPACE, self.key, self.epoch, self.writer

    def claim(self, conn):
        return conn.execute(CLAIM, self.arguments).fetchone()[0]

    def append(self, conn, idx, payload=b"x"):
        return conn.execute(APPEND, (*self.arguments, idx, payload)).fetchone()[0]


def log(conn, key):
    rows = conn.execute("SELECT idx, epoch, payload FROM fence.oplog_read(%s, %s)",
                        (NAMESPACE, key)).fetchall()
    return [(idx, epoch, bytes(payload)) for idx, epoch, payload in rows]


@contextlib.contextmanager
def refused(code):
    with pytest.raises(psycopg.Error) as caught:
        yield caught
    assert caught.value.sqlstate == code, caught.value


@pytest.fixture(name="key")
def fixture_key():
    return f"k-{uuid.uuid4()}"


@pytest.fixture(name="connect")
def fixture_connect(server):
    with contextlib.ExitStack() as opened:
        def connect(dsn=None, **options):
            options = {"autocommit": True, **options}
            return opened.enter_context(
                contextlib.closing(psycopg.connect(dsn or server.dsn(), **options)))
        yield connect


@pytest.fixture(name="conn")
def fixture_conn(connect):
    return connect()


@pytest.fixture(name="a")
def fixture_a(conn, key):
    """Given an owner of the key at epoch 1."""
    owner = Owner(key, 1)
    assert owner.claim(conn) is None
    return owner


@pytest.fixture(name="b")
def fixture_b(key):
    """Its successor, who has not yet claimed."""
    return Owner(key, 2)


# ---- psycopg, autocommit on ----------------------------------------------------------

# None: unnamed statements; 5: psycopg's default, named from the sixth execution on;
# 0: named at once.
@pytest.mark.parametrize("threshold", [None, 5, 0])
def test_in_autocommit_each_call_is_a_transaction(connect, key, threshold):
    conn = connect(prepare_threshold=threshold)
    a, b = Owner(key, 1), Owner(key, 2)

    assert a.claim(conn) is None
    assert [a.append(conn, idx) for idx in range(1, 11)] == list(range(1, 11))
    for epoch in range(1, 9):
        a.epoch = epoch
        assert a.claim(conn) == 10
    b.epoch = 9
    assert b.claim(conn) == 10
    for _ in range(8):
        with refused("ZF001"):
            a.append(conn, 11)
    assert [b.append(conn, idx) for idx in range(11, 21)] == list(range(11, 21))
    assert [epoch for _, epoch, _ in log(conn, key)] == [1] * 10 + [9] * 10


def test_a_refusal_has_all_its_fields(conn, a, b):
    b.claim(conn)
    with refused("ZF001") as caught:
        a.append(conn, 1)

    said = caught.value.diag
    assert isinstance(caught.value, psycopg.DatabaseError)
    assert said.message_primary.startswith("stale_epoch: epoch 1 is asserted")
    assert '"stored_epoch":"2"' in said.message_detail
    assert said.message_hint.startswith("this process lost the ownership")
    assert (said.schema_name, said.table_name) == ("fence", "oplog_metadata")
    assert a.writer not in str(caught.value) and b.writer not in str(caught.value)
    # Nothing is open, nothing is doomed: the session goes on.
    assert conn.info.transaction_status.name == "IDLE"
    assert b.append(conn, 1) == 1


def test_a_block_commits_together(conn, a):
    with conn.transaction():
        a.append(conn, 1, b"one")
        a.append(conn, 2, b"two")
    assert log(conn, a.key) == [(1, 1, b"one"), (2, 1, b"two")]


def test_a_block_is_refused_when_it_ends(connect, conn, a, b):
    with refused("ZF001"):
        with conn.transaction():
            a.append(conn, 1)
            assert b.claim(connect()) is None
    assert log(conn, a.key) == []
    assert conn.info.transaction_status.name == "IDLE"


def test_a_refusal_that_a_savepoint_swallowed_fails_the_block(conn, a, b):
    b.claim(conn)
    with refused("ZF009") as caught:
        with conn.transaction():
            conn.execute("CREATE TABLE beside()")
            with refused("ZF001"):
                with conn.transaction():
                    a.append(conn, 1)
    assert '"code":"ZF001"' in caught.value.diag.message_detail
    assert conn.execute("SELECT to_regclass('beside')").fetchone() == (None,)


def test_a_claim_inside_a_block_is_refused_and_leaves_the_block(conn, a, b):
    with conn.transaction():
        with refused("ZF012"):
            with conn.transaction():
                b.claim(conn)
        a.append(conn, 1)
    assert log(conn, a.key) == [(1, 1, b"x")]


# ---- psycopg, autocommit off ---------------------------------------------------------

def test_without_autocommit_appends_wait_for_commit(connect, conn, a):
    manual = connect(autocommit=False)
    a.append(manual, 1)
    assert log(conn, a.key) == []
    manual.commit()
    assert log(conn, a.key) == [(1, 1, b"x")]


def test_without_autocommit_claims_are_refused(connect, b):
    manual = connect(autocommit=False)
    with refused("ZF012"):
        b.claim(manual)
    manual.rollback()
    manual.autocommit = True
    assert b.claim(manual) is None


def test_without_autocommit_a_stale_commit_is_refused(connect, conn, a, b):
    manual = connect(autocommit=False)
    a.append(manual, 1)
    b.claim(conn)
    with refused("ZF001"):
        manual.commit()
    assert log(conn, a.key) == []
    with refused("ZF001"):
        a.append(manual, 1)
    manual.rollback()


# ---- psycopg, other ways to send -----------------------------------------------------

def test_a_pipeline_stores_all(conn, a):
    with conn.pipeline():
        cursors = [conn.execute(APPEND, (*a.arguments, idx, b"x")) for idx in range(1, 6)]
        assert [cursor.fetchone()[0] for cursor in cursors] == [1, 2, 3, 4, 5]
    assert len(log(conn, a.key)) == 5


def test_a_refused_pipeline_says_so_at_its_end_and_stores_nothing(conn, a, b):
    b.claim(conn)
    with refused("ZF001"):
        with conn.pipeline():
            for idx in range(1, 4):
                conn.execute(APPEND, (*a.arguments, idx, b"x"))
    assert log(conn, a.key) == []
    assert b.append(conn, 1) == 1


def test_a_claim_behind_an_append_in_a_pipeline_is_refused(conn, a):
    with refused("ZF012"):
        with conn.pipeline():
            conn.execute(APPEND, (*a.arguments, 1, b"x"))
            conn.execute(CLAIM, (NAMESPACE, a.key, 2, a.writer))
    assert conn.execute("SELECT epoch FROM fence.oplog_metadata WHERE key = %s",
                        (a.key,)).fetchone() == (1,)


@pytest.mark.parametrize("binary", [False, True])
def test_a_server_side_cursor_reads_in_parts(conn, a, binary):
    with conn.transaction():
        for idx in range(1, 8):
            a.append(conn, idx, bytes([idx, 0]))
    with conn.transaction(), conn.cursor(name="part", binary=binary) as cursor:
        cursor.itersize = 3
        cursor.execute("SELECT idx, payload FROM fence.oplog_read(%s, %s)", (NAMESPACE, a.key))
        assert cursor.fetchmany(3) == [(1, b"\1\0"), (2, b"\2\0"), (3, b"\3\0")]
        a.append(conn, 8)  # is not part of what the cursor reads
        assert [idx for idx, _ in cursor] == [4, 5, 6, 7]
    assert len(log(conn, a.key)) == 8


def test_appends_of_a_cursor_nobody_reads_on_are_judged_at_commit(connect, conn, a, b):
    with refused("ZF001"):
        with conn.transaction(), conn.cursor(name="appends") as cursor:
            cursor.execute("SELECT fence.fenced_append(%s, %s, %s, %s, i, 'x')"
                           " FROM generate_series(1, 9) AS i", a.arguments)
            assert cursor.fetchmany(2) == [(1,), (2,)]
            b.claim(connect())
    assert log(conn, a.key) == []


def test_binary_parameters_and_results(conn, a):
    payload = bytes(range(256))
    with conn.cursor(binary=True) as cursor:
        cursor.execute("SELECT fence.fenced_append(%b, %b, %b, %b, %b, %b)",
                       (*a.arguments, 2**63 - 1, payload))
        assert cursor.fetchone() == (2**63 - 1,)
    assert log(conn, a.key) == [(2**63 - 1, 1, payload)]


def test_arrays_and_json(conn, a):
    many = "SELECT fence.fenced_append_many(%s, %s, %s, %s, %s, %s, %s)"
    assert conn.execute(many, (*a.arguments, [1, 2], [b"one", b""], -1)).fetchone() == (2,)
    assert conn.execute(many, (*a.arguments, [], [], None)).fetchone() == (0,)
    claims = psycopg.types.json.Jsonb([{"key": a.key, "epoch": 2}])
    assert conn.execute("SELECT fence.oplog_metadata_upsert_many(%s, %s, %s)",
                        (NAMESPACE, claims, a.writer)).fetchone() == ([{"key": a.key, "last": "2"}],)
    assert log(conn, a.key) == [(1, 1, b"one"), (2, 1, b"")]


def test_executemany(conn, a):
    with conn.transaction(), conn.cursor() as cursor:
        cursor.executemany(INSERT, [(*a.arguments, idx, b"x") for idx in range(1, 6)])
    assert len(log(conn, a.key)) == 5


@pytest.mark.parametrize("form", ["TEXT", "BINARY"])
def test_copy(conn, a, form):
    with conn.cursor() as cursor:
        with cursor.copy(COPY + sql.SQL(f" (FORMAT {form})")) as copy:
            copy.set_types(["text", "text", "int8", "text", "int8", "bytea"])
            for idx in range(1, 1001):
                copy.write_row((*a.arguments, idx, b"\0x"))
        assert cursor.rowcount == 1000
    assert log(conn, a.key) == [(idx, 1, b"\0x") for idx in range(1, 1001)]


def test_a_stale_copy_stores_nothing(conn, a, b):
    b.claim(conn)
    with refused("ZF001"):
        with conn.cursor().copy(COPY) as copy:
            copy.write_row((*a.arguments, 1, b"x"))
    assert log(conn, a.key) == []


def test_a_copy_that_becomes_stale_half_way_stores_nothing(connect, conn, a, b):
    with refused("ZF001"):
        with conn.cursor().copy(COPY) as copy:
            for idx in range(1, 20001):
                copy.write_row((*a.arguments, idx, b"x"))
            wait_until_asserted(connect(), a.key)
            assert b.claim(connect()) is None  # at once: nobody waits for the COPY
    assert log(conn, a.key) == []


def wait_until_asserted(conn, key):
    """What the client has written the server may not have read yet."""
    for _ in range(3000):
        if conn.execute("SELECT FROM fence.fence_holders WHERE key = %s", (key,)).fetchall():
            return
        time.sleep(0.01)
    pytest.fail("the COPY has asserted nothing")


# ---- a pooler in transaction mode ----------------------------------------------------

@pytest.fixture(name="pool", scope="module")
def fixture_pool(server):
    if pooler.PROGRAM is None:
        pytest.skip("pgbouncer is not installed")
    with pooler.Pooler(server) as running:
        yield running


@pytest.fixture(name="pooled")
def fixture_pooled(connect, pool):
    """Opens clients that share one connection to the server."""
    return lambda **options: connect(pool.dsn(), **{"prepare_threshold": None, **options})


def backend(conn):
    return conn.execute("SELECT pg_backend_pid()").fetchone()[0]


def test_pooled_clients_share_one_session(pooled):
    assert backend(pooled()) == backend(pooled())


def test_pooled_clients_claim_and_append(pooled, key):
    a, b = Owner(key, 1), Owner(key, 2)
    of_a, of_b = pooled(), pooled()

    assert a.claim(of_a) is None
    assert a.append(of_a, 1) == 1
    assert b.claim(of_b) == 1
    assert b.append(of_b, 2) == 2
    with refused("ZF001"):
        a.append(of_a, 3)
    with of_b.transaction():
        b.append(of_b, 3)
        b.append(of_b, 4)
    assert [idx for idx, _, _ in log(of_a, key)] == [1, 2, 3, 4]


def test_a_pooled_commit_is_refused(conn, pooled, a, b):
    client = pooled()
    with refused("ZF001"):
        with client.transaction():
            a.append(client, 1)
            b.claim(conn)
    assert log(conn, a.key) == []


def test_a_pooled_client_without_autocommit(conn, pooled, a):
    client = pooled(autocommit=False)
    a.append(client, 1)
    client.commit()
    assert log(conn, a.key) == [(1, 1, b"x")]


def test_a_refused_transaction_does_not_leak_into_the_next_clients(conn, pooled, a, b):
    of_a, of_b = pooled(), pooled()
    b.claim(conn)
    with refused("ZF009"):
        with of_a.transaction():
            session = backend(of_a)
            with refused("ZF001"):
                with of_a.transaction():
                    a.append(of_a, 1)
    with of_b.transaction():
        assert backend(of_b) == session
        b.append(of_b, 1)  # under another epoch than the transaction before
    assert log(conn, a.key) == [(1, 2, b"x")]


def test_a_client_that_goes_away_in_a_transaction_leaves_nothing(conn, pooled, a, b):
    of_a = pooled()
    of_a.execute("BEGIN")
    a.append(of_a, 1)
    of_a.close()
    client = pooled()
    assert b.claim(client) is None
    assert b.append(client, 1) == 1
    assert log(conn, a.key) == [(1, 2, b"x")]


def test_named_statements_fail_with_this_pooler(pooled, a):
    """As documented: 1.21 is the first that knows them."""
    first, second = pooled(prepare_threshold=0), pooled(prepare_threshold=0)
    first.execute("SELECT 1")
    with refused("42P05"):  # prepared statement "_pg3_0" already exists
        a.append(second, 1)
