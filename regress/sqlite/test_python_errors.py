"""Errors as Python's sqlite3 shows them: class, codes, the whole message, its JSON."""

import sqlite3
import uuid

import pytest
from fenced_file import EPOCH, FINGERPRINT, INSERT, OTHER, OWNER, STALE, append_by_insert
from fenced_file import append_by_select, claim, code_of, connect, detail_of, stored

MEMBERS = """code namespace key asserted_epoch stored_epoch asserted_writer stored_writer
    already_stored deleted""".split()


def error_of(call, *arguments, **named):
    with pytest.raises(sqlite3.Error) as raised:
        call(*arguments, **named)
    return raised.value


# Refusals of ownership are no IntegrityError: frameworks take that for a duplicate.
@pytest.mark.parametrize(
    "code, name, class_, errorname, arguments",
    [
        ("ZF001", "stale_epoch", sqlite3.DatabaseError, "SQLITE_AUTH", {"epoch": STALE}),
        ("ZF002", "other_writer", sqlite3.DatabaseError, "SQLITE_AUTH", {"writer": OTHER}),
        ("ZF003", "no_record", sqlite3.DatabaseError, "SQLITE_AUTH", {"key": "none"}),
        ("ZF004", "ahead_of_record", sqlite3.DatabaseError, "SQLITE_AUTH", {"epoch": 6}),
        ("ZF010", "out_of_range", sqlite3.OperationalError, "SQLITE_ERROR", {"idx": -1}),
        ("ZF012", "configuration", sqlite3.OperationalError, "SQLITE_ERROR", {"epoch": None}),
        ("ZF013", "index_conflict", sqlite3.IntegrityError, "SQLITE_CONSTRAINT_FUNCTION",
         {"payload": b"other bytes"}),
    ],
)
def test_code_decides_the_class_and_the_result_code(
    open_file, append, code, name, class_, errorname, arguments
):
    connection = open_file(isolation_level=None)
    append(connection, EPOCH, 1)

    error = error_of(append, connection, **{"epoch": EPOCH, "idx": 1, **arguments})

    assert type(error) is class_
    assert str(error).startswith(f"{code} {name}: ")
    assert error.sqlite_errorname == errorname
    assert error.sqlite_errorcode == getattr(sqlite3, errorname)
    assert stored(connection) == [1]


def test_message_is_text_and_hint_and_then_json(open_file, append):
    connection = open_file(isolation_level=None)
    claim(connection, 6, OTHER)

    message = str(error_of(append, connection, EPOCH, 1))

    head, brace, _ = message.partition("{")
    text, _, hint = head.partition("; hint: ")
    assert brace and text.startswith("ZF001 stale_epoch: ") and hint.strip()
    assert list(detail_of(message)) == MEMBERS
    assert detail_of(message) == {
        "code": "ZF001",
        "namespace": "n",
        "key": "k",
        "asserted_epoch": "5",
        "stored_epoch": "6",
        "asserted_writer": FINGERPRINT[OWNER],
        "stored_writer": FINGERPRINT[OTHER],
        "already_stored": False,
        "deleted": None,
    }
    assert OWNER not in message and OTHER not in message


def test_commit_carries_the_detail_of_the_first_refusal(open_file, append):
    connection = open_file()
    connection.execute("INSERT INTO work VALUES (1)")
    first = error_of(append, connection, STALE, 1)
    error_of(append, connection, EPOCH, 1, writer=OTHER, key="none")

    error = error_of(connection.commit)

    assert str(error).startswith("ZF009 transaction_refused: ")
    assert detail_of(error) == detail_of(first)


@pytest.mark.parametrize(
    "key",
    [
        "it's 100 %s of {braces} in \"quotes\" \\ and more",
        "größer € 🔒",
        "\t\n\r\x01\x1f\x7f",
        '"' * 255,
        "\x01" * 255,
        "€" * 85,
    ],
    ids=["marks", "utf-8", "control", "255 quotes", "255 control", "255 bytes"],
)
def test_names_come_back_whole(open_file, append, key):
    connection = open_file(isolation_level=None)
    error = error_of(append, connection, EPOCH, 1, key=key)
    assert code_of(error) == "ZF003"
    assert detail_of(error)["key"] == key
    assert len(str(error).encode()) < 4096


def test_longest_message_is_whole(open_file):
    connection = open_file(isolation_level=None)
    name = "\x01" * 255
    arguments = (name, name, 2**63 - 2, OWNER)
    connection.execute("SELECT oplog_metadata_upsert(?, ?, ?, ?)", (name, name, 2**63 - 1, OTHER))

    error = error_of(
        connection.execute, "SELECT fenced_append(?, ?, ?, ?, 9223372036854775807, 'x')", arguments
    )

    assert (detail_of(error)["namespace"], detail_of(error)["key"]) == (name, name)
    assert detail_of(error)["stored_epoch"] == "9223372036854775807"
    assert len(str(error).encode()) < 4096


