"""The transactions of Python's sqlite3: a refusal that was swallowed fails the commit.

Python opens a transaction by itself before DML, and only then ("legacy transaction
control", the default). Its other modes are here as well."""

import contextlib
import sqlite3
import sys

import pytest
from fenced_file import EPOCH, INSERT, OTHER, OWNER, STALE, append_by_insert, append_by_select
from fenced_file import claim, code_of, connect, detail_of, steps, stored


def swallow(append, connection, epoch=STALE, **arguments):
    """When the program makes a refused append and goes on as if nothing had been."""
    with pytest.raises(sqlite3.DatabaseError) as refused:
        append(connection, epoch, 1, **arguments)
    return code_of(refused.value)


def commit_by_method(connection):
    connection.commit()


def commit_by_statement(connection):
    connection.execute("COMMIT")


def commit_by_end(connection):
    connection.execute("END")


def commit_by_script(connection):
    """executescript() commits what is open before it begins."""
    connection.executescript("SELECT 1;")


COMMITS = [commit_by_method, commit_by_statement, commit_by_end, commit_by_script]


def assert_refused_and_over(connection, failed):
    """Then the commit was refused as a whole, and the connection works on."""
    assert type(failed.value) is sqlite3.DatabaseError
    assert code_of(failed.value) == "ZF009"
    assert failed.value.sqlite_errorname == "SQLITE_AUTH"
    assert not connection.in_transaction, "SQLite has rolled back by itself"
    connection.rollback()  # nothing is open: does nothing, and does not fail
    assert steps(connection) == []
    assert stored(connection) == []
    append_by_insert(connection, EPOCH, 1)
    connection.execute("INSERT INTO work VALUES (9)")
    if connection.in_transaction:
        connection.commit()
    assert (steps(connection), stored(connection)) == ([9], [1])


@pytest.mark.parametrize("commit", COMMITS)
def test_swallowed_refusal_fails_the_commit(open_file, append, commit):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    assert swallow(append, connection) == "ZF001"
    assert connection.in_transaction
    connection.execute("INSERT INTO work VALUES (2)")

    with pytest.raises(sqlite3.DatabaseError) as failed:
        commit(connection)

    assert_refused_and_over(connection, failed)


def test_swallowed_refusal_fails_the_end_of_a_with_block(open_file, append):
    connection = open_file()

    with pytest.raises(sqlite3.DatabaseError) as failed:
        with connection:
            connection.execute("INSERT INTO work VALUES (1)")
            swallow(append, connection)

    assert_refused_and_over(connection, failed)


def test_refusal_that_is_not_swallowed_leaves_the_with_block(open_file, append):
    connection = open_file()

    with pytest.raises(sqlite3.DatabaseError) as refused:
        with connection:
            connection.execute("INSERT INTO work VALUES (1)")
            append(connection, STALE, 1)

    assert code_of(refused.value) == "ZF001"
    assert not connection.in_transaction
    assert (steps(connection), stored(connection)) == ([], [])


@pytest.mark.parametrize(
    "epoch, writer, key, code",
    [
        (STALE, OWNER, "k", "ZF001"),
        (EPOCH, OTHER, "k", "ZF002"),
        (0, OWNER, "none", "ZF003"),
        (EPOCH + 1, OWNER, "k", "ZF004"),
    ],
)
def test_each_refusal_of_ownership_dooms_and_is_named(open_file, epoch, writer, key, code):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    assert swallow(append_by_select, connection, epoch, writer=writer, key=key) == code

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()

    assert f"refused with {code} " in str(failed.value)
    detail = detail_of(failed.value)
    assert (detail["code"], detail["namespace"], detail["key"]) == (code, "n", key)
    assert_refused_and_over(connection, failed)


