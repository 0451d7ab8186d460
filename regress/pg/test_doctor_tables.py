"""fence_doctor about protected tables: what is wrong with each, and that its repair mends it."""
import doctor
import psycopg
import pytest
from doctor import Case
from pgserver import Server

NOTHING = ("CREATE FUNCTION shop.nothing() RETURNS trigger LANGUAGE plpgsql AS"
           " 'BEGIN RETURN NEW; END';")
ROWS = "trigger fence_rows on shop.orders"
ALWAYS = "is not ENABLE ALWAYS"
HOLLOW = "is not as Fence made it"
ALL = "INSERT OR UPDATE OR DELETE ON shop.orders"


def remade(timing, function="fence_internal.check_row", kind="CONSTRAINT TRIGGER"):
    """fence_rows of shop.orders, of another make."""
    return (f"DROP TRIGGER fence_rows ON shop.orders; CREATE {kind} fence_rows AFTER {timing} EXECUTE FUNCTION {function}();"
            "ALTER TABLE shop.orders ENABLE ALWAYS TRIGGER fence_rows;")


def unregister(table):
    return ("ALTER TABLE fence_internal.protected DISABLE TRIGGER guard_rows;"
            f"DELETE FROM fence_internal.protected WHERE relation = '{table}'::regclass;"
            "ALTER TABLE fence_internal.protected ENABLE ALWAYS TRIGGER guard_rows;")


