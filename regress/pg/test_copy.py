"""ZF007: nothing is written in a copy of a database until it is adopted. From then on each
key has to be claimed at a higher epoch."""
import itertools

import psycopg
import pytest
from copies import (COPIES, TABLES, WEAK_GUARDS, Log, append_sql, by_template, claim_sql, dump, load,
                    outcome, rows, run)
from scene import Background, owner, wait_until

NUMBERS = itertools.count(1)


def fill(connection):
    """Given logs, a deleted key, a value, a mode with its floor, and a right."""
    for statement in (
            "CREATE EXTENSION fence", claim_sql("k", 3), append_sql("k", 3, 1), claim_sql("k", 5),
            append_sql("k", 5, 2), claim_sql("other", 10**12 - 1),
            # As their calls leave them.
            "INSERT INTO fence_internal.record SELECT namespace, 'deleted', 1, 40, writer, now(),"
            " -1, -1, 0, timeline, lineage FROM fence_internal.record WHERE key = 'k'",
            "INSERT INTO fence_internal.trim_mark VALUES ('n', 'k', 5, 0)",
            "INSERT INTO fence_internal.value VALUES ('n', 'k', 'name', 5, 'v'),"
            " ('n', 'k', 'gone', 5, NULL)",
            "INSERT INTO fence_internal.namespace VALUES ('other', 'optional', true, NULL, 17)",
            "SELECT fence.fence_grant_writer('lineage_writer', 'n')"):
        connection.execute(statement)


@pytest.fixture(name="roles", scope="module")
def make_roles(server):
    """Given a role that may write to namespace n, and one that shall own the copy."""
    server.sql("CREATE ROLE lineage_writer LOGIN; CREATE ROLE lineage_owner LOGIN CREATEDB")
    yield
    server.sql("DROP ROLE lineage_writer; DROP ROLE lineage_owner")


@pytest.fixture(name="databases")
def make_databases(server, roles):  # pylint: disable=unused-argument
    """(a database with a state, the name of one that a copy can be made in)"""
    number = next(NUMBERS)
    source, target = f"lineage_source{number}", f"lineage_target{number}"
    server.sql(f"CREATE DATABASE {source}")
    server.sql(f"CREATE DATABASE {target}")
    with psycopg.connect(server.dsn(dbname=source), autocommit=True) as connection:
        fill(connection)
    yield source, target
    server.sql(f"DROP DATABASE IF EXISTS {target}")
    server.sql(f"DROP DATABASE {source}")


@pytest.fixture(name="copy", params=COPIES)
def make_copy(request, server, databases):
    """Given a copy, by each way that there is; a session in it."""
    source, target = databases
    COPIES[request.param](server, source, target)
    assert rows(server, target) == rows(server, source)
    assert all(rows(server, target).values())
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        yield connection


WRITES = [append_sql("k", 5, 9), append_sql("never", 1, 1), claim_sql("k", 5), claim_sql("k", 9),
          claim_sql("never", 1), claim_sql("k", 9, "try_oplog_metadata_upsert"),
          f"SELECT fence.oplog_metadata_upsert_many('n', '[{{\"key\":\"k\",\"epoch\":9}}]', '{owner(9)}')",
          f"SELECT fence.fenced_append_many('n', 'k', 5, '{owner(5)}', '{{9}}', '{{p}}')",
          f"INSERT INTO fence.fenced_append VALUES ('n', 'k', 5, '{owner(5)}', 9, 'p') RETURNING idx",
          f"SELECT fence.fence_check('n', 'k', 5, '{owner(5)}')",
          f"SELECT fence.fence_drain('n', 'k', 5, '{owner(5)}', 0)",
          f"SELECT fence.fence_evict('n', 'k', 5, '{owner(5)}')",
          f"SELECT fence.fenced_delete('n', 'k', 5, '{owner(5)}')",
          f"SELECT fence.fenced_drop_prefix('n', 'k', 5, '{owner(5)}', 1)",
          f"SELECT fence.fenced_put('n', 'k', 5, '{owner(5)}', 'name', 'v')",
          f"SELECT fence.fenced_remove('n', 'k', 5, '{owner(5)}', 'name')",
          f"SELECT fence.fenced_publish('n', 'new', 5, '{owner(5)}', 'n', 'k', 2)",
          "SELECT fence.fence_namespace_set('n', 'optional')", "SELECT fence.fence_purge('n', 0)",
          "SELECT fence.fence_reset('n', 'k', 1)", "SELECT fence.fence_lineage_accept()"]


