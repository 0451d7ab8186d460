"""The reference names all there is, with the right ranges."""
import re
import sqlite3

import pytest
import transcript

REFERENCE = (transcript.TOP / "docs/reference.md").read_text(encoding="utf-8")


def connect():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(transcript.extension()))
    return db


def one(db, sql, *values):
    return db.execute(sql, values).fetchone()[0]


def functions(db):
    return {(name, arguments) for name, arguments in
            db.execute("SELECT DISTINCT name, narg FROM pragma_function_list")}


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", REFERENCE, re.M | re.S)[1]


def test_every_function_has_a_heading_with_its_arguments():
    added = functions(connect()) - functions(sqlite3.connect(":memory:"))
    documented = {}
    for heading in re.findall(r"^### (.*)$", section("Functions"), re.M):
        for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", heading):
            documented.setdefault(name, set()).add(len([a for a in arguments.split(",") if a]))

    for name, arguments in added:
        if name == "fence_guard_v1":
            continue  # for triggers; listed among the names
        assert name in documented
        if arguments >= 0 and name != "fenced_append_many":
            assert arguments in documented[name], name
    assert {6, 7} == {arguments for name, arguments in added if name == "fenced_append_many"}


def test_every_name_that_fence_takes_is_listed():
    db = connect()
    db.execute("SELECT fence_install()").fetchone()
    listed = section("Names that Fence takes")
    for kind, name in db.execute("SELECT type, name FROM sqlite_schema"):
        if kind in ("table", "view") and not name.startswith("sqlite_"):
            assert f"`{name}`" in listed
    bare = sqlite3.connect(":memory:")
    modules = {name for name, in db.execute("SELECT name FROM pragma_module_list")}
    for name in modules - {name for name, in bare.execute("SELECT name FROM pragma_module_list")}:
        assert name in listed


def test_every_view_is_listed_with_its_columns():
    db = connect()
    db.execute("SELECT fence_install()").fetchone()
    rows = dict(re.findall(r"^\| (\w+_\w+) \| (.*) \|$", section("Views"), re.M))
    views = [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
    assert sorted(rows) == sorted(views)
    for view in views:
        columns = [name for name, in db.execute("SELECT name FROM pragma_table_info(?)", (view,))]
        without_remarks = re.sub(r"\([^)]*\)|;.*", "", rows[view])
        assert [word.strip() for word in without_remarks.split(",")] == columns


SETTINGS = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) to (\d+) \|", section("Settings"), re.M)


def test_the_settings_are_all_there():
    assert len(SETTINGS) == 10


@pytest.mark.parametrize("name, default, least, most", SETTINGS, ids=lambda text: text)
def test_a_setting_has_the_default_and_the_range_that_are_written_there(name, default, least, most):
    db = connect()
    db.execute("SELECT fence_install()").fetchone()
    assert one(db, "SELECT fence_config(?)", name) == int(default)
    for value in (int(most), int(least)):
        assert one(db, "SELECT fence_config(?, ?)", name, value) == value
    for outside in (int(least) - 1, int(most) + 1):
        with pytest.raises(sqlite3.OperationalError, match="^ZF010 "):
            # As text: the greatest setting of all is the greatest integer.
            db.execute("SELECT fence_config(?, ?)", (name, str(outside))).fetchone()
    assert one(db, "SELECT fence_config(?)", name) == int(least)


def test_every_code_is_listed_with_the_name_that_messages_have():
    rules = (transcript.TOP / "core/refusal.cc").read_text(encoding="utf-8")
    named = dict(re.findall(r'"(ZF\d{3})", "(\w+)"', rules))
    listed = dict(re.findall(r"^\| (ZF\d{3}) \| (\w+) \|", section("Errors"), re.M))
    assert len(listed) == 12
    assert listed.items() <= named.items()
