"""Dumps, restores and copies of databases with protected tables: they are protected there as well,
or something fails loudly."""
import psycopg
import pytest

from copies import COPIES, by_psql, claim_sql, dump, load, outcome, run
from scene import owner

SCHEMA = """
CREATE TABLE accounts(id bigint PRIMARY KEY, balance bigint);
CREATE TABLE "Odd name"(a text NOT NULL, b uuid NOT NULL) PARTITION BY LIST (a);
CREATE TABLE part_x PARTITION OF "Odd name" FOR VALUES IN ('x');
CREATE TABLE part_y PARTITION OF "Odd name" FOR VALUES IN ('y') PARTITION BY HASH (b);
CREATE TABLE part_y0 PARTITION OF part_y FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO accounts VALUES (1, 10), (2, 20);
INSERT INTO "Odd name" VALUES ('x', '00000000-0000-0000-0000-000000000001');
CREATE TABLE leader(id int PRIMARY KEY, task text);
SELECT fence.fence_protect('accounts', 'n', '["id"]', subscriber => 'apply');
SELECT fence.fence_protect('"Odd name"', 'n', '["a", "b"]');
SELECT fence.fence_protect('leader', 'n', key => 'leader');
"""
REGISTRY = "SELECT t.*::text FROM fence_internal.protected AS t ORDER BY 1"
TRIGGERS = """SELECT tgrelid::regclass::text, tgname, tgenabled, tgtype, tgfoid::regproc::text
    FROM pg_trigger WHERE tgname ~ '^fence_' ORDER BY 1, 2"""
WEAK = "SELECT count(*) FROM pg_trigger WHERE tgname ~ '^fence_' AND tgenabled <> 'A'"
UPDATE = "UPDATE accounts SET balance = 0 WHERE id = 1 RETURNING id"
WHOLE = {name: copy for name, copy in COPIES.items() if not name.startswith("data only")}


@pytest.fixture(name="databases")
def make_databases(server):
    names = "protected_source", "protected_target"
    for name in names:
        server.sql(f"DROP DATABASE IF EXISTS {name}")
        server.sql(f"CREATE DATABASE {name}")
    server.sql("CREATE EXTENSION fence", database=names[0])
    with psycopg.connect(server.dsn(dbname=names[0]), autocommit=True) as source:
        source.execute(SCHEMA)
        source.execute(claim_sql("1", 5))
    yield names
    for name in names:
        server.sql(f"DROP DATABASE {name}")


def seen(server, database, query):
    with psycopg.connect(server.dsn(dbname=database)) as connection:
        return connection.execute(query).fetchall()


def assert_sql(key, epoch):
    return f"SELECT fence.fence_assert('n', '{key}', {epoch}, '{owner(epoch)}')"


@pytest.mark.parametrize("way", WHOLE)
def test_copy_is_protected(server, databases, way):
    source, target = databases
    WHOLE[way](server, source, target)
    for query in (REGISTRY, TRIGGERS, "TABLE accounts", 'TABLE "Odd name"'):
        assert seen(server, target, query) == seen(server, source, query), query
    assert len(seen(server, target, TRIGGERS)) == 12
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as copy:
        assert outcome(copy, UPDATE) == "ZF005"
        assert outcome(copy, "TRUNCATE part_y0") == "ZF005"
        # A claim of the original opens nothing here, not even once the copy is adopted.
        with copy.transaction(force_rollback=True):
            assert outcome(copy, assert_sql("1", 5)) == "ZF007"
        assert outcome(copy, "SELECT fence.fence_adopt()") > 1
        with copy.transaction(force_rollback=True):
            assert outcome(copy, assert_sql("1", 5)) == "ZF007"
        assert outcome(copy, claim_sql("1", 6)) is None
        with copy.transaction():
            copy.execute(assert_sql("1", 6))
            assert outcome(copy, UPDATE) == 1
    assert seen(server, source, "TABLE accounts") == [(1, 10), (2, 20)]


@pytest.fixture(name="prepared")
def with_schema(server, databases):
    """Given the schema without its rows and without Fence's state."""
    source, target = databases
    load(server, dump(server, source, "--schema-only"), target)
    return source, target


def test_rows_alone_do_not_go_in(server, prepared):
    source, target = prepared
    file = dump(server, source, "-Fc")
    status, printed = run(server, "pg_restore", "--exit-on-error", "--data-only", "-d", target, file)
    assert status != 0
    # Which of them comes first is pg_restore's business: not protected yet, or not asserted.
    assert "has a trigger of Fence's and is not protected" in printed or "not_asserted" in printed
    assert seen(server, target, "TABLE accounts") == []


def test_disabled_triggers_come_back_weak_and_are_mended(server, prepared):
    """P31: pg_restore enables them again, and not ALWAYS."""
    source, target = prepared
    file = dump(server, source, "-Fc")
    assert run(server, "pg_restore", "--exit-on-error", "--data-only", "--disable-triggers", "-d",
               target, file) == (0, "")
    assert seen(server, target, "TABLE accounts") == [(1, 10), (2, 20)]
    assert seen(server, target, WEAK) != [(0,)]
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as copy:
        notices = []
        copy.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        assert outcome(copy, "SELECT fence.fence_adopt()") > 1
        assert any("triggers of Fence were off, or not ALWAYS" in notice for notice in notices)
        assert outcome(copy, WEAK) == 0
        copy.execute("SET session_replication_role = replica")
        assert outcome(copy, UPDATE) == "ZF005"
    assert seen(server, target, TRIGGERS) == seen(server, source, TRIGGERS)


def test_table_that_was_dropped_is_not_dumped(server, databases):
    """Its row stays behind, and would be no table's in the copy."""
    source, target = databases
    server.sql("DROP TABLE leader", database=source)
    by_psql(server, source, target)
    names = "SELECT relation::text FROM fence_internal.protected"
    assert set(seen(server, target, names)) == {("accounts",), ('"Odd name"',)}
