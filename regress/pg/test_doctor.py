"""fence_doctor about Fence's own tables, the extension, the server and namespaces. About
protected tables: test_doctor_tables.py; about roles: test_doctor_roles.py."""
import doctor
import psycopg
import pytest
import test_doctor_roles
import test_doctor_tables
from doctor import Case
from pgserver import Server
from replica import Replica
from scene import wait_until

ENTRY = "trigger guard_rows on fence_internal.entry"
SWALLOW = ("CREATE FUNCTION shop.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
           "CREATE TRIGGER swallow BEFORE INSERT ON fence_internal.entry FOR EACH ROW EXECUTE FUNCTION shop.nothing();")


def fault(kind, breaks, table, problem, name=""):
    return Case(kind, breaks, [("error", f"table fence_internal.{table}", problem)], name=name)


def guard(breaks, name="", kind="own_trigger_hollow", thing=ENTRY, problem="is not as Fence made it"):
    return Case(kind, breaks, [("error", thing, problem)], name=name)


OWN = [
    guard("DROP TRIGGER guard_truncate ON fence_internal.record;", kind="own_trigger_missing",
          thing="trigger guard_truncate on fence_internal.record", problem="is missing"),
    guard("DROP TRIGGER guard_rows ON fence_internal.access;", "access", "own_trigger_missing",
          "trigger guard_rows on fence_internal.access", "is missing"),
    guard("ALTER TABLE fence_internal.entry DISABLE TRIGGER guard_rows;", "D", "own_trigger_weak", problem="is not ENABLE ALWAYS"),
    guard("ALTER TABLE fence_internal.entry ENABLE TRIGGER guard_rows;", "O", "own_trigger_weak", problem="is not ENABLE ALWAYS"),
    guard(doctor.remade("fence_internal.entry", "guard_rows", "BEFORE INSERT ON fence_internal.entry FOR EACH ROW", "guard")),
    guard(doctor.remade("fence_internal.entry", "guard_rows",
                        "BEFORE INSERT OR UPDATE OR DELETE ON fence_internal.entry FOR EACH ROW", "guard_access"), "function"),
    guard(SWALLOW, kind="own_trigger_foreign", thing="trigger swallow on fence_internal.entry", problem="is not Fence's own"),
    guard("CREATE OR REPLACE FUNCTION fence_internal.guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';",
          kind="own_function", thing="function fence_internal.guard()"),
    guard("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'fence_internal.record_hash'::regclass;",
          kind="own_index", thing="index fence_internal.record_hash", problem="is not valid"),
    fault("own_fault", "ALTER TABLE fence_internal.entry ADD CONSTRAINT \"Few\" CHECK (idx < 1000);", "entry",
          'have the constraint "Few" of fence_internal.entry'),
    fault("own_fault", "CREATE TABLE shop.refers(i uuid CONSTRAINT to_it REFERENCES fence_internal.install);", "install",
          "have the constraint to_it of shop.refers", "foreign key"),
    fault("own_fault", "CREATE UNIQUE INDEX one ON fence_internal.value(name);", "value", "have the index fence_internal.one", "index"),
    fault("own_fault", "CREATE TABLE shop.child() INHERITS (fence_internal.trim_mark);", "trim_mark",
          "have the table shop.child, which inherits from fence_internal.trim_mark", "child"),
    guard("CREATE RULE swallow AS ON INSERT TO fence_internal.value DO INSTEAD NOTHING;", kind="own_rule",
          thing="rule swallow on fence_internal.value", problem="is not Fence's own"),
    fault("own_unlogged", "ALTER TABLE fence_internal.trim_mark SET UNLOGGED;", "trim_mark", "is not logged"),
]

