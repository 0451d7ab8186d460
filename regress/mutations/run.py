#!/usr/bin/python3
"""Takes one protective layer away at a time and shows which tests notice.

For each layer of core/layer.h that an engine has, its extension is built without it
and its suites run against that build. A layer whose removal no test notices is a
failure of the tests: nobody would notice either when a change breaks it.

usage: run.py [--engine sqlite|postgresql] [--all] [--minutes N] [--junit FILE] [--markdown FILE]
              [LAYER ...]

Once a suite has noticed, the next one is only run with --all. With --minutes no layer is begun
later than that and the others count as skipped; each day begins with another layer.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# A mutant may well hang or crash; that is noticed too. It hangs when it takes so much longer
# than the intact extension did, on this machine and beside whatever else runs there.
MORE_SECONDS = 480
PYTEST = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
TWO_AT_ONCE = ["-n", "2", "--dist", "loadfile"]
STRESS_SECONDS = "15"  # of each level: what a mutant gets wrong shows early


@dataclass
class Mutant:
    layer: str
    what: str
    red: list = field(default_factory=list)
    fault: str = ""
    seconds: float = 0
    skipped: bool = False

    @property
    def noticed(self):
        return self.skipped or bool(self.red) and not self.fault


class Sqlite:
    sources = ["core/*.cc", "sqlite_ext/*.cc", "sql/sqlite/*.sql"]
    target = "sqlite"
    suites = ["attack", "sqlite"]
    stop = ["--gtest_fail_fast"]  # the first red test is enough; the table wants their number

    @staticmethod
    def command(suite, report):
        program = TOP / build_folder() / "regress" / suite
        return [program, f"--gtest_output=xml:{report}", "--gtest_filter=-Scale.*", *Sqlite.stop]


class Postgresql:
    sources = ["core/*.cc", "pg_ext/*.cc", "sql/pg/*.sql"]
    target = "pg"
    suites = ["conformance", "sql", "isolation", "copies", "pytest", "stress"]
    copies = ["regress/pg/test_copy.py", "regress/pg/test_lineage.py"]

    @staticmethod
    def command(suite, report):
        server = [TOP / "scripts/pg", "run"]
        if suite == "conformance":
            runner = TOP / "regress/conformance/run.py"
            return [*server, sys.executable, runner, "--engine", "postgresql", "--junit", report]
        if suite == "copies":  # before all the others of the kind, which take minutes
            return [sys.executable, *PYTEST, f"--junitxml={report}", *Postgresql.copies]
        if suite == "pytest":
            others = [f"--ignore={path}" for path in Postgresql.copies]
            return [sys.executable, *PYTEST, *TWO_AT_ONCE, f"--junitxml={report}", *others,
                    "regress/pg"]
        if suite == "stress":
            stress = ["-k", "appears_after", "regress/e2e/test_pg_stress.py"]
            return [sys.executable, *PYTEST, f"--junitxml={report}", *stress]
        return [*server, TOP / "scripts/pg-regress", suite, report]


ENGINES = {"sqlite": Sqlite, "postgresql": Postgresql}


def all_layers(engine):
    """(name, what it does) of each layer that the engine has, as core/layer.h lists them."""
    text = (TOP / "core/layer.h").read_text(encoding="utf-8")
    body = text[text.index("enum class Layer") : text.index("};")]
    layers = re.findall(r"^\s+(\w+),\s*// (.*)$", body, flags=re.M)
    assert len(layers) == len(re.findall(r"^\s+\w+,", body, flags=re.M)), "a layer without an explanation"
    files = [file for pattern in engine.sources for file in TOP.glob(pattern)]
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    return [layer for layer in layers if re.search(rf"(Layer::|layer: ){layer[0]}\b", sources)]


def build_folder():
    return os.environ.get("BUILD", "build")


def build(engine, layer=""):
    """The extension without the layer, or the intact one, in a folder of its own, built for
    speed of building."""
    folder = f"{build_folder()}/without/{engine.target}/{layer or 'nothing'}"
    command = ["make", "--no-print-directory", "-s", f"-j{os.cpu_count()}", f"BUILD={folder}"]
    flags = ["CXXFLAGS=-O1 -g0", f"WITHOUT={layer}"]
    done = subprocess.run(
        [*command, *flags, engine.target], cwd=TOP, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"does not build: {done.stdout}{done.stderr}")
    return folder


def failed_tests(suite, report):
    try:
        cases = list(xml.parse(report).iter("testcase"))
    except (FileNotFoundError, xml.ParseError):
        return [f"{suite}: crashed"]
    if not cases:
        raise RuntimeError(f"{suite}: there are no tests")
    return [f"{case.get('classname')}.{case.get('name')}" for case in cases
            if case.find("failure") is not None or case.find("error") is not None]


def run_suite(engine, suite, build_of_it, seconds):
    """The names of the tests that fail against the extension in that folder."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = engine.command(suite, report)
        library = TOP / build_of_it / "sqlite/fence.so"
        environment = dict(os.environ, FENCE_EXTENSION=str(library), BUILD=build_of_it,
                           PG_STRESS_SECONDS=STRESS_SECONDS)
        try:
            subprocess.run(
                command,
                cwd=TOP,
                env=environment,
                timeout=seconds,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [f"{suite}: hung"]
        return failed_tests(suite, report)


def try_without(engine, layer, what, all_suites, limits):
    mutant = Mutant(layer, what)
    start = time.monotonic()
    try:
        folder = build(engine, layer)
        for suite in engine.suites:
            if all_suites or not mutant.red:
                mutant.red += run_suite(engine, suite, folder, limits[suite])
    except RuntimeError as error:
        mutant.fault = str(error)
    mutant.seconds = time.monotonic() - start
    return mutant


def describe(mutant):
    if mutant.skipped:
        return "skipped"
    if mutant.fault:
        return mutant.fault
    if not mutant.red:
        return "NOTICED BY NO TEST"
    shown = ", ".join(mutant.red[:3])
    return f"{len(mutant.red)} red: {shown}" + (", …" if len(mutant.red) > 3 else "")


def write_junit(mutants, path):
    suite = xml.Element("testsuite", name="mutations", tests=str(len(mutants)))
    for mutant in mutants:
        case = xml.SubElement(
            suite, "testcase", classname="mutations", name=mutant.layer, time=f"{mutant.seconds:.1f}"
        )
        if mutant.skipped:
            xml.SubElement(case, "skipped", message="no time for it")
        elif not mutant.noticed:
            xml.SubElement(case, "failure", message=describe(mutant))
    suite.set("failures", str(sum(not mutant.noticed for mutant in mutants)))
    suite.set("skipped", str(sum(mutant.skipped for mutant in mutants)))
    xml.ElementTree(suite).write(path, encoding="unicode", xml_declaration=True)


def write_markdown(mutants, path):
    lines = ["| without | what it does | red tests | among them |", "|---|---|---|---|"]
    for mutant in mutants:
        names = ", ".join(f"`{name}`" for name in mutant.red[:2])
        lines.append(f"| `{mutant.layer}` | {mutant.what} | {len(mutant.red)} | {names} |")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def try_intact(engine):
    """Red tests say something only where the intact extension, built like the others, has none.
    Returns for how many seconds a suite may run."""
    folder = build(engine)
    limits = {}
    for suite in engine.suites:
        start = time.monotonic()
        red = run_suite(engine, suite, folder, None)
        if red:
            sys.exit("red without any mutation: " + ", ".join(red))
        limits[suite] = MORE_SECONDS + 2 * (time.monotonic() - start)
    return limits


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--all", action="store_true", help="run every suite on every mutant")
    parser.add_argument("--minutes", type=float, default=0, help="0: as long as it takes")
    parser.add_argument("--junit", help="write a JUnit file")
    parser.add_argument("--markdown", help="write the table that docs/internals.md carries")
    parser.add_argument("layers", nargs="*")
    options = parser.parse_args()
    engine = ENGINES[options.engine]
    if options.all or options.markdown:
        Sqlite.stop = []
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    layers = [one for one in all_layers(engine) if not options.layers or one[0] in options.layers]
    if unknown := set(options.layers) - {name for name, _ in layers}:
        parser.error(f"{options.engine} has no layer {', '.join(sorted(unknown))}")
    limits = try_intact(engine)
    first = datetime.date.today().toordinal() * 7 % len(layers) if options.minutes else 0
    mutants = []
    for layer, what in layers[first:] + layers[:first]:
        if time.monotonic() > deadline:
            mutants.append(Mutant(layer, what, skipped=True))
        else:
            mutants.append(try_without(engine, layer, what, options.all, limits))
        print(f"{layer:16} {mutants[-1].seconds:5.1f} s  {describe(mutants[-1])}", flush=True)
    if options.junit:
        write_junit(mutants, options.junit)
    if options.markdown:
        write_markdown(mutants, options.markdown)
    sys.exit(0 if all(mutant.noticed for mutant in mutants) else 1)


if __name__ == "__main__":
    main()
