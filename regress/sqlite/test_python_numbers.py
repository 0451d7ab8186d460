"""Epochs and idx as Python hands them over: exact, or refused; never wrapped or rounded."""

import decimal
import fractions
import sqlite3

import pytest
from fenced_file import EPOCH, OWNER, claim, code_of, stored

ACCEPTED = [
    (0, 0),
    (7, 7),
    (2**53 + 1, 2**53 + 1),
    (2**63 - 1, 2**63 - 1),
    (True, 1),
    (7.0, 7),
    (-0.0, 0),
    (float(2**53 - 1), 2**53 - 1),
    ("7", 7),
    ("0", 0),
    (str(2**53 + 1), 2**53 + 1),
    (str(2**63 - 1), 2**63 - 1),
]

# Values that reach the call and are no number from 0 to 2^63-1.
OUT_OF_RANGE = [
    -1,
    -(2**63),
    7.5,
    -1.0,
    float(2**53),  # 2^53 + 1 arrives as the same double
    float(2**63),
    1e300,
    float("inf"),
    float("-inf"),
    str(2**63),
    "9" * 20,
    "007",
    "+7",
    "-1",
    " 7",
    "7 ",
    "7.0",
    "7e0",
    "0x7",
    "7\0",
    "٧",
    "",
    b"7",
    b"",
]

# Values that Python or its sqlite3 cannot hand over at all.
NOT_BOUND = [
    (2**63, OverflowError),
    (-(2**63) - 1, OverflowError),
    (2**64 + 7, OverflowError),
    (decimal.Decimal(7), sqlite3.Error),
    (fractions.Fraction(7), sqlite3.Error),
    ([7], sqlite3.Error),
    (7j, sqlite3.Error),
    ("\ud800", UnicodeEncodeError),
]


@pytest.mark.parametrize("given, kept", ACCEPTED)
def test_idx_is_kept_exactly(open_file, append, given, kept):
    connection = open_file(isolation_level=None)
    append(connection, EPOCH, given)
    assert stored(connection) == [kept]


def test_idx_comes_back_exactly(open_file):
    connection = open_file(isolation_level=None)
    sql = "SELECT fenced_append('n', 'k', ?, ?, ?, 'x')"
    for idx in (2**53 + 1, 2**63 - 1):
        answer = connection.execute(sql, (EPOCH, OWNER, idx)).fetchone()
        assert answer == (idx,) and type(answer[0]) is int
    assert claim(connection, EPOCH) == 2**63 - 1


@pytest.mark.parametrize("given, kept", ACCEPTED)
def test_epoch_is_kept_exactly(open_file, append, given, kept):
    connection = open_file(isolation_level=None)
    claim(connection, given, key="new")
    append(connection, given, 1, key="new")
    append(connection, kept, 2, key="new")
    rows = connection.execute("SELECT epoch FROM oplog_entries WHERE key = 'new'").fetchall()
    assert rows == [(kept,), (kept,)]


@pytest.mark.parametrize("given", OUT_OF_RANGE)
def test_idx_out_of_range_is_refused_and_nothing_is_written(open_file, append, given):
    connection = open_file(isolation_level=None)
    with pytest.raises(sqlite3.OperationalError) as refused:
        append(connection, EPOCH, given)
    assert code_of(refused.value) == "ZF010"
    assert stored(connection) == []
    append(connection, EPOCH, 1)
    assert stored(connection) == [1]


@pytest.mark.parametrize("given", OUT_OF_RANGE)
def test_epoch_out_of_range_is_refused_and_nothing_is_written(open_file, append, given):
    connection = open_file(isolation_level=None)
    for call in (
        lambda: append(connection, given, 1),
        lambda: claim(connection, given),
        lambda: connection.execute("SELECT fence_check('n', 'k', ?, ?)", (given, OWNER)),
    ):
        with pytest.raises(sqlite3.OperationalError) as refused:
            call()
        assert code_of(refused.value) == "ZF010"
    record = connection.execute("SELECT epoch, length FROM oplog_status").fetchall()
    assert record == [(EPOCH, 0)]


# SQLite has no NaN: it arrives as NULL.
@pytest.mark.parametrize("given", [None, float("nan")])
def test_null_is_no_idx_and_no_epoch_of_a_fenced_namespace(open_file, append, given):
    connection = open_file(isolation_level=None)
    with pytest.raises(sqlite3.OperationalError) as no_idx:
        append(connection, EPOCH, given)
    with pytest.raises(sqlite3.OperationalError) as no_epoch:
        append(connection, given, 1)
    with pytest.raises(sqlite3.OperationalError) as no_claim:
        claim(connection, given)
    codes = [code_of(raised.value) for raised in (no_idx, no_epoch, no_claim)]
    assert codes == ["ZF010", "ZF012", "ZF012"]
    assert stored(connection) == []


@pytest.mark.parametrize("given, error", NOT_BOUND)
def test_what_python_cannot_bind_never_reaches_the_file(open_file, append, given, error):
    connection = open_file(isolation_level=None)
    with pytest.raises(error):
        append(connection, EPOCH, given)
    with pytest.raises(error):
        append(connection, given, 1)
    with pytest.raises(error):
        claim(connection, given)
    record = connection.execute("SELECT epoch, length FROM oplog_status").fetchall()
    assert record == [(EPOCH, 0)]


@pytest.mark.parametrize(
    "literal",
    ["9223372036854775808", "9223372036854775807 + 1", "1e19", "-1", "0xffffffffffffffff"],
)
def test_literal_out_of_range_is_refused(open_file, literal):
    connection = open_file(isolation_level=None)
    for call in (
        f"SELECT fenced_append('n', 'k', {EPOCH}, '{OWNER}', {literal}, 'x')",
        f"SELECT fenced_append('n', 'k', {literal}, '{OWNER}', 1, 'x')",
        f"SELECT oplog_metadata_upsert('n', 'k', {literal}, '{OWNER}')",
    ):
        with pytest.raises(sqlite3.OperationalError) as refused:
            connection.execute(call)
        assert code_of(refused.value) == "ZF010"
    record = connection.execute("SELECT epoch, length FROM oplog_status").fetchall()
    assert record == [(EPOCH, 0)]
