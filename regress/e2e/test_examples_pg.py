"""The examples of examples/postgresql, as processes that are frozen where it hurts most and wake
up when their work has long been given to another (pains 1, 2, 3, 5, 7, 10, 11, 39, 53, 70)."""
import os
import subprocess

import pytest
import variant
from example_stage import Stage, wait_until
from pgserver import Server

# Where a program is frozen, as stop_at.py has it: in front of its transaction; in it, after the
# assertion, with no lock on a row; in front of COMMIT, with one. fence_evict ends the last two. So
# in the second the program is a superuser, whose session nobody ends: the check stands alone.
POINTS = ["outside", "asserted", "written"]
JOB = {"outside": ("before", 1, "fence_assert"), "asserted": ("before", 1, "INTO job_outcome"),
       "written": ("after", 1, "INTO job_outcome")}
LEADER = {"outside": ("before", 3, "fence_assert"), "asserted": ("before", 2, "INTO run"),
          "written": ("after", 2, "INTO run")}
ACTOR = {"outside": ("before", 2, "fence_assert_many"), "asserted": ("before", 3, "UPDATE account"),
         "written": ("after", 2, "INTO transfer")}


# Leases: one that runs out soon, and one that does not, however busy the machine is.
SHORT, LONG = 0.5, 20


def role_at(point, role):
    return "postgres" if point == "asserted" else role


def end_of(point):
    return "connection lost" if point == "written" else "ZF001 stale_epoch"


@pytest.fixture(name="stage")
def fixture_stage(server, tmp_path, request):
    stage = Stage(server, tmp_path, request.param)
    yield stage
    stage.close()


def on(example):
    return pytest.mark.parametrize("stage", [example], indirect=True)


# ---- job_queue ---------------------------------------------------------------------------

OUTCOMES = "SELECT job_id, attempt, state, output FROM job_outcome ORDER BY 1"


def start_worker(stage, point=None, lease=SHORT):
    return stage.start("worker.py", "--lease", lease, stage.dsn(role_at(point, "queue_worker")),
                       stop=JOB.get(point))


def add_job(stage, command):
    stage.run_as("queue_producer", "INSERT INTO job(command) VALUES (%s)", command)


def note_outcomes(stage):
    """Each commit that stores one leaves a row in a table of the test's."""
    stage.admin.execute(
        "CREATE TABLE stored(job_id bigint, attempt bigint, state text);"
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
        "  INSERT INTO stored VALUES (NEW.job_id, NEW.attempt, NEW.state); RETURN NULL; END $$;"
        "CREATE TRIGGER note AFTER INSERT OR UPDATE ON job_outcome FOR EACH ROW"
        "  EXECUTE FUNCTION note()")


# Both attempts can finish it; the outcome tells which did. The first one fails.
TWICE = 'echo attempt $JOB_ATTEMPT; [ $JOB_ATTEMPT = 2 ]'


def rescue(stage, point):
    """A worker is stopped at the end of its job, another does the job, the first one goes on."""
    note_outcomes(stage)
    add_job(stage, TWICE)
    first = start_worker(stage, point)
    first.wait_until_stopped()
    second = start_worker(stage)
    second.wait_until_it_says("job 1: attempt 2 is done")
    first.thaw()
    return first


@on("job_queue")
@pytest.mark.parametrize("point", POINTS)
def test_an_attempt_that_was_given_to_another_stores_nothing(stage, point):
    first = rescue(stage, point)

    first.wait_until_it_says(end_of(point))
    add_job(stage, "echo next")
    wait_until(lambda: len(stage.ask(OUTCOMES)) == 2)
    assert stage.ask(OUTCOMES) == [(1, 2, "done", "attempt 2\n"), (2, 1, "done", "next\n")]
    assert stage.ask("SELECT * FROM stored ORDER BY job_id") == [(1, 2, "done"), (2, 1, "done")]


@on("job_queue")
def test_a_worker_that_is_frozen_at_work_gives_its_job_up(stage, tmp_path):
    """Pains 1 and 5: the job takes longer than the lease, and both of its commands end."""
    note_outcomes(stage)
    go = tmp_path / "go"
    add_job(stage, f"while [ ! -e {go} ]; do sleep 0.01; done; echo attempt $JOB_ATTEMPT")
    first = start_worker(stage)
    wait_until(lambda: stage.ask("SELECT FROM fence.oplog_metadata WHERE epoch = 1"))
    first.freeze()
    second = start_worker(stage, lease=LONG)
    wait_until(lambda: stage.ask("SELECT FROM fence.oplog_metadata WHERE epoch = 2"))
    first.thaw()
    first.wait_until_it_says("job 1: attempt 1 is over: ZF001")
    go.touch()
    second.wait_until_it_says("job 1: attempt 2 is done")
    assert stage.ask(OUTCOMES) == [(1, 2, "done", "attempt 2\n")]
    assert stage.ask("SELECT * FROM stored") == [(1, 2, "done")]


