"""What limits.md and deployment.md admit is so: a limit that is gone is to be struck out there."""
import sqlite3
import subprocess

import fenced_file
import pytest
from fenced_file import EPOCH, OTHER, OWNER, append_by_insert, append_by_select, claim, code_of
from fenced_file import stored


def other_journal_mode(connection):
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_without_wal_an_idle_reader_holds_up_the_successor_and_nothing_is_lost(open_file):
    owner = open_file(isolation_level=None)
    successor = open_file(isolation_level=None, timeout=0)
    other_journal_mode(owner)
    owner.execute("BEGIN")
    owner.execute("SELECT count(*) FROM oplog_entries").fetchone()

    with pytest.raises(sqlite3.OperationalError, match="^database is locked"):
        claim(successor, EPOCH + 1, OTHER)

    owner.execute("ROLLBACK")
    assert claim(successor, EPOCH + 1, OTHER) is None


def hears(connection, append, epoch):
    """What SQLite or Fence answers to an append."""
    with pytest.raises(sqlite3.DatabaseError) as heard:
        append(connection, epoch, 1)
    return code_of(heard.value) or heard.value.sqlite_errorname


# SQLite locks before Fence is called: a stale process that only tries again would not know.
def test_the_insert_form_of_a_stale_owner_hears_of_the_lock_first_and_a_check_tells(open_file):
    stale = open_file(isolation_level=None, timeout=0)
    successor = open_file(isolation_level=None)
    successor.execute("PRAGMA journal_mode = WAL")
    claim(successor, EPOCH + 1, OTHER)
    successor.execute("BEGIN IMMEDIATE")

    assert hears(stale, append_by_insert, EPOCH) == "SQLITE_BUSY"
    assert hears(stale, append_by_select, EPOCH) == "ZF001"
    with pytest.raises(sqlite3.DatabaseError, match="^ZF001"):
        stale.execute("SELECT fence_check('n', 'k', ?, ?)", (EPOCH, OWNER))

    check = successor.execute("SELECT fence_check('n', 'k', ?, ?)", (EPOCH + 1, OTHER))
    assert check.fetchone() == (1,)


def test_the_insert_form_on_an_old_snapshot_gets_the_bare_517_and_dooms_nothing(open_file):
    stale = open_file(isolation_level=None, timeout=0)
    successor = open_file(isolation_level=None)
    successor.execute("PRAGMA journal_mode = WAL")
    claim(successor, EPOCH + 1, OTHER)

    def in_an_old_snapshot(append, epoch):
        stale.execute("BEGIN")
        stale.execute("SELECT count(*) FROM work").fetchone()
        successor.execute("INSERT INTO work VALUES (1)")
        return hears(stale, append, epoch)

    assert in_an_old_snapshot(append_by_insert, EPOCH) == "SQLITE_BUSY_SNAPSHOT"
    stale.execute("COMMIT")  # of nothing: who has written holds the lock and hears of no other
    assert in_an_old_snapshot(append_by_select, EPOCH) == "ZF001"
    with pytest.raises(sqlite3.DatabaseError, match="^ZF009"):
        stale.execute("COMMIT")


def test_begin_immediate_holds_up_the_successor_before_anything_is_written(open_file):
    owner = open_file(isolation_level=None)
    owner.execute("PRAGMA journal_mode = WAL")
    successor = open_file(isolation_level=None, timeout=0)
    owner.execute("BEGIN IMMEDIATE")

    with pytest.raises(sqlite3.OperationalError, match="^database is locked"):
        claim(successor, EPOCH + 1, OTHER)

    owner.execute("ROLLBACK")
    owner.execute("BEGIN")
    owner.execute("SELECT count(*) FROM oplog_entries").fetchone()
    assert claim(successor, EPOCH + 1, OTHER) is None


def test_a_schema_name_before_the_insert_form_means_nothing(open_file, path, tmp_path):
    connection = open_file(isolation_level=None)
    attached = tmp_path / "attached.db"
    attached.write_bytes(path.read_bytes())
    connection.execute("ATTACH ? AS a", (str(attached),))

    connection.execute(fenced_file.INSERT.replace("fenced_append", "a.fenced_append"),
                       ("k", EPOCH, OWNER, 1, b"x"))

    assert stored(connection) == [1]
    assert connection.execute("SELECT count(*) FROM a.oplog_entries").fetchone() == (0,)


