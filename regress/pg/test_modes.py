"""Writers without an epoch, and those that stop in the middle: how long they hold up others."""
import psycopg
import pytest
from scene import Background, code_of, owner, wait_until


@pytest.fixture(name="optional")
def in_mode_optional(scene):
    """A namespace of its own for each test, so that no other test's mode changes."""
    scene.observer.execute("SELECT fence.fence_namespace_set(%s, 'optional')", [scene.key])
    return Optional(scene)


class Optional:
    def __init__(self, scene):
        self.scene, self.namespace = scene, scene.key

    def append(self, epoch, idx, payload, by=None):
        return self.scene.ask("SELECT fence.fenced_append(%s, 'k', %s, %s, %s, %s)", self.namespace,
                              epoch, epoch and owner(epoch), idx, payload.encode(), by=by)

    def claim(self, epoch, by=None):
        return self.scene.ask("SELECT fence.oplog_metadata_upsert(%s, 'k', %s, %s)", self.namespace,
                              epoch, owner(epoch), by=by)

    def set(self, mode, by=None):
        (by or self.scene.observer).execute("SELECT fence.fence_namespace_set(%s, %s)",
                                            [self.namespace, mode])

    def log(self):
        return self.scene.observer.execute(
            "SELECT idx, epoch, convert_from(payload, 'UTF8') FROM fence.oplog_read(%s, 'k')",
            [self.namespace]).fetchall()


def test_a_claim_ends_an_idle_writer_without_an_epoch(scene, optional):
    """It stands alone on its key, so a frozen one would keep every claim out."""
    zombie = scene.connect()
    zombie.execute("BEGIN")
    optional.append(None, 1, "unfenced", by=zombie)
    assert scene.key_locks(zombie.info.backend_pid) == ["ExclusiveLock"]
    assert optional.claim(1) is None  # after fence.evict_after
    wait_until(lambda: not scene.is_alive(zombie.info.backend_pid))
    assert optional.log() == []
    with pytest.raises(psycopg.OperationalError):
        zombie.execute("COMMIT")


def test_a_writer_without_an_epoch_ends_nobody(scene, optional):
    """A frozen owner keeps it out for fence.commit_wait, and lives on."""
    optional.claim(1)
    frozen = scene.connect()
    frozen.execute("BEGIN")
    optional.append(1, 1, "fenced", by=frozen)
    other = scene.connect()
    other.execute("SET fence.commit_wait = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        optional.append(None, 2, "unfenced", by=other)
    assert scene.without_waiting(optional.claim, 2) is None  # while it waited claims pass, too
    assert scene.is_alive(frozen.info.backend_pid)
    with pytest.raises(psycopg.Error) as refused:
        frozen.execute("COMMIT")
    assert code_of(refused.value) == "ZF001"


def test_a_claim_passes_a_writer_without_an_epoch_that_waits_for_an_owner(scene, optional):
    optional.claim(1)
    frozen = scene.connect()
    frozen.execute("BEGIN")
    optional.append(1, 1, "fenced", by=frozen)
    other = scene.connect()
    waiting = Background(optional.append, None, 2, "unfenced", other)
    wait_until(scene.waiting)
    assert scene.without_waiting(optional.claim, 2, besides=[other.info.backend_pid]) is None
    frozen.execute("ROLLBACK")
    assert waiting.get() == 2


def test_changing_the_mode_waits_for_no_open_transaction(scene, optional):
    optional.claim(1)
    open_ones = [scene.connect(), scene.connect()]
    for one in open_ones:
        one.execute("BEGIN")
    optional.append(1, 1, "fenced", by=open_ones[0])
    scene.without_waiting(optional.set, "required")
    scene.without_waiting(optional.set, "optional")
    scene.without_waiting(optional.set, "unfenced")
    with pytest.raises(psycopg.Error) as refused:
        open_ones[0].execute("COMMIT")
    assert code_of(refused.value) == "ZF012"
    assert optional.log() == []
    assert optional.append(None, 1, "unfenced") == 1


def test_changing_the_mode_is_seen_by_a_session_that_has_looked(scene, optional):
    """The mode is remembered between calls: a change must reach those who remember."""
    other = scene.connect()
    assert optional.append(None, 1, "a", by=other) == 1
    optional.set("required")
    with pytest.raises(psycopg.Error) as refused:
        optional.append(None, 2, "b", by=other)
    assert code_of(refused.value) == "ZF010"  # the writer is none, and now one is needed
    optional.set("unfenced")
    assert optional.append(None, 2, "b", by=other) == 2
    with pytest.raises(psycopg.Error) as refused:
        optional.claim(1, by=other)
    assert code_of(refused.value) == "ZF012"


def test_prepare_is_refused_behind_a_write_without_an_epoch(scene, optional):
    """It would keep the key locked with nobody to be ended."""
    one = scene.connect()
    one.execute("BEGIN")
    optional.append(None, 1, "a", by=one)
    with pytest.raises(psycopg.Error) as refused:
        one.execute("PREPARE TRANSACTION 'unfenced'")
    assert code_of(refused.value) == "ZF006"
    assert optional.log() == []


def test_a_savepoint_that_is_undone_takes_the_entry_and_not_the_lock(scene, optional):
    one = scene.connect()
    one.execute("BEGIN; SAVEPOINT s")
    optional.append(None, 1, "a", by=one)
    one.execute("ROLLBACK TO s")
    assert scene.key_locks(one.info.backend_pid) == ["ExclusiveLock"]
    optional.append(None, 1, "b", by=one)
    one.execute("COMMIT")
    assert optional.log() == [(1, None, "b")]
