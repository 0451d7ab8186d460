"""What every writer's process does: commands come in on standard input, answers go out.

A line each, both JSON. Between an answer and the next command the process waits for
its input, outside any call of the database.
"""
import ctypes
import json
import os
import signal
import sys
import time

NAMESPACE, KEY = "contracts", "c-42"


def end_with_parent(parent):
    """Even a frozen process must not outlive the demo, however that ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def serve(answer, database_error, describe=str):
    """Answers one command after the other: answer(command), or what describe() makes of
    an error of the database."""
    for line in sys.stdin:
        started = time.perf_counter()
        try:
            reply = {"value": answer(json.loads(line))}
        except database_error as error:
            reply = {"error": describe(error)}
        reply["ms"] = (time.perf_counter() - started) * 1000
        print(json.dumps(reply), flush=True)
