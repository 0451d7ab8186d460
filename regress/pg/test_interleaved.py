"""Four sessions in a random order: what is committed is what was acknowledged."""
import os

import interleaved
import pytest

STEPS = int(os.environ.get("FENCE_INTERLEAVED_STEPS", "600"))

# The first has found what came back from an earlier life of a key.
RUNS = [(8, "unfenced"), (1, "reset purge"), (2, "unfenced identical"), (3, "unfenced reset purge"),
        (4, ""), (5, "identical purge")]


@pytest.mark.parametrize("seed, features", RUNS)
def test_what_is_committed_is_what_was_acknowledged(scene, seed, features):
    interleaved.Run(scene.connect, seed, features.split()).go(STEPS)
