"""Dumps and crashes: what was claimed and appended is there afterwards."""
import subprocess
import uuid

import psycopg
import pytest

from pgserver import Server

W1, W2 = (str(uuid.UUID(int=n)) for n in (1, 2))

RECORDS = ("SELECT namespace, key, epoch, writer, deleted_at, tail_at_claim, trimmed, born, hash"
           " FROM fence_internal.record ORDER BY namespace, key")
ENTRIES = ("SELECT namespace, key, idx, epoch, sha256(payload) FROM fence_internal.entry"
           " ORDER BY namespace, key, idx, epoch")
ACCESS = "SELECT role::text, namespace, may_write FROM fence_internal.access ORDER BY 1, 2, 3"


def rows(server, database, query):
    with psycopg.connect(server.dsn(dbname=database)) as connection:
        return connection.execute(query).fetchall()


def claim(connection, namespace, key, epoch, writer):
    connection.execute("SELECT fence.oplog_metadata_upsert(%s, %s, %s, %s)",
                       (namespace, key, epoch, writer))


def append(connection, namespace, key, epoch, writer, idx, payload):
    connection.execute("SELECT fence.fenced_append(%s, %s, %s, %s, %s, %s)",
                       (namespace, key, epoch, writer, idx, payload))


@pytest.fixture(name="databases")
def make_databases(server):
    """Given a database with logs, rights and a deleted key, and the name of an empty one."""
    with psycopg.connect(server.dsn(dbname="postgres"), autocommit=True) as admin:
        admin.execute("CREATE DATABASE dump_source")
        admin.execute("CREATE DATABASE dump_target")
        admin.execute("CREATE ROLE \"dump Writer\" LOGIN")
        with psycopg.connect(server.dsn(dbname="dump_source"), autocommit=True) as source:
            source.execute("CREATE EXTENSION fence")
            source.execute("SELECT fence.fence_grant_writer('dump Writer', 'n')")
            claim(source, "n", "k", 3, W1)
            for idx in range(1, 6):
                append(source, "n", "k", 3, W1, idx, b"old" * idx)
            claim(source, "n", "k", 7, W2)
            append(source, "n", "k", 7, W2, 6, bytes(range(256)) * 1000)
            append(source, "n", "k", 7, W2, 8, b"")
            claim(source, "n", "max", 2**63 - 1, W1)
            claim(source, "it's \"a\"\ttab\\", "€ 🔒\n", 1, W1)
            append(source, "it's \"a\"\ttab\\", "€ 🔒\n", 1, W1, 0, b"\\.")
            # As fenced_delete leaves it.
            source.execute("INSERT INTO fence_internal.record SELECT namespace, 'deleted', 1, 40, writer,"
                           " now(), -1, -1, 0, timeline, lineage FROM fence_internal.record"
                           " WHERE key = 'k'")
        yield "dump_source", "dump_target"
        admin.execute("DROP DATABASE dump_source")
        admin.execute("DROP DATABASE dump_target")
        admin.execute("DROP ROLE \"dump Writer\"")