@pytest.mark.parametrize(
    "epoch, idx, payload, code",
    [
        (EPOCH, 1, b"other bytes", "ZF013"),
        (EPOCH, -1, b"x", "ZF010"),
        (-1, 2, b"x", "ZF010"),
        (None, 2, b"x", "ZF012"),
        (STALE, 2, b"x", "ZF012"),  # the second epoch of a key in one transaction
    ],
)
def test_other_errors_fail_their_statement_only(open_file, append, epoch, idx, payload, code):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    append(connection, EPOCH, 1)

    with pytest.raises(sqlite3.DatabaseError) as failed:
        append(connection, epoch, idx, payload)
    assert code_of(failed.value) == code
    connection.commit()

    assert (steps(connection), stored(connection)) == ([1], [1])


def test_claim_in_a_transaction_fails_its_statement_only(open_file):
    connection = open_file()
    append_by_insert(connection, EPOCH, 1)

    with pytest.raises(sqlite3.OperationalError) as failed:
        claim(connection, EPOCH + 1)
    assert code_of(failed.value) == "ZF012"
    connection.commit()

    assert stored(connection) == [1]
    assert claim(connection, EPOCH + 1) == 1


def test_select_form_before_any_dml_is_a_transaction_of_its_own(open_file):
    connection = open_file()
    assert swallow(append_by_select, connection) == "ZF001"
    assert not connection.in_transaction, "Python opens a transaction before DML only"

    connection.execute("INSERT INTO work VALUES (1)")
    connection.commit()

    assert steps(connection) == [1]


def test_select_form_before_any_dml_is_durable_at_once(open_file):
    connection = open_file()
    append_by_select(connection, EPOCH, 1)
    connection.rollback()
    assert stored(open_file()) == [1]


def test_insert_form_opens_the_transaction_that_it_dooms(open_file):
    connection = open_file()
    assert swallow(append_by_insert, connection) == "ZF001"
    assert connection.in_transaction
    connection.execute("INSERT INTO work VALUES (1)")

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()

    assert_refused_and_over(connection, failed)


def test_rollback_ends_a_doomed_transaction_without_an_error(open_file, append):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    swallow(append, connection)

    connection.rollback()

    assert not connection.in_transaction
    with connection:
        append(connection, EPOCH, 1)
        connection.execute("INSERT INTO work VALUES (2)")
    assert (steps(connection), stored(connection)) == ([2], [1])


def test_later_calls_of_a_doomed_transaction_are_refused_at_once(open_file, append):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    swallow(append, connection)
    assert swallow(append, connection, EPOCH) == "ZF009"
    assert swallow(append, connection, STALE) == "ZF009"


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_explicit_transaction_is_doomed_too(open_file, append, begin):
    connection = open_file(isolation_level=None)
    connection.execute(begin)
    swallow(append, connection)
    connection.execute("INSERT INTO work VALUES (1)")
    assert connection.in_transaction

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.execute("COMMIT")

    assert_refused_and_over(connection, failed)


def test_transaction_that_python_begins_immediately_is_doomed_too(open_file, append):
    connection = open_file(isolation_level="IMMEDIATE")
    connection.execute("INSERT INTO work VALUES (1)")
    swallow(append, connection)

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()

    assert_refused_and_over(connection, failed)


