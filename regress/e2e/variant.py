"""Builds of the extension that only tests use: each in a folder of its own under build/."""

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

# The ownership check in all its forms that a stale append would meet.
OWNERSHIP_CHECK = "epoch_check,writer_check,plain_half"


def extension():
    """The extension under test."""
    return os.environ.get("FENCE_EXTENSION", str(TOP / "build/sqlite/fence.so"))


def build(folder, *settings):
    """Makes the loadable extension under build/FOLDER with make's SETTINGS; returns its path."""
    target = f"build/{folder}/sqlite/fence.so"
    command = ["make", "--no-print-directory", "-s", f"-j{os.cpu_count()}", f"BUILD=build/{folder}"]
    subprocess.run([*command, *settings, target], cwd=TOP, check=True, timeout=600)
    return str(TOP / target)
