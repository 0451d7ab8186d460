"""Every call, and every way out of it, in a single-user server under valgrind.

What valgrind reports counts where the library stands in the stack: the server itself
writes padding of its WAL that it never set. It sees blocks that the server took from
the system, so an overrun inside one of them stays unseen; what is read before it was
set does not.

And how much memory a call over a long log takes: none that grows with the log.
"""
import os
import re
import subprocess
from pathlib import Path

import pytest
from pgserver import Server
from scene import owner

W, V = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
NAME = "ä" * 127


def append(key, epoch, writer, idx, payload="x"):
    return f"SELECT fence.fenced_append('n', '{key}', {epoch}, '{writer}', {idx}, '{payload}')"


def claim(key, epoch, writer, call="oplog_metadata_upsert"):
    return f"SELECT fence.{call}('n', '{key}', {epoch}, '{writer}')"


def append_many(idxs, payloads, expected="NULL"):
    return f"SELECT fence.fenced_append_many('n', 'k', 5, '{W}', '{idxs}', '{payloads}', {expected})"


def call(name, key, epoch, writer, *more):
    return f"SELECT fence.{name}({', '.join([repr('n'), repr(key), str(epoch), repr(writer), *more])})"


STATEMENTS = [
    "SET client_encoding = 'LATIN1'", claim("€𝄞", 1, W), claim("€𝄞", 0, W), "RESET client_encoding",
    claim("k", 5, W), claim("k", 5, W), claim("k", 4, W), claim("k", 5, V), claim(NAME, 1, V),
    append("k", 5, W, 1, "one"), append("k", 5, W, 1, "one"), append("k", 5, W, 1, "two"),
    append("k", 4, W, 1, "one"), append("k", 6, W, 2), append("k", 5, V, 2), append("none", 1, W, 1),
    append("k", -1, W, 1), append("k", 5, "no uuid", 1), append("k", 5, W, -1), append("", 5, W, 1),
    "SELECT fence.fenced_append(NULL, NULL, NULL, NULL, NULL, NULL)",
    f"SELECT fence.fenced_append('n', 'k', 5, '{{{W}}}', 2, convert_to(repeat('x', 100000), 'UTF8'))",
    append_many("{3,5,4}", "{a,b,c}", 2), append_many("{3,5,4}", "{a,b,c}", 2), append_many("{6}", "{d}", 9),
    append_many("{}", "{}"), append_many("{1,1}", "{a,b}"), append_many("{1}", "{a,b}"),
    append_many("{NULL}", "{a}"), append_many("{{1,2},{3,4}}", "{a,b,c,d}"),
    f"INSERT INTO fence.fenced_append VALUES ('n', 'k', 5, '{W}', 12, 'x'), ('n', 'k', 5, '{W}', 13, '')",
    "BEGIN", append("k", 5, W, 20), "SAVEPOINT s", append(NAME, 1, V, 1), "ROLLBACK TO s",
    append("k", 5, W, 21), "SELECT * FROM fence.fence_holders", "COMMIT",
    "BEGIN", append("k", 5, W, 22), "SAVEPOINT s", append("k", 4, W, 22), "ROLLBACK TO s", "COMMIT",
    "BEGIN", "SAVEPOINT s", append("none", 4, W, 22), "ROLLBACK TO s", append("k", 5, W, 22), "COMMIT",
    "BEGIN", claim("k", 6, W), "ROLLBACK",
    claim("k", 6, V), claim("k", 5, W, "try_oplog_metadata_upsert"), claim("k", 7, V, "try_oplog_metadata_upsert"),
    f"""SELECT fence.oplog_metadata_upsert_many('n', '[{{"key": "a", "epoch": 1}}, {{"key": "b", "epoch": "9"}}]', '{V}')""",
    f"""SELECT fence.oplog_metadata_upsert_many('n', '[{{"key": "a", "epoch": 2.0}}, {{"key": "a", "epoch": 3}}]', '{V}')""",
    f"""SELECT fence.oplog_metadata_upsert_many('n', '[{{"key": "a", "epoch": 0}}]', '{V}')""",
    f"SELECT fence.oplog_metadata_upsert_many('n', '[1]', '{V}')",
    f"SELECT fence.fence_check('n', 'k', 7, '{V}')", f"SELECT fence.fence_check('n', 'k', 6, '{V}')",
    f"SELECT fence.fence_drain('n', 'k', 7, '{V}', 10)", f"SELECT fence.fence_evict('n', 'k', 7, '{V}')",
    "SELECT * FROM fence.oplog_read('n', 'k', 2, 12, 3)", "SELECT * FROM fence.oplog_entries",
    "SELECT * FROM fence.oplog_status", "SELECT * FROM fence.oplog_metadata",
    "SELECT fence.fence_capabilities(), fence.fence_version()", f"SELECT fence.fence_fingerprint('{W}')",
    f"SELECT fence.fence_key(7, 'a/b', true, '{W}'::uuid)", "SELECT fence.fence_key('a', NULL, 'b')",
    "SELECT fence.fence_key(VARIADIC ARRAY['a', repeat('/', 127)])", "SELECT fence.fence_key('a', repeat('k', 100000))",
    "DELETE FROM fence_internal.record", "TRUNCATE fence_internal.entry", "SELECT fence_internal.guard()",
    "CREATE ROLE app", "SELECT fence.fence_grant_writer('app', 'n')", "SET ROLE app", append("k", 7, V, 30),
    "SELECT * FROM fence.oplog_read('other', 'k')", "RESET ROLE", "SELECT fence.fence_revoke_writer('app')",
]


