"""Transactions of more than 64 keys. They show the first 64 in pg_locks, and lock all keys of the
database at once where they commit."""
import threading
import time

import pytest
from many_keys import KEYS, MANY, SHOWN, TRIMS, commit
from scene import Background, owner, repeat_until, wait_until
from wire import FLUSH, Wire, extended


@pytest.fixture(name="hung")
def hung_client(small):
    wire = Wire(small)
    yield wire
    wire.close()


# ---- the size --------------------------------------------------------------------------

def append_to_each(many):
    """A transaction that has appended to each key, and what it leaves."""
    return many.begin(last=MANY - 1), many.entries


def update_each_row(many):
    """One UPDATE of as many rows, each with a key of its own."""
    many.observer.execute(f"CREATE TABLE each AS SELECT '{many.key}' || i AS id, 0 AS n"
                          f" FROM generate_series(0, {MANY - 1}) AS i")
    many.observer.execute("ALTER TABLE each ALTER id SET NOT NULL, ADD PRIMARY KEY (id)")
    many.observer.execute("SELECT fence.fence_protect('each', 'n', '[\"id\"]')")
    connection = many.connect("many")
    connection.execute("BEGIN")
    connection.execute("SELECT fence.fence_assert_many('n', (SELECT jsonb_agg(id) FROM each), 1, %s)",
                       [owner(1)])
    connection.execute("UPDATE each SET n = n + 1")
    return connection, lambda: many.ask("SELECT sum(n) FROM each")


@pytest.mark.parametrize("work", [append_to_each, update_each_row])
def test_a_transaction_of_100000_keys_fills_no_lock_table(many, work):  # P43
    many.claim_all(MANY)
    other = many.key + "other"
    waits, stop, epochs = [], threading.Event(), iter(range(1, 1_000_000))
    claimant = many.connect()

    def claim():
        begin = time.monotonic()
        many.claim(next(epochs), other, claimant)
        waits.append(time.monotonic() - begin)

    bulk, stored = work(many)
    assert many.ask("SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory'",
                    bulk.info.backend_pid) == 2 * SHOWN + 1
    assert many.shown(bulk) == {"current": SHOWN, "many": 1}
    many.without_waiting(claim)
    claims = Background(repeat_until, stop, claim)
    wait_until(lambda: len(waits) > 10)
    begin, before = time.monotonic(), len(waits)
    assert commit(bulk) is None
    took = time.monotonic() - begin
    wait_until(lambda: len(waits) > before + 10)
    stop.set()
    claims.get()
    print(f"{MANY} keys: commit {1000 * took:.0f} ms; the longest claim of another key"
          f" {1000 * max(waits[before:]):.0f} ms, {1000 * max(waits[:before]):.0f} ms before it")
    assert max(waits) < 2
    assert stored() == MANY