def test_rollback_to_a_savepoint_does_not_heal_the_transaction(open_file, append):
    connection = open_file(isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO work VALUES (1)")
    for name in ("a", "b", "c"):
        connection.execute(f"SAVEPOINT {name}")
    swallow(append, connection)
    for name in ("c", "b", "a"):
        connection.execute(f"ROLLBACK TO {name}")
        connection.execute(f"RELEASE {name}")

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.execute("COMMIT")

    assert_refused_and_over(connection, failed)


def test_release_of_an_outermost_savepoint_fails_and_wants_a_rollback(open_file, append):
    connection = open_file(isolation_level=None)
    connection.execute("SAVEPOINT whole")
    connection.execute("INSERT INTO work VALUES (1)")
    swallow(append, connection)

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.execute("RELEASE whole")

    # SQLite undoes the work but, unlike after COMMIT, leaves the transaction open.
    assert connection.in_transaction
    connection.execute("ROLLBACK")
    assert_refused_and_over(connection, failed)


def test_second_release_after_a_failed_one_keeps_only_what_came_between(open_file, append):
    connection = open_file(isolation_level=None)
    connection.execute("SAVEPOINT whole")
    connection.execute("INSERT INTO work VALUES (1)")
    append(connection, EPOCH, 2)
    assert swallow(append, connection, EPOCH, writer=OTHER) == "ZF002"
    with pytest.raises(sqlite3.DatabaseError):
        connection.execute("RELEASE whole")

    # A program that overlooks the error: what is lost stays lost, what was refused too.
    connection.execute("INSERT INTO work VALUES (2)")
    connection.execute("RELEASE whole")

    assert not connection.in_transaction
    assert (steps(open_file()), stored(open_file())) == ([2], [])


def test_open_cursor_does_not_let_a_doomed_commit_through(open_file, append):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1), (2)")
    swallow(append, connection)
    cursor = connection.execute("SELECT step FROM work")
    assert cursor.fetchone() == (1,)

    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()

    cursor.close()
    assert_refused_and_over(connection, failed)


def test_closing_inside_a_doomed_transaction_keeps_nothing(open_file, append, path):
    with contextlib.closing(connect(path)) as connection:
        connection.execute("INSERT INTO work VALUES (1)")
        swallow(append, connection)

    successor = open_file(timeout=0)  # would fail at once if a lock were left
    claim(successor, EPOCH + 1, OTHER)
    assert (steps(successor), stored(successor)) == ([], [])


def test_executemany_stores_all_rows_in_one_transaction(open_file):
    connection = open_file()
    connection.executemany(INSERT, [("k", EPOCH, OWNER, idx, b"x") for idx in (1, 2, 3)])
    assert connection.in_transaction
    assert stored(open_file()) == []
    connection.commit()
    assert stored(open_file()) == [1, 2, 3]


def test_executemany_with_a_stale_row_stores_none(open_file):
    connection = open_file()
    claim(connection, 1, key="later")
    claim(connection, 2, OTHER, key="later")
    good, stale = ("k", EPOCH, OWNER, 1, b"x"), ("later", 1, OWNER, 1, b"x")

    with pytest.raises(sqlite3.DatabaseError) as refused:
        connection.executemany(INSERT, [good, stale])
    assert code_of(refused.value) == "ZF001"
    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()

    assert_refused_and_over(connection, failed)


def test_executemany_in_autocommit_commits_row_by_row(open_file):
    connection = open_file(isolation_level=None)
    rows = [("k", epoch, OWNER, idx, b"x") for epoch, idx in ((EPOCH, 1), (STALE, 2), (EPOCH, 3))]

    with pytest.raises(sqlite3.DatabaseError) as refused:
        connection.executemany(INSERT, rows)

    assert code_of(refused.value) == "ZF001"
    assert stored(connection) == [1], "each row is a statement and a transaction of its own"


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="autocommit=False came with Python 3.12"
)
def test_mode_without_autocommit_wants_a_begin_after_a_refused_commit(open_file, append):
    connection = open_file(autocommit=False)
    connection.execute("INSERT INTO work VALUES (1)")
    swallow(append, connection)
    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.commit()
    assert code_of(failed.value) == "ZF009"

    # The mode expects a transaction to be open always, and none is.
    assert not connection.in_transaction
    with pytest.raises(sqlite3.OperationalError, match="no transaction is active"):
        connection.rollback()

    connection.execute("BEGIN")
    connection.execute("INSERT INTO work VALUES (2)")
    append(connection, EPOCH, 1)
    connection.commit()
    assert connection.in_transaction
    assert (steps(connection), stored(connection)) == ([2], [1])
