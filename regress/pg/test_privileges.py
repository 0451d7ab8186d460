"""Rights that change while a session is open. What a role can and cannot do: sql/grants.sql."""
import psycopg
import pytest

WRITER = "11111111-1111-4111-8111-111111111111"
ROLES = ("open_writers", "open_alice", "open_bob")


@pytest.fixture(name="admin")
def connect_admin(server):
    """Given the roles open_alice and open_bob, and open_writers that may write to namespace open."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE ROLE open_writers")
        connection.execute("CREATE ROLE open_alice LOGIN")
        connection.execute("CREATE ROLE open_bob LOGIN")
        connection.execute("SELECT fence.fence_grant_writer('open_writers', 'open')")
        yield connection
        connection.execute("DELETE FROM fence_internal.access WHERE role::text LIKE 'open\\_%'")
        connection.execute(f"DROP OWNED BY {', '.join(ROLES)}")
        connection.execute(f"DROP ROLE {', '.join(ROLES)}")


@pytest.fixture(name="alice")
def connect_alice(admin, server):
    """Given a session of open_alice, a member of open_writers, that owns open/k and has written.
    The server lets it call everything, so that only Fence denies."""
    admin.execute("GRANT open_writers TO open_alice")
    admin.execute("GRANT USAGE ON SCHEMA fence TO open_alice")
    admin.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fence TO open_alice")
    with psycopg.connect(server.dsn(user="open_alice"), autocommit=True) as connection:
        epoch = connection.execute(
            "SELECT coalesce(max(epoch), 0) + 1 FROM fence.oplog_metadata").fetchone()[0]
        connection.execute("SELECT fence.oplog_metadata_upsert('open', 'k', %s, %s)", (epoch, WRITER))
        connection.epoch = epoch
        append(connection, 1)
        yield connection


def append(connection, idx, namespace="open"):
    connection.execute("SELECT fence.fenced_append(%s, 'k', %s, %s, %s, 'x')",
                       (namespace, connection.epoch, WRITER, 100 * connection.epoch + idx))


def is_denied(connection, idx=2, namespace="open"):
    try:
        append(connection, idx, namespace)
    except psycopg.errors.InsufficientPrivilege as denied:
        assert f'permission denied for namespace "{namespace}"' in str(denied)
        return True
    return False


def test_revoked_membership_ends_at_once(admin, alice):
    admin.execute("REVOKE open_writers FROM open_alice")
    assert is_denied(alice)
    admin.execute("GRANT open_writers TO open_alice")
    assert not is_denied(alice)


def test_membership_of_a_member_ends_at_once(admin, alice):
    admin.execute("GRANT open_bob TO open_alice")
    admin.execute("GRANT open_writers TO open_bob")
    admin.execute("REVOKE open_writers FROM open_alice")
    assert not is_denied(alice)
    admin.execute("REVOKE open_writers FROM open_bob")
    assert is_denied(alice, 3)


def test_deleted_right_ends_at_once(admin, alice):
    admin.execute("DELETE FROM fence_internal.access WHERE role = 'open_writers'::regrole")
    assert is_denied(alice)


def test_right_that_is_not_yet_committed_counts_for_nobody_else(admin, alice):
    with admin.transaction(force_rollback=True):
        admin.execute("SELECT fence.fence_grant_writer('open_writers', 'more')")
        assert is_denied(alice, namespace="more")


def test_role_that_is_no_superuser_any_more(admin, alice):
    """The answer that was remembered is of the time when it was one."""
    admin.execute("ALTER ROLE open_alice SUPERUSER")
    alice.execute("SELECT fence.oplog_metadata_upsert('elsewhere', 'k', %s, %s)",
                  (alice.epoch, WRITER))
    assert not is_denied(alice, 2, "elsewhere")
    admin.execute("ALTER ROLE open_alice NOSUPERUSER")
    assert is_denied(alice, 3, "elsewhere")


def test_role_that_becomes_superuser(admin, alice):
    assert is_denied(alice, namespace="elsewhere")
    admin.execute("ALTER ROLE open_alice SUPERUSER")
    with pytest.raises(psycopg.Error) as refused:
        append(alice, 2, "nobody's")
    assert refused.value.sqlstate == "ZF003"  # the question was asked, not whether it may ask
    admin.execute("ALTER ROLE open_alice NOSUPERUSER")


def test_role_that_is_dropped_gives_no_right_to_the_next_one(admin, server):
    admin.execute("CREATE ROLE open_gone LOGIN")
    admin.execute("SELECT fence.fence_grant_writer('open_gone', 'open')")
    admin.execute("DROP OWNED BY open_gone")
    admin.execute("DROP ROLE open_gone")
    admin.execute("CREATE ROLE open_gone LOGIN")
    admin.execute("GRANT USAGE ON SCHEMA fence TO open_gone")
    admin.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fence TO open_gone")
    with psycopg.connect(server.dsn(user="open_gone"), autocommit=True) as gone:
        gone.epoch = 1
        assert is_denied(gone)
    admin.execute("DROP OWNED BY open_gone")
    admin.execute("DROP ROLE open_gone")
    admin.execute("DELETE FROM fence_internal.access WHERE role NOT IN (SELECT oid FROM pg_roles)")


def test_client_whose_encoding_lacks_a_letter_of_the_namespace(alice):
    alice.execute("SET client_encoding = 'LATIN1'")
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as denied:
        alice.execute("SELECT fence.fenced_append(U&'n\\20AC', 'k', 1, %s, 1, 'x')", (WRITER,))
    assert denied.value.diag.message_primary == 'permission denied for namespace "n\\u20ac"'


def test_revoke_leaves_the_owner_what_no_grant_gave(admin):
    """Who owns Fence calls its functions as owner, also after a grant of its own was taken back."""
    held = "SELECT count(*) FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS a WHERE" \
        " pronamespace = 'fence'::regnamespace AND a.grantee = proowner"
    before = admin.execute(held).fetchone()
    admin.execute("SELECT fence.fence_grant_writer(current_user, 'open'), fence.fence_revoke_writer(current_user)")
    assert admin.execute(held).fetchone() == before
    assert before > (20,)