TABLES = [
    Case("gone", 'DROP TABLE shop."Lea""der";',
         [("error", 'table shop."Lea""der"', "does not exist any more")]),
    Case("renamed", 'ALTER TABLE shop.orders RENAME TO "Old orders";',
         [("warning", 'table shop."Old orders"', "was shop.orders when it was protected")]),
    Case("renamed", "ALTER TABLE shop.events SET SCHEMA other;",
         [("warning", "table other.events", "was shop.events when it was protected")],
         setup="CREATE SCHEMA other;", undo="DROP SCHEMA other CASCADE;", name="moved"),
    Case("impostor", "ALTER TABLE shop.orders RENAME TO old; CREATE TABLE shop.orders(LIKE shop.old);",
         [("error", "table shop.old", "another relation has that name now")], name="P27"),
    Case("key_dropped", "ALTER TABLE shop.orders DROP COLUMN id;",
         [("error", "table shop.orders", "has lost its key column id")]),
    Case("key_dropped", "ALTER TABLE shop.orders DROP COLUMN id, ADD COLUMN id uuid NOT NULL;",
         [("error", "table shop.orders", "has lost its key column id")], name="replaced"),
    Case("key_renamed", 'ALTER TABLE shop.events RENAME n TO "N";',
         [("error", "table shop.events", 'a key column that is not what it was: n is called "N" now')]),
    Case("key_type", "ALTER TABLE shop.orders ALTER id TYPE numeric(20, 1);",
         [("error", "table shop.orders", "a key column without an exact text: id is of type numeric(20,1)")]),
    Case("key_type", "ALTER TABLE shop.orders ALTER id TYPE text COLLATE shop.blind;",
         [("error", "table shop.orders", "of a collation that takes different texts for equal")],
         setup="CREATE COLLATION shop.blind(provider = icu, locale = 'und', deterministic = false);",
         name="collation"),
    Case("key_nullable", "ALTER TABLE shop.events ALTER n DROP NOT NULL;",
         [("error", "table shop.events", "a key column that may be NULL: n")]),
    Case("trigger_missing", "DROP TRIGGER fence_rows ON shop.orders;", [("error", ROWS, "is missing")]),
    Case("trigger_missing", "DROP TRIGGER fence_rows ON shop.events; DROP TRIGGER fence_truncate ON shop.events_eu;",
         [("error", "trigger fence_rows on shop.events", "is missing"),
          ("error", "trigger fence_rows on shop.events_eu", "is missing"),
          ("error", "trigger fence_rows on shop.events_us", "is missing"),
          ("error", "trigger fence_truncate on shop.events_eu", "is missing")], name="partitions"),
    Case("trigger_missing", 'DROP TRIGGER fence_rows ON shop."Lea""der";',
         [("error", 'trigger fence_rows on shop."Lea""der"', "is missing")], name="quoted"),
    Case("trigger_weak", "ALTER TABLE shop.orders DISABLE TRIGGER fence_rows;", [("error", ROWS, ALWAYS)], name="P30"),
    Case("trigger_weak", "ALTER TABLE shop.orders ENABLE TRIGGER fence_rows;", [("error", ROWS, ALWAYS)], name="O"),
    Case("trigger_weak", "ALTER TABLE shop.orders ENABLE REPLICA TRIGGER fence_rows;", [("error", ROWS, ALWAYS)], name="R"),
    Case("trigger_weak", "ALTER TABLE shop.events_eu DISABLE TRIGGER fence_rows;",
         [("error", "trigger fence_rows on shop.events_eu", ALWAYS)], name="P30-leaf"),
    Case("trigger_weak", "ALTER TABLE shop.orders DISABLE TRIGGER ALL; ALTER TABLE shop.orders ENABLE TRIGGER ALL;",
         [("error", ROWS, ALWAYS), ("error", "trigger fence_truncate on shop.orders", ALWAYS)], name="P31"),
    Case("trigger_weak", "UPDATE pg_trigger SET tgenabled = 'D' WHERE tgrelid = 'shop.orders'::regclass AND tgname = 'fence_rows';",
         [("error", ROWS, ALWAYS)], name="P34"),
    Case("trigger_hollow", remade("INSERT ON shop.orders FOR EACH ROW"), [("error", ROWS, HOLLOW)], name="insert only"),
    Case("trigger_hollow", remade("INSERT OR UPDATE OF state OR DELETE ON shop.orders FOR EACH ROW"), [("error", ROWS, HOLLOW)], name="one column"),
    Case("trigger_hollow", remade(f"{ALL} FOR EACH ROW WHEN (false)"), [("error", ROWS, HOLLOW)], name="never"),
    Case("trigger_hollow", remade(f"{ALL} DEFERRABLE FOR EACH ROW"), [("error", ROWS, HOLLOW)], name="deferrable"),
    Case("trigger_hollow", NOTHING + remade(f"{ALL} FOR EACH ROW", "shop.nothing"), [("error", ROWS, HOLLOW)], name="function"),
    Case("trigger_hollow", remade(f"{ALL} FOR EACH ROW", kind="TRIGGER"), [("error", ROWS, HOLLOW)], name="replaceable"),
    Case("trigger_hollow", doctor.remade("shop.events_us", "fence_truncate", "AFTER TRUNCATE ON shop.events_us", "refuse_truncate"),
         [("error", "trigger fence_truncate on shop.events_us", HOLLOW)], name="truncate"),
    Case("triggers_unseen", "UPDATE pg_class SET relhastriggers = false WHERE oid = 'shop.events_eu'::regclass;",
         [("error", "table shop.events_eu", "its triggers do not fire")], name="P34"),
    Case("function", "CREATE OR REPLACE FUNCTION fence_internal.check_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';",
         [("error", "function fence_internal.check_row()", HOLLOW)]),
    Case("function", "ALTER FUNCTION fence_internal.refuse_truncate() SET search_path = shop;",
         [("error", "function fence_internal.refuse_truncate()", HOLLOW)], name="setting"),
    Case("unlogged", "ALTER TABLE shop.events_eu SET UNLOGGED;", [("error", "table shop.events_eu", "is not logged")], name="P60"),
    Case("child", "CREATE TABLE shop.child() INHERITS (shop.orders);",
         [("error", "table shop.child", "inherits from the protected table shop.orders")], name="P23"),
    Case("parent", "ALTER TABLE shop.orders INHERIT shop.parent;", [("warning", "table shop.orders", "inherits from shop.parent")],
         setup="CREATE TABLE shop.parent(state text);"),
    Case("attached", "ALTER TABLE shop.whole ATTACH PARTITION shop.orders FOR VALUES FROM (0) TO (10);",
         [("warning", "table shop.orders", "is a partition of shop.whole")],
         setup="CREATE TABLE shop.whole(id bigint NOT NULL, state text) PARTITION BY RANGE (id);", name="P22"),
    # The server refuses one beside a constraint trigger.
    Case("foreign_partition", "DROP TRIGGER fence_rows ON shop.events;"
         "CREATE FOREIGN TABLE shop.far PARTITION OF shop.events FOR VALUES IN ('far') SERVER doc_far;",
         [("error", "foreign table shop.far", "a part of the protected table shop.events")] +
         [("error", f"trigger fence_rows on shop.{table}", "is missing") for table in ("events", "events_eu", "events_us")],
         setup="CREATE FOREIGN DATA WRAPPER doc_far; CREATE SERVER doc_far FOREIGN DATA WRAPPER doc_far;",
         undo="DROP FOREIGN DATA WRAPPER doc_far CASCADE;", name="P28"),
    Case("rule", "CREATE RULE \"Swallow\" AS ON DELETE TO shop.orders DO INSTEAD NOTHING;",
         [("error", 'rule "Swallow" on shop.orders', "it can divert")], name="P25"),
    Case("foreign_trigger", NOTHING + "CREATE TRIGGER own BEFORE INSERT ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.nothing();",
         [("info", "trigger own on shop.orders", "is not Fence's")]),
    Case("foreign_trigger", NOTHING + "CREATE TRIGGER own AFTER INSERT ON shop.events FOR EACH ROW EXECUTE FUNCTION shop.nothing();",
         [("info", "trigger own on shop.events", "is not Fence's")], name="cloned"),
    Case("detach_pending", "UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = 'shop.events_eu'::regclass;",
         [("warning", "table shop.events_eu", "has left shop.events by DETACH PARTITION CONCURRENTLY")]),
    Case("detached", "ALTER TABLE shop.events DETACH PARTITION shop.events_eu;",
         [("warning", "table shop.events_eu", "still carries its trigger against TRUNCATE")], name="P22"),
    Case("unregistered", unregister('shop."Lea""der"'), [("warning", 'table shop."Lea""der"', "is not protected: no write passes")]),
    Case("unregistered", unregister("shop.events"),
         [("warning", "table shop.events", "is not protected: no write passes"),
          ("warning", "table shop.events_eu", "still carries"), ("warning", "table shop.events_us", "still carries")], name="partitions"),
]


