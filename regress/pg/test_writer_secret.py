"""What PostgreSQL itself shows of a writer, as docs/limits.md says."""
import contextlib
import uuid

import psycopg
import pytest
from pgserver import Server

OWN = "own"  # the namespace that the role may write to
APPEND = "SELECT fence.fenced_append(%s, 'k', 1, %s, 1, '')"


@pytest.fixture(name="server", scope="module")
def fixture_server():
    with Server() as running:
        running.sql("CREATE ROLE app LOGIN;"
                    f"SELECT fence.fence_grant_writer('app', '{OWN}')")
        yield running


def by_parameter(conn, namespace, writer):
    conn.execute(APPEND, (namespace, writer))


def by_literal(conn, namespace, writer):
    conn.execute(APPEND.replace("%s", "'{}'").format(namespace, writer))


def by_copy(conn, namespace, writer):
    with conn.cursor().copy("COPY fence.fenced_append FROM STDIN") as copy:
        copy.write_row((namespace, "k", 1, writer, 1, b""))


@pytest.mark.parametrize("form, namespace, settings, shown", [
    # A refusal of Fence's: the key was never claimed, or there is no right on the namespace.
    (by_parameter, OWN, {}, False),
    (by_literal, OWN, {}, False),
    (by_copy, OWN, {}, False),
    (by_parameter, "other", {}, False),
    (by_literal, "other", {}, False),
    (by_copy, "other", {}, False),
    (by_parameter, "other", {"log_parameter_max_length_on_error": -1}, False),
    # A statement that is logged because it was sent.
    (by_parameter, OWN, {"log_statement": "all"}, True),
    (by_literal, OWN, {"log_statement": "all"}, True),
    (by_parameter, OWN, {"log_statement": "all", "log_parameter_max_length": 0}, False),
    (by_parameter, OWN, {"log_min_duration_statement": 0}, True),
])
def test_the_log_shows_the_writer_or_not(server, form, namespace, settings, shown):
    writer = str(uuid.uuid4())
    server.sql("ALTER ROLE app RESET ALL" + "".join(
        f"; ALTER ROLE app SET {name} = '{value}'" for name, value in settings.items()))
    before = len(server.log())

    with contextlib.suppress(psycopg.Error), \
            psycopg.connect(server.dsn(user="app"), autocommit=True) as conn:
        form(conn, namespace, writer)

    printed = server.log()[before:]
    assert ("no_record" if namespace == OWN else "permission denied") in printed
    assert (writer in printed) == shown, printed


@pytest.mark.parametrize("form, shown", [(by_parameter, False), (by_literal, True)])
def test_pg_stat_activity_shows_the_writer_or_not(server, form, shown):
    writer = str(uuid.uuid4())
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        with contextlib.suppress(psycopg.Error):
            form(conn, OWN, writer)
        query = server.sql(f"SELECT query FROM pg_stat_activity WHERE pid = {conn.info.backend_pid}")
    assert "fenced_append" in query
    assert (writer in query) == shown
