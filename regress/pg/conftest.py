"""Fixtures that several files share."""
import pytest
from many_keys import ManyKeys
from pgserver import Server
from scene import Scene
from wire import Wire


@pytest.fixture
def scene(server):
    scene = Scene(server)
    yield scene
    scene.close()


@pytest.fixture
def wire(server):
    wire = Wire(server)
    yield wire
    wire.close()


@pytest.fixture(name="small", scope="module")
def small_server():
    """Its lock table holds some 3,000 locks."""
    with Server(conf={"max_connections": 20, "max_locks_per_transaction": 64,
                      "max_prepared_transactions": 0}) as server:
        yield server


@pytest.fixture(name="many")
def many_keys(small):
    scene = ManyKeys(small)
    yield scene
    scene.close()
