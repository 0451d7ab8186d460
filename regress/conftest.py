"""For the tests of PostgreSQL: the module pgserver, and a server that they share."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))


@pytest.fixture(scope="session")
def server():
    """Runs as long as the tests do. Who stops it or kills it makes a Server of their own."""
    from pgserver import Server  # pylint: disable=import-outside-toplevel
    with Server() as running:
        yield running
