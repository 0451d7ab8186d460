"""fence_doctor about roles: who could get round the fence, and who could hold it up."""
import doctor
import pytest
from doctor import Case
from pgserver import Server

APP = 'role "doc App"'
GROUP = 'CREATE ROLE "doc group" NOLOGIN;'
JOIN = 'GRANT "doc group" TO "doc App";'
OTHER = "CREATE ROLE doc_other LOGIN;"
OTHER_GONE = "DROP OWNED BY doc_other; DROP ROLE doc_other;"
PUBLIC_TABLE = ("CREATE TABLE public.doc(id bigint PRIMARY KEY); SELECT fence.fence_protect('public.doc', 'shop', '[\"id\"]');")


def app(kind, breaks, problem, name="", severity="warning", setup="", **more):
    return Case(kind, breaks, [(severity, APP, problem)], setup=setup, name=name, **more)


RESET = 'ALTER ROLE "doc App" RESET {};'
ROLES = [
    app("writer_superuser", 'ALTER ROLE "doc App" SUPERUSER;', "is a writer and a superuser"),
    Case("writer_superuser", "SELECT fence.fence_grant_writer('postgres', 'shop'), fence.fence_grant_writer('postgres', 'x');",
         [("warning", "role postgres", "is a writer and a superuser"), ("warning", "role postgres", "has no idle_in_transaction"),
          ("warning", "role postgres", "has no statement_timeout")], undo="ALTER ROLE postgres IN DATABASE fence RESET ALL;",
         name="of the cluster"),
    app("writer_becomes_superuser", 'GRANT postgres TO "doc App";', "a member of the superuser postgres"),
    app("writer_becomes_superuser", 'GRANT postgres TO "doc group";', "a member of the superuser postgres", "group", setup=GROUP + JOIN),
    app("writer_leaves_database", 'GRANT pg_write_server_files TO "doc App";', "a member of pg_write_server_files"),
    app("writer_creates_roles", 'ALTER ROLE "doc App" CREATEROLE;', "(CREATEROLE)", "P36", majors=(15, 15)),
    app("writer_creates_roles", JOIN, "(CREATEROLE)", "group", setup=GROUP + 'ALTER ROLE "doc group" CREATEROLE;', majors=(15, 15)),
    app("writer_owns_table", 'ALTER TABLE shop.orders OWNER TO "doc App";', "the protected table shop.orders"),
    app("writer_owns_table", 'ALTER TABLE shop.events_eu OWNER TO "doc App"; ALTER TABLE shop.events_us OWNER TO "doc App";',
        "the protected table shop.events,", "partitions"),
    app("writer_owns_table", JOIN, "the protected table shop.events,", "group",
        setup=GROUP + 'ALTER TABLE shop.events OWNER TO "doc group"; ALTER TABLE shop.events_eu OWNER TO "doc group";'),
    app("writer_owns_table", 'ALTER TABLE shop.orders OWNER TO "doc group";', "the protected table shop.orders,", "group of writers",
        setup=GROUP + JOIN + "SELECT fence.fence_grant_writer('doc group', 'shop'), fence.fence_revoke_writer('doc App');"),
    app("writer_owns_schema", 'ALTER SCHEMA shop OWNER TO "doc App";', "in the schema shop,"),
    app("writer_owns_schema", JOIN, "in the schema shop,", "group", setup=GROUP + 'ALTER SCHEMA shop OWNER TO "doc group";'),
    app("writer_owns_schema", 'ALTER DATABASE fence OWNER TO "doc App";', "in the schema public,", "by the database", setup=PUBLIC_TABLE,
        undo="ALTER DATABASE fence OWNER TO postgres; ALTER SCHEMA public OWNER TO pg_database_owner; SELECT fence.fence_unprotect('public.doc');"
        "DROP TABLE public.doc;"),
    app("writer_privilege", 'GRANT TRUNCATE, TRIGGER ON shop.orders TO "doc App";', "has the privilege TRIGGER, TRUNCATE on shop.orders"),
    app("writer_privilege", "GRANT ALL ON shop.orders TO PUBLIC;", "TRIGGER, TRUNCATE on shop.orders", "PUBLIC"),
    app("writer_privilege", 'GRANT TRIGGER ON shop.events_eu TO "doc group";', "TRIGGER on shop.events", "group", setup=GROUP + JOIN),
    Case("write_all_data", "GRANT pg_write_all_data TO doc_other;", [("warning", "role doc_other", "is a member of pg_write_all_data")],
         setup=OTHER, undo=OTHER_GONE, name="P35"),
    app("write_all_data", 'GRANT pg_write_all_data TO "doc group";', "is a member of pg_write_all_data", "group", setup=GROUP + JOIN),
    app("parameter", 'GRANT SET ON PARAMETER session_replication_role TO "doc App";', "may set session_replication_role", "P29"),
    Case("parameter", "GRANT ALTER SYSTEM ON PARAMETER session_replication_role TO PUBLIC;",
         [("warning", APP, "may set session_replication_role"), ("warning", "role doc_other", "may set session_replication_role")],
         setup=OTHER, undo=OTHER_GONE, name="PUBLIC"),
    app("parameter", 'GRANT SET ON PARAMETER event_triggers TO "doc group";', "may set event_triggers", "P34", setup=GROUP + JOIN, majors=(17, 99)),
    app("idle_timeout", RESET.format("idle_in_transaction_session_timeout"), "has no idle_in_transaction_session_timeout", "P64"),
    app("idle_timeout", 'ALTER ROLE "doc App" IN DATABASE fence SET idle_in_transaction_session_timeout = 0;', "has no idle_in", "in database"),
    Case("idle_timeout", "SELECT fence.fence_grant_writer('doc group', 'shop');", [("warning", "role doc_other", "has no idle_in")],
         setup=OTHER + GROUP + "ALTER ROLE doc_other SET statement_timeout = '1h'; GRANT \"doc group\" TO doc_other;", undo=OTHER_GONE, name="member"),
    app("statement_timeout", RESET.format("statement_timeout"), "has no statement_timeout"),
    app("statement_timeout", RESET.format("ALL") + 'ALTER ROLE "doc App" SET idle_in_transaction_session_timeout = \'1min\';'
        "ALTER DATABASE fence SET statement_timeout = '0';", "has no statement_timeout", "of the database", undo="ALTER DATABASE fence RESET ALL;"),
    app("timeout_order", 'ALTER ROLE "doc App" SET lock_timeout = \'10s\';', "(lock_timeout, 10000 ms)", "pain 59", severity="info"),
    app("timeout_order", 'ALTER ROLE "doc App" SET lock_timeout = \'1500\';', "(lock_timeout, 1500 ms)", "shorter", severity="info"),
    app("writer_asynchronous", 'ALTER ROLE "doc App" SET synchronous_commit = off;', "has synchronous_commit off", severity="info"),
]


