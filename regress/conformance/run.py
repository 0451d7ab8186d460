#!/usr/bin/python3
"""Runs the conformance files on one engine: every engine must print the same.

usage: run.py [--engine NAME] [--junit FILE] [--update] [--folder DIR] [NAME...]

Each NAME.sql runs on a fresh database. What is printed, every statement followed
by its result, must equal expected/NAME.out. --update writes those files instead:
then read the difference line by line, for it is the contract.

In the files
  - a statement ends with a semicolon at the end of a line;
  - :w1, :w2 and :w3 are three writers, put in as text literals;
  - a payload is 'text' without a backslash: bytes and arrays differ between engines,
    and so do values that an engine's own type input refuses before Fence sees them;
  - a call that is refused inside a transaction stands between SAVEPOINT and ROLLBACK TO,
    since elsewhere an error ends the whole transaction.
"""
import argparse
import difflib
import json
import os
import pathlib
import re
import sys
import time
import xml.etree.ElementTree as ET

from engines import ENGINES, Done, Refusal, Rows

HERE = pathlib.Path(__file__).resolve().parent
WRITERS = {f"w{n}": f"{str(n) * 8}-{str(n) * 4}-4{str(n) * 3}-8{str(n) * 3}-{str(n) * 12}"
           for n in (1, 2, 3)}


class Broken(Exception):
    """A file that cannot be judged: the reason is the message."""


def split(text):
    """Yields (lines as they stand in the file, statement or None for comments and blanks)."""
    pending = []
    for line in text.splitlines():
        if not pending and (not line or line.startswith("--")):
            yield line, None
            continue
        pending.append(line)
        if line.endswith(";"):
            yield "\n".join(pending), "\n".join(pending).removesuffix(";")
            pending = []
    if pending:
        raise Broken(f"no semicolon ends the statement: {pending[0]}")


def with_writers(statement):
    return re.sub(r":(w\d)\b", lambda found: f"'{WRITERS[found[1]]}'", statement)


def show_value(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, (bytes, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return str(value)


def show_result(result):
    if isinstance(result, Rows):
        rows = [" | ".join(show_value(value) for value in row) for row in result.rows]
        return rows or ["(no rows)"]
    if isinstance(result, Done):
        return ["ok"]
    if isinstance(result, Refusal):
        return [result.message, f"detail: {show_value(result.detail)}", f"hint: {result.hint}"]
    raise Broken(f"an error that is not Fence's: {result.text}")


def transcript(engine, path):
    """What the file prints on the engine."""
    lines = []
    with engine.session() as session:
        for source, statement in split(path.read_text(encoding="utf-8")):
            lines.append(source)
            if statement is None:
                continue
            try:
                lines += show_result(session.execute(with_writers(statement)))
            except Broken as broken:
                raise Broken(f"{broken}\nstatement: {source}") from None
    return "\n".join(lines) + "\n"


def difference(expected, actual, name):
    return "".join(difflib.unified_diff(expected.splitlines(True), actual.splitlines(True),
                                        f"expected/{name}.out", f"{name}.sql, as it ran"))


def check_file(engine, path, update):
    """Returns None, or what is wrong with the file's result."""
    expected = path.parent / "expected" / f"{path.stem}.out"
    if not path.exists():
        return f"{path.name} does not exist"
    try:
        actual = transcript(engine, path)
    except Broken as broken:
        return str(broken)
    if update:
        expected.write_text(actual, encoding="utf-8")
        return None
    if not expected.exists():
        return f"expected/{expected.name} does not exist"
    return difference(expected.read_text(encoding="utf-8"), actual, path.stem) or None


def write_junit(path, engine, cases):
    suite = ET.Element("testsuite", name=f"conformance.{engine}", tests=str(len(cases)),
                       failures=str(sum(problem is not None for _, problem, _ in cases)),
                       errors="0", skipped="0")
    for name, problem, seconds in cases:
        case = ET.SubElement(suite, "testcase", classname=f"conformance.{engine}", name=name,
                             time=f"{seconds:.3f}")
        if problem is not None:
            ET.SubElement(case, "failure", message=problem.splitlines()[0]).text = problem
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def find_files(folder, names):
    """The files to run; all of them, an expected output without its file too, by default."""
    found = {path.stem for path in [*folder.glob("*.sql"), *folder.glob("expected/*.out")]}
    wanted = [name.removesuffix(".sql") for name in names] or sorted(found)
    return [folder / f"{name}.sql" for name in wanted]


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--junit")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    engine = ENGINES[arguments.engine]()
    cases = []
    for path in find_files(arguments.folder, arguments.names):
        started = time.monotonic()
        problem = check_file(engine, path, arguments.update)
        cases.append((path.stem, problem, time.monotonic() - started))
        print(f"{path.stem}: " + ("ok" if problem is None else f"FAILED\n{problem}"))
    if arguments.junit:
        write_junit(arguments.junit, engine.name, cases)
    failed = sum(problem is not None for _, problem, _ in cases)
    print(f"{engine.name}: {len(cases) - failed} of {len(cases)} files as expected")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