PLACE = "array_position(extconfig, 'fence_internal.{}'::regclass::oid)"
ALL_DUMPED = ("record", "entry", "trim_mark", "value", "namespace", "lineage", "protected", "access")
EXTENSION = [
    Case("not_member", "ALTER EXTENSION fence DROP TABLE fence_internal.access;",
         [("error", "table fence_internal.access", "does not belong to the extension"),
          ("error", "table fence_internal.access", "is left out of dumps")]),
    fault("not_member", "ALTER EXTENSION fence DROP TABLE fence_internal.install;", "install", "does not belong to the extension", "install"),
    fault("not_dumped", "ALTER EXTENSION fence DROP TABLE fence_internal.entry; ALTER EXTENSION fence ADD TABLE fence_internal.entry;",
          "entry", "is left out of dumps"),
    Case("not_dumped", "UPDATE pg_extension SET extconfig = NULL, extcondition = NULL WHERE extname = 'fence';",
         [("error", f"table fence_internal.{table}", "is left out of dumps") for table in ALL_DUMPED], name="all"),
    fault("dumped_otherwise", f"UPDATE pg_extension SET extcondition[{PLACE.format('value')}] = 'WHERE false' WHERE extname = 'fence';",
          "value", "another condition"),
    fault("dumped_otherwise", f"UPDATE pg_extension SET extcondition[{PLACE.format('access')}] = '' WHERE extname = 'fence';",
          "access", "another condition", "access"),
    fault("install_dumped", "UPDATE pg_extension SET extconfig = 'fence_internal.install'::regclass::oid || extconfig,"
          " extcondition = ''::text || extcondition WHERE extname = 'fence';", "install", "would pass for the original", "first"),
    fault("install_dumped", "UPDATE pg_extension SET extconfig = extconfig[:3] || 'fence_internal.install'::regclass::oid || extconfig[4:],"
          " extcondition = extcondition[:3] || ARRAY['WHERE true'] || extcondition[4:] WHERE extname = 'fence';", "install",
          "would pass for the original", "between"),
    Case("event_trigger_missing", "ALTER EXTENSION fence DROP EVENT TRIGGER fence_partitions; DROP EVENT TRIGGER fence_partitions;",
         [("error", "event trigger fence_partitions", "is missing: partitions that come later")]),
    Case("event_trigger_missing",
         "DROP EVENT TRIGGER fence_guard_ddl; DROP EVENT TRIGGER fence_guard_detach; DROP EVENT TRIGGER fence_guard_rewrite;",
         [("error", f"event trigger {name}", "is missing: DDL that it refuses passes")
          for name in ("fence_guard_ddl", "fence_guard_detach", "fence_guard_rewrite")],
         setup="SELECT fence.fence_guard_ddl(true);", undo="SELECT fence.fence_guard_ddl(false);", name="guard"),
    Case("event_trigger_weak", "ALTER EVENT TRIGGER fence_guard_drop DISABLE;",
         [("error", "event trigger fence_guard_drop", "is not ENABLE ALWAYS")],
         setup="SELECT fence.fence_guard_ddl(true);", undo="SELECT fence.fence_guard_ddl(false);", name="guard"),
    Case("event_trigger_weak", "ALTER EVENT TRIGGER fence_partitions DISABLE;",
         [("error", "event trigger fence_partitions", "is not ENABLE ALWAYS")], name="P34"),
    Case("event_trigger_weak", "ALTER EVENT TRIGGER fence_partitions ENABLE;",
         [("error", "event trigger fence_partitions", "is not ENABLE ALWAYS")], name="O"),
    Case("other_owner", 'ALTER TABLE fence_internal.record OWNER TO "doc App"; ALTER VIEW fence.fence_grants OWNER TO "doc App";'
         'ALTER FUNCTION fence.fence_verify(text, text) OWNER TO "doc App"; ALTER SCHEMA fence OWNER TO "doc App";'
         'ALTER FOREIGN TABLE fence_internal.records OWNER TO "doc App";',
         [("error", thing, 'belongs to "doc App" and not') for thing in (
             "table fence_internal.record", "view fence.fence_grants", "function fence.fence_verify(pg_catalog.text,pg_catalog.text)",
             "schema fence", "foreign table fence_internal.records")]),
]


def setting(name, value, severity="info", problem="is on", **more):
    return Case(name, f"ALTER SYSTEM SET {name} = {value}; SELECT pg_reload_conf();", [(severity, f"setting {name}", problem)],
                undo=f"ALTER SYSTEM RESET {name}; SELECT pg_reload_conf();", **more)


