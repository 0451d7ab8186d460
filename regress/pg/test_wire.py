"""What a client is told, message by message: an error comes before the rows that it is
about wherever it can, and never after ReadyForQuery. And clients that stop between two
messages: they hold up nobody who claims or appends."""
import pytest
from scene import Background, owner, wait_until
from wire import COPY_DONE, FLUSH, SYNC, Wire, bind, call, copy_data, execute, extended, parse, query

BOUND = ["parse", "bind"]
REFUSED = ["error ZF001", "ready I"]


@pytest.fixture
def stale(scene):
    """The key is at epoch 2: what epoch 1 says is stale."""
    scene.claim(1)
    scene.claim(2)
    return scene


def row(idx):
    return ["columns", f"row {idx}", "done SELECT 1"]


# ---- stale from the start: M11, P13 ----------------------------------------------------

def test_stale_append_is_refused_before_a_row_in_the_simple_protocol(stale, wire):
    assert wire.ask(stale.append_sql(1, 6)) == ["columns", *REFUSED]
    assert wire.ask(stale.append_sql(2, 6)) == [*row(6), "ready I"]


def test_stale_append_is_refused_before_a_row_in_the_extended_protocol(stale, wire):
    wire.send(extended(stale.append_sql(1, 6)), SYNC)
    assert wire.answers() == [*BOUND, *REFUSED]
    wire.send(extended(stale.append_sql(2, 6)), SYNC)
    assert wire.answers() == [*BOUND, "row 6", "done SELECT 1", "ready I"]


def test_pipeline_is_one_transaction_and_ends_at_the_stale_call(stale, wire):
    stale.claim(3, key="pipeline")
    other = stale.append_sql(2, 3).replace(stale.key, "pipeline")
    wire.send(*(extended(sql) for sql in (stale.append_sql(2, 1), stale.append_sql(2, 2), other,
                                          stale.append_sql(2, 4))), SYNC)
    assert wire.answers() == [*BOUND, "row 1", "done SELECT 1", *BOUND, "row 2", "done SELECT 1",
                              *BOUND, *REFUSED]
    assert stale.log() == []


def test_statements_of_one_query_are_one_transaction(stale, wire):
    stale.claim(3, key="query")
    other = stale.append_sql(2, 3).replace(stale.key, "query")
    answers = wire.ask(f"{stale.append_sql(2, 1)}; {other}; {stale.append_sql(2, 2)}")
    assert answers == [*row(1), "columns", *REFUSED]
    assert stale.log() == []


def test_rows_of_one_select_are_all_or_none(stale, wire):
    rows = "row 1", "row 2", "row 3"
    assert wire.ask(stale.append_sql(2, "g") + " FROM generate_series(1, 3) AS g") == \
        ["columns", *rows, "done SELECT 3", "ready I"]
    assert wire.ask(stale.append_sql(1, "g") + " FROM generate_series(1, 3) AS g") == \
        ["columns", *REFUSED]


def test_insert_and_copy_into_the_table_report_nothing_before_the_refusal(stale, wire):
    for epoch, told in ((1, REFUSED), (2, ["done INSERT 0 2", "ready I"])):
        values = ", ".join(f"('n', '{stale.key}', {epoch}, '{owner(epoch)}', {idx}, 'p')"
                           for idx in (1, 2))
        assert wire.ask(f"INSERT INTO fence.fenced_append VALUES {values}") == told
        wire.send(extended(f"INSERT INTO fence.fenced_append VALUES {values}"), SYNC)
        assert wire.answers() == [*BOUND, *told]
    for epoch, told in ((1, REFUSED), (2, ["done COPY 2", "ready I"])):
        wire.send(query("COPY fence.fenced_append FROM STDIN"))
        assert wire.answers("copy in") == ["copy in"]
        wire.send(*(copy_data(f"n\t{stale.key}\t{epoch}\t{owner(epoch)}\t{idx}\tp\n")
                    for idx in (3, 4)), COPY_DONE)
        assert wire.answers() == told
    assert [idx for idx, _, _ in stale.log()] == [1, 2, 3, 4]


def test_block_in_one_trip(stale, wire):
    def trip(epoch):
        wire.send(extended("BEGIN"), extended(stale.append_sql(epoch, 6)), extended("COMMIT"), SYNC)
        return wire.answers()
    assert trip(2) == [*BOUND, "done BEGIN", *BOUND, "row 6", "done SELECT 1",
                       *BOUND, "done COMMIT", "ready I"]
    assert trip(1) == [*BOUND, "done BEGIN", *BOUND, "error ZF001", "ready E"]


def test_fast_path_call(stale, wire):
    function = stale.ask("SELECT 'fence.fenced_append'::regproc::oid::int")
    wire.send(call(function, "n", stale.key, 2, owner(2), 6, "p"))
    assert wire.answers() == ["row 6", "ready I"]
    wire.send(call(function, "n", stale.key, 1, owner(1), 7, "p"))
    assert wire.answers() == REFUSED