def run(server, program, *arguments, text=None):
    """(exit status, what it printed)"""
    done = subprocess.run([server.bindir / program, *arguments], env=server.environment(), input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def restore_by_psql(server, source, target):
    status, dump = run(server, "pg_dump", source)
    assert status == 0, dump
    status, printed = run(server, "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", target, text=dump)
    assert status == 0, printed


def restore_by_inserts(server, source, target):
    status, dump = run(server, "pg_dump", "--inserts", source)
    assert status == 0, dump
    status, printed = run(server, "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", target, text=dump)
    assert status == 0, printed


def restore_custom(server, source, target):
    file = server.folder / "dump"
    assert run(server, "pg_dump", "-Fc", "-f", file, source) == (0, "")
    assert run(server, "pg_restore", "--exit-on-error", "-j", "2", "-d", target, file) == (0, "")


@pytest.mark.parametrize("restore", [restore_by_psql, restore_by_inserts, restore_custom])
def test_all_is_there_in_another_database(server, databases, restore):
    source, target = databases
    restore(server, source, target)
    for query in (RECORDS, ENTRIES, ACCESS):
        assert rows(server, target, query) == rows(server, source, query) != []

    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("SELECT fence.fence_adopt()")
        # No epoch has fallen, that of a deleted key neither.
        for key, epoch in (("k", 6), ("k", 3), ("deleted", 40), ("deleted", 39)):
            with pytest.raises(psycopg.Error) as refused:
                claim(connection, "n", key, epoch, W1)
            assert refused.value.sqlstate == "ZF001"
        claimed = connection.execute("SELECT fence.oplog_metadata_upsert('n', 'k', 9, %s)", (W1,))
        assert claimed.fetchone() == (8,)
        with pytest.raises(psycopg.Error) as refused:
            append(connection, "n", "k", 9, W1, 5, b"other")
        assert refused.value.sqlstate == "ZF013"
        append(connection, "n", "k", 9, W1, 9, b"goes on")

    # The guards stand as they did, and the rights are worth as much.
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("UPDATE fence_internal.record SET epoch = 0")
        assert refused.value.sqlstate == "ZF005"
        assert connection.execute("SELECT DISTINCT tgenabled FROM pg_trigger WHERE NOT tgisinternal"
                                  " AND tgrelid::regclass::text LIKE 'fence_internal.%'").fetchall() == [("A",)]
    with psycopg.connect(server.dsn(dbname=target, user="'dump Writer'"), autocommit=True) as connection:
        append(connection, "n", "k", 9, W1, 10, b"by the role")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            claim(connection, "other", "k", 9, W1)


def test_right_of_a_dropped_role_is_not_dumped(server, databases):
    """Its number may be that of another role where the dump is restored."""
    source, target = databases
    for statement in ("CREATE ROLE dump_gone", "SELECT fence.fence_grant_writer('dump_gone')",
                      "DROP OWNED BY dump_gone", "DROP ROLE dump_gone"):
        server.sql(statement, database=source)
    restore_by_psql(server, source, target)
    assert rows(server, target, ACCESS) == [("\"dump Writer\"", "n", True)]


def test_restored_copy_knows_that_it_is_one(server, databases):
    source, target = databases
    restore_by_psql(server, source, target)
    install = "SELECT install FROM fence_internal.install"
    lineage = "SELECT install FROM fence_internal.lineage ORDER BY generation, install"
    assert rows(server, source, install) != rows(server, target, install)
    assert set(rows(server, target, lineage)) == set(rows(server, source, install) + rows(server, target, install))


@pytest.mark.parametrize("options", [(), ("--inserts", "--on-conflict-do-nothing")])
def test_restore_lowers_nothing_that_is_there(server, databases, options):
    """Given a target that was claimed at a higher epoch, and one whose record is gone ahead."""
    source, target = databases
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION fence")
        claim(connection, "n", "k", 50, W1)
        claim(connection, "n", "deleted", 60, W1)
    before = rows(server, target, RECORDS)
    status, dump = run(server, "pg_dump", "--data-only", *options, source)
    assert status == 0, dump
    _, printed = run(server, "psql", "-XqAt", target, text=dump)
    assert options or "duplicate key" in printed
    after = rows(server, target, RECORDS)
    assert [row for row in after if row[1] in ("k", "deleted")] == before


def test_data_with_triggers_disabled(server, databases):
    """pg_restore --disable-triggers goes past the guards, and leaves them weaker (P31), until
    the copy is adopted."""
    source, target = databases
    file = server.folder / "dump"
    assert run(server, "pg_dump", "-Fc", "-f", file, source)[0] == 0
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION fence")
    assert run(server, "pg_restore", "--data-only", "--disable-triggers", "-d", target, file)[0] == 0
    assert rows(server, target, RECORDS) == rows(server, source, RECORDS)
    states = ("SELECT DISTINCT tgenabled FROM pg_trigger WHERE NOT tgisinternal"
              " AND tgrelid = 'fence_internal.record'::regclass")
    assert rows(server, target, states) == [("O",)]
    server.sql("SELECT fence.fence_adopt()", database=target)
    assert rows(server, target, states) == [("A",)]


# ---- crashes -------------------------------------------------------------------

CLAIMS = [
    "SELECT fence.oplog_metadata_upsert('n', 'k', {epoch}, '{writer}')",
    "SELECT fence.try_oplog_metadata_upsert('n', 'k', {epoch}, '{writer}')",
    "SELECT fence.oplog_metadata_upsert_many('n', '[{{\"key\": \"k\", \"epoch\": \"{epoch}\"}}]', '{writer}')",
    # P12: a setting of a function is gone before the commit. So is none of ours.
    "SELECT hurried_claim({epoch}, '{writer}')",
]


def test_claim_outlives_kill9():
    """Given synchronous_commit = off, so that a plain commit is lost in the crash behind it."""
    rounds = 20
    kept = 0
    with Server(conf={"fsync": "on", "wal_writer_delay": "10s", "synchronous_commit": "off",
                      "autovacuum": "off"}) as server:
        server.sql("CREATE TABLE control(n int)")
        server.sql("CREATE FUNCTION hurried_claim(epoch bigint, writer text) RETURNS bigint"
                   " LANGUAGE plpgsql SET synchronous_commit = off"
                   " AS $$BEGIN RETURN fence.oplog_metadata_upsert('n', 'k', epoch, writer); END$$")
        server.sql("CHECKPOINT")
        for epoch in range(1, rounds + 1):
            with psycopg.connect(server.dsn(), autocommit=True) as connection:
                connection.execute(CLAIMS[epoch % len(CLAIMS)].format(epoch=epoch, writer=W1))
                connection.execute("INSERT INTO control VALUES (%s)", (epoch,))
                server.kill9()
            server.start()
            assert server.sql("SELECT epoch FROM fence.oplog_metadata") == str(epoch)
            kept += int(server.sql(f"SELECT count(*) FROM control WHERE n = {epoch}"))
    assert kept < rounds / 2, "the crash loses nothing: this test shows nothing"


def test_entries_outlive_kill9():
    """What an append has answered is there, and what was not committed is not."""
    with Server(conf={"fsync": "on"}) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            claim(connection, "n", "k", 1, W1)
            other = psycopg.connect(server.dsn())
            append(other, "n", "k", 1, W1, 1000, b"open")
            for idx in range(50):
                append(connection, "n", "k", 1, W1, idx, bytes([idx]) * 5000)
            server.kill9()
            other.close()
        server.start()
        found = rows(server, "fence", "SELECT idx, payload FROM fence.oplog_read('n', 'k')")
        assert found == [(idx, bytes([idx]) * 5000) for idx in range(50)]
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            append(connection, "n", "k", 1, W1, 1000, b"stored anew")


@pytest.mark.parametrize("first, call", [
    (1, "SELECT fence.fenced_append('n', 'k', 2, '{writer}', {idx}, 'x')"),  # a repeat below the tail
    (2001, "SELECT fence.oplog_metadata_upsert('n', 'k', 2, '{writer}')"),  # last of a claim again
])
def test_answer_that_rests_on_an_entry_of_another_session_outlives_kill9(first, call):
    """Given that the other session's own commit did not wait for the disk."""
    rounds = 4
    kept = 0
    with Server(conf={"fsync": "on", "wal_writer_delay": "10s", "autovacuum": "off"}) as server:
        server.sql("CREATE TABLE control(n int)")
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            claim(connection, "n", "k", 1, W1)
            append(connection, "n", "k", 1, W1, 1000, b"tail")
            claim(connection, "n", "k", 2, W1)
        server.sql("CHECKPOINT")
        for idx in range(first, first + rounds):
            with psycopg.connect(server.dsn(), autocommit=True) as hurried, \
                    psycopg.connect(server.dsn(), autocommit=True) as other:
                hurried.execute("SET synchronous_commit = off")
                append(hurried, "n", "k", 2, W1, idx, b"x")
                assert other.execute(call.format(idx=idx, writer=W1)).fetchone() == (idx,)
                hurried.execute("INSERT INTO control VALUES (%s)", (idx,))
                server.kill9()
            server.start()
            assert server.sql(f"SELECT idx FROM fence.oplog_read('n', 'k', {idx}, {idx})") == str(idx)
            kept += int(server.sql(f"SELECT count(*) FROM control WHERE n = {idx}"))
    assert kept < rounds / 2, "the crash loses nothing: this test shows nothing"