def test_copy_is_read_and_not_written_until_it_is_adopted(server, copy):
    log = Log(copy, "k")
    for write in WRITES:
        assert outcome(copy, write) == "ZF007", write
    assert copy.execute("SELECT idx FROM fence.oplog_read('n', 'k')").fetchall() == [(1,), (2,)]
    assert outcome(copy, "SELECT count(*) FROM fence.oplog_status") == 3
    assert outcome(copy, "SELECT fence.fence_capabilities()->'fencing'") is False

    generation = outcome(copy, "SELECT max(generation) FROM fence_internal.lineage")
    assert outcome(copy, "SELECT fence.fence_adopt()") == generation + 1
    assert outcome(copy, WEAK_GUARDS) == 0
    assert outcome(copy, "SELECT fence.fence_capabilities()->'fencing'") is True

    # What was claimed in the original counts for nothing, and its epochs are used up.
    assert (log.append(5, 9), log.check(5), log.claim(5), log.append(6, 9)) == ("ZF007",) * 4
    assert (log.claim(4), outcome(copy, claim_sql("deleted", 40))) == ("ZF001", "ZF001")
    assert log.claim(6) == 2
    assert (log.append(6, 3), log.claim(6), log.check(6)) == (3, 3, True)
    assert (log.append(5, 9), log.claim(5)) == ("ZF001", "ZF001")
    assert outcome(copy, claim_sql("new", 0)) is None
    # The original goes on as it did.
    source = copy.info.dbname.replace("target", "source")
    assert server.sql(append_sql("k", 5, 3), database=source) == "3"


def test_copy_of_a_copy_is_one_again(server, databases):
    source, target = databases
    by_template(server, source, target)
    server.sql("SELECT fence.fence_adopt()", database=target)
    server.sql(claim_sql("k", 6), database=target)
    third = f"{target}_again"
    server.sql(f"CREATE DATABASE {third} TEMPLATE {target}")
    with psycopg.connect(server.dsn(dbname=third), autocommit=True) as connection:
        assert outcome(connection, append_sql("k", 6, 3)) == "ZF007"
        assert outcome(connection, "SELECT fence.fence_adopt()") == 3
        assert outcome(connection, append_sql("k", 6, 3)) == "ZF007"
        assert outcome(connection, claim_sql("k", 7)) == 2
    server.sql(f"DROP DATABASE {third}")


@pytest.mark.parametrize("options, prepared", [((), False), (("--data-only",), True),
                                               (("--data-only", "--disable-triggers"), True)])
def test_restore_by_an_owner_who_is_no_superuser_fails_loudly(server, databases, options, prepared):
    source, target = databases
    server.sql(f"ALTER DATABASE {target} OWNER TO lineage_owner")
    if prepared:
        server.sql("CREATE EXTENSION fence", database=target)
    file = dump(server, source, "-Fc")
    status, printed = run(server, "pg_restore", *options, "-U", "lineage_owner", "-d", target, file)
    assert status != 0
    assert "permission denied" in printed
    if prepared:
        found = rows(server, target)
        assert not any(found[table] for table in TABLES)


@pytest.mark.parametrize("order", [("lineage", "record"), ("record", "lineage")])
def test_rows_of_another_database_in_any_order(server, databases, order):
    """Given a database with a state of its own, and a session that writes."""
    source, target = databases
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION fence")
        own = Log(connection, "own")
        assert (own.claim(1), own.append(1, 1)) == (None, 1)
        for table in order:
            load(server, dump(server, source, "--data-only", "-t", f"fence_internal.{table}"), target)
        assert (own.append(1, 2), Log(connection, "k").append(5, 3)) == ("ZF007", "ZF007")
        assert outcome(connection, "SELECT fence.fence_adopt()") == 2
        assert (own.append(1, 2), Log(connection, "k").append(5, 3)) == ("ZF007", "ZF007")
        assert (own.claim(2), own.append(2, 2)) == (1, 2)


