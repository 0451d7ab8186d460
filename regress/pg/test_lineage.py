"""ZF007: claims of before a failover do not count, unless it is accepted as one that lost
nothing. A restart and a crash change nothing."""
import itertools

import psycopg
import pytest
from copies import WEAK_GUARDS, Log, claim_sql, outcome
from pgserver import Server
from replica import Replica
from scene import crash, wait_until

NUMBERS = itertools.count(1)
PORTS = itertools.count(5440)


@pytest.fixture(name="primary", scope="module")
def make_primary():
    """Given a server that archives its log of writes."""
    conf = {"archive_mode": "on", "archive_command": "mkdir -p ../archive && cp %p ../archive/%f"}
    with Server(conf=conf) as server:
        yield server


@pytest.fixture(name="replicas")
def make_replicas(primary):
    """Makes servers that are gone after the test."""
    made = []

    def make(standby=True, of=None):
        number = next(PORTS)
        made.append(Replica(primary, f"replica{number}", number, standby, of))
        return made[-1]
    yield make
    for one in made:
        one.stop()


@pytest.fixture(name="log")
def make_log(primary):
    """Given a key that is claimed at epochs 1 and 2 on the primary."""
    with psycopg.connect(primary.dsn(), autocommit=True) as connection:
        log = Log(connection, f"k{next(NUMBERS)}")
        assert [log.claim(1), log.append(1, 1), log.claim(2), log.append(2, 2)] == [None, 1, 1, 2]
        yield log


def test_promotion(log, replicas):
    standby = replicas().start()
    standby.catch_up()
    session = standby.connect()  # of before
    assert outcome(session, "SELECT count(*) FROM fence.oplog_read('n', '" + log.key + "')") == 2
    assert outcome(session, "SELECT fence.fence_adopt()") == "25006"
    standby.promote()
    for connection in (session, standby.connect()):
        there = Log(connection, log.key)
        assert (there.append(2, 3), there.check(2), there.claim(2)) == ("ZF007",) * 3
        # What was stale before is neither more nor less so.
        assert (there.claim(1), there.append(1, 3)) == ("ZF001", "ZF007")
        assert there.append(3, 3) == "ZF007"
    assert (there.claim(3), there.append(3, 3)) == (2, 3)
    assert (there.append(2, 4), there.claim(2), there.claim(3)) == ("ZF001", "ZF001", 3)
    assert outcome(connection, claim_sql("new", 0)) is None
    assert outcome(connection, "SELECT fence.fence_capabilities()->'fencing'") is True
    # The primary that was left behind goes on: only fencing the machine helps there.
    assert log.append(2, 3) == 3


def test_switchover_that_is_accepted(log, replicas, primary):
    """Also one after the other, with the standby of a standby."""
    first = replicas().start()
    first.catch_up()
    first.promote()
    with first.connect() as connection:
        there = Log(connection, log.key)
        assert there.append(2, 3) == "ZF007"
        connection.execute("BEGIN")
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == "ZF012"
        connection.execute("ROLLBACK")
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == 1
        assert (there.append(2, 3), there.claim(2), there.check(2)) == (3, 3, True)
        assert (there.append(1, 9), there.claim(1)) == ("ZF001", "ZF001")
        notices = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == 1
        assert notices == ["timeline 2 is in force already"]
        assert outcome(connection, claim_sql(f"{log.key}b", 1)) is None
    second = replicas(of=first).start()
    second.catch_up()
    second.promote()
    with second.connect() as connection:
        claims = [Log(connection, log.key), Log(connection, f"{log.key}b")]
        assert [each.append(epoch, 5) for each, epoch in zip(claims, (2, 1))] == ["ZF007", "ZF007"]
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == 1
        assert [each.append(epoch, 5) for each, epoch in zip(claims, (2, 1))] == [5, 5]
        rows = connection.execute("SELECT timeline, accepted_from FROM fence_internal.lineage"
                                  " ORDER BY timeline").fetchall()
        assert rows == [(1, None), (2, 1), (3, 2)]
    assert primary.sql("SELECT count(*) FROM fence_internal.lineage") == "1"



def test_switchover_that_is_accepted_late(log, replicas):
    """Claims of the time between stay, and so do their epochs."""
    standby = replicas().start()
    standby.catch_up()
    standby.promote()
    with standby.connect() as connection:
        there, other = Log(connection, log.key), Log(connection, f"{log.key}b")
        assert (there.claim(3), other.claim(1)) == (2, None)
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == 1
        assert (there.append(2, 3), there.append(3, 3), other.append(1, 1)) == ("ZF001", 3, 1)


