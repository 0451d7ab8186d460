"""fence_refusals and fence_stat: what is left of a refusal when its transaction is rolled back."""
import os
import subprocess
import threading
import uuid

import psycopg
import pytest
from pgserver import Server
from scene import Background, Scene, crash, owner

SLOTS = 512
RING = "SELECT code, namespace, key, asserted_epoch, stored_epoch FROM fence.fence_refusals"


@pytest.fixture(name="own", scope="module")
def make_server():
    """Given a server of these tests: they damage its files, and kill and restart it."""
    with Server() as server:
        yield server


@pytest.fixture(name="scene")
def make_scene(own):
    """Given a key at epoch 2, and no evidence of before."""
    own.restart()
    scene = Scene(own)
    scene.claim(1)
    scene.claim(2)
    yield scene
    scene.close()


def refusal_of(scene, epoch, idx=1, by=None):
    return Background(lambda: scene.append(epoch, idx, by=by)).get()


def refuse(scene, epoch=1, by=None, idx=1):
    assert refusal_of(scene, epoch, idx, by) == "ZF001"


def ring(scene):
    return scene.observer.execute(RING).fetchall()


def counts(scene):
    """What was counted, without what never came."""
    found = scene.observer.execute("SELECT code, count FROM fence.fence_stat").fetchall()
    assert len(found) == 21
    return {code: count for code, count in found if count != 0}


def files(server):
    return sorted((server.data / "pg_stat_tmp").glob("fence_*"))


# ---- what is noted -------------------------------------------------------------

def test_nothing_at_first(scene):
    assert (ring(scene), counts(scene), files(scene.server)) == ([], {}, [])


def test_row_of_a_refusal(scene):
    other = scene.connect("worker 7")
    before = scene.ask("SELECT clock_timestamp()")
    other.execute("BEGIN; SAVEPOINT s")
    refuse(scene, by=other)
    other.execute("ROLLBACK")
    at, *row = scene.observer.execute("TABLE fence.fence_refusals").fetchone()
    assert before < at < scene.ask("SELECT clock_timestamp()")
    prints = [scene.ask("SELECT fence.fence_fingerprint(%s)", owner(epoch)) for epoch in (1, 2)]
    assert row == [other.info.backend_pid, "postgres", "worker 7", "ZF001", "n", scene.key,
                   1, prints[0], 2, prints[1]]


def test_claims_appends_and_commits_are_noted_in_their_order(scene):
    """Newest last; each once, whatever became of it; calls that only ask are not."""
    key, late = scene.key, scene.connect()
    late.execute("BEGIN")
    scene.append(2, 1, by=late)
    calls = [("ZF001", scene.claim_sql(1)),
             ("ZF003", f"SELECT fence.fenced_append('n', 'none', 1, '{owner(1)}', 1, 'p')"),
             ("ZF004", scene.append_sql(9, 1)),
             ("ZF002", f"SELECT fence.fenced_append('n', '{key}', 2, '{owner(1)}', 1, 'p')"),
             ("ZF002", f"SELECT fence.oplog_metadata_upsert('n', '{key}', 2, '{owner(1)}')")]
    for code, sql in calls:
        assert Background(scene.observer.execute, sql).get() == code
    scene.observer.execute(f"SELECT fence.try_oplog_metadata_upsert('n', '{key}', 1, '{owner(1)}')")
    many = f"SELECT fence.oplog_metadata_upsert_many('n', '[{{\"key\":\"{key}\",\"epoch\":1}}]', '{owner(1)}')"
    assert Background(scene.observer.execute, many).get() == "ZF001"
    assert Background(scene.ask, "SELECT fence.fence_check('n', %s, 1, %s)", key, owner(1)).get() == "ZF001"
    assert Background(scene.ask, scene.append_sql(1, -1)).get() == "ZF010"
    scene.claim(3)
    assert Background(late.execute, "COMMIT").get() == "ZF001"
    assert ring(scene) == [
        ("ZF001", "n", key, 1, 2), ("ZF003", "n", "none", 1, None), ("ZF004", "n", key, 9, 2),
        ("ZF002", "n", key, 2, 2), ("ZF002", "n", key, 2, 2), ("ZF001", "n", key, 1, 2),
        ("ZF001", "n", key, 1, 2), ("ZF001", "n", key, 2, 3)]
    # Errors that went to a client, so not the answer of try_…, but the question and ZF010.
    assert counts(scene) == {"ZF001": 4, "ZF002": 2, "ZF003": 1, "ZF004": 1, "ZF010": 1}


def test_every_later_error_of_a_doomed_transaction_is_counted(scene):
    scene.observer.execute("BEGIN; SAVEPOINT s")
    refuse(scene)
    for _ in range(2):
        scene.observer.execute("ROLLBACK TO s")
        assert refusal_of(scene, 2) == "ZF009"
    scene.observer.execute("ROLLBACK TO s")
    assert Background(scene.observer.execute, "COMMIT").get() == "ZF009"
    assert (len(ring(scene)), counts(scene)) == (1, {"ZF001": 1, "ZF009": 3})


