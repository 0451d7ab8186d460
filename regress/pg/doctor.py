"""The pattern of the tests of fence_doctor: healthy, no row; broken, exactly these rows; their
repair run as printed, no row again. The cases are lists in the test_doctor files; that they name
every kind of row is asserted in test_doctor.py."""
import functools
import json
import re
import subprocess
from typing import NamedTuple

import psycopg
import pytest
from scene import wait_until

# Nothing in a case waits for the disk; what a session says for itself is no weakness.
FAST = "-c synchronous_commit=off"

WORLD = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders(id bigint PRIMARY KEY, state text);
CREATE TABLE shop.events(region text NOT NULL, n integer NOT NULL) PARTITION BY LIST (region);
CREATE TABLE shop.events_eu PARTITION OF shop.events FOR VALUES IN ('eu');
CREATE TABLE shop.events_us PARTITION OF shop.events FOR VALUES IN ('us');
CREATE TABLE shop."Lea""der"(name text);
CREATE ROLE "doc App" LOGIN;
ALTER ROLE "doc App" SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE "doc App" SET statement_timeout = 60000;
GRANT USAGE ON SCHEMA shop TO "doc App";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shop TO "doc App";
SELECT fence.fence_grant_writer('doc App', 'shop'),
  fence.fence_protect('shop.orders', 'shop', '["id"]'),
  fence.fence_protect('shop.events', 'shop', '["region", "n"]', subscriber => 'apply'),
  fence.fence_protect('shop."Lea""der"', 'it''s \\ "ours"', key => 'the one');
"""

# Whatever a case has left behind.
AFTER_WORLD = """
SET client_min_messages = error;
SELECT fence.fence_unprotect(relation) FROM fence_internal.protected;
SELECT fence.fence_namespace_set(namespace, 'required') FROM fence_internal.namespace WHERE mode <> 'required';
DROP SCHEMA shop CASCADE;
DO $$
DECLARE
  one name;
BEGIN
  DELETE FROM fence_internal.access WHERE role::text ~ 'doc' OR role::text ~ '^postgres$';
  FOR one IN SELECT rolname FROM pg_roles WHERE rolname ~ '^doc ' LOOP
    EXECUTE format('REASSIGN OWNED BY %I TO postgres', one);
    EXECUTE format('DROP OWNED BY %I CASCADE', one);
  END LOOP;
  FOR one IN SELECT rolname FROM pg_roles WHERE rolname ~ '^doc ' LOOP
    EXECUTE format('DROP ROLE %I', one);
  END LOOP;
END
$$;
"""


class Case(NamedTuple):
    """kind: as in fence_internal.weakness; rows: [(severity, object, part of the problem)];
    majors: the first and the last server that has it."""
    kind: str
    breaks: str
    rows: list
    setup: str = ""
    majors: tuple = (15, 99)
    undo: str = ""
    name: str = ""


def remade(table, name, timing, function):
    """A trigger of Fence's by name, of another make."""
    return (f"DROP TRIGGER {name} ON {table};"
            f"CREATE TRIGGER {name} {timing} EXECUTE FUNCTION fence_internal.{function}();"
            f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};")


def label(case):
    return f"{case.kind}-{case.name}" if case.name else case.kind


def psql(server, text, database="fence", port="5432"):
    """As somebody pastes it: one statement after the other."""
    environment = {**server.environment(), "PGOPTIONS": FAST, "PGDATABASE": database, "PGPORT": port}
    done = subprocess.run([server.bindir / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1"], input=text,
                          env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    return done.stdout.strip()


def run_sql(server, text, **where):
    """Likewise; where it reloads the settings, sessions that begin afterwards have them."""
    if "pg_reload_conf" not in text:
        return psql(server, text, **where)
    loaded = psql(server, "SELECT pg_conf_load_time()", **where)
    printed = psql(server, text, **where)
    wait_until(lambda: psql(server, "SELECT pg_conf_load_time()", **where) != loaded)
    return printed


def doctor(server, options=FAST, **more):
    """[(severity, object, problem, repair)]"""
    with psycopg.connect(server.dsn(**more), options=options) as connection:
        return connection.execute("SELECT * FROM fence.fence_doctor()").fetchall()


def assert_rows(found, rows, what):
    """These rows, whatever their order, and no others."""
    left = list(found)
    for severity, thing, problem in rows:
        matching = [row for row in left if row[:2] == (severity, thing) and problem in row[2]]
        assert len(matching) == 1, f"{what}: {severity}, {thing}, {problem} is not in\n{found}"
        left.remove(matching[0])
    assert left == [], what


@functools.lru_cache
def known(server):
    """(the major, {kind: a pattern of its problem})"""
    major = int(run_sql(server, "SHOW server_version_num")) // 10000
    texts = json.loads(run_sql(server, "SELECT json_object_agg(kind, problem) FROM fence_internal.weakness"))
    return major, {kind: ".*".join(re.escape(part) for part in text.split("%s")) for kind, text in texts.items()}


def check_case(server, case):
    major, patterns = known(server)
    if not case.majors[0] <= major <= case.majors[1]:
        pytest.skip("not in this major")
    try:
        run_sql(server, WORLD + case.setup)
        assert_rows(doctor(server), [], "healthy")
        run_sql(server, case.breaks)
        found = doctor(server)
        assert_rows(found, case.rows, "broken")
        assert any(re.fullmatch(patterns[case.kind], row[2]) for row in found), found
        for row in found:
            run_sql(server, row[3])
        assert_rows(doctor(server), [], f"repaired by {[row[3] for row in found]}")
    finally:
        run_sql(server, case.undo + AFTER_WORLD)