# Values, trims, deletes, publishing, modes.
CONTENT = [
    claim("v", 1, W), call("fenced_put", "v", 1, W, "'a'", "'x'"), call("fenced_put", "v", 1, W, "'a'", "'x'"),
    call("fenced_put", "v", 1, W, "'a'", "convert_to(repeat('x', 100000), 'UTF8')"),
    call("fenced_put", "v", 1, W, f"'{NAME}'", "''"), call("fenced_put", "v", 1, W, "''", "NULL"),
    call("fenced_put", "v", 0, W, "'a'", "'x'"), "SELECT * FROM fence.fenced_values", claim("v", 2, V),
    call("fenced_put", "v", 2, V, "'a'", "'y'"), call("fenced_remove", "v", 2, V, "'a'"),
    call("fenced_remove", "v", 2, V, "'a'"), call("fenced_remove", "v", 1, W, "'a'"),
    append("v", 2, V, 1), append("v", 2, V, 2), append("v", 2, V, 3),
    call("fenced_drop_prefix", "v", 2, V, "1"), call("fenced_drop_prefix", "v", 2, V, "1"),
    call("fenced_drop_prefix", "v", 1, V, "2"), call("fenced_drop_prefix", "v", 2, V, "-1"), append("v", 2, V, 1),
    "BEGIN", append("v", 2, V, 4), call("fenced_drop_prefix", "v", 2, V, "9"), append("v", 2, V, 5), "SAVEPOINT s",
    call("fenced_remove", "v", 2, V, f"'{NAME}'"), "ROLLBACK TO s", "COMMIT",
    "SELECT * FROM fence.oplog_status WHERE namespace = 'n' AND key = 'v'",
    "SELECT * FROM fence.oplog_keys('n')", f"SELECT * FROM fence.oplog_keys('n', '{NAME[:9]}', 'k', 5)",
    "SELECT * FROM fence.oplog_keys('n', NULL, NULL, -1)",
    claim("s", 2, V), append("s", 2, V, 1, "one"), append("s", 2, V, 2, "two"), claim("t", 2, V),
    call("fenced_publish", "t", 2, V, "'n'", "'s'", "3"), call("fenced_publish", "t", 2, W, "'n'", "'s'", "2"),
    call("fenced_publish", "t", 2, V, "'n'", "'s'", "2"), call("fenced_publish", "t", 2, V, "'n'", "'s'", "2"),
    call("fenced_publish", "t", 2, V, "'n'", "'t'", "2"), call("fenced_publish", "t", 2, V, "'n'", "'none'", "2"),
    call("fenced_delete", "t", 1, V), call("fenced_delete", "t", 2, V), call("fenced_delete", "t", 2, V),
    claim("t", 2, V), "SELECT fence.fence_reset('n', 'v', 1)", "SELECT fence.fence_reset('n', 'v', 1)",
    "SELECT fence.fence_reset('n', 'none', 1)", "SELECT fence.fence_purge('n', 0)", "SELECT fence.fence_purge('n', -1)",
    "SELECT fence.fence_purge('n', 9223372036854775807)", claim("new", 1, V), "SELECT * FROM fence.fence_namespaces",
    "SELECT fence.fence_namespace_set('n', 'optional', true)", "SELECT fence.fence_namespace_set('n', 'no mode')",
    "SELECT fence.fence_namespace_set('n', 'optional', NULL)", "SELECT fence.fence_namespace_set('n', 'optional', false, 's')",
    "SELECT fence.fenced_append('n', 'u', NULL, NULL, 1, 'x')", "SELECT fence.fenced_append('n', 'u', NULL, NULL, 1, 'y')",
    "BEGIN", "SELECT fence.fenced_append('n', 'u', NULL, NULL, 2, 'x')", "SELECT fence.fenced_put('n', 'u', NULL, NULL, 'a', 'x')",
    "SELECT fence.fenced_drop_prefix('n', 'u', NULL, NULL, 1)", "COMMIT", claim("u", 1, V), append("u", 1, V, 2),
    append("u", 1, V, 3), "SELECT fence.fenced_delete('n', 'u', NULL, NULL)", "SELECT fence.fenced_delete('n', 'u', NULL, NULL)",
    "SELECT fence.fence_namespace_set('n', 'unfenced')", append("u", 1, V, 3), "SELECT fence.fence_namespace_set('n', 'required')",
    "SELECT * FROM fence.fence_verify()", "SELECT * FROM fence.fence_verify('n', 'v')",
]
STATEMENTS += CONTENT


