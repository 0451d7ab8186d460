"""The DDL guard where the library is missing: whoever can switch it off is never locked out, and
who cannot weakens nothing."""
import psycopg
import pytest

from pgserver import Server
from scene import code_of

SCHEMA = """
CREATE ROLE guard_owner LOGIN;
GRANT CREATE, USAGE ON SCHEMA public TO guard_owner;
SET ROLE guard_owner;
CREATE TABLE job(id bigint PRIMARY KEY, v int);
CREATE TABLE part(a int NOT NULL) PARTITION BY RANGE (a);
CREATE TABLE part_0 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_1(a int NOT NULL);
RESET ROLE;
SELECT fence.fence_protect('job', 'guard', '["id"]');
SELECT fence.fence_protect('part', 'guard', '["a"]');
SELECT fence.fence_guard_ddl(true);
"""
WEAKENING = ("ALTER TABLE job DISABLE TRIGGER ALL", "ALTER TABLE part DETACH PARTITION part_0",
             "ALTER TABLE job RENAME TO job_away", "DROP TRIGGER fence_rows ON job",
             "CREATE RULE nothing AS ON DELETE TO job DO INSTEAD NOTHING", "DROP TABLE part_0")


@pytest.fixture(name="bare", scope="module")
def server_without_the_library():
    with Server() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as admin:
            admin.execute(SCHEMA)
        library = server.own["pkglibdir"] / "fence.so"
        library.rename(library.with_suffix(".away"))
        yield server


@pytest.fixture(name="admin")
def connect_superuser(bare):
    with psycopg.connect(bare.dsn(), autocommit=True) as admin:
        yield admin


@pytest.fixture(name="owner")
def connect_owner(bare):
    with psycopg.connect(bare.dsn(user="guard_owner"), autocommit=True) as owner:
        yield owner


def outcome(session, sql):
    """None, or the code of the error; whatever it does is undone."""
    with session.transaction(force_rollback=True):
        try:
            session.execute(sql)
        except psycopg.Error as error:
            return code_of(error)
    return None


@pytest.mark.parametrize("sql", WEAKENING)
def test_superuser_goes_on(admin, sql):
    assert outcome(admin, sql) is None


@pytest.mark.parametrize("sql", WEAKENING)
def test_owner_weakens_nothing(owner, sql):
    assert outcome(owner, sql) == "ZF020"


def test_rows_are_shut(owner):
    assert outcome(owner, "INSERT INTO job VALUES (1, 1)") == "58P01"  # undefined_file


def test_other_tables_are_free(owner):
    for sql in ("CREATE TABLE free(id int)", "ALTER TABLE part_1 ADD COLUMN b int",
                "DROP TABLE part_1"):
        assert outcome(owner, sql) is None, sql


def test_owner_waits_with_partitions(owner, admin):
    """Nobody can tell then whether one comes or goes, and no row could be written to it."""
    for sql in ("CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (20) TO (30)",
                "ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (10) TO (20)"):
        assert (outcome(owner, sql), outcome(admin, sql)) == ("ZF020", None), sql


def test_everything_of_it_can_go(admin):
    assert outcome(admin, "DROP EVENT TRIGGER fence_guard_ddl") is None
    assert outcome(admin, "DROP EXTENSION fence CASCADE") is None
