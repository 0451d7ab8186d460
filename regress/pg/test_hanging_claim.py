"""A claim that its client leaves open: it comes into no block, is not prepared, and ends with
its transaction. How the next claim ends it: test_wire.py."""
import pytest
from scene import Background, owner, wait_until
from wire import FLUSH, SYNC, Wire, bind, execute, extended, parse, query

PREPARE = "PREPARE TRANSACTION 'claim'"


def suspended(scene, wire):
    """Its client took one row and stopped."""
    wire.send(extended(scene.claim_sql(2), rows=1), FLUSH)
    assert wire.answers("suspended") == ["parse", "bind", "row NULL", "suspended"]


def while_planned(scene, wire):
    """By a function that counts as a constant: Bind has claimed, and nothing is executed."""
    call = scene.claim_sql(2).removeprefix("SELECT ")
    scene.observer.execute("CREATE OR REPLACE FUNCTION claims() RETURNS bigint IMMUTABLE"
                           f" LANGUAGE plpgsql AS $$ BEGIN RETURN {call}; END $$")
    wire.send(parse("SELECT claims()"), bind(), FLUSH)
    assert wire.answers("bind") == ["parse", "bind"]


@pytest.mark.parametrize("claim", [suspended, while_planned])
@pytest.mark.parametrize("block", [
    [extended("BEGIN"), extended(PREPARE), SYNC],
    [extended("START TRANSACTION"), extended("SELECT 1"), SYNC],
    [query(f"BEGIN; {PREPARE}")],
], ids=["begin", "start", "query"])
def test_block_does_not_enclose_a_claim_before_it(scene, wire, claim, block):
    scene.claim(1)
    claim(scene, wire)
    assert scene.key_locks(wire.pid) == ["ExclusiveLock"]
    wire.send(*block)
    assert [one for one in wire.answers() if one not in ("parse", "bind")] == ["error ZF012", "ready I"]
    assert scene.key_locks(wire.pid) == []
    assert scene.without_waiting(scene.append, 1, 6) == 6  # it was rolled back
    assert scene.without_waiting(scene.claim, 2) == 6


@pytest.mark.parametrize("call", ["claim", "delete", "try"])
def test_lock_timeout_bounds_the_wait_for_a_claim_whose_statement_goes_on(scene, call):
    scene.claim(1)
    first, second = scene.connect(), scene.connect()
    slow = Background(lambda: scene.ask(f"{scene.claim_sql(2)}, pg_sleep(60)", by=first))
    wait_until(lambda: scene.key_locks(first.info.backend_pid))
    second.execute("SET lock_timeout = '100ms'")
    statement = {"claim": scene.claim_sql(3), "try": scene.claim_sql(3).replace("oplog", "try_oplog", 1),
                 "delete": f"SELECT fence.fenced_delete('n', '{scene.key}', 1, '{owner(1)}')"}[call]
    waiting = Background(lambda: scene.ask(statement, by=second))
    assert waiting.get() == "55P03"
    assert waiting.error.diag.message_primary == "canceling statement due to lock timeout"
    assert not slow.done()
    first.cancel()
    assert slow.get() == "57014"
    scene.ask(statement, by=second)  # it was the first one that stood in the way


def test_claim_that_lost_under_the_lock_keeps_none_until_sync(scene, wire, server):
    scene.claim(1)
    loser = Wire(server)
    suspended(scene, wire)
    loser.send(parse(f"SELECT (fence.try_oplog_metadata_upsert('n', '{scene.key}', 2,"
                     f" '{owner(3)}'))->>'code'"), bind(), execute(), FLUSH)
    wait_until(lambda: scene.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
                                 " AND wait_event_type = 'Extension'", loser.pid) == 1)
    wire.send(SYNC)
    assert wire.answers() == ["ready I"]
    assert loser.answers("done") == ["parse", "bind", "row ZF002", "done SELECT 1"]
    assert scene.key_locks(loser.pid) == []
    assert scene.without_waiting(scene.append, 2, 6) == 6
    assert scene.without_waiting(scene.claim, 3) == 6
    loser.send(SYNC)
    assert loser.answers() == ["ready I"]
    loser.close()
