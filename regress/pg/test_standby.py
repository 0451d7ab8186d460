"""A streaming standby: the log can be read there. Nothing is claimed or appended there, and
nobody is told about the primary's transactions, which it does not see."""
import subprocess

import psycopg
import pytest
from pgserver import Server
from scene import Background, Scene, owner, wait_until

PORT = "5433"


def connect(server):
    """A session there once it accepts them, else None."""
    try:
        return psycopg.connect(server.dsn(port=PORT), autocommit=True)
    except psycopg.OperationalError:
        return None


@pytest.fixture(scope="module")
def scene():
    """Given a log of two entries, and a session on the standby: scene.standby."""
    with Server() as server:
        scene = Scene(server)
        scene.claim(1)
        scene.append(1, 6)
        scene.claim(2)
        scene.append(2, 7)
        folder = server.folder / "standby"
        server.run("pg_basebackup", "-D", folder, "-R", "-c", "fast", "--no-sync")
        with open(server.folder / "standby.log", "wb") as log:
            process = subprocess.Popen(
                [server.bindir / "postgres", "-D", folder, "-c", f"port={PORT}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=server.folder,
                env=server.environment(), start_new_session=True, **server.identity)
        try:
            scene.standby = wait_until(lambda: connect(server), 60)
            assert scene.ask("SELECT pg_is_in_recovery()", by=scene.standby)
            yield scene
            scene.standby.close()
        finally:
            server.run("pg_ctl", "stop", "-s", "-D", folder, "-m", "immediate")
            process.wait()
        scene.close()


@pytest.mark.parametrize("call", ["fence_check('n', '{key}', 2, '{owner}')",
                                  "fence_drain('n', '{key}', 2, '{owner}', 10)",
                                  "fence_evict('n', '{key}', 2, '{owner}')",
                                  "fenced_append('n', '{key}', 2, '{owner}', 8, 'p')",
                                  "oplog_metadata_upsert('n', '{key}', 3, '{owner}')"])
def test_call_about_ownership_is_not_answered(scene, call):
    sql = "SELECT fence." + call.format(key=scene.key, owner=owner(2))
    assert Background(scene.standby.execute, sql).get() == "25006"


def test_log_is_read_as_on_the_primary(scene):
    for query in ("SELECT * FROM fence.oplog_read('n', '{key}')", "TABLE fence.oplog_entries",
                  "TABLE fence.oplog_metadata", "TABLE fence.oplog_status"):
        query = query.format(key=scene.key)
        found = scene.standby.execute(query).fetchall()
        assert found == scene.observer.execute(query).fetchall() != []


def test_what_is_written_later_arrives(scene):
    scene.append(2, 9)
    read = "SELECT max(idx) FROM fence.oplog_read('n', %s)"
    wait_until(lambda: scene.ask(read, scene.key, by=scene.standby) == 9)