def test_named_statement_also_with_a_generic_plan(stale, wire):
    wire.send(parse("SELECT fence.fenced_append($1, $2, $3, $4, $5, $6)", name="append"), SYNC)
    assert wire.answers() == ["parse", "ready I"]

    def run(epoch, idx):
        wire.send(bind("n", stale.key, epoch, owner(epoch), idx, "p", name="append"), execute(), SYNC)
        return wire.answers()
    for idx in range(8):
        assert run(2, idx) == ["bind", f"row {idx}", "done SELECT 1", "ready I"]
    assert run(1, 8) == ["bind", *REFUSED]


@pytest.mark.parametrize("form", ["EXPLAIN (ANALYZE, COSTS OFF) {}", "CREATE TEMP TABLE made AS {}",
                                  "DECLARE c CURSOR WITH HOLD FOR {}", "SELECT * FROM ({}) AS x",
                                  "DO $$ BEGIN PERFORM * FROM ({}) AS x; END $$",
                                  "SELECT called()", "SELECT ({})"])
def test_other_forms_of_a_call_are_refused_before_they_report(stale, wire, form):
    if "called" in form:
        stale.observer.execute("CREATE OR REPLACE FUNCTION called() RETURNS bigint LANGUAGE plpgsql"
                               f" AS $$ BEGIN RETURN ({stale.append_sql(1, 6)}); END $$")
    answers = [one for one in wire.ask(form.format(stale.append_sql(1, 6))) if one != "columns"]
    assert answers == REFUSED


# ---- stale only when it commits --------------------------------------------------------

@pytest.fixture
def gate(scene):
    """A lock of the user's at which a statement stops; release() lets it go on."""
    holder = scene.connect("gate")
    holder.execute("SELECT pg_advisory_lock(1)")
    scene.release = lambda: holder.execute("SELECT pg_advisory_unlock_all()")
    return scene


def stop_at_gate(gate, wire, *messages):
    wire.send(*messages)
    wait_until(lambda: wire.pid in [pid for pid, _, _ in gate.waiting()])


WAIT = "pg_advisory_xact_lock_shared(1)"


@pytest.mark.parametrize("protocol", [query, extended])
@pytest.mark.parametrize("form", ["{call}, {wait}", "{call}, {wait} FROM generate_series(1, 1) AS g"])
def test_call_beside_something_that_waits_does_not_hold_up_a_claim(gate, wire, protocol, form):
    gate.claim(1)
    sync = [SYNC] if protocol is extended else []
    stop_at_gate(gate, wire, protocol(form.format(call=gate.append_sql(1, 6), wait=WAIT)), *sync)
    assert gate.key_locks(wire.pid) == ["AccessShareLock"]  # not Share
    gate.without_waiting(gate.claim, 2, besides=[wire.pid])
    gate.release()
    # A row may have gone out, but no report that the statement is done.
    assert [one for one in wire.answers() if one not in ("columns", *BOUND)] == ["row 6", *REFUSED]
    assert gate.log() == []


@pytest.mark.parametrize("sql", ["INSERT INTO fence.fenced_append SELECT 'n', '{key}', 1, '{owner}', g,"
                                 " ({wait})::text::bytea FROM generate_series(6, 7) AS g",
                                 "CREATE TEMP TABLE made AS {call}, {wait}::text",
                                 "DECLARE c CURSOR WITH HOLD FOR {call}, {wait}",
                                 "DO $$ BEGIN PERFORM {perform}; PERFORM {wait}; END $$",
                                 # P8: the first transaction of two
                                 "DO $$ BEGIN PERFORM {perform}; PERFORM {wait}; COMMIT; PERFORM 1; END $$",
                                 "EXPLAIN (ANALYZE) {call}, {wait}"])
def test_forms_that_wait_after_a_call_are_refused_when_they_commit(gate, wire, sql):
    gate.claim(1)
    append = gate.append_sql(1, 6)
    stop_at_gate(gate, wire, query(sql.format(
        key=gate.key, owner=owner(1), wait=WAIT, call=append, perform=append.removeprefix("SELECT "))))
    gate.without_waiting(gate.claim, 2, besides=[wire.pid])
    gate.release()
    assert [one for one in wire.answers() if one[:3] not in ("col", "row")] == REFUSED
    assert gate.log() == []


def test_argument_that_waits_is_computed_before_the_call(gate, wire):
    gate.claim(1)
    stop_at_gate(gate, wire, query(gate.append_sql(1, 6, f"{WAIT}::text::bytea")))
    assert gate.key_locks(wire.pid) == []
    gate.without_waiting(gate.claim, 2, besides=[wire.pid])
    gate.release()
    assert wire.answers() == ["columns", *REFUSED]