def test_timeline_whose_history_is_lost(log, replicas):
    standby = replicas().start()
    standby.catch_up()
    standby.promote()
    (standby.folder / "pg_wal/00000002.history").unlink()
    with standby.connect() as connection:
        assert outcome(connection, "SELECT fence.fence_lineage_accept()") == "ZF012"
        assert Log(connection, log.key).append(2, 3) == "ZF007"


def test_failover_that_loses_a_claim(log, replicas, primary):
    """Given a claim that the standby never got: its owner and the one before it are both
    refused there, the one who comes back from the dead as well."""
    standby = replicas().start()
    standby.catch_up()
    senders = "SELECT count(*) FROM pg_stat_replication"
    with standby.connect() as connection:
        connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        connection.execute("SELECT pg_reload_conf()")
    wait_until(lambda: primary.sql(senders) == "0")
    assert (log.claim(3), log.append(3, 3)) == (2, 3)
    standby.promote()
    with standby.connect() as connection:
        there = Log(connection, log.key)
        assert (there.append(2, 3), there.claim(2), there.append(3, 4)) == ("ZF007",) * 3
        assert there.claim(4) == 2
        assert (there.append(2, 3), there.append(3, 4), there.append(4, 3)) == ("ZF001", "ZF001", 3)


def test_recovery_to_before_a_claim(log, replicas, primary):
    """Given owner 3, who claimed after the time that the recovery goes back to."""
    copy = replicas(standby=False)
    log.append(2, 3)
    primary.sql(f"SELECT pg_create_restore_point('before {log.key}')")
    assert (log.claim(3), log.append(3, 4)) == (3, 4)
    archive(primary)
    copy.recover(restore_command=f"cp {primary.folder}/archive/%f %p",
                 recovery_target_name=f"before {log.key}")
    copy.start()
    copy.wait_for_end_of_recovery()
    with copy.connect() as connection:
        there = Log(connection, log.key)
        # Neither is taken for the owner: nobody knows what either has done since.
        assert (there.append(3, 5), there.append(2, 5), there.claim(2)) == ("ZF007",) * 3
        assert (there.claim(4), there.append(4, 4)) == (3, 4)
        assert (there.append(3, 5), there.claim(3)) == ("ZF001", "ZF001")


def archive(primary):
    """All that is written now is in the archive."""
    last = primary.sql("SELECT pg_walfile_name(pg_switch_wal())")
    wait_until(lambda: (primary.folder / "archive" / last).exists())


# ---- what is no failover -------------------------------------------------------

def test_restart_and_crash_keep_claims():
    with Server(conf={"fsync": "on"}) as server:
        def session():
            return psycopg.connect(server.dsn(), autocommit=True)
        with session() as connection:
            assert Log(connection, "k").claim(1) is None
        server.restart()
        with session() as connection:
            assert Log(connection, "k").append(1, 1) == 1
        server.kill9()
        server.start()
        with session() as connection:
            assert Log(connection, "k").append(1, 2) == 2
        crash(server)
        with session() as connection:
            there = Log(connection, "k")
            assert (there.append(1, 3), there.claim(1), there.check(1)) == (3, 3, True)
            notices = []
            connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
            assert outcome(connection, "SELECT fence.fence_adopt()") == 1
            assert len(notices) == 1


def test_upgraded_cluster():
    """pg_upgrade takes all tables along, and the cluster is another one."""
    with Server() as server, Server() as target:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            log = Log(connection, "k")
            assert (log.claim(1), log.append(1, 1)) == (None, 1)
        target.sql("DROP DATABASE fence", database="postgres")
        server.stop()
        target.stop()
        target.run("pg_upgrade", "-b", server.bindir, "-B", target.bindir, "-d", server.data,
                   "-D", target.data, "-U", "postgres", "-s", target.folder)
        target.start()
        with psycopg.connect(target.dsn(), autocommit=True) as connection:
            there = Log(connection, "k")
            assert (there.append(1, 2), there.claim(2)) == ("ZF007", "ZF007")
            assert outcome(connection, "SELECT fence.fence_adopt()") == 2
            assert outcome(connection, WEAK_GUARDS) == 0
            assert (there.append(1, 2), there.claim(1), there.claim(2)) == ("ZF007", "ZF007", 1)
            assert there.append(2, 2) == 2
