"""Runs a program that uses psycopg, and stops it by SIGSTOP at one of its statements:

    stop_at.py before|after NUMBER TEXT PROGRAM ARGUMENT...

before, or right after, its statement NUMBER (from 1) that contains TEXT. So a test freezes a
program that knows nothing of tests, where it wants to, without a race.
"""
import os
import runpy
import signal
import sys

import psycopg


def stop_at(when, number, text):
    execute = psycopg.Cursor.execute
    seen = 0

    def watched(cursor, query, *arguments, **options):
        nonlocal seen
        seen += text in query
        here = text in query and seen == number
        if here and when == "before":
            os.kill(os.getpid(), signal.SIGSTOP)
        result = execute(cursor, query, *arguments, **options)
        if here and when == "after":
            os.kill(os.getpid(), signal.SIGSTOP)
        return result

    psycopg.Cursor.execute = watched


if __name__ == "__main__":
    stop_at(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    sys.argv = sys.argv[4:]
    runpy.run_path(sys.argv[0], run_name="__main__")