SETTINGS = [
    setting("fsync", "off", "error", "is off"),
    setting("full_page_writes", "off", "error", "is off"),
    setting("synchronous_commit", "off", "info", "is off"),
    setting("hot_standby_feedback", "on"),
    setting("vacuum_defer_cleanup_age", "1000", problem="is set", majors=(15, 15)),
    setting("event_triggers", "off", "error", "is off", majors=(17, 99))._replace(kind="event_triggers_off"),
]

NAMESPACES = [
    Case("mode_optional", "SELECT fence.fence_namespace_set('it''s', 'optional', true);",
         [("info", "namespace it's", "is optional")]),
    Case("mode_unfenced", "SELECT fence.fence_namespace_set('archive', 'unfenced');", [("info", "namespace archive", "is unfenced")]),
    Case("protected_unfenced", "SELECT fence.fence_namespace_set('shop', 'unfenced');",
         [("info", "namespace shop", "is unfenced"), ("error", "table shop.orders", "nobody can assert its rows"),
          ("error", "table shop.events", "under the namespace shop")]),
]
CASES = OWN + EXTENSION + SETTINGS + NAMESPACES
# Tests of their own, in these three files.
ALONE = {"no_synchronous_standby", "old_snapshot_threshold", "subscription", "writer_owns_extension"}


@pytest.fixture(name="healthy", scope="module")
def start_healthy():
    with Server(conf={"fsync": "on", "wal_level": "logical"}) as server:
        yield server


def test_every_kind_of_row_is_tested(healthy):
    tested = {case.kind for case in CASES + test_doctor_tables.TABLES + test_doctor_roles.ROLES}
    listed = doctor.run_sql(healthy, "SELECT kind FROM fence_internal.weakness").split("\n")
    assert sorted(listed) == sorted(tested | ALONE)


@pytest.mark.parametrize("case", CASES, ids=doctor.label)
def test_weakness_is_named_and_repaired(healthy, case):
    doctor.check_case(healthy, case)


def test_database_without_anything_is_healthy(healthy):
    assert doctor.doctor(healthy) == []


def test_repair_of_dump_flags_gives_what_the_script_gave(healthy):
    """Whatever their order."""
    flags = "SELECT r::regclass, c FROM pg_extension, unnest(extconfig, extcondition) AS f(r, c) WHERE extname = 'fence' ORDER BY 1"
    before = doctor.run_sql(healthy, flags)
    doctor.run_sql(healthy, "UPDATE pg_extension SET extconfig = extconfig[:2] || extconfig[5:], extcondition = extcondition[:2] ||"
                   " extcondition[5:] WHERE extname = 'fence'")
    found = doctor.doctor(healthy)
    assert len(found) == 2
    for row in found:
        doctor.run_sql(healthy, row[3])
    assert doctor.run_sql(healthy, flags) == before


def test_namespace_keeps_what_else_was_set(healthy):
    doctor.run_sql(healthy, "SELECT fence.fence_namespace_set('kept', 'optional', true)")
    doctor.run_sql(healthy, doctor.doctor(healthy)[0][3])
    assert doctor.run_sql(healthy, "SELECT mode, identical_repeat FROM fence.fence_namespaces WHERE namespace = 'kept'") == "required|t"


def test_what_has_no_repair_by_sql_is_left_to_fence_verify(healthy):
    with psycopg.connect(healthy.dsn()) as connection:
        connection.execute("ALTER TABLE fence_internal.namespace ALTER floor DROP NOT NULL")
        assert connection.execute("SELECT count(*) FROM fence.fence_verify()").fetchone() == (1,)
        assert connection.execute("SELECT * FROM fence.fence_doctor()").fetchall() == []
        connection.rollback()


def test_setting_that_takes_a_restart():
    with Server(conf={"fsync": "on", "old_snapshot_threshold": "1h"}) as server:
        row, = doctor.doctor(server)
        assert row[:2] == ("info", "setting old_snapshot_threshold") and "restart" in row[2]
        doctor.run_sql(server, row[3])
        server.restart()
        assert doctor.doctor(server) == []


