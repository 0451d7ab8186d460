"""Fixtures that several files share."""
import pytest
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
