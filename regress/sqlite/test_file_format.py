"""The file, format 1, is what docs/internals.md says: read here without any help of Fence."""
import hashlib
import sqlite3
import struct
import uuid

import pytest
import transcript

WRITER = "5f0c3d52-8c1e-4b0e-9d0a-3d1f6c2b7e11"
ZEROS = bytes(16)
MASK = 2**64 - 1


def rotate(word, bits):
    return (word << bits | word >> (64 - bits)) & MASK


def siphash128(key, message):
    """SipHash-2-4 with a 128-bit result, from its paper; slow and plain."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for word, in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xee
    rounds(4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xdd
    rounds(4)
    return struct.pack("<QQ", low, v[0] ^ v[1] ^ v[2] ^ v[3])


def number(value):
    return struct.pack("<Q", value % 2**64)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return number(len(data)) + data


def seal_of_entry(seal_key, previous, row):
    return siphash128(seal_key, b"".join([
        number(1), previous, text(row["namespace"]), text(row["key"]), number(row["idx"]),
        number(row["epoch"]), row["writer"], number(row["late"]), text(row["payload"])]))


def seal_of_record(seal_key, row):
    deleted = row["deleted_at"] is not None
    return siphash128(seal_key, b"".join([
        number(2), text(row["namespace"]), text(row["key"]), number(row["epoch"]), row["writer"],
        number(deleted), number(row["deleted_at"] or 0), number(row["tail"]), row["tail_seal"],
        number(row["trimmed"]), row["trim_seal"], row["late_sum"], number(row["reset_last"]),
        number(row["published"] is not None), row["published"] or ZEROS]))


def seal_of_value(seal_key, row):
    return siphash128(seal_key, b"".join([
        number(3), text(row["namespace"]), text(row["key"]), text(row["name"]),
        number(row["epoch"]), row["writer"], text(row["value"])]))


def seal_of_namespace(seal_key, row):
    return siphash128(seal_key, b"".join([
        number(4), text(row["namespace"]), text(row["mode"]), number(row["identical_repeat"]),
        number(row["floor"])]))


def add(left, right):
    total = int.from_bytes(left, "little") + int.from_bytes(right, "little")
    return (total % 2**128).to_bytes(16, "little")


@pytest.fixture(name="file")
def fixture_file(tmp_path):
    """A log that was written in every way there is: alone, late, with gaps, as a batch."""
    db = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(transcript.extension()))
    db.execute("SELECT fence_install()").fetchone()
    db.execute("SELECT oplog_metadata_upsert('ns', 'kéy', 7, ?)", (WRITER,)).fetchone()
    for idx, payload in ((5, b""), (100, b"x" * 9), (2, b"late"), (101, "text"), (3, b"late 2")):
        db.execute("SELECT fenced_append('ns', 'kéy', 7, ?, ?, ?)",
                   (WRITER, idx, payload)).fetchone()
    db.execute("SELECT fenced_append_many('ns', 'kéy', 7, ?, '[200, 50, 201]', "
               "fence_blobs('a', 'b', 'c'))", (WRITER,)).fetchone()
    db.execute("SELECT oplog_metadata_upsert('ns', 'kéy', 9, ?)", (WRITER,)).fetchone()
    db.execute("SELECT fenced_put('ns', 'kéy', 9, ?, 'náme', 'välue')", (WRITER,)).fetchone()
    db.execute("SELECT fence_namespace_set('öpen', 'optional', 1)").fetchone()
    db.close()
    plain = sqlite3.connect(tmp_path / "log.db")
    plain.row_factory = sqlite3.Row
    yield plain
    plain.close()


def test_the_hash_is_siphash():
    # First vectors of the authors' reference implementation.
    key = bytes(range(16))
    assert siphash128(key, b"").hex() == "a3817f04ba25a8e66df67214c7550293"
    assert siphash128(key, b"\0").hex() == "da87c1d86b99af44347659119b22fc45"


def test_the_writer_is_stored_as_a_hash_of_its_uuid(file):
    digest = hashlib.sha256(uuid.UUID(WRITER).bytes).digest()[:16]
    assert {row["writer"] for row in file.execute("SELECT writer FROM fence_oplog_v1")} == {digest}
    assert {row["writer"] for row in file.execute("SELECT writer FROM fence_meta_v1")} == {digest}
    shown = file.execute("SELECT writer FROM oplog_metadata").fetchone()[0]
    assert shown == digest[:4].hex()


def follow_chain(file, seal_key, previous):
    """The late idx, the sum of their seals, and the last seal of the others."""
    late, late_sum = [], ZEROS
    for row in file.execute("SELECT * FROM fence_oplog_v1 ORDER BY idx"):
        if row["late"]:
            assert row["seal"] == seal_of_entry(seal_key, ZEROS, row)
            late_sum = add(late_sum, row["seal"])
            late.append(row["idx"])
        else:
            assert row["seal"] == seal_of_entry(seal_key, previous, row)
            previous = row["seal"]
    return late, late_sum, previous


def test_the_seals_of_the_entries_form_a_chain_and_a_sum(file):
    seal_key = file.execute("SELECT seal_key FROM fence_control_v1").fetchone()[0]
    late, late_sum, previous = follow_chain(file, seal_key, ZEROS)
    assert late == [2, 3, 50]

    record = file.execute("SELECT * FROM fence_meta_v1").fetchone()
    assert record["late_sum"] == late_sum
    assert (record["tail"], record["tail_seal"]) == (201, previous)
    assert (record["trimmed"], record["trim_seal"], record["deleted_at"]) == (-1, ZEROS, None)
    assert record["seal"] == seal_of_record(seal_key, record)


def call(db, sql):
    return db.execute(sql, (WRITER,)).fetchone()[0]


@pytest.mark.parametrize("through, late", [(1, [2, 3, 50]), (2, [3, 50]), (5, [50]),
                                           (60, []), (100, [])])
def test_a_trim_keeps_the_chain_and_the_sum(file, tmp_path, through, late):
    seal_key = file.execute("SELECT seal_key FROM fence_control_v1").fetchone()[0]
    db = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(transcript.extension()))
    gone = file.execute("SELECT count(*) FROM fence_oplog_v1 WHERE idx <= ?", (through,))
    expected = gone.fetchone()[0]
    assert call(db, f"SELECT fenced_drop_prefix('ns', 'kéy', 9, ?, {through})") == expected
    record = file.execute("SELECT * FROM fence_meta_v1").fetchone()
    found, late_sum, previous = follow_chain(file, seal_key, record["trim_seal"])
    assert found == late
    assert (record["trimmed"], record["late_sum"]) == (through, late_sum)
    assert (record["tail"], record["tail_seal"]) == (201, previous)
    assert record["seal"] == seal_of_record(seal_key, record)
    # Trimmed to nothing, and on from there.
    call(db, "SELECT fenced_drop_prefix('ns', 'kéy', 9, ?, 300)")
    call(db, "SELECT fenced_append('ns', 'kéy', 9, ?, 202, 'next')")
    record = file.execute("SELECT * FROM fence_meta_v1").fetchone()
    assert (record["trimmed"], record["trim_seal"], record["late_sum"]) == (201, previous, ZEROS)
    assert follow_chain(file, seal_key, previous)[0] == []
    db.close()


def test_values_and_namespaces_are_sealed(file):
    seal_key = file.execute("SELECT seal_key FROM fence_control_v1").fetchone()[0]
    value = file.execute("SELECT * FROM fence_value_v1").fetchone()
    assert (value["name"], value["epoch"], value["value"]) == ("náme", 9, "välue".encode())
    assert value["seal"] == seal_of_value(seal_key, value)
    namespace = file.execute("SELECT * FROM fence_namespace_v1").fetchone()
    assert (namespace["mode"], namespace["identical_repeat"], namespace["floor"]) == \
        ("optional", 1, -1)
    assert namespace["seal"] == seal_of_namespace(seal_key, namespace)


def test_a_published_key_remembers_where_to(file, tmp_path):
    seal_key = file.execute("SELECT seal_key FROM fence_control_v1").fetchone()[0]
    db = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(transcript.extension()))
    for key in ("staged", "final"):
        call(db, f"SELECT oplog_metadata_upsert('ns', '{key}', 3, ?)")
    call(db, "SELECT fenced_append('ns', 'staged', 3, ?, 1, 'one')")
    assert call(db, "SELECT fenced_publish('ns', 'final', 3, ?, 'ns', 'staged', 1)") == 1
    record = file.execute("SELECT * FROM fence_meta_v1 WHERE key = 'staged'").fetchone()
    publisher = number(3) + text(record["writer"])
    mark = siphash128(ZEROS, text("ns") + text("final") + number(1) + publisher)
    assert (record["published"], record["epoch"]) == (mark, 3)
    assert record["seal"] == seal_of_record(seal_key, record)
    db.close()


def test_each_file_has_its_own_key(tmp_path):
    keys = set()
    for name in ("a.db", "b.db"):
        db = sqlite3.connect(tmp_path / name, isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(str(transcript.extension()))
        db.execute("SELECT fence_install()").fetchone()
        keys.add(db.execute("SELECT seal_key FROM fence_control_v1").fetchone()[0])
        db.close()
    assert len(keys) == 2
    assert all(len(key) == 16 for key in keys)


def test_the_columns_are_those_that_are_described(file):
    described = (transcript.TOP / "docs/internals.md").read_text(encoding="utf-8")
    for table in ("control", "setting", "namespace", "meta", "oplog", "value"):
        begin = described.index(f"**fence_{table}_v1**")
        end = described.find("**fence_", begin + 1)
        for row in file.execute("SELECT name FROM pragma_table_info(?)", (f"fence_{table}_v1",)):
            assert row["name"] in described[begin:end], f"fence_{table}_v1.{row['name']}"