@pytest.fixture
def report(tmp_path):
    """What valgrind printed, block by block, and what the server answered."""
    with Server() as server:
        server.stop()
        path = server.folder / "valgrind"
        done = subprocess.run(
            ["valgrind", "--quiet", "--leak-check=no", f"--log-file={path}", server.bindir / "postgres",
             "--single", "-j", "-D", server.data, "fence"],
            input="".join(f"{statement};\n\n" for statement in STATEMENTS), capture_output=True, text=True,
            timeout=300, check=False, cwd=server.folder,
            env=dict(server.environment(), LC_ALL="C.UTF-8", TMPDIR=os.fspath(server.folder)), **server.identity)
        blocks = re.split(r"^==\d+== \n", path.read_text(), flags=re.M)
        server.start()
        yield blocks, done


def test_valgrind_reports_nothing_with_the_library_in_the_stack(report):
    blocks, done = report
    assert done.returncode == 0, done.stderr[-2000:]
    # It did go through all of them: the last ones' answers are there.
    assert 'permission denied for namespace "other"' in done.stderr
    assert done.stdout.count("fenced_append = ") >= 6
    ours = [block for block in blocks if re.search(r"fence\.so|fence::|fence_pg_", block)]
    assert ours == []


ENTRIES, SIZE = 20000, 3000
BATCH = (f"array_agg(i::bigint), array_agg(convert_to(rpad(md5(i::text), {SIZE}, "
         "md5(i::text || 'x')), 'UTF8'))")


def most_memory(session):
    """In megabytes, what is shared with other sessions included: that does not change."""
    status = Path(f"/proc/{session.info.backend_pid}/status").read_text()
    return int(re.search(r"VmPeak:\s+(\d+) kB", status)[1]) / 1024


def growth(scene, sql, *values):
    """By how much the most that a session ever had grows when it does this."""
    session = scene.connect()
    scene.ask("SELECT fence.fence_version()", by=session)
    before = most_memory(session)
    answer = scene.ask(sql, *values, by=session)
    return most_memory(session) - before, answer


def test_calls_over_a_long_log_hold_one_entry_at_a_time(scene):
    stage = scene.key + "s"
    for key in (scene.key, stage):
        scene.claim(1, key=key)
    publish = ["n", scene.key, 1, owner(1), "n", stage, ENTRIES]
    append = (f"SELECT fence.fenced_append_many('n', %s, 1, %s, idxs, payloads)"
              f" FROM (SELECT {BATCH} FROM generate_series(1, {ENTRIES}) AS i) AS b(idxs, payloads)")
    first, stored = growth(scene, append, stage, owner(1))
    again, repeated = growth(scene, append, stage, owner(1))
    published, moved = growth(scene, "SELECT fence.fenced_publish(%s, %s, %s, %s, %s, %s, %s)", *publish)
    deleted, removed = growth(scene, "SELECT fence.fenced_delete('n', %s, 1, %s)", scene.key, owner(1))
    print(f"MB: batch {first:.0f}, its repeat {again:.0f}, publish {published:.0f}, delete {deleted:.0f}")
    assert (stored, repeated, moved, removed) == (ENTRIES, 0, True, ENTRIES)
    assert again < first + 20  # the arrays themselves; all payloads are 57 MB
    assert published < 20
    assert deleted < 20
