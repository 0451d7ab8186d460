#!/usr/bin/python3
"""Runs the C++ tests of the SQLite extension with the newest SQLite.

usage: run.py RESULTS, where RESULTS/newest.xml (JUnit) is written.

Debian's SQLite is years old and users run newer ones, which read a schema in
other ways. The package better-sqlite3 carries the source of a recent SQLite: it
is downloaded with npm in the version that package-lock.json pins, compared with
the hash there, and compiled. It is unpacked only, never installed.

Environment:
  BUILD            build folder; the library is built once, in $BUILD/newest
  FENCE_EXTENSION  the extension; default $BUILD/sqlite/fence.so
  CC               the C compiler; default cc

Where there is no npm or no answer from the registry, the one result is a skipped
case that says so. Everything else that goes wrong is a failure.
"""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
PACKAGE = "better-sqlite3"
LIBRARY = "libsqlite3.so.0"
SOURCES = ("sqlite3.c", "sqlite3.h")
PROGRAMS = ("sqlite", "attack")
SECONDS = 900  # for each of them

# What `PRAGMA compile_options` says of Debian's library, as far as it matters.
OPTIONS = """
  ENABLE_COLUMN_METADATA ENABLE_DBSTAT_VTAB ENABLE_FTS3 ENABLE_FTS3_PARENTHESIS
  ENABLE_FTS3_TOKENIZER ENABLE_FTS4 ENABLE_FTS5 ENABLE_LOAD_EXTENSION ENABLE_MATH_FUNCTIONS
  ENABLE_PREUPDATE_HOOK ENABLE_RTREE ENABLE_SESSION ENABLE_STMTVTAB ENABLE_UNLOCK_NOTIFY
  ENABLE_UPDATE_DELETE_LIMIT LIKE_DOESNT_MATCH_BLOBS MAX_VARIABLE_NUMBER=250000
  OMIT_LOOKASIDE SECURE_DELETE SOUNDEX TEMP_STORE=1 THREADSAFE=1 USE_URI
""".split()
FLAGS = ["-O1", "-g1", "-fPIC", "-shared", f"-Wl,-soname,{LIBRARY}", "-DHAVE_ISNAN",
         *(f"-DSQLITE_{option}" for option in OPTIONS)]
LIBS = ["-lm", "-lpthread", "-ldl"]

# Codes with which npm reports that the registry could not be asked.
NO_ANSWER = re.compile(r"ENOTFOUND|EAI_|ECONN|ENET|EHOST|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_|"
                       r"FETCH_ERROR|ENOTCACHED|.*_CERT|E407|E429|E5\d\d")


class Skipped(Exception):
    """The source is not to be had here."""


class Failed(Exception):
    """Something that must work did not."""


def pinned():
    """(version, hash) of the package."""
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    package = lock["packages"][f"node_modules/{PACKAGE}"]
    return package["version"], package["integrity"]


def compiler():
    return os.environ.get("CC") or "cc"