@on("job_queue")
def test_many_workers_finish_each_job_once(stage):
    """One of them is killed; failures are tried again, three times in all."""
    note_outcomes(stage)
    for number in range(1, 21):
        add_job(stage, f"echo {number}; [ {number} != 7 ]")
    workers = [start_worker(stage) for _ in range(3)]
    wait_until(lambda: len(stage.ask(OUTCOMES)) >= 5)
    workers[0].process.kill()
    wait_until(lambda: stage.ask("SELECT count(*) FROM job_outcome WHERE state = 'done' OR"
                                 " attempt >= 3") == [(20,)])
    assert [(job, state, output) for job, _, state, output in stage.ask(OUTCOMES)] == [
        (number, "failed" if number == 7 else "done", f"{number}\n") for number in range(1, 21)]
    assert stage.ask("SELECT job_id, count(*) FROM stored WHERE state = 'done' GROUP BY 1"
                     " HAVING count(*) > 1") == []


@on("job_queue")
def test_without_an_assertion_nobody_writes_an_outcome(stage):
    add_job(stage, "true")
    write = "INSERT INTO job_outcome(job_id, attempt, state, output) VALUES (1, 1, 'done', '')"
    assert stage.refusal_of("queue_worker", write) == "ZF005"
    assert stage.refusal_of("queue_producer", write) == "42501"


# ---- leader ------------------------------------------------------------------------------

def start_scheduler(stage, name, point=None, lease=SHORT):
    return stage.start("scheduler.py", "--lease", lease, name,
                       stage.dsn(role_at(point, "scheduler")), stop=LEADER.get(point))


def terms(stage):
    return [term for term, in stage.ask("SELECT term FROM run ORDER BY id")]


def depose(stage, point):
    """A leader is stopped, another is elected and works, the first one goes on."""
    first = start_scheduler(stage, "first", point)
    first.wait_until_stopped()
    second = start_scheduler(stage, "second", lease=LONG)
    second.wait_until_it_says("second leads, term 2")
    wait_until(lambda: terms(stage).count(2) >= 2)
    first.thaw()
    return first


@on("leader")
@pytest.mark.parametrize("point", POINTS)
def test_a_leader_that_was_replaced_writes_nothing(stage, point):
    first = depose(stage, point)

    first.wait_until_it_says(end_of(point))
    count = len(terms(stage))
    wait_until(lambda: len(terms(stage)) > count)
    assert terms(stage) == sorted(terms(stage))
    assert terms(stage).count(1) == 1
    assert stage.ask("SELECT value FROM settings WHERE name = 'leader'") == [("second",)]


@on("leader")
def test_who_waits_leads_when_the_leader_has_gone(stage):
    """Pain 53: a leader that is killed leaves no lock, and one that lost a term leads again."""
    first = start_scheduler(stage, "first")
    first.wait_until_it_says("first leads, term 1")
    second = start_scheduler(stage, "second")
    first.freeze()
    second.wait_until_it_says("second leads, term 2")
    first.thaw()
    # The latter where it was frozen inside a transaction.
    wait_until(lambda: "first: term 1 is over: ZF001" in first.said() or
               "first connects again" in first.said())
    second.process.kill()
    first.wait_until_it_says("first leads, term 3")
    wait_until(lambda: 3 in terms(stage))
    assert terms(stage) == sorted(terms(stage))


# ---- accounts ----------------------------------------------------------------------------

BALANCES = "SELECT id, balance FROM account ORDER BY id"
IN_FLIGHT = ("SELECT coalesce(sum(amount), 0)::int FROM transfer AS t WHERE accepted AND NOT EXISTS"
             " (SELECT FROM arrival AS a WHERE a.request = t.request)")
TOTAL = f"SELECT sum(balance)::int + ({IN_FLIGHT}) FROM account"


def start_actor(stage, *accounts, point=None):
    return stage.start("actor.py", stage.dsn(role_at(point, "actor")), *accounts,
                       stop=ACTOR.get(point))


