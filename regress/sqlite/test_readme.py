"""The README shows what really happens, and its commands are there."""
import re
import subprocess

import transcript

README = transcript.TOP / "README.md"


def test_the_session_is_what_the_shell_prints(tmp_path):
    sessions = transcript.sessions(README)
    assert [session.language for session in sessions] == ["console", "pycon"]

    shown, printed = transcript.run_shell(sessions[0], tmp_path)

    assert transcript.squeeze(printed) == transcript.squeeze(shown)


def test_the_python_lines_work_in_the_folder_of_the_readme(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/sqlite").symlink_to(transcript.extension().parent)

    assert transcript.run_python(README, tmp_path) == ""


def test_make_sqlite_shell_opens_a_shell_with_fence_loaded():
    build = transcript.extension().parents[1]
    done = subprocess.run(["make", "-s", f"BUILD={build}", "sqlite-shell", "FILE=:memory:"],
                          input="SELECT fence_install();", cwd=transcript.TOP, text=True,
                          capture_output=True, timeout=transcript.LONGEST, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_every_link_leads_somewhere():
    documents = [README, *sorted((transcript.TOP / "docs").glob("*.md")),
                 transcript.TOP / "CHANGELOG.md"]
    dead = []
    for document in documents:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if not (document.parent / link).exists():
                dead.append(f"{document.name}: {link}")
    assert dead == []


def test_every_command_it_names_exists():
    commands = set(re.findall(r"make (?:-s )?([a-z-]+)", README.read_text(encoding="utf-8")))
    known = subprocess.run(["make", "-s", "help"], cwd=transcript.TOP, text=True,
                           capture_output=True, timeout=transcript.LONGEST, check=True).stdout

    assert commands >= {"demo", "check"}
    assert commands - set(re.findall(r"^([a-z-]+)", known, re.M)) == set()
