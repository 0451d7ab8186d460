"""The sessions in docs/ show what is really printed."""
import re

import pytest
import transcript

DOCUMENTS = sorted((transcript.TOP / "docs").glob("*.md"))
MODULES = [transcript.extension().parents[1] / "node/node_modules",
           transcript.TOP / "build/node/node_modules"]


def with_sessions(language):
    found = [path for path in DOCUMENTS
             if any(s.language == language for s in transcript.sessions(path))]
    assert found, f"no document has a {language} session"
    return pytest.mark.parametrize("document", found, ids=lambda path: path.name)


@with_sessions("console")
def test_the_shell_sessions_are_what_the_shell_prints(document, tmp_path):
    for session in transcript.sessions(document):
        if session.language == "console":
            shown, printed = transcript.run_shell(session, tmp_path)
            assert transcript.squeeze(printed) == transcript.squeeze(shown), (
                f"{document.name}:{session.line} prints\n{printed}")


@with_sessions("pycon")
def test_the_python_sessions_are_what_python_prints(document, tmp_path):
    assert transcript.run_python(document, tmp_path) == ""


@with_sessions("js")
def test_the_node_programs_print_what_is_shown(document, tmp_path):
    modules = next((path for path in MODULES if (path / "better-sqlite3").is_dir()), None)
    if modules is None:
        pytest.skip("better-sqlite3 is not built; regress/sqlite/node/run builds it")
    for session in transcript.sessions(document):
        if session.language == "js":
            printed = transcript.run_node(session, tmp_path, modules)
            assert printed == session.printed, f"{document.name}:{session.line}"


@pytest.mark.parametrize("document", [transcript.TOP / "README.md", *DOCUMENTS],
                         ids=lambda path: path.name)
def test_every_heading_that_is_linked_to_exists(document):
    def anchors(path):
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
        return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
                for heading in headings}

    links = re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", document.read_text(encoding="utf-8"))
    dead = [f"{path}#{anchor}" for path, anchor in links
            if anchor not in anchors(document.parent / path if path else document)]
    assert dead == []