def test_transaction_that_is_open_when_the_database_becomes_a_copy(server, databases):
    source, target = databases
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION fence")
        log = Log(connection, "own")
        assert log.claim(1) is None
        connection.execute("BEGIN")
        assert log.append(1, 1) == 1
        load(server, dump(server, source, "--data-only", "-t", "fence_internal.lineage"), target)
        assert Background(connection.execute, "COMMIT").get() == "ZF007"
        assert outcome(connection, "SELECT count(*) FROM fence.oplog_read('n', 'own')") == 0


def test_refused_write_in_a_copy_dooms_its_transaction(server, databases):
    source, target = databases
    by_template(server, source, target)
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept(n int)")
        connection.execute("BEGIN; INSERT INTO kept VALUES (1); SAVEPOINT s")
        assert outcome(connection, append_sql("k", 5, 9)) == "ZF007"
        connection.execute("ROLLBACK TO s")
        assert outcome(connection, f"SELECT fence.fence_check('n', 'k', 5, '{owner(5)}')") == "ZF009"
        connection.execute("ROLLBACK TO s")
        assert Background(connection.execute, "COMMIT").get() == "ZF009"
        connection.execute("BEGIN; INSERT INTO kept VALUES (2); SAVEPOINT s")
        assert outcome(connection, claim_sql("k", 9)) == "ZF012"  # that comes first
        connection.execute("ROLLBACK TO s; COMMIT")
        assert connection.execute("TABLE kept").fetchall() == [(2,)]


def test_write_without_an_epoch_makes_no_claim_count_again(server, databases):
    """Given a key whose record such a write changes."""
    source, target = databases
    server.sql("SELECT fence.fence_namespace_set('n', 'optional')", database=source)
    by_template(server, source, target)
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        unfenced = "SELECT fence.fenced_append('n', 'k', NULL, NULL, 50, 'p')"
        assert outcome(connection, unfenced) == "ZF007"
        assert outcome(connection, "SELECT fence.fence_adopt()") == 2
        before = rows(server, target)["record"]
        assert outcome(connection, unfenced) == 50
        assert rows(server, target)["record"] != before
        log = Log(connection, "k")
        assert (log.append(5, 60), log.claim(5), log.claim(6), log.append(6, 60)) == ("ZF007", "ZF007", 50, 60)


def test_nothing_to_do_in_an_empty_batch(server, databases):
    source, target = databases
    by_template(server, source, target)
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        empty = f"SELECT fence.fenced_append_many('n', 'k', 5, '{owner(5)}', '{{}}', '{{}}')"
        assert outcome(connection, empty) == 0
        empty = f"SELECT fence.oplog_metadata_upsert_many('n', '[]', '{owner(5)}')"
        assert outcome(connection, empty) == []