@pytest.mark.parametrize("name", ["n\0", "\0", "", "n" * 256, b"n", 5, None])
def test_what_is_no_name_is_refused_and_not_repeated(open_file, name):
    connection = open_file(isolation_level=None)
    for call in ("fence_check", "oplog_metadata_upsert"):
        for names in ((name, "k"), ("n", name)):
            error = error_of(
                connection.execute, f"SELECT {call}(?, ?, ?, ?)", (*names, EPOCH + 1, OWNER)
            )
            assert code_of(error) == "ZF010"
            assert detail_of(error)["key"] is None
    assert connection.execute("SELECT count(*) FROM oplog_metadata").fetchone() == (1,)


@pytest.mark.parametrize("writer", [None, 5, uuid.UUID(OWNER).bytes, OWNER + "\0", f" {OWNER}", ""])
def test_what_is_no_writer_is_refused(open_file, append, writer):
    connection = open_file(isolation_level=None)
    assert code_of(error_of(append, connection, EPOCH, 1, writer=writer)) == "ZF010"
    assert stored(connection) == []


def test_uuid_object_must_be_turned_into_text(open_file, append):
    connection = open_file(isolation_level=None)
    error = error_of(append, connection, EPOCH, 1, writer=uuid.UUID(OWNER))
    assert code_of(error) is None  # Python itself cannot bind it
    append(connection, EPOCH, 1, writer=str(uuid.UUID(OWNER)))
    assert stored(connection) == [1]


@pytest.mark.parametrize(
    "payload, kept",
    [
        (b"", b""),
        (b"\0\xff{}", b"\0\xff{}"),
        ("größer", "größer".encode()),
        (bytearray(b"array"), b"array"),
        (memoryview(b"view"), b"view"),
        (b"x" * 1_000_000, b"x" * 1_000_000),
    ],
    ids=["empty", "bytes", "text", "bytearray", "memoryview", "a megabyte"],
)
def test_payload_is_kept_byte_for_byte(open_file, append, payload, kept):
    connection = open_file(isolation_level=None)
    append(connection, EPOCH, 1, payload)
    assert connection.execute("SELECT payload FROM oplog_read('n', 'k')").fetchall() == [(kept,)]


@pytest.mark.parametrize("payload", [None, 5, 1.5])
def test_payload_that_is_no_bytes_is_refused(open_file, append, payload):
    connection = open_file(isolation_level=None)
    assert code_of(error_of(append, connection, EPOCH, 1, payload)) == "ZF010"
    assert stored(connection) == []


def test_busy_stays_busy_for_the_owner_and_is_a_refusal_for_others(open_file, append):
    somebody = open_file(isolation_level=None)
    somebody.execute("BEGIN IMMEDIATE")
    connection = open_file(isolation_level=None, timeout=0)

    owner = error_of(append, connection, EPOCH, 1)

    assert type(owner) is sqlite3.OperationalError
    assert owner.sqlite_errorname == "SQLITE_BUSY"
    assert code_of(owner) is None
    # A stale caller need not wait: no writer can make it the owner again.
    stale = error_of(append_by_select, connection, STALE, 1)
    assert code_of(stale) == "ZF001"
    somebody.execute("ROLLBACK")
    append(connection, EPOCH, 1)
    assert stored(connection) == [1]


def test_file_without_fence_says_how_to_install_it(tmp_path):
    connection = connect(tmp_path / "plain.db", isolation_level=None)
    calls = [
        "SELECT oplog_metadata_upsert('n', 'k', 1, :writer)",
        "SELECT try_oplog_metadata_upsert('n', 'k', 1, :writer)",
        "SELECT oplog_metadata_upsert_many('n', '[]', :writer)",
        "SELECT fenced_append('n', 'k', 1, :writer, 1, 'x')",
        "SELECT fenced_append_many('n', 'k', 1, :writer, '[]', x'')",
        "INSERT INTO fenced_append VALUES ('n', 'k', 1, :writer, 1, 'x')",
        "SELECT fence_check('n', 'k', 1, :writer)",
        "SELECT * FROM oplog_read('n', 'k')",
        "SELECT fence_config('evict_after')",
    ]
    for call in calls:
        arguments = {"writer": OWNER} if ":writer" in call else {}
        error = error_of(connection.execute, call, arguments)
        assert (call, code_of(error)) == (call, "ZF012")
        assert "fence_install()" in str(error)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.execute("SELECT fence_install()")
    claim(connection, EPOCH)
    append_by_insert(connection, EPOCH, 1)
    assert stored(connection) == [1]


def test_insert_does_not_move_the_last_rowid(open_file, append):
    connection = open_file(isolation_level=None)
    connection.execute("INSERT INTO work VALUES (7)")
    before = connection.execute("SELECT last_insert_rowid()").fetchone()
    append_by_select(connection, EPOCH, 4711)
    assert connection.execute("SELECT last_insert_rowid()").fetchone() == before


def test_rows_of_a_refused_statement_are_never_counted(open_file):
    connection = open_file(isolation_level=None)
    before = connection.total_changes
    error_of(connection.execute, INSERT, ("k", STALE, OWNER, 1, b"x"))
    assert (connection.total_changes, stored(connection)) == (before, [])
