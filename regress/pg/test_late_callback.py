"""Another library that runs SQL while the transaction commits, in a callback of its own: what
it appends is checked as well, and what it does else keeps no check from being made."""
from pathlib import Path

import pytest
from scene import Background, Scene, wait_until

SOURCE = Path(__file__).parent / "late_callback/late_callback.c"
WAIT = "SELECT pg_advisory_xact_lock_shared(1)"


@pytest.fixture(scope="module")
def at_commit(server):
    """The function at_commit(statements), in a library that a session loads when it calls it."""
    library = server.folder / "late_callback"
    server.output(["cc", "-shared", "-fPIC", "-o", f"{library}.so", SOURCE, "-I",
                   server.output([server.pg_config, "--includedir-server"]).strip()])
    server.sql(f"CREATE FUNCTION at_commit(text) RETURNS void LANGUAGE c AS '{library}'")


@pytest.fixture
def scene(server, at_commit):
    """At release(), what waits for the lock 1 goes on."""
    scene = Scene(server)
    holder = scene.connect("gate")
    holder.execute("SELECT pg_advisory_lock(1)")
    scene.release = lambda: holder.execute("SELECT pg_advisory_unlock_all()")
    yield scene
    scene.close()


def waits(scene, connection):
    return connection.info.backend_pid in [pid for pid, _, _ in scene.waiting()]


LOAD = "SELECT fence.fence_version()"
# The append as a statement, and as the query of a cursor, which has a portal.
FORMS = ["{append}",
         "DO $do$ DECLARE r record; BEGIN FOR r IN {append} LOOP NULL; END LOOP; END $do$"]
# A block, a statement in autocommit, and a procedure that commits.
COMMITS = [["BEGIN", "SELECT at_commit($late${sql}$late$)", "COMMIT"],
           ["SELECT at_commit($late${sql}$late$)"],
           ["DO $all$ BEGIN PERFORM at_commit($late${sql}$late$); COMMIT; END $all$"]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("statements", [[LOAD, *COMMITS[0]], [*COMMITS[0][:2], LOAD, "COMMIT"],
                                        *COMMITS])
def test_first_append_of_a_session_during_its_commit_stands(scene, form, statements):
    """Given that Fence is loaded before the other library, after it, or by that append."""
    scene.claim(1)
    writer, claimant = scene.connect(), scene.connect()
    sql = f"{form.format(append=scene.append_sql(1, 6))}; {WAIT}"
    for statement in statements[:-1]:
        writer.execute(statement.format(sql=sql))
    commit = Background(writer.execute, statements[-1].format(sql=sql))
    wait_until(lambda: waits(scene, writer))
    claim = Background(scene.claim, 2, None, claimant)
    wait_until(lambda: claim.done() or waits(scene, claimant))
    scene.release()
    seen = claim.get()
    if commit.get() == "ZF001":
        assert (seen, scene.log()) == (None, [])
    else:
        assert (seen, scene.log()) == (6, [(6, 1, "p")])


@pytest.mark.parametrize("utility", ["SET LOCAL work_mem = '4MB'", "CREATE TABLE made_at_commit (a int)"])
def test_utility_statement_at_commit_does_not_keep_fence_from_checking(scene, utility):
    scene.claim(1)
    writer = scene.connect()
    sql = f"{scene.append_sql(1, 6)}, at_commit($${utility}$$), {WAIT.removeprefix('SELECT ')}"
    statement = Background(writer.execute, sql)
    wait_until(lambda: waits(scene, writer))
    scene.without_waiting(scene.claim, 2, besides=[writer.info.backend_pid])
    scene.release()
    assert statement.get() == "ZF001"
    assert scene.log() == []