def test_held_cursor_commits_under_the_check(scene, wire):
    scene.claim(1)
    wire.ask("BEGIN")
    wire.ask(f"DECLARE c CURSOR WITH HOLD FOR {scene.append_sql(1, 6)}")
    scene.without_waiting(scene.claim, 2)
    assert wire.ask("COMMIT") == REFUSED
    wire.ask(f"DECLARE c CURSOR WITH HOLD FOR {scene.append_sql(2, 6)}")
    assert wire.ask("FETCH ALL FROM c") == ["columns", "row 6", "done FETCH 1", "ready I"]
    assert scene.log() == [(6, 2, "p")]


def by_fast_path(scene, wire):
    function = scene.ask("SELECT 'fence.fenced_append'::regproc::oid::int")
    wire.send(call(function, "n", scene.key, 1, owner(1), 6, "p"))
    assert wire.answers() == ["row 6", "ready T"]


def in_a_portal_with_a_name(scene, wire):
    wire.send(parse(scene.append_sql(1, 6)), bind(portal="p"), execute(portal="p"), SYNC)
    assert wire.answers() == [*BOUND, "row 6", "done SELECT 1", "ready T"]


def while_planned(scene, wire):
    scene.observer.execute("CREATE OR REPLACE FUNCTION appends() RETURNS bigint IMMUTABLE LANGUAGE"
                           f" plpgsql AS $$ BEGIN RETURN ({scene.append_sql(1, 6)}); END $$")
    wire.send(parse("SELECT appends()"), bind(), SYNC)
    assert wire.answers() == [*BOUND, "ready T"]


@pytest.mark.parametrize("append", [by_fast_path, in_a_portal_with_a_name, while_planned])
def test_first_call_of_a_session_in_a_block_holds_up_no_claim(scene, wire, append):
    scene.claim(1)
    wire.ask("BEGIN")
    append(scene, wire)
    assert scene.key_locks(wire.pid) == ["AccessShareLock"]
    scene.without_waiting(scene.claim, 2)
    assert wire.ask("COMMIT") == REFUSED


def test_calls_by_the_fast_path_leave_nothing_in_the_session(scene, wire):
    scene.claim(1)
    function = scene.ask("SELECT 'fence.fenced_append'::regproc::oid::int")
    used = "SELECT sum(used_bytes)::int FROM pg_backend_memory_contexts WHERE name = 'TopMemoryContext'"
    sizes = []
    for idx in range(2000):
        wire.send(call(function, "n", scene.key, 1, owner(1), idx, "p"))
        assert wire.answers() == [f"row {idx}", "ready I"]
        if idx in (999, 1999):
            sizes.append(int(wire.ask(used)[1].split()[1]))
    assert sizes[1] - sizes[0] < 10_000


# ---- clients that stop between two messages --------------------------------------------

def test_frozen_before_sync_holds_up_no_claim_and_is_refused_at_sync(scene, wire):  # M20
    scene.claim(1)
    wire.send(extended(scene.append_sql(1, 6)), FLUSH)
    assert wire.answers("done") == [*BOUND, "row 6", "done SELECT 1"]
    assert scene.key_locks(wire.pid) == ["AccessShareLock"]
    scene.without_waiting(scene.claim, 2)
    scene.without_waiting(scene.append, 2, 6)
    wire.send(SYNC)
    assert wire.answers() == REFUSED
    assert scene.log() == [(6, 2, "p")]


def test_frozen_in_a_suspended_portal_likewise(scene, wire):
    scene.claim(1)
    wire.send(extended(scene.append_sql(1, "g") + " FROM generate_series(1, 4) AS g", rows=2), FLUSH)
    assert wire.answers("suspended") == [*BOUND, "row 1", "row 2", "suspended"]
    scene.without_waiting(scene.claim, 2)
    wire.send(execute(), SYNC)
    assert wire.answers()[-2:] == REFUSED
    assert scene.log() == []


def test_bare_call_in_a_suspended_portal_likewise(scene, wire):
    """One row, and a limit of one: the statement is not done."""
    scene.claim(1)
    wire.send(extended(scene.append_sql(1, 6), rows=1), FLUSH)
    assert wire.answers("suspended") == [*BOUND, "row 6", "suspended"]
    scene.without_waiting(scene.claim, 2)
    wire.send(SYNC)
    assert wire.answers() == REFUSED


def test_sync_behind_a_row_limit_is_no_promise_of_more(scene, wire):
    scene.claim(1)
    wire.send(extended(scene.append_sql(1, 6), rows=1), SYNC)
    assert wire.answers() == [*BOUND, "row 6", "suspended", "ready I"]
    assert scene.log() == [(6, 1, "p")]


