"""The extension as a whole: its script, its log lines, its functions in wrong places."""
import re
import threading
import time
import uuid
from pathlib import Path

import psycopg
import pytest

from pgserver import TOP, Server

SCRIPTS = sorted((TOP / "sql/pg").glob("*.sql"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_gives_way_to_nothing(script):
    """P48. What stands there already may be somebody else's."""
    text = re.sub(r"--.*", "", Path(script).read_text(encoding="utf-8"))
    assert not re.search(r"OR\s+REPLACE|IF\s+NOT\s+EXISTS|\bCASCADE\b", text, re.I)


def test_there_are_scripts():
    assert len(SCRIPTS) > 3


def test_script_creates_its_schemas():
    text = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    assert re.findall(r"^CREATE SCHEMA (\w+);", text, re.M) == ["fence", "fence_internal"]


@pytest.fixture(scope="module", name="fragile")
def start_server():
    """What could crash is tried on a server of its own."""
    with Server() as running:
        yield running


MISUSE = [
    ("CREATE TABLE own(a int, b int)", "BEFORE INSERT ON own FOR EACH ROW",
     "INSERT INTO own VALUES (1, 2)"),
    ("CREATE TABLE own(a int)", "BEFORE DELETE ON own FOR EACH STATEMENT", "DELETE FROM own"),
    ("CREATE TABLE own(a int)", "BEFORE TRUNCATE ON own FOR EACH STATEMENT", "TRUNCATE own"),
    ("CREATE VIEW own AS SELECT 1 AS a", "INSTEAD OF INSERT ON own FOR EACH ROW",
     "INSERT INTO own VALUES (1)"),
    # The columns of the right view, and other types.
    ("CREATE VIEW own AS SELECT 1 AS namespace, 2 AS key, 3 AS epoch, 4 AS writer, 5 AS idx, 6 AS payload",
     "INSTEAD OF INSERT ON own FOR EACH ROW", "INSERT INTO own VALUES (1, 2, 3, 4, 5, 6)"),
    ("CREATE VIEW own AS SELECT 1 AS a", "INSTEAD OF DELETE ON own FOR EACH ROW", "DELETE FROM own"),
]


@pytest.mark.parametrize("function", ["guard", "guard_access"])
@pytest.mark.parametrize("create,trigger,statement", MISUSE)
def test_trigger_function_on_a_relation_of_ones_own(fragile, create, trigger, statement, function):
    """P50: refused, whatever it is called for, and nothing worse happens."""
    with psycopg.connect(fragile.dsn()) as connection:
        connection.execute(create)
        connection.execute(f"CREATE TRIGGER misuse {trigger} EXECUTE FUNCTION fence_internal.{function}()")
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(statement)
        assert refused.value.sqlstate == "ZF012", refused.value
        connection.rollback()


@pytest.mark.parametrize("column", ["namespace", "key"])
def test_name_in_a_table_that_is_too_long(fragile, column):
    """Looking at what cannot be is harmless."""
    with psycopg.connect(fragile.dsn()) as connection:
        names = {"namespace": "n", "key": "k", column: "x" * 2000}
        connection.execute("INSERT INTO fence_internal.record VALUES (%(namespace)s, %(key)s, 1, 5,"
                           " decode(md5(''), 'hex'), NULL, -1, -1, 0, 1, 1)", names)
        for _ in range(2):
            connection.execute("SELECT * FROM fence.oplog_metadata").fetchall()
            connection.execute("SELECT * FROM fence.fence_holders").fetchall()
        connection.execute("SELECT fence.fence_fingerprint('11111111-1111-4111-8111-111111111111')")
        connection.rollback()


def test_bare_append_that_left_work_for_its_end_holds_up_no_claim(server):
    """Given a frozen client with the lock of a row, which a deferred trigger of the append's
    own statement waits for. (M21 is about what waits within the statement.)"""
    owner, successor = (str(uuid.uuid4()) for _ in range(2))
    with psycopg.connect(server.dsn(), autocommit=True) as admin, \
            psycopg.connect(server.dsn()) as frozen, \
            psycopg.connect(server.dsn(), autocommit=True) as appending:
        admin.execute("""
            CREATE TABLE late(id bigint);
            CREATE TABLE locked AS SELECT 1 AS id;
            CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql
            AS $$BEGIN PERFORM 1 FROM locked FOR UPDATE; RETURN NULL; END$$;
            CREATE CONSTRAINT TRIGGER look AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION look();
            CREATE FUNCTION leave(what bigint) RETURNS bigint LANGUAGE sql
            AS 'INSERT INTO late VALUES (what) RETURNING id'""")
        admin.execute("SELECT fence.oplog_metadata_upsert('late', 'k', 1, %s)", (owner,))
        frozen.execute("SELECT 1 FROM locked FOR UPDATE")
        append = threading.Thread(target=fails_with, args=(
            "ZF001", appending, f"SELECT fence.fenced_append('late', 'k', 1, '{owner}', leave(1), 'x')"))
        append.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid' AND pid = %s"
        while admin.execute(waiting, (appending.info.backend_pid,)).fetchone() == (0,):
            time.sleep(0.01)
        try:
            admin.execute("SET statement_timeout = '20s'")
            admin.execute("SELECT fence.oplog_metadata_upsert('late', 'k', 2, %s)", (successor,))
        finally:
            frozen.rollback()
            append.join()
            admin.execute("DROP TABLE late, locked; DROP FUNCTION look(), leave(bigint)")
        assert admin.execute("SELECT count(*) FROM fence.oplog_read('late', 'k')").fetchone() == (0,)


def fails_with(code, connection, statement):
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(statement)
    assert refused.value.sqlstate == code


@pytest.fixture(name="secret")
def make_secret():
    """A writer that nothing else mentions."""
    return str(uuid.uuid4())


def spellings(writer):
    yield writer
    yield writer.replace("-", "")
    yield writer.upper()


def test_log_holds_no_writer(server, secret):
    """M8: given refusals of every kind under a live writer, its owner's own among them."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        other = str(uuid.uuid4())
        connection.execute("SELECT fence.oplog_metadata_upsert('log', 'k', 5, %s)", (secret,))
        start = len(server.log())
        for call in (
                f"SELECT fence.fenced_append('log', 'k', 4, '{secret}', 1, 'x')",
                f"SELECT fence.fenced_append('log', 'k', 5, '{secret}', -1, 'x')",
                f"SELECT fence.fenced_append('log', 'none', 5, '{secret}', 1, 'x')",
                f"SELECT fence.oplog_metadata_upsert('log', 'k', 4, '{secret}')",
                f"SELECT fence.fence_check('log', 'k', 6, '{secret}')",
                f"INSERT INTO fence.fenced_append VALUES ('log', 'k', 4, '{secret}', 1, 'x')",
                f"DO $$BEGIN PERFORM fence.fenced_append('log', 'k', 4, '{secret}', 1, 'x'); END$$",
                f"SELECT fence.fenced_append('log', 'k', 5, '{other}', 1, 'x')"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(call)
            assert refused.value.sqlstate.startswith("ZF")
            said = refused.value.diag
            assert secret not in f"{said.message_primary} {said.message_detail} {said.message_hint}"
        with pytest.raises(psycopg.Error), connection.cursor() as cursor, \
                cursor.copy("COPY fence.fenced_append FROM STDIN") as copy:
            copy.write_row(("log", "k", 4, secret, 1, b"x"))
    log = server.log()[start:]
    assert "fence refused: ZF001" in log and "fence refused: ZF002" in log
    shown = [line for line in log.splitlines() for spelling in spellings(secret) if spelling in line]
    assert shown == []


def test_setting_switches_the_log_lines_off(server, secret):
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("SELECT fence.oplog_metadata_upsert('log', %s, 5, %s)", (secret, secret))
        for setting, lines in (("off", 0), ("on", 1)):
            connection.execute(f"SET fence.log_refusals = {setting}")
            start = len(server.log())
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT fence.fenced_append('log', %s, 4, %s, 1, 'x')", (secret, secret))
            assert server.log()[start:].count("fence refused") == lines


def test_payload_of_100_mb(server, secret):
    """It is made in the server: the way there is not what is tested."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        def append(payload, call="fence.fenced_append('big', 'k', 1, %s, 1, {})"):
            return connection.execute(f"SELECT {call.format(payload)} FROM big", (secret,)).fetchone()[0]

        connection.execute("SELECT fence.oplog_metadata_upsert('big', 'k', 1, %s)", (secret,))
        connection.execute("CREATE TEMP TABLE big(payload bytea)")
        connection.execute("ALTER TABLE big ALTER payload SET STORAGE EXTERNAL")
        connection.execute("INSERT INTO big SELECT repeat(md5(%s), 3125000)::bytea", (secret,))
        assert append("payload") == 1
        assert append("payload") == 1
        many = "fence.fenced_append_many('big', 'k', 1, %s, '{{1,2}}', ARRAY[{}, 'small'])"
        assert append("payload", many) == 1
        with pytest.raises(psycopg.Error) as refused:
            append("set_byte(payload, 99999999, 0)")
        assert refused.value.sqlstate == "ZF013"
        found = connection.execute("SELECT idx, octet_length(r.payload), r.payload = big.payload"
                                   " FROM fence.oplog_read('big', 'k') AS r, big").fetchall()
        assert found == [(1, 100_000_000, True), (2, 5, False)]


def test_client_whose_encoding_lacks_a_letter_of_the_key(server, secret):
    """The code of a refusal reaches it all the same."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("SELECT fence.oplog_metadata_upsert('log', 'k€', 5, %s)", (secret,))
        connection.execute("SET client_encoding = 'LATIN1'")
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(f"SELECT fence.fenced_append('log', U&'k\\20AC', 4, '{secret}', 1, 'x')")
        assert refused.value.sqlstate == "ZF001"