@pytest.fixture(name="healthy", scope="module")
def start_healthy():
    with Server(conf={"fsync": "on"}) as server:
        yield server


@pytest.mark.parametrize("case", ROLES, ids=doctor.label)
def test_weakness_of_a_role_is_named_and_repaired(healthy, case):
    doctor.check_case(healthy, case)


def test_installer_that_is_no_superuser_any_more_and_writes(healthy):
    doctor.run_sql(healthy, "CREATE ROLE doc_installer SUPERUSER LOGIN; CREATE DATABASE doc_installed;"
                   "ALTER ROLE doc_installer SET idle_in_transaction_session_timeout = '1min';"
                   "ALTER ROLE doc_installer SET statement_timeout = '1min';")
    doctor.run_sql(healthy, "SET ROLE doc_installer; CREATE EXTENSION fence; SELECT fence.fence_grant_writer('doc_installer');"
                   "RESET ROLE; ALTER ROLE doc_installer NOSUPERUSER;", database="doc_installed")
    row, = doctor.doctor(healthy, dbname="doc_installed")
    assert row[:2] == ("warning", "role doc_installer") and "owns the extension" in row[2]
    doctor.run_sql(healthy, row[3], database="doc_installed")
    assert doctor.doctor(healthy, dbname="doc_installed") == []
    doctor.run_sql(healthy, "DROP DATABASE doc_installed; DROP ROLE doc_installer;")


SILENT = [
    ("of the role in another database", 'ALTER ROLE "doc App" IN DATABASE postgres SET idle_in_transaction_session_timeout = 0;'),
    ("of the role before that of the database", "ALTER DATABASE fence SET idle_in_transaction_session_timeout = 0;"),
    ("of the database", RESET.format("idle_in_transaction_session_timeout") +
     "ALTER DATABASE fence SET idle_in_transaction_session_timeout = '1h';"),
    ("of all roles", RESET.format("idle_in_transaction_session_timeout") + "ALTER ROLE ALL SET idle_in_transaction_session_timeout = '1h';"),
    ("of the server", RESET.format("idle_in_transaction_session_timeout") +
     "ALTER SYSTEM SET idle_in_transaction_session_timeout = '1h'; SELECT pg_reload_conf();"),
    ("longer for the lock", 'ALTER ROLE "doc App" SET lock_timeout = \'10001ms\';'),
]


@pytest.mark.parametrize("where, sql", SILENT, ids=[where for where, _ in SILENT])
def test_timeout_that_is_in_force_is_found(healthy, where, sql):
    doctor.run_sql(healthy, doctor.WORLD + sql)
    try:
        assert doctor.doctor(healthy) == [], where
    finally:
        doctor.run_sql(healthy, "ALTER DATABASE fence RESET ALL; ALTER ROLE ALL RESET ALL;"
                       "ALTER SYSTEM RESET idle_in_transaction_session_timeout; SELECT pg_reload_conf();" + doctor.AFTER_WORLD)


def test_timeouts_of_who_asks_count_for_nobody_else(healthy):
    doctor.run_sql(healthy, doctor.WORLD + RESET.format("statement_timeout"))
    assert [row[1:3] for row in doctor.doctor(healthy, options="-c statement_timeout=9000")] == [
        (APP, "has no statement_timeout: a statement that hangs holds up others by its locks")]
    doctor.run_sql(healthy, doctor.AFTER_WORLD)


def test_readers_and_roles_that_cannot_log_in_are_nobody_to_look_at(healthy):
    doctor.run_sql(healthy, doctor.WORLD + OTHER + GROUP + "SELECT fence.fence_grant_reader('doc_other'), fence.fence_grant_writer('doc group');"
                   'GRANT TRIGGER ON shop.orders TO doc_other, "doc group"; ALTER ROLE "doc group" SUPERUSER;')
    assert doctor.doctor(healthy) == []
    doctor.run_sql(healthy, "SELECT fence.fence_revoke_reader('doc_other');" + OTHER_GONE + doctor.AFTER_WORLD)


WRITTEN = [("0", 0), ("250", 250), ("10s", 10000), (" 1.5 min ", 90000), ("2h", 7200000), ("1d", 86400000), ("100us", 0), ("900us", 1),
           ("1e3ms", 1000), (".5s", 500), ("0x10", None), ("soon", None)]


@pytest.mark.parametrize("written, milliseconds", WRITTEN)
def test_written_times(healthy, written, milliseconds):
    found = doctor.run_sql(healthy, f"SELECT fence_internal.milliseconds('{written}')")
    assert found == ("" if milliseconds is None else str(milliseconds))