def test_standby_that_nobody_waits_for():
    """P56: what a failover can lose. On the standby itself the same rows, but for this one."""
    with Server(conf={"fsync": "on"}) as server:
        standby = Replica(server, "standby", 5440).start()
        try:
            wait_until(lambda: server.sql("SELECT state FROM pg_stat_replication") == "streaming")
            row, = doctor.doctor(server)
            assert row == ("warning", "setting synchronous_standby_names",
                           "is empty while a standby follows: a failover can lose acknowledged claims and entries",
                           "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (walreceiver)'; SELECT pg_reload_conf()")
            doctor.run_sql(server, row[3])
            assert doctor.doctor(server) == []
            doctor.run_sql(server, doctor.WORLD + "DROP TRIGGER fence_rows ON shop.orders; ALTER TABLE fence_internal.entry DISABLE TRIGGER USER;")
            server.sql("SELECT pg_logical_emit_message(true, '', '')")  # flushes what FAST has not
            standby.catch_up()
            found = doctor.doctor(server)
            assert len(found) == 3
            assert doctor.doctor(server, port=standby.port) == found
            doctor.run_sql(server, "ALTER SYSTEM SET hot_standby_feedback = on; SELECT pg_reload_conf()", port=standby.port)
            assert [row[1] for row in doctor.doctor(server, port=standby.port) if row not in found] == ["setting hot_standby_feedback"]
        finally:
            standby.stop()


def test_protected_table_that_receives_changes(healthy):
    """P33: the worker would stop at the first one."""
    doctor.run_sql(healthy, doctor.WORLD + "CREATE DATABASE doc_publisher;")
    doctor.run_sql(healthy, "CREATE SCHEMA shop; CREATE TABLE shop.orders(id bigint PRIMARY KEY, state text);"
                   "CREATE PUBLICATION p FOR TABLE shop.orders; SELECT pg_create_logical_replication_slot('doc_slot', 'pgoutput');",
                   database="doc_publisher")
    assert doctor.doctor(healthy) == []
    doctor.run_sql(healthy, f"CREATE SUBSCRIPTION \"Sub\" CONNECTION '{healthy.dsn(dbname='doc_publisher')}' PUBLICATION p"
                   " WITH (create_slot = false, slot_name = doc_slot, enabled = false, copy_data = false);")
    row, = doctor.doctor(healthy)
    assert row[:2] == ("warning", "table shop.orders") and 'by the subscription "Sub", which is stopped' in row[2]
    doctor.run_sql(healthy, row[3])
    assert doctor.doctor(healthy) == []
    assert doctor.run_sql(healthy, "SELECT subscriber FROM fence.fence_protected WHERE relation = 'shop.orders'::regclass") == "apply"
    doctor.run_sql(healthy, 'DROP SUBSCRIPTION "Sub";' + doctor.AFTER_WORLD + "DROP DATABASE doc_publisher;")


def test_asked_by_a_role_that_was_given_the_call(healthy):
    """It sees what an administrator sees, whatever it plants, and nothing else."""
    doctor.run_sql(healthy, doctor.WORLD)
    with psycopg.connect(healthy.dsn(), autocommit=True) as connection:
        connection.execute('SET ROLE "doc App"')
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM fence.fence_doctor()")
        connection.execute('RESET ROLE; GRANT EXECUTE ON FUNCTION fence.fence_doctor() TO "doc App"; GRANT CREATE ON SCHEMA shop TO "doc App";'
                           'ALTER TABLE shop.orders DISABLE TRIGGER fence_rows; SET ROLE "doc App"')
        for kind in ("text", "oid", "name"):
            connection.execute(f"CREATE FUNCTION shop.differs({kind}, {kind}) RETURNS boolean LANGUAGE plpgsql AS"
                               " $$BEGIN RAISE EXCEPTION 'used by %', current_user; END$$;"
                               f"CREATE OPERATOR shop.= (LEFTARG = {kind}, RIGHTARG = {kind}, FUNCTION = shop.differs)")
        connection.execute("CREATE FUNCTION shop.format(text, text) RETURNS text LANGUAGE plpgsql AS"
                           " $$BEGIN RAISE EXCEPTION 'used by %', current_user; END$$; SET search_path = shop, pg_catalog")
        assert connection.execute("SELECT object FROM fence.fence_doctor()").fetchall() == [("trigger fence_rows on shop.orders",)]
        for sql in ("SELECT * FROM fence_internal.protection_faults()", "SELECT * FROM fence_internal.writer"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql)
    doctor.run_sql(healthy, doctor.AFTER_WORLD)
