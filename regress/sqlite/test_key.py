"""fence_key against the golden vectors that every engine and client has in common."""
import contextlib
import json

import pytest
from fenced_file import TOP, connect

VECTORS = json.loads((TOP / "regress/vectors/fence_key.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: ascii(vector["key"]))
def test_vector(vector):
    with contextlib.closing(connect(":memory:")) as connection:
        call = f"SELECT fence_key({', '.join('?' * len(vector['columns']))})"
        assert connection.execute(call, vector["columns"]).fetchone() == (vector["key"],)