def fingerprint():
    """Of all that the library is made from."""
    made_by = subprocess.run([compiler(), "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    return "\n".join([*pinned(), " ".join(FLAGS), made_by])


def download(folder):
    """The path of the package, whose hash is the pinned one."""
    if shutil.which("npm") is None:
        raise Skipped("npm is not installed")
    version, integrity = pinned()
    done = subprocess.run(
        ["npm", "pack", f"{PACKAGE}@{version}", "--pack-destination", folder, "--ignore-scripts",
         "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000",
         "--fetch-timeout=60000"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        found = re.search(r"^npm (?:ERR!|error) code (\S+)", done.stderr, re.MULTILINE)
        code = found.group(1) if found else "no code"
        if NO_ANSWER.match(code):
            raise Skipped(f"the npm registry does not answer ({code})")
        raise Failed(f"npm pack failed ({code}): {done.stderr[-2000:]}")
    package = pathlib.Path(folder, done.stdout.split()[-1])
    algorithm, wanted = integrity.split("-", 1)
    found = base64.b64encode(hashlib.new(algorithm, package.read_bytes()).digest()).decode()
    if found != wanted:
        raise Failed(f"{package.name} is not what package-lock.json pins: {algorithm}-{found}")
    return package


def unpack(package, folder):
    with tarfile.open(package) as archive:
        for name in SOURCES:
            source = archive.extractfile(f"package/deps/sqlite3/{name}")
            pathlib.Path(folder, name).write_bytes(source.read())


def compile_library(folder):
    print(f"newest: compiling SQLite {version_of(folder)}, once, half a minute", flush=True)
    done = subprocess.run([compiler(), *FLAGS, "-o", LIBRARY, "sqlite3.c", *LIBS], cwd=folder,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"SQLite does not compile: {done.stderr[-2000:]}")


def version_of(folder):
    header = pathlib.Path(folder, "sqlite3.h").read_text(encoding="utf-8")
    return re.search(r'^#define SQLITE_VERSION +"([0-9.]+)"', header, re.MULTILINE).group(1)


def prepare(home):
    """Makes the library, unless it is there and was made from the same."""
    made = home / "made"
    wanted = fingerprint()
    if made.exists() and made.read_text(encoding="utf-8") == wanted:
        return
    made.unlink(missing_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        unpack(download(folder), folder)
        compile_library(folder)
        for name in (*SOURCES, LIBRARY):
            os.replace(pathlib.Path(folder, name), home / name)
    made.write_text(wanted, encoding="utf-8")


def run(program, home, environment):
    """The results of a program, as an element; and whether it succeeded."""
    results = home / f"{program}.xml"
    results.unlink(missing_ok=True)
    path = pathlib.Path(environment["BUILD"], "regress", program)
    print(f"newest: {program} with SQLite {environment['FENCE_SQLITE_VERSION']}", flush=True)
    status = None
    try:
        status = subprocess.run([path, "--gtest_brief=1", "--gtest_filter=-Scale.*", f"--gtest_output=xml:{results}"],
                                env=environment, timeout=SECONDS, check=False).returncode
        return ET.parse(results).getroot(), status == 0
    except subprocess.TimeoutExpired:
        problem = f"{program} still ran after {SECONDS} s"
    except (OSError, ET.ParseError) as error:  # it did not start, or ended before its end
        problem = f"{program} left no results (status {status}): {error}"
    return one_case("failure", problem), False


def one_case(outcome, reason):
    """The results of a run in which no test could run."""
    print(f"newest: {outcome}: {reason}", flush=True)
    counts = {"failures": "1" if outcome == "failure" else "0",
              "skipped": "1" if outcome == "skipped" else "0"}
    suite = ET.Element("testsuite", name="newest", tests="1", errors="0", **counts)
    case = ET.SubElement(suite, "testcase", classname="newest",
                         name="the C++ tests pass with the newest SQLite")
    printable = re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", reason)
    ET.SubElement(case, outcome, message=printable)
    return suite


def run_all(home):
    """[(results, succeeded)]."""
    build = home.parent
    environment = dict(os.environ, BUILD=str(build), LD_LIBRARY_PATH=str(home),
                       FENCE_SQLITE_VERSION=version_of(home))
    environment.setdefault("FENCE_EXTENSION", str(build / "sqlite" / "fence.so"))
    return [run(program, home, environment) for program in PROGRAMS]


def main(results):
    results = pathlib.Path(results)
    results.mkdir(parents=True, exist_ok=True)
    home = pathlib.Path(os.environ.get("BUILD") or TOP / "build").resolve() / "newest"
    try:
        prepare(home)
        found = run_all(home)
    except Skipped as reason:
        found = [(one_case("skipped", str(reason)), True)]
    except Failed as reason:
        found = [(one_case("failure", str(reason)), False)]
    root = ET.Element("testsuites", name="newest")
    root.extend(element for element, _ in found)
    ET.ElementTree(root).write(results / "newest.xml", encoding="utf-8", xml_declaration=True)
    return 0 if all(succeeded for _, succeeded in found) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    # An end from outside must take the temporary folder along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1]))