def test_noted_also_where_nothing_is_logged(scene):
    scene.observer.execute("SET fence.log_refusals = off")
    refuse(scene)
    assert len(ring(scene)) == 1


def test_ring_keeps_the_newest(scene):
    scene.claim(10**6)
    for epoch in range(SLOTS + 88):
        refuse(scene, epoch)
        if epoch == SLOTS - 1:
            assert [row[3] for row in ring(scene)] == list(range(SLOTS))
    assert [row[3] for row in ring(scene)] == list(range(88, SLOTS + 88))
    assert counts(scene) == {"ZF001": SLOTS + 88}


def test_many_sessions_at_once(scene):
    """Counts are exact, and what is read meanwhile is whole."""
    sessions, each = 8, 300
    workers = [scene.connect(f"worker {i}") for i in range(sessions)]
    scene.claim(10**6)
    stop = threading.Event()

    def work(number):
        for _ in range(each):
            refuse(scene, number, by=workers[number])

    def watch():
        with psycopg.connect(scene.server.dsn(), autocommit=True) as reader:
            while not stop.is_set():
                for row in reader.execute("TABLE fence.fence_refusals"):
                    assert row[3] == f"worker {row[7]}" and row[1] == workers[row[7]].info.backend_pid
                    assert (row[4:7], row[9]) == (("ZF001", "n", scene.key), 10**6)
        return True

    watcher = Background(watch)
    running = [Background(work, number) for number in range(sessions)]
    for one in running:
        one.get(120)
    stop.set()
    assert watcher.get() is True
    assert counts(scene) == {"ZF001": sessions * each}
    assert len(ring(scene)) == SLOTS


def test_first_refusals_of_many_sessions_at_once(scene):
    """Given no file yet: they agree on one."""
    workers = [scene.connect() for _ in range(12)]
    barrier = threading.Barrier(len(workers))

    def work(connection):
        barrier.wait()
        refuse(scene, by=connection)
    for one in [Background(work, worker) for worker in workers]:
        one.get()
    assert counts(scene) == {"ZF001": len(workers)}
    assert len(files(scene.server)) == 1


# ---- who sees it ---------------------------------------------------------------

def test_by_namespace_and_by_database(scene):
    sql = scene.server.sql
    sql("CREATE ROLE evidence_writer LOGIN; CREATE ROLE evidence_reader LOGIN;"
        " CREATE ROLE evidence_plain LOGIN")
    sql("CREATE DATABASE evidence_other")
    sql("SELECT fence.fence_grant_writer('evidence_writer', 'of the writer');"
        " SELECT fence.fence_grant_reader('evidence_reader')")
    sql("CREATE EXTENSION fence", database="evidence_other")
    refuse(scene)
    read = "SELECT namespace FROM fence.fence_refusals"
    with psycopg.connect(scene.server.dsn(user="evidence_writer"), autocommit=True) as writer:
        append = f"SELECT fence.fenced_append('of the writer', 'k', 1, '{owner(1)}', 1, 'p')"
        assert Background(writer.execute, append).get() == "ZF003"
        assert writer.execute(read).fetchall() == [("of the writer",)]
        assert writer.execute("SELECT role FROM fence.fence_refusals").fetchone() == ("evidence_writer",)
        assert writer.execute("SELECT sum(count) FROM fence.fence_stat").fetchone() == (2,)
    with psycopg.connect(scene.server.dsn(user="evidence_reader"), autocommit=True) as reader:
        assert reader.execute(read).fetchall() == [("n",), ("of the writer",)]
        assert reader.execute("SELECT sum(count) FROM fence.fence_stat").fetchone() == (2,)
    with psycopg.connect(scene.server.dsn(user="evidence_plain"), autocommit=True) as plain:
        for view in ("fence_refusals", "fence_stat"):
            assert Background(plain.execute, f"TABLE fence.{view}").get() == "42501"
    with psycopg.connect(scene.server.dsn(dbname="evidence_other"), autocommit=True) as other:
        assert other.execute(read).fetchall() == []
        assert other.execute("SELECT sum(count) FROM fence.fence_stat").fetchone() == (0,)
    sql("DROP DATABASE evidence_other")


def test_no_secret_in_the_file(scene):
    """A writer is its fingerprint there: 8 digits of its hash, in hex."""
    secret = uuid.uuid4()
    scene.ask("SELECT fence.oplog_metadata_upsert('n', %s, 3, %s)", scene.key, str(secret))
    stored = scene.ask("SELECT writer FROM fence_internal.record WHERE key = %s", scene.key)
    refuse(scene)
    asserted = f"SELECT fence.fenced_append('n', 'none', 3, '{secret}', 1, 'p')"
    assert Background(scene.ask, asserted).get() == "ZF003"
    content = files(scene.server)[0].read_bytes()
    assert content.count(stored[:4].hex().encode()) == 2
    assert stored not in content and stored[:5].hex().encode() not in content
    assert str(secret).encode() not in content and secret.bytes not in content
    assert files(scene.server)[0].stat().st_mode & 0o077 == 0