def test_detail_and_hint(server, databases):
    source, target = databases
    by_template(server, source, target)
    with psycopg.connect(server.dsn(dbname=target), autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(append_sql("k", 5, 9))
        assert outcome(connection, claim_sql("k", 9)) == "ZF007"
        noted = connection.execute("SELECT code, namespace, key FROM fence.fence_refusals")
        assert noted.fetchall() == 2 * [("ZF007", "n", None)]
    assert refused.value.diag.message_primary.startswith("lineage_changed: this database is a restored")
    assert '"code":"ZF007","namespace":"n"' in refused.value.diag.message_detail
    assert "fence.fence_adopt()" in refused.value.diag.message_hint


# ---- fence_adopt ---------------------------------------------------------------

@pytest.fixture(name="template")
def make_template(server, databases):
    """Given a copy that nobody has adopted yet."""
    by_template(server, *databases)
    return databases[1]


def test_adopt_in_a_database_that_is_at_home(server, template):
    """Twice, or once too often: it says so, and all claims stay."""
    with psycopg.connect(server.dsn(dbname=template), autocommit=True) as connection:
        notices = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        assert outcome(connection, "SELECT fence.fence_adopt()") == 2
        assert Log(connection, "k").claim(6) == 2
        assert notices == []
        assert outcome(connection, "SELECT fence.fence_adopt()") == 2
        assert notices == ["the state of Fence lives in this database already"]
        assert Log(connection, "k").append(6, 3) == 3
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == 2
        assert notices[1:] == ["timeline 1 is in force already"]
        # Guards that were weakened are strong again there, too.
        connection.execute("ALTER TABLE fence_internal.entry DISABLE TRIGGER guard_rows")
        connection.execute("ALTER TABLE fence_internal.value ENABLE TRIGGER guard_truncate")
        assert outcome(connection, WEAK_GUARDS) == 2
        assert outcome(connection, "SELECT fence.fence_adopt()") == 2
        assert notices[2].startswith("2 triggers of Fence were off")
        assert outcome(connection, WEAK_GUARDS) == 0


def test_adopt_by_two_sessions_at_once(server, template):
    with psycopg.connect(server.dsn(dbname=template), autocommit=True) as one, \
            psycopg.connect(server.dsn(dbname=template), autocommit=True) as other, \
            psycopg.connect(server.dsn(dbname=template)) as restoring:
        restoring.execute("LOCK TABLE fence_internal.lineage IN ROW EXCLUSIVE MODE")
        calls = [Background(outcome, each, "SELECT fence.fence_adopt()") for each in (one, other)]
        restored = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        wait_until(lambda: restoring.execute(restored).fetchone()[0] == 2)
        restoring.commit()
        assert [call.get() for call in calls] == [2, 2]
        assert outcome(one, "SELECT count(*) FROM fence_internal.lineage WHERE generation > 1") == 1


@pytest.mark.parametrize("call", ["fence_adopt", "fence_lineage_accept"])
def test_calls_of_administrators(server, template, call):
    sql = f"SELECT fence.{call}()"
    with psycopg.connect(server.dsn(dbname=template), autocommit=True) as connection:
        connection.execute("BEGIN")
        assert outcome(connection, sql) == "ZF012"
        connection.execute("ROLLBACK; SET default_transaction_read_only = on")
        assert outcome(connection, sql) == "25006"
    with psycopg.connect(server.dsn(dbname=template, user="lineage_writer"), autocommit=True) as writer:
        assert outcome(writer, sql) == "42501"
    # Who is granted EXECUTE is an administrator.
    server.sql("GRANT USAGE ON SCHEMA fence TO lineage_owner;"
               f" GRANT EXECUTE ON FUNCTION fence.{call}() TO lineage_owner", database=template)
    server.sql("ALTER TABLE fence_internal.entry ENABLE TRIGGER guard_rows", database=template)
    with psycopg.connect(server.dsn(dbname=template, user="lineage_owner"), autocommit=True) as admin:
        assert outcome(admin, sql) == (2 if call == "fence_adopt" else "ZF007")


def test_sessions_that_are_open_notice_it(server, template):
    """Also in the middle of a transaction, which the adoption does not wait for."""
    with psycopg.connect(server.dsn(dbname=template), autocommit=True) as one, \
            psycopg.connect(server.dsn(dbname=template), autocommit=True) as other:
        log = Log(one, "k")
        assert (log.append(5, 9), log.claim(6)) == ("ZF007", "ZF007")
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        assert outcome(other, f"SELECT fence.fence_check('n', 'k', 6, '{owner(6)}')") == "ZF007"
        other.execute("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        server.sql("SELECT fence.fence_adopt()", database=template)
        assert (log.append(5, 9), log.claim(6), log.append(6, 3)) == ("ZF007", 2, 3)
        assert outcome(other, append_sql("k", 6, 4)) == 4
        other.execute("COMMIT")


@pytest.mark.parametrize("change", ["INSERT INTO fence_internal.install VALUES (gen_random_uuid())",
                                    "TRUNCATE fence_internal.install"])
def test_database_that_does_not_know_its_install(server, databases, change):
    source, _ = databases
    with psycopg.connect(server.dsn(dbname=source), autocommit=True) as connection:
        assert Log(connection, "k").append(5, 3) == 3
        with connection.transaction():
            connection.execute("ALTER TABLE fence_internal.install DISABLE TRIGGER USER")
            connection.execute(change)
        assert Log(connection, "k").append(5, 4) == "ZF007"
        assert outcome(connection, "SELECT fence.fence_adopt()") == "ZF019"
        assert outcome(connection, WEAK_GUARDS) == 2  # nothing of it is kept