@pytest.mark.parametrize("end", ["ROLLBACK TO s", "RELEASE s"])
def test_savepoint_with_100000_keys(many, end):
    many.claim_all(MANY // 5)
    connection = many.connect()
    connection.execute("BEGIN; SAVEPOINT s")
    many.append_all(1, connection, last=MANY // 5 - 1)
    connection.execute(end)
    kept = MANY // 5 if end == "RELEASE s" else 0
    assert many.shown(connection) == ({"current": SHOWN, "many": 1} if kept else {"many": 1})
    assert commit(connection) is None
    assert many.entries() == kept


# ---- claims ----------------------------------------------------------------------------

@pytest.mark.parametrize("number", [0, SHOWN - 1, SHOWN, KEYS - 1])
def test_claim_of_one_of_the_keys_undoes_all(many, number):
    many.claim_all()
    bulk = many.begin()
    assert many.without_waiting(many.claim, 2, many.name(number)) is None
    many.append(2, 1, "new", many.name(number))
    assert commit(bulk) == "ZF001"
    assert many.entries() == 1
    assert many.log(many.name(number)) == [(1, 2, "new")]


@pytest.mark.parametrize("call", ["delete", "reset", "publish"])
def test_what_else_changes_an_owner_undoes_all_or_is_told(many, call):
    many.claim_all()
    many.append_all(1, many.observer, SHOWN, KEYS - 1)
    bulk, key = many.begin(2), many.name(KEYS - 1)
    if call == "reset":
        reset = Background(many.ask, "SELECT fence.fence_reset('n', %s, 0)", key)
        assert reset.get() == "55P03"
        assert commit(bulk) is None
        assert many.ask("SELECT fence.fence_reset('n', %s, 0)", key) == 1
        return
    if call == "delete":
        many.ask("SELECT fence.fenced_delete('n', %s, 1, %s)", key, owner(1))
    else:
        target = many.key + "target"
        many.claim(1, target)
        assert many.ask("SELECT fence.fenced_publish('n', %s, 1, %s, 'n', %s, 1)", target,
                        owner(1), key)
    assert commit(bulk) == "ZF003"
    assert many.entries() == (KEYS - SHOWN - 1 if call == "delete" else KEYS - SHOWN)


def test_commit_waits_for_a_claim_under_way_and_is_refused(many):
    many.claim_all()
    bulk, claimant = many.begin(), many.connect()
    gate = many.lock_table("record", "SHARE")
    claim = Background(many.claim, 2, many.name(KEYS - 1), claimant)
    wait_until(lambda: many.locks(claimant))  # and it has read the end of the log
    ending = Background(commit, bulk)
    wait_until(lambda: many.naps(bulk))
    assert not ending.done()
    gate.execute("COMMIT")
    assert claim.get() is None
    assert ending.get() == "ZF001"


def test_claim_waits_for_a_commit_under_way_and_finds_its_entry(many):
    many.claim_all()
    bulk, claimant = many.begin(), many.connect()
    gate = many.lock_table("namespace", "EXCLUSIVE")
    ending = Background(commit, bulk)
    wait_until(lambda: many.locks(bulk) == ["ShareLock"])
    claim = Background(many.claim, 2, many.name(KEYS - 1), claimant)
    wait_until(lambda: many.locks(claimant, granted=False) == ["RowExclusiveLock"])
    gate.execute("COMMIT")
    assert ending.get() is None
    assert claim.get() == 1


def test_claim_that_waits_for_its_key_holds_up_no_commit(many):
    many.claim_all()
    bulk, claimant, writer = many.begin(), many.connect(), many.connect()
    unfenced = many.key + "unfenced"
    many.ask("SELECT fence.fence_namespace_set('optional', 'optional')")
    writer.execute("BEGIN")
    writer.execute("SELECT fence.fenced_append('optional', %s, NULL, NULL, 1, 'p')", [unfenced])
    claim = Background(lambda: many.ask("SELECT fence.oplog_metadata_upsert('optional', %s, 1, %s)",
                                        unfenced, owner(1), by=claimant))
    wait_until(lambda: many.naps(claimant))
    assert many.without_waiting(commit, bulk) is None
    writer.execute("COMMIT")
    assert claim.get() == 1


def test_claim_whose_statement_goes_on_holds_up_no_other_claim(many):
    """The commit waits beside the queue, so that it is not before those that come later."""
    many.claim_all()
    bulk, slow = many.begin(), many.connect()
    bulk.execute("SET fence.commit_wait = '1500ms'")
    going_on = Background(lambda: many.ask(
        f"SELECT fence.oplog_metadata_upsert('n', '{many.key}slow', 1, '{owner(1)}'), pg_sleep(15)",
        by=slow))
    wait_until(lambda: many.locks(slow))
    ending = Background(commit, bulk)
    wait_until(lambda: many.naps(bulk))
    claims = 0
    while not ending.done():
        claims += 1
        assert many.without_waiting(many.claim, claims, many.key + "other") is None
    assert ending.get() == "55P03"
    assert claims > 10
    assert not going_on.done()
    slow.cancel()
    assert going_on.get() == "57014"
    assert many.entries() == 0


def test_commit_ends_a_claim_that_waits_for_its_client(many, hung):
    many.claim_all()
    bulk = many.begin()
    hung.send(extended(f"SELECT fence.oplog_metadata_upsert('n', k, 1, '{owner(1)}')"
                       f" FROM (VALUES ('{many.key}hung')) AS one(k)", rows=1), FLUSH)
    hung.answers("suspended")
    begin = time.monotonic()
    assert commit(bulk) is None
    assert 0.9 < time.monotonic() - begin < 8  # fence.evict_after, and before fence.commit_wait


# ---- beside each other -----------------------------------------------------------------

def test_two_of_them_and_claims_in_a_loop_come_through(many):
    """In opposite order, one of them trims as well."""
    many.claim_all()
    many.append_all(1, many.observer)
    stop, made, codes = threading.Event(), [0, 0, 0], []

    def claims(number, connection):
        made[number] += 1
        many.claim(made[number], f"{many.key}other{number}", connection)

    def transactions(parity, connection):
        for idx in range(2 + parity, 42, 2):
            connection.execute("BEGIN")
            first, last = (0, KEYS - 1) if parity else (KEYS - 1, 0)
            many.append_all(idx, connection, first, last)
            if parity:
                many.trim(idx - 1, KEYS // 2, connection)
            codes.append(commit(connection))

    loops = [Background(repeat_until, stop, lambda number=number, connection=many.connect():
                        claims(number, connection)) for number in range(3)]
    both = [Background(transactions, parity, many.connect()) for parity in (0, 1)]
    begin = time.monotonic()
    for one in both:
        one.get(60)
    took = time.monotonic() - begin
    stop.set()
    for one in loops:
        one.get()
    print(f"{len(codes)} commits in {took:.1f} s, {made} claims")
    # The entry of one may be below the trim of the other by then: told, not lost.
    assert set(codes) <= {None, "ZF013"} and codes.count(None) >= 20
    assert took < 20 and min(made) > 20


# ---- trims -----------------------------------------------------------------------------

def test_trim_of_others_is_found_at_commit(many):  # M24
    many.claim_all()
    many.append_all(1, many.observer)
    many.append_all(5, many.observer)
    bulk = many.begin(3)
    assert many.trim(4, KEYS - 1) == 1
    assert commit(bulk) == "ZF013"
    assert many.entries() == 2 * KEYS - 1


@pytest.mark.parametrize("first", ["trim", "append"])
def test_trim_among_many_keys_and_an_append_below_it(many, first):  # M24
    many.claim_all()
    many.append_all(1, many.observer)
    many.append_all(5, many.observer)
    bulk, writer, key = many.begin(6), many.connect(), many.name(KEYS - 1)
    assert many.trim(4, KEYS - 1, bulk) == 1
    writer.execute("BEGIN")
    many.append(1, 3, key=key, by=writer)
    if first == "trim":
        assert commit(bulk) is None
        assert commit(writer) == "ZF013"
    else:
        assert commit(writer) is None
        assert commit(bulk) is None
    assert [idx for idx, _, _ in many.log(key)] == [5, 6]


@pytest.mark.parametrize("trims, other, waits_for", [
    (False, "trim", "RowExclusiveLock"),  # of all keys, as the one of another key
    (True, "trim of another", "RowExclusiveLock"),
    (True, "append", None),               # of the key
])
def test_trim_and_append_do_not_commit_beside_each_other(many, trims, other, waits_for):  # M24
    many.claim_all()
    many.append_all(1, many.observer)
    many.append_all(5, many.observer)
    bulk, writer, key = many.begin(6 if trims else 3), many.connect(), many.name(KEYS - 1)
    if trims:
        many.trim(4, KEYS - 1, bulk)
    gate = many.lock_table("namespace", "EXCLUSIVE")
    ending = Background(commit, bulk)
    wait_until(lambda: many.locks(bulk))
    assert many.locks(bulk, against=TRIMS) == ["ShareRowExclusiveLock" if trims else "ShareLock"]
    if other == "append":
        call = Background(lambda: many.append(1, 2, key=key, by=writer))
        wait_until(lambda: (writer.info.backend_pid, "advisory", "ShareLock") in many.waiting())
    else:
        call = Background(lambda: many.trim(4, 0 if trims else KEYS - 1, writer))
        wait_until(lambda: many.locks(writer, granted=False, against=TRIMS) == [waits_for])
    gate.execute("COMMIT")
    assert ending.get() is None
    if other == "append":
        assert call.get() == "ZF013"
    else:
        assert call.get() in (1, 2)  # whether or not it saw the entry that came meanwhile
    assert many.log(key)[0][0] == 5


# ---- savepoints, and who stands in the way ---------------------------------------------

def test_rollback_to_a_savepoint_lets_go_of_what_was_taken(many):
    many.claim_all(2 * KEYS)
    connection = many.begin(last=SHOWN - 5)
    assert many.shown(connection) == {"current": SHOWN - 4}
    connection.execute("SAVEPOINT s")
    many.append_all(1, connection, KEYS, 2 * KEYS - 1)
    assert many.shown(connection) == {"current": SHOWN, "many": 1}
    connection.execute("ROLLBACK TO s")
    assert many.shown(connection) == {"current": SHOWN - 4, "many": 1}
    many.append_all(1, connection, KEYS, KEYS + 9)
    assert many.shown(connection) == {"current": SHOWN, "many": 1}
    many.claim(2, many.name(KEYS + 50))  # undone: not this transaction's any more
    assert commit(connection) is None
    assert many.shown(connection) == {}
    assert many.entries() == SHOWN + 6


def test_stale_key_beyond_the_savepoint_counts_again_when_it_is_repeated(many):
    many.claim_all()
    connection = many.begin(last=SHOWN)
    connection.execute("SAVEPOINT s")
    many.append_all(1, connection, SHOWN + 1, KEYS - 1)
    connection.execute("ROLLBACK TO s")
    many.append_all(1, connection, SHOWN + 1, SHOWN + 5)
    many.claim(2, many.name(SHOWN + 3))
    assert commit(connection) == "ZF001"
    assert many.entries() == 0


@pytest.mark.parametrize("number", [0, KEYS - 1])
def test_drain_waits_for_it_whatever_key_it_was(many, number):
    many.claim_all()
    bulk, key = many.begin(), many.name(number)
    many.claim(2, key)

    def drain(timeout_ms, by=None):
        return many.ask("SELECT fence.fence_drain('n', %s, 2, %s, %s)", key, owner(2), timeout_ms,
                        by=by)
    assert drain(30) is False
    drainer = many.connect()
    drains = Background(drain, 30_000, drainer)
    wait_until(lambda: many.naps(drainer))
    bulk.execute("ROLLBACK")
    assert drains.get() is True


def test_evict_ends_who_shows_the_key_and_not_who_may_have_it(many):
    many.claim_all()
    bulk, evictor = many.begin(), many.connect()
    pid = bulk.info.backend_pid
    evictor.execute("SET fence.evict_after = '100ms'")
    for number, ended in (KEYS - 1, 0), (0, 1):
        key = many.name(number)
        many.claim(2, key)
        assert many.ask("SELECT fence.fence_evict('n', %s, 2, %s)", key, owner(2),
                        by=evictor) == ended
        assert many.is_alive(pid) == (not ended)