def ask_for(stage, sender, receiver, amount):
    stage.run_as("customer", "INSERT INTO request(sender, receiver, amount) VALUES (%s, %s, %s)",
                 sender, receiver, amount)


def total(stage):
    return stage.ask(TOTAL)[0][0]


def replace_actor(stage, point):
    """An actor is stopped in its second transfer, which its customer then withdraws. Another one
    takes over, and the first one goes on, with the balances that it knows."""
    ask_for(stage, "ada", "bob", 10)
    first = start_actor(stage, "ada", "bob", point=point)
    wait_until(lambda: stage.ask("SELECT FROM transfer"))
    ask_for(stage, "ada", "bob", 1)
    first.wait_until_stopped()
    stage.run_as("customer", "DELETE FROM request WHERE amount = 1")
    ask_for(stage, "ada", "cyd", 50)
    start_actor(stage, "ada", "bob")
    wait_until(lambda: len(stage.ask("SELECT FROM transfer")) == 2)
    first.thaw()
    return first


@on("accounts")
@pytest.mark.parametrize("point", POINTS)
def test_an_actor_that_was_replaced_changes_no_balance(stage, point):
    first = replace_actor(stage, point)

    assert first.process.wait(30) == (1 if point == "written" else 3)
    assert end_of(point) in first.said()
    assert stage.ask(IN_FLIGHT) == [(50,)]  # nobody owns cyd yet
    start_actor(stage, "cyd", "dan")
    wait_until(lambda: stage.ask(IN_FLIGHT) == [(0,)])
    assert stage.ask(BALANCES) == [("ada", 40), ("bob", 110), ("cyd", 150), ("dan", 100)]
    assert stage.ask("SELECT amount FROM transfer ORDER BY request") == [(10,), (50,)]


@on("accounts")
def test_money_is_neither_made_nor_lost(stage):
    """Two actors, one of which is replaced again and again; too much is declined."""
    start_actor(stage, "cyd", "dan")
    names = ["ada", "bob", "cyd", "dan"]
    for number in range(40):
        ask_for(stage, names[number % 4], names[(number + 1 + number % 3) % 4], 7 + number)
    ask_for(stage, "dan", "ada", 1000)
    for _ in range(3):
        actor = start_actor(stage, "ada", "bob")
        actor.wait_until_it_says("owns")
        assert total(stage) == 400
    wait_until(lambda: stage.ask("SELECT count(*) FROM transfer") == [(41,)] and
               stage.ask(IN_FLIGHT) == [(0,)])
    assert total(stage) == 400
    assert stage.ask("SELECT accepted FROM transfer WHERE amount = 1000") == [(False,)]


# ---- all of them -------------------------------------------------------------------------

@pytest.mark.parametrize("stage", ["job_queue", "leader", "accounts"], indirect=True)
def test_the_doctor_finds_nothing(stage):
    """But what the settings of a test's server are."""
    assert stage.ask("SELECT * FROM fence.fence_doctor() WHERE object !~ '^setting'") == []


# ---- without the check -------------------------------------------------------------------

@pytest.fixture(name="unchecked", scope="module")
def fixture_unchecked():
    """A server whose COMMIT does not ask who owns what."""
    build = "build/without/commit_check"
    subprocess.run(["make", "--no-print-directory", "-s", f"-j{os.cpu_count()}", f"BUILD={build}",
                    "WITHOUT=commit_check", "pg"], cwd=variant.TOP, check=True, timeout=600)
    with Server(build=build) as server:
        yield server


@pytest.fixture(name="make_stage")
def fixture_make_stage(unchecked, tmp_path):
    stages = []

    def make(example):
        stages.append(Stage(unchecked, tmp_path, example))
        return stages[-1]

    yield make
    for stage in stages:
        stage.close()


def test_without_the_check_a_late_failure_replaces_what_was_done(make_stage):
    stage = make_stage("job_queue")
    rescue(stage, "asserted")
    wait_until(lambda: stage.ask(OUTCOMES) == [(1, 1, "failed", "attempt 1\n")])


def test_without_the_check_two_lead(make_stage):
    stage = make_stage("leader")
    depose(stage, "asserted")
    wait_until(lambda: terms(stage) != sorted(terms(stage)))


def test_without_the_check_money_is_made(make_stage):
    stage = make_stage("accounts")
    replace_actor(stage, "asserted")
    wait_until(lambda: total(stage) == 450)
