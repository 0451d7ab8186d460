"""Logical replication into a protected table, between two servers: P33 of the list of attacks,
and the complaint that triggers do not fire where changes are applied (60)."""
import psycopg
import pytest

from pgserver import Server
from scene import code_of, owner, wait_until

TABLE = "CREATE TABLE accounts(id bigint PRIMARY KEY, balance bigint)"
PROTECT = "SELECT fence.fence_protect('accounts', 'accounts', '[\"id\"]', subscriber => %s)"
ROWS = "SELECT id, balance FROM accounts ORDER BY id"


@pytest.fixture(scope="module", name="servers")
def two_servers():
    conf = {"wal_level": "logical", "wal_retrieve_retry_interval": "100ms"}
    with Server(conf=conf) as publisher, Server(conf=conf) as subscriber:
        yield publisher, subscriber


class Pair:
    """A table that is published by one server and subscribed to by the other one, where it is
    protected."""

    def __init__(self, servers):
        self.servers = servers
        self.publisher, self.subscriber = (psycopg.connect(server.dsn(), autocommit=True)
                                           for server in servers)
        for side in (self.publisher, self.subscriber):
            side.execute(TABLE)
        self.publisher.execute("CREATE PUBLICATION accounts FOR TABLE accounts")

    def subscribe(self, policy):
        self.subscriber.execute(PROTECT, (policy,))
        self.subscriber.execute(
            f"CREATE SUBSCRIPTION accounts CONNECTION '{self.servers[0].dsn()}' PUBLICATION accounts")

    def write(self, sql):
        self.publisher.execute(sql)

    def published(self):
        return self.publisher.execute(ROWS).fetchall()

    def applied(self):
        return self.subscriber.execute(ROWS).fetchall()

    def wait_until_applied(self):
        wait_until(lambda: self.applied() == self.published())

    def refusals(self):
        return self.servers[1].log().count("not_asserted: the transaction has not asserted")

    def wait_until_refused(self):
        before = self.refusals()
        wait_until(lambda: self.refusals() > before)

    def is_copied(self):
        state = self.subscriber.execute("SELECT srsubstate FROM pg_subscription_rel").fetchone()
        return state == ("r",)

    def close(self):
        self.subscriber.execute("DROP SUBSCRIPTION IF EXISTS accounts")
        for side in (self.subscriber, self.publisher):
            side.execute("DROP TABLE accounts")
            side.close()
        with psycopg.connect(self.servers[0].dsn(), autocommit=True) as publisher:
            publisher.execute("DROP PUBLICATION accounts")


@pytest.fixture(name="pair")
def make_pair(servers):
    pair = Pair(servers)
    yield pair
    pair.close()


def test_refuse_stops_the_worker(pair):
    """P33: nobody has asserted what arrives. The error names the table, and says what to do."""
    pair.subscribe("refuse")
    wait_until(pair.is_copied)
    pair.write("INSERT INTO accounts VALUES (1, 10)")
    pair.wait_until_refused()
    assert pair.applied() == []
    log = pair.servers[1].log()
    assert "the key of this row of accounts, which arrived by logical replication" in log
    assert "call fence_protect for the table with subscriber => 'apply'" in log
    # Until somebody says that the other server checks its writers.
    pair.subscriber.execute(PROTECT, ("apply",))
    pair.wait_until_applied()


def test_refuse_holds_for_the_first_copy(pair):
    pair.write("INSERT INTO accounts VALUES (1, 10)")
    pair.subscribe("refuse")
    pair.wait_until_refused()
    assert pair.applied() == []


def test_apply_takes_every_verb(pair):
    pair.write("INSERT INTO accounts VALUES (1, 10), (2, 20)")
    pair.subscribe("apply")
    wait_until(pair.is_copied)
    pair.wait_until_applied()
    pair.write("INSERT INTO accounts VALUES (3, 30)")
    pair.write("UPDATE accounts SET balance = 11 WHERE id = 1")
    pair.write("UPDATE accounts SET id = 4 WHERE id = 2")
    pair.write("DELETE FROM accounts WHERE id = 3")
    pair.wait_until_applied()
    assert pair.applied() == [(1, 11), (4, 20)]
    pair.write("TRUNCATE accounts")
    pair.wait_until_applied()
    assert pair.applied() == []


@pytest.mark.parametrize("role", ["origin", "local", "replica"])
def test_apply_opens_nothing_to_clients(pair, role):
    """Pain 60: only the worker of a subscription is let through, whatever role a session takes."""
    pair.write("INSERT INTO accounts VALUES (1, 10)")
    pair.subscribe("apply")
    wait_until(pair.is_copied)
    pair.wait_until_applied()
    pair.subscriber.execute(f"SET session_replication_role = {role}")
    for sql in ("INSERT INTO accounts VALUES (2, 2)", "UPDATE accounts SET balance = 0",
                "DELETE FROM accounts", "TRUNCATE accounts"):
        with pytest.raises(psycopg.Error) as refused:
            pair.subscriber.execute(sql)
        assert code_of(refused.value) == "ZF005", sql
    pair.subscriber.execute("RESET session_replication_role")
    assert pair.applied() == [(1, 10)]


def test_fenced_writes_are_published(pair):
    """The publisher's table is protected as well: what an owner commits there arrives here, and
    what a late owner tries does not leave."""
    pair.publisher.execute(PROTECT, ("refuse",))
    pair.subscribe("apply")
    wait_until(pair.is_copied)
    claim = "SELECT fence.oplog_metadata_upsert('accounts', '1', %s, %s)"
    pair.publisher.execute(claim, (1, owner(1)))
    with pair.publisher.transaction():
        pair.publisher.execute("SELECT fence.fence_assert('accounts', '1', 1, %s)", (owner(1),))
        pair.publisher.execute("INSERT INTO accounts VALUES (1, 10)")
    with psycopg.connect(pair.servers[0].dsn()) as late:
        late.execute("SELECT fence.fence_assert('accounts', '1', 1, %s)", (owner(1),))
        late.execute("UPDATE accounts SET balance = 666")
        pair.publisher.execute(claim, (2, owner(2)))
        with pytest.raises(psycopg.Error) as refused:
            late.commit()
        assert code_of(refused.value) == "ZF001"
    with pair.publisher.transaction():
        pair.publisher.execute("SELECT fence.fence_assert('accounts', '1', 2, %s)", (owner(2),))
        pair.publisher.execute("UPDATE accounts SET balance = balance + 1")
    pair.wait_until_applied()
    assert pair.applied() == [(1, 11)]
