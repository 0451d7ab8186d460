"""What each Python test of the extension begins with."""

import contextlib
import shutil

import pytest
from fenced_file import EPOCH, FORMS, claim, connect


@pytest.fixture(name="template", scope="session")
def fenced_template(tmp_path_factory):
    """The file that each test gets a copy of: installing Fence takes its time."""
    path = tmp_path_factory.mktemp("template") / "log.db"
    with contextlib.closing(connect(path, isolation_level=None)) as connection:
        connection.execute("SELECT fence_install()")
        connection.execute("CREATE TABLE work (step INTEGER)")
        claim(connection, EPOCH)
    return path


@pytest.fixture(name="path")
def fenced_path(template, tmp_path):
    """Given a fenced file, a key ('n', 'k') that OWNER holds at epoch 5, and the
    application's own table `work`, empty. Whatever became of it, fence_verify finds no error."""
    path = shutil.copy(template, tmp_path / "log.db")
    yield path
    with contextlib.closing(connect(path, timeout=60)) as connection:
        errors = "SELECT * FROM fence_verify WHERE severity = 'error'"
        assert connection.execute(errors).fetchall() == []


@pytest.fixture(name="open_file")
def opener(path):
    """connect() for that file; what it opened is closed when the test ends."""
    with contextlib.ExitStack() as opened:
        yield lambda **arguments: opened.enter_context(
            contextlib.closing(connect(path, **arguments))
        )


@pytest.fixture(name="append", params=FORMS)
def append_form(request):
    """Both forms of fenced_append: the function and the table."""
    return FORMS[request.param]