def test_frozen_in_copy_holds_up_no_claim(scene, wire):
    scene.claim(1)
    wire.send(query("COPY fence.fenced_append FROM STDIN"))
    wire.answers("copy in")
    wire.send(*(copy_data(f"n\t{scene.key}\t1\t{owner(1)}\t{idx}\tp\n") for idx in range(1100)))
    wait_until(lambda: scene.key_locks(wire.pid) == ["AccessShareLock"])
    scene.without_waiting(scene.claim, 2)
    wire.send(COPY_DONE)
    assert wire.answers() == REFUSED
    assert scene.log() == []


def test_sync_inside_copy_does_not_commit_what_comes_before_an_error(scene, wire):
    """The server takes no notice of it there: the pipeline is one transaction."""
    scene.claim(1)
    rows = [copy_data(f"n\t{scene.key}\t1\t{owner(1)}\t{idx}\tp\n") for idx in (1, 2)]
    wire.send(extended("COPY fence.fenced_append FROM STDIN"))
    assert wire.answers("copy in") == [*BOUND, "copy in"]
    wire.send(rows[0], SYNC, rows[1], COPY_DONE, extended("SELECT 1 / 0"), SYNC)
    assert [one for one in wire.answers() if one not in BOUND] == \
        ["done COPY 2", "error 22012", "ready I"]
    assert scene.log() == []


def test_claim_before_sync_is_committed_at_once(scene, wire):  # M6
    wire.send(extended(scene.claim_sql(1)), FLUSH)
    assert wire.answers("done") == [*BOUND, "row NULL", "done SELECT 1"]
    assert scene.key_locks(wire.pid) == []
    scene.without_waiting(scene.claim, 2)
    wire.send(SYNC)
    assert wire.answers() == ["ready I"]


def hold_by_claim(scene, wire, epoch):
    """A claim that is not done, since its client took one row and stopped."""
    wire.send(extended(scene.claim_sql(epoch), rows=1), FLUSH)
    assert wire.answers("suspended")[-1] == "suspended"
    assert scene.key_locks(wire.pid) == ["ExclusiveLock"]


@pytest.mark.parametrize("before", ["never claimed", "claimed"])
def test_claim_held_open_is_ended_by_the_next_claim(scene, wire, before):  # M6
    if before == "claimed":
        scene.claim(1)
    hold_by_claim(scene, wire, 2)
    claimant = scene.connect()
    claimant.execute("SET fence.evict_after = '300ms'")
    claim = Background(scene.claim, 3, None, claimant)
    assert scene.is_alive(wire.pid)
    assert claim.get() is None
    assert not scene.is_alive(wire.pid)
    assert wire.answers()[-1] == "end"
    assert scene.append(3, 1) == 1


def test_commit_under_a_claim_held_open_ends_with_55p03(scene, wire):  # M6
    scene.claim(1)
    in_block, alone = scene.connect(), scene.connect()
    in_block.execute("BEGIN")
    scene.append(1, 6, by=in_block)
    hold_by_claim(scene, wire, 2)
    for one in (in_block, alone):
        one.execute("SET fence.commit_wait = '200ms'")
    assert Background(in_block.execute, "COMMIT").get() == "55P03"
    assert Background(scene.append, 1, 7, "p", None, alone).get() == "55P03"
    wire.send(SYNC)
    assert wire.answers() == ["ready I"]
    assert scene.log() == []


def test_client_that_does_not_read_its_answer_holds_no_lock(scene, wire):
    """The answers of many statements fill the socket; the server writes, and waits."""
    scene.claim(1)
    wide = extended("SELECT repeat('x', 100000)") + SYNC
    wire.send(wide * 40, extended(scene.append_sql(1, 6)), SYNC)
    wait_until(lambda: scene.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND"
                                 " wait_event = 'ClientWrite'", wire.pid) == 1)
    assert scene.key_locks(wire.pid) == []
    scene.without_waiting(scene.claim, 2)
    answers = [one for _ in range(41) for one in wire.answers() if one[:3] != "row"]
    assert answers[-2:] == REFUSED


@pytest.mark.parametrize("ahead", range(6))
def test_debug_messages_do_not_stop_a_commit_while_it_holds_a_lock(scene, server, ahead):
    """They are sent at once, in the middle of it, and this client reads none until the server
    cannot send any more. At which message that is depends on how many were sent ahead."""
    scene.claim(1)
    wire = Wire(server, client_min_messages="debug5")
    wire.send(SYNC * ahead, *(query(scene.append_sql(1, idx)) for idx in range(300)))
    wait_until(lambda: scene.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND"
                                 " wait_event = 'ClientWrite'", wire.pid) == 1)
    assert "ShareLock" not in scene.key_locks(wire.pid)
    scene.without_waiting(scene.claim, 2)
    wire.close()
