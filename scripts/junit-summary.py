#!/usr/bin/python3
"""Counts the results of suites: junit-summary.py RESULTS_DIR SUITE...

Reads the JUnit files RESULTS_DIR/SUITE/*.xml. Prints what was skipped or failed
and why, a line a file, and last `N passed, N failed, N skipped` alone on its
line. A suite that left no case counts as a failure. Exits with 1 if anything
failed or nothing passed.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET

WIDTH = 240  # of a line about one case; the whole story is in the file


def outcome(case):
    """('passed' | 'failed' | 'skipped', first line of the reason) of a test case."""
    for tag, result in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            lines = (found.get("message") or found.text or "").strip().splitlines()
            return result, lines[0] if lines else ""
    if case.get("status") == "notrun":
        return "skipped", "disabled in the source"
    return "passed", ""


def read_suite(path):
    """[(case name, result, reason)] of one file."""
    try:
        cases = ET.parse(path).iter("testcase")
        return [(f"{case.get('classname')}.{case.get('name')}", *outcome(case)) for case in cases]
    except ET.ParseError as error:
        return [(path.name, "failed", f"not readable: {error}")]


def collect(folder, suites):
    """{"suite/step": cases}; a suite without a case gets one that failed."""
    found = {}
    for suite in suites:
        files = sorted(pathlib.Path(folder, suite).glob("*.xml"))
        of_suite = {f"{suite}/{path.stem}": read_suite(path) for path in files}
        if not any(of_suite.values()):
            of_suite[suite] = [(suite, "failed", "the suite left no result")]
        found.update(of_suite)
    return found


def main(folder, names):
    suites = collect(folder, names)
    totals = dict.fromkeys(("passed", "failed", "skipped"), 0)
    print()
    for shown in ("skipped", "failed"):
        for stem, cases in suites.items():
            for name, result, reason in cases:
                if result == shown:
                    print(f"{shown}: {stem}: {name}: {reason}"[:WIDTH])
    for stem, cases in suites.items():
        if not cases:
            continue  # what is wrong with it stands in another file
        counts = {result: sum(case[1] == result for case in cases) for result in totals}
        print(f"{stem:24} " + ", ".join(f"{n:4} {result}" for result, n in counts.items()))
        for result, n in counts.items():
            totals[result] += n
    print(", ".join(f"{n} {result}" for result, n in totals.items()))
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
