"""A million entries in a hundred thousand keys: a call touches what it names and no more. Pages
are counted, not milliseconds."""
import psycopg
import pytest
from scene import owner

KEYS = 100_000
ENTRIES = 10  # of each key
PAGES = 200   # a descent in an index is four of them; a whole table here has thousands

FILL = f"""
INSERT INTO fence_internal.record(namespace, key, hash, epoch, writer, tail_at_claim, trimmed, born, timeline, lineage)
SELECT 'big', 'key' || to_char(i, 'FM000000'), fence_internal.record_hash('big', 'key' || to_char(i, 'FM000000')),
  1, (SELECT writer FROM fence_internal.record WHERE namespace = 'seed'), {ENTRIES - 1}, -1, -1, seed.timeline, seed.lineage
FROM generate_series(0, {KEYS - 1}) AS i, fence_internal.record AS seed WHERE seed.namespace = 'seed';
INSERT INTO fence_internal.entry
SELECT idx, 1, 'big', 'key' || to_char(i, 'FM000000'), 'payload'
FROM generate_series(0, {KEYS - 1}) AS i, generate_series(0, {ENTRIES - 1}) AS idx;
INSERT INTO fence_internal.value SELECT 'big', 'key' || to_char(i, 'FM000000'), 'state', 1, 'x'
FROM generate_series(0, {KEYS - 1}) AS i;
"""


@pytest.fixture(name="big", scope="module")
def big_database(server):
    """As a restore brings rows in: by the owner of the tables."""
    server.sql("CREATE DATABASE big")
    with psycopg.connect(server.dsn(dbname="big"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION fence")
        connection.execute("SELECT fence.oplog_metadata_upsert('seed', 'k', 1, %s)", [owner(1)])
        connection.execute(FILL)
        connection.execute("VACUUM ANALYZE")
        # It plans at its first call in a session, and reads the catalogs for that.
        connection.execute("SELECT * FROM fence.fence_verify('big', 'warm')")
        yield lambda sql: explain(connection, sql)
    server.sql("DROP DATABASE big")


def explain(connection, sql):
    """(the plan, how many pages the statement touched)"""
    connection.execute("SELECT count(*) FROM fence.oplog_read('big', 'warm')")
    found = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}").fetchone()[0]
    plan = found[0]["Plan"]
    return plan, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def mine(call, *arguments):
    return f"SELECT fence.{call}('big', 'key050000', 1, '{owner(1)}'{''.join(arguments)})"


@pytest.mark.parametrize("sql", [
    "SELECT * FROM fence.oplog_status WHERE namespace = 'big' AND key = 'key050000'",
    "SELECT * FROM fence.oplog_metadata WHERE namespace = 'big' AND key = 'key050000'",
    "SELECT * FROM fence.oplog_entries WHERE namespace = 'big' AND key = 'key050000'",
    "SELECT * FROM fence.fenced_values WHERE namespace = 'big' AND key = 'key050000'",
    "SELECT * FROM fence.oplog_read('big', 'key050000')",
    "SELECT * FROM fence.oplog_keys('big', 'key05', 'key050100', 20)",
    "SELECT * FROM fence.oplog_keys('big', '', 'key099990')",
    "SELECT * FROM fence.fence_verify('big', 'key050000')",
    mine("fence_check"),
    mine("fenced_append", ", 20, 'x'"),
    mine("fenced_append", ", 3, 'payload'"),
    mine("fenced_put", ", 'state', 'y'"),
    mine("fenced_remove", ", 'state'"),
    mine("fenced_drop_prefix", ", 4"),
    mine("fenced_delete"),
    f"SELECT fence.oplog_metadata_upsert('big', 'key050001', 2, '{owner(2)}')",
    f"SELECT fence.fenced_publish('big', 'key050001', 2, '{owner(2)}', 'big', 'none', 1)",
    "SELECT fence.fence_purge('big', 0)",
], ids=lambda sql: sql.split("fence.")[1].split("(")[0].split(" ")[0])
def test_a_call_touches_what_it_names(big, sql):
    _, pages = big(sql)
    print(f"{pages} pages")
    assert pages < PAGES


def test_the_plan_says_what_is_read(big):
    plan, _ = big("SELECT * FROM fence.oplog_metadata WHERE namespace = 'big' AND key = 'key050002'")
    assert (plan["Node Type"], plan["Reads"], plan["Actual Rows"]) == ("Foreign Scan", "one key", 1)
    plan, pages = big("SELECT count(*) FROM fence.oplog_metadata WHERE namespace = 'seed'")
    assert plan["Plans"][0]["Reads"] == "the keys of one namespace" and pages < PAGES
