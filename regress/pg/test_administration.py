"""fence_purge and fence_reset beside other sessions, and what they leave alone."""
import psycopg
import pytest
from scene import code_of, owner, wait_until


def purge(scene, namespace, older_than_ms=0, by=None):
    """Not of namespace n: its floor would rise under the other tests."""
    return scene.ask("SELECT fence.fence_purge(%s, %s)", namespace, older_than_ms, by=by)


def reset(scene, epoch, by=None):
    return scene.ask("SELECT fence.fence_reset('n', %s, %s)", scene.key, epoch, by=by)


def test_purge_leaves_out_what_an_open_transaction_is_at(scene):
    """A zombie has removed a value and not committed: if it comes back, it must not count in a
    new life of the key."""
    namespace = scene.key

    def call(name, epoch, *more, by=None):
        marks = "".join(", %s" for _ in more)
        return scene.ask(f"SELECT fence.{name}(%s, 'k', %s, %s{marks})", namespace, epoch,
                         owner(epoch), *more, by=by)

    call("oplog_metadata_upsert", 1)
    call("fenced_put", 1, "v", b"x")
    zombie = scene.connect()
    zombie.execute("BEGIN")
    call("fenced_remove", 1, "v", by=zombie)
    call("oplog_metadata_upsert", 2)
    assert call("fenced_delete", 2) == 0
    assert purge(scene, namespace) == 0
    zombie.execute("ROLLBACK")
    assert purge(scene, namespace) == 1
    assert scene.ask("SELECT count(*) FROM fence_internal.value WHERE namespace = %s", namespace) == 0


def test_purge_of_age_0_takes_keys_deleted_under_a_clock_that_was_ahead(scene):
    namespace = scene.key
    scene.observer.execute("SELECT fence.oplog_metadata_upsert(%s, 'k', 1, %s)", [namespace, owner(1)])
    scene.observer.execute("SELECT fence.fenced_delete(%s, 'k', 1, %s)", [namespace, owner(1)])
    scene.observer.execute("ALTER TABLE fence_internal.record DISABLE TRIGGER guard_rows")
    scene.observer.execute("UPDATE fence_internal.record SET deleted_at = deleted_at + '1 hour'"
                           " WHERE namespace = %s", [namespace])
    scene.observer.execute("ALTER TABLE fence_internal.record ENABLE ALWAYS TRIGGER guard_rows")
    assert purge(scene, namespace, older_than_ms=1) == 0
    assert purge(scene, namespace) == 1


def test_purge_waits_for_no_claim(scene):
    """Somebody claims a deleted key and stands still: it is left out."""
    scene.observer.execute("SELECT fence.fence_namespace_set('p', 'optional')")
    purge(scene, "p")
    scene.observer.execute("SELECT fence.oplog_metadata_upsert('p', 'k', 1, %s)", [owner(1)])
    scene.observer.execute("SELECT fence.fenced_delete('p', 'k', 1, %s)", [owner(1)])
    one = scene.connect()
    one.execute("BEGIN")
    one.execute("SELECT fence.fenced_append('p', 'k', NULL, NULL, 1, 'x')")
    assert scene.without_waiting(purge, scene, "p") == 0
    one.execute("ROLLBACK")
    assert purge(scene, "p") == 1


def test_purge_goes_by_age_and_a_thousand_at_a_time(scene):
    namespace = scene.key
    scene.observer.execute(
        "SELECT fence.oplog_metadata_upsert_many(%s, jsonb_agg(jsonb_build_object("
        "'key', 'k' || i, 'epoch', i)), %s) FROM generate_series(0, 1500) AS i",
        [namespace, owner(1)])
    for i in range(0, 1501):
        scene.observer.execute("SELECT fence.fenced_delete(%s, %s, %s, %s)",
                               [namespace, f"k{i}", i, owner(1)])
    assert purge(scene, namespace, older_than_ms=600_000) == 0
    assert purge(scene, namespace, older_than_ms=2**63 - 1) == 0
    assert purge(scene, namespace) == 1000
    assert purge(scene, namespace) == 501
    assert purge(scene, namespace) == 0
    floor = scene.ask("SELECT floor FROM fence.fence_namespaces WHERE namespace = %s", namespace)
    assert floor == 1500
    with pytest.raises(psycopg.Error) as refused:
        scene.observer.execute("SELECT fence.oplog_metadata_upsert(%s, 'new', 1500, %s)",
                               [namespace, owner(1)])
    assert code_of(refused.value) == "ZF001"
    assert scene.ask("SELECT fence.oplog_metadata_upsert(%s, 'new', 1501, %s)", namespace,
                     owner(1)) is None


def test_reset_brings_back_a_key_that_was_claimed_at_the_ceiling(scene):
    """P65. The log stays, and the line in the server's log says what was done."""
    ceiling = 2**63 - 1
    scene.claim(7)
    scene.append(7, 1, "kept")
    scene.ask("SELECT fence.oplog_metadata_upsert('n', %s, %s, %s)", scene.key, ceiling, owner(8))
    with pytest.raises(psycopg.Error) as refused:
        scene.claim(8)
    assert code_of(refused.value) == "ZF001"
    assert reset(scene, 7) == ceiling
    with pytest.raises(psycopg.Error) as refused:
        scene.claim(7)
    assert code_of(refused.value) == "ZF001"
    assert scene.claim(8) == 1
    scene.append(8, 2, "new")
    assert scene.log() == [(1, 7, "kept"), (2, 8, "new")]
    wait_until(lambda: f"lowered the epoch of a key from {ceiling} to 7" in
               scene.server.log())


def test_reset_is_refused_while_somebody_has_asserted_the_key(scene):
    scene.claim(9)
    holder = scene.connect()
    holder.execute("BEGIN")
    scene.append(9, 1, by=holder)
    with pytest.raises(psycopg.errors.LockNotAvailable):
        reset(scene, 1)
    holder.execute("ROLLBACK")
    assert reset(scene, 1) == 9


@pytest.mark.parametrize("sql", ["fence_purge('n', 0)", "fence_namespace_set('n', 'required')",
                                 "fence_reset('n', 'k', 0)", "fence_verify()",
                                 "fence_doctor()"])
def test_a_writer_may_not_administer(scene, sql):
    scene.observer.execute("DO $$ BEGIN CREATE ROLE administered; EXCEPTION WHEN duplicate_object"
                           " THEN NULL; END $$; SELECT fence.fence_grant_writer('administered')")
    one = scene.connect()
    one.execute("SET ROLE administered")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        one.execute(f"SELECT * FROM fence.{sql}")
    scene.observer.execute("SELECT fence.fence_revoke_writer('administered')")