@pytest.fixture(name="healthy", scope="module")
def start_healthy():
    with Server(conf={"fsync": "on"}) as server:
        yield server


@pytest.mark.parametrize("case", TABLES, ids=doctor.label)
def test_weakness_of_a_table_is_named_and_repaired(healthy, case):
    doctor.check_case(healthy, case)


def test_repair_leaves_the_settings_of_the_protection(healthy):
    """Whatever they are, and whatever the table is called."""
    registry = "SELECT relation::text, namespace, key_columns, key, authority, subscriber FROM fence_internal.protected ORDER BY 1"
    doctor.run_sql(healthy, doctor.WORLD)
    before = doctor.run_sql(healthy, registry)
    doctor.run_sql(healthy, 'DROP TRIGGER fence_truncate ON shop.events; DROP TRIGGER fence_truncate ON shop.orders;'
                   'DROP TRIGGER fence_truncate ON shop."Lea""der";')
    for row in doctor.doctor(healthy):
        doctor.run_sql(healthy, row[3])
    assert doctor.run_sql(healthy, registry) == before
    doctor.run_sql(healthy, doctor.AFTER_WORLD)


@pytest.mark.parametrize("of, found", [("shop.orders", {"trigger_missing"}), ("shop.events_eu", {"unlogged"}),
                                       ("shop.events", {"unlogged", "rule"}), ("shop.events_us", {"detached"}), ("pg_class", set())])
def test_faults_of_one_table(healthy, of, found):
    """Named by its root, or a part of it."""
    with psycopg.connect(healthy.dsn()) as connection:
        connection.execute(doctor.WORLD)
        connection.execute("DROP TRIGGER fence_rows ON shop.orders; ALTER TABLE shop.events_eu SET UNLOGGED;"
                           "CREATE RULE one AS ON INSERT TO shop.events DO ALSO NOTHING;"
                           "ALTER TABLE shop.events DETACH PARTITION shop.events_us")
        kinds = connection.execute("SELECT kind FROM fence_internal.protection_faults(%s)", [of]).fetchall()
        assert {kind for kind, in kinds} == found
        connection.rollback()