# ---- what it outlives ----------------------------------------------------------

def test_crash_of_a_session(scene):
    """All sessions go down with it; what they noted stays."""
    refuse(scene)
    crash(scene.server)
    scene.observer = scene.connect()
    refuse(scene)
    assert (len(ring(scene)), counts(scene)) == (2, {"ZF001": 2})


def test_restart_begins_anew(scene):
    refuse(scene)
    old = files(scene.server)
    (scene.server.data / "pg_stat_tmp/other").touch()
    scene.server.restart()
    scene.observer = scene.connect()
    assert (ring(scene), counts(scene), files(scene.server)) == ([], {}, old)
    refuse(scene)
    assert len(ring(scene)) == 1
    assert len(files(scene.server)) == 1 and files(scene.server) != old
    assert (scene.server.data / "pg_stat_tmp/other").exists()


# ---- what cannot be used -------------------------------------------------------

def shorten(path, content):
    path.write_bytes(content[:-1])


def lengthen(path, content):
    path.write_bytes(content + b"\0")


def empty(path, _):
    path.write_bytes(b"")


def change_magic(path, content):
    path.write_bytes(b"F" + content[1:])


def make_folder(path, _):
    path.mkdir()


def make_link(path, content):
    target = path.parent / "elsewhere"
    target.write_bytes(content)
    path.symlink_to(target)


def make_pipe(path, _):
    os.mkfifo(path)


@pytest.mark.parametrize("replace", [shorten, lengthen, empty, change_magic, make_folder, make_link,
                                     make_pipe])
def test_file_that_is_not_ours(scene, replace):
    """It is left alone; the refusal is the same, and the log says once why there is no evidence."""
    refuse(scene)
    path = files(scene.server)[0]
    content = path.read_bytes()
    path.unlink()
    replace(path, content)
    if not path.is_symlink():
        os.chown(path, *os.stat(scene.server.data)[4:6])
    check_there_is_none(scene)
    if path.is_dir():
        path.rmdir()


def check_there_is_none(scene, connection=None):
    before = len(scene.server.log())
    scene.observer = connection or scene.connect()
    for _ in range(3):
        refuse(scene)
        assert ring(scene) == []
    stat = scene.observer.execute("SELECT count(*), count(count) FROM fence.fence_stat").fetchone()
    assert stat == (21, 0)
    log = scene.server.log()[before:]
    assert log.count("fence keeps no evidence of refusals") == 1
    assert scene.append(2, 1) == 1


def test_file_in_the_place_of_the_folder(scene):
    folder = scene.server.data / "pg_stat_tmp"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.touch()
    try:
        check_there_is_none(scene)
    finally:
        folder.unlink()
        folder.mkdir(mode=0o700)
        os.chown(folder, *os.stat(scene.server.data)[4:6])


def test_no_space_for_the_file(scene):
    """As on a full disk: it is not begun, so nobody runs into what is missing of it."""
    connection = scene.connect()
    subprocess.run(["prlimit", "--pid", str(connection.info.backend_pid), "--fsize=100000"], check=True,
                   **scene.server.identity)
    os.truncate(scene.server.log_file, 0)  # the limit is its limit, too
    scene.observer = connection
    for _ in range(3):
        refuse(scene)
    assert (ring(scene), files(scene.server)) == ([], [])
    assert scene.server.log().count("could not allocate") == 1
    # Another session makes it.
    scene.observer = scene.connect()
    refuse(scene)
    assert len(ring(scene)) == 1


def test_damaged_rows_are_not_shown(scene):
    scene.claim(100)
    for epoch in range(5):
        refuse(scene, epoch)
    path = files(scene.server)[0]
    content = path.read_bytes()
    key = scene.key.encode()
    places = [i for i in range(len(content)) if content.startswith(key + b"\0", i)]
    assert len(places) == 5
    with open(path, "r+b") as file:
        file.seek(places[1])
        file.write(b"x")
    assert [row[3] for row in ring(scene)] == [0, 2, 3, 4]
    refuse(scene, 7)
    assert [row[3] for row in ring(scene)] == [0, 2, 3, 4, 7]
    # Whatever stands there.
    with open(path, "r+b") as file:
        file.seek(64)
        file.write(os.urandom(len(content) - 64))
    assert ring(scene) == []
    assert scene.observer.execute("SELECT count(*) FROM fence.fence_stat").fetchone() == (21,)
    refuse(scene, 8)
