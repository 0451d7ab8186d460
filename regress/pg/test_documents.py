"""What README.md and docs/ show of PostgreSQL is what it does."""
import json
import re

import psql_session
import pytest
from pgserver import Server

DOCUMENTS = [path for path in (psql_session.TOP / "README.md",
                               *sorted((psql_session.TOP / "docs").glob("*.md")))
             if psql_session.sessions(path)]
REFERENCE = (psql_session.TOP / "docs/reference.md").read_text(encoding="utf-8")


def creates_the_extension(document):
    return any("CREATE EXTENSION" in line for session in psql_session.sessions(document)
               for line in psql_session.inputs(session))


def test_there_are_documents_with_sessions():
    assert {"README.md", "guide-postgresql.md"} <= {path.name for path in DOCUMENTS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_shown_is_what_is_printed(document, tmp_path):
    with Server() as server:
        if creates_the_extension(document):
            server.sql("DROP EXTENSION fence")
        for session in psql_session.sessions(document):
            where = f"{document.name}:{session.line}"
            if session.language == "console":
                shown, printed = psql_session.run_psql(session, server)
                assert psql_session.squeeze(printed) == psql_session.squeeze(shown), (
                    f"{where} prints\n{printed}")
            else:
                printed = psql_session.run_python(session, server, tmp_path)
                assert printed == session.printed, f"{where} prints\n{printed}"


# ---- the reference names all there is --------------------------------------------------

def chapter(title):
    """A ### part of the chapter about PostgreSQL."""
    return re.search(rf"^### {title}\n(.*?)(?=^##? |^### |\Z)", REFERENCE, re.M | re.S)[1]


def test_every_function_is_listed_with_its_types(server):
    listed = set(re.findall(r"^\| `(\w+\([^)]*\) -> [^`]*)` \|", chapter("Calls"), re.M))
    functions = server.sql(
        "SELECT json_agg(format('%s(%s) -> %s', proname, pg_get_function_identity_arguments(oid),"
        " pg_get_function_result(oid))) FROM pg_proc WHERE pronamespace = 'fence'::regnamespace")
    assert listed == set(json.loads(functions))


def test_every_view_is_listed_with_its_columns(server):
    listed = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", chapter("Views on PostgreSQL"), re.M))
    views = json.loads(server.sql(
        "SELECT json_object_agg(relname, columns) FROM (SELECT relname, string_agg(attname, ', '"
        " ORDER BY attnum) AS columns FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE relnamespace = 'fence'::regnamespace AND attnum > 0 GROUP BY relname) AS v"))
    assert listed == views


def test_every_weakness_is_listed_with_its_severity(server):
    """As fence_doctor says it, … for what differs from row to row."""
    listed = re.findall(r"^\| [^|]+ \| ([^|]+) \| (error|warning|info) \|", chapter("What fence_doctor says"), re.M)
    kinds = json.loads(server.sql("SELECT json_agg(ARRAY[replace(problem, '%s', '…'), severity]) FROM fence_internal.weakness"))
    assert sorted(listed) == sorted(map(tuple, kinds))


def source(path):
    return (psql_session.TOP / path).read_text(encoding="utf-8")


def test_the_codes_that_are_raised_are_the_errors_listed():
    """As far as the sources name them: with the text of a reason, or where they are raised."""
    rules = dict(re.findall(r'{Code::(\w+), "ZF(\d+)"', source("core/refusal.cc")))
    used = set()
    for folder in ("core", "pg_ext"):
        for path in (psql_session.TOP / folder).glob("*.cc"):
            if path.name != "refusal.cc":
                used |= {int(rules[name]) for name in re.findall(r"Code::(\w+)", source(path))}
    listed = set()
    for cell in re.findall(r"^\| (ZF[^|]*) \|", chapter("Errors on PostgreSQL"), re.M):
        first, *rest = (int(number) for number in re.findall(r"ZF(\d+)", cell))
        listed |= set(range(first, rest[0] + 1)) if " to " in cell else {first, *rest}
    assert listed == used


def test_every_setting_is_listed_with_its_range(server):
    listed = re.findall(r"^\| `(fence\.\w+)` \| (\w+) \| ([\w ]+) \|",
                        chapter("Settings on PostgreSQL"), re.M)
    _, *settings = server.sql(
        "SELECT fence.fence_version(); SELECT name, boot_val,"
        " coalesce(min_val || ' to ' || max_val, 'on off') FROM pg_settings"
        " WHERE name LIKE 'fence.%' ORDER BY name").splitlines()
    assert ["|".join(row) for row in sorted(listed)] == settings


def test_the_grants_of_a_writer_and_a_reader_are_listed(server):
    """Each call or view, and whether the role may use it."""
    listed = {name: (reader == "yes", writer == "yes") for name, reader, writer in re.findall(
        r"^\| `(\w+)` \| (yes|no) \| (yes|no) \|", chapter("Grants"), re.M)}
    server.sql("CREATE ROLE ref_reader; CREATE ROLE ref_writer;"
               "SELECT fence.fence_grant_reader('ref_reader');"
               "SELECT fence.fence_grant_writer('ref_writer', 'ref')")
    rights = json.loads(server.sql(
        "SELECT json_object_agg(name, rights) FROM ("
        " SELECT proname AS name, array[has_function_privilege('ref_reader', oid, 'EXECUTE'),"
        "  has_function_privilege('ref_writer', oid, 'EXECUTE')] AS rights"
        " FROM pg_proc WHERE pronamespace = 'fence'::regnamespace AND proname <> 'fenced_append'"
        " UNION ALL SELECT relname, array[has_table_privilege('ref_reader', oid, right_needed),"
        "  has_table_privilege('ref_writer', oid, right_needed)]"
        " FROM pg_class, LATERAL (SELECT CASE relname WHEN 'fenced_append' THEN 'INSERT'"
        "  ELSE 'SELECT' END AS right_needed) AS r"
        " WHERE relnamespace = 'fence'::regnamespace) AS all_of_them"))
    assert listed == {name: tuple(pair) for name, pair in rights.items()}