def test_an_attached_file_can_be_read_and_not_written(open_file, path):
    append_by_select(open_file(isolation_level=None), EPOCH, 1)
    connection = fenced_file.connect(":memory:", isolation_level=None)
    connection.execute("ATTACH ? AS a", (str(path),))

    assert connection.execute("SELECT idx FROM a.oplog_entries").fetchall() == [(1,)]
    for sql in ("DELETE FROM a.fence_oplog_v1", "UPDATE a.fence_meta_v1 SET epoch = 0",
                "INSERT INTO a.fence_oplog_v1 SELECT * FROM a.fence_oplog_v1"):
        with pytest.raises(sqlite3.OperationalError, match="may not be modified"):
            connection.execute(sql)
    connection.close()


def test_an_append_in_a_statement_that_writes_to_a_temp_table_is_part_of_it(open_file):
    connection = open_file(isolation_level=None)
    connection.execute("CREATE TEMP TABLE copy(idx)")

    connection.execute("INSERT INTO copy SELECT fenced_append('n', 'k', ?, ?, 1, 'x')",
                       (EPOCH, OWNER))
    with pytest.raises(sqlite3.DatabaseError, match="^ZF001"):
        connection.execute("INSERT INTO copy SELECT fenced_append('n', 'k', ?, ?, column1, 'x')"
                           " FROM (VALUES (2))", (EPOCH - 1, OWNER))

    assert stored(connection) == [1]
    assert connection.execute("SELECT idx FROM copy").fetchall() == [(1,)]
    append_by_insert(connection, EPOCH, 2)
    assert stored(connection) == [1, 2]


def test_query_only_refuses_as_sqlite_does_and_reading_goes_on(open_file):
    connection = open_file(isolation_level=None)
    append_by_select(connection, EPOCH, 1)
    connection.execute("PRAGMA query_only = 1")

    with pytest.raises(sqlite3.OperationalError) as refused:
        append_by_select(connection, EPOCH, 2)

    assert refused.value.sqlite_errorname == "SQLITE_READONLY"
    assert stored(connection) == [1]
    check = connection.execute("SELECT fence_check('n', 'k', ?, ?)", (EPOCH, OWNER))
    assert check.fetchone() == (1,)


def test_an_older_copy_of_the_file_accepts_the_owner_of_that_time(open_file, path):
    older = path.read_bytes()
    successor = open_file(isolation_level=None)
    claim(successor, EPOCH + 1, OTHER)
    successor.close()
    path.write_bytes(older)
    connection = open_file(isolation_level=None)

    append_by_select(connection, EPOCH, 1)
    with pytest.raises(sqlite3.DatabaseError, match="^ZF004 "):
        append_by_select(connection, EPOCH + 1, 2, writer=OTHER)

    assert stored(connection) == [1]


def test_a_dump_read_back_without_the_extension_is_a_fenced_file_again(open_file, path, tmp_path):
    append_by_select(open_file(isolation_level=None), EPOCH, 1)
    dump = subprocess.run(["sqlite3", path, ".dump"], capture_output=True, timeout=60, check=True)
    copy = tmp_path / "copy.db"
    subprocess.run(["sqlite3", "-bail", copy], input=dump.stdout, timeout=60, check=True)

    restored = fenced_file.connect(copy, isolation_level=None)

    append_by_select(restored, EPOCH, 2)
    assert stored(restored) == [1, 2]
    # Its triggers stand behind the marker until fence_install() has mended that.
    with pytest.raises(sqlite3.DatabaseError, match="^ZF005"):
        restored.execute("DELETE FROM fence_oplog_v1")
    restored.execute("SELECT fence_install()")
    with pytest.raises(sqlite3.OperationalError, match="may not be modified"):
        restored.execute("DELETE FROM fence_oplog_v1")
    restored.close()
