"""The demo's end of a writer: starts its process, talks to it, freezes and thaws it."""
import json
import os
import signal
import subprocess
import sys
from collections import namedtuple
from contextlib import contextmanager

Reply = namedtuple("Reply", "value error ms")  # error: the message, None if there was none

STOPPING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}


@contextmanager
def uninterrupted():
    """What is begun here is also noted here, before a signal can end the demo."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ActorGone(Exception):
    pass


class Actor:
    def __init__(self, name):
        self.name = name
        self.process = None
        self.about = None  # what it said when it introduced itself

    def start(self, script, *arguments):
        """script: of this folder."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
        # The process inherits that these signals are blocked: Ctrl-C is for the demo,
        # which then ends the process.
        with uninterrupted():
            self.process = subprocess.Popen(
                [sys.executable, path, str(os.getpid()), *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @property
    def pid(self):
        return self.process.pid

    def send(self, do, **values):
        """Leaves a command in the pipe; a frozen writer finds it when it is thawed."""
        self.process.stdin.write(json.dumps({"do": do, **values}) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise ActorGone(f"{self.name} ended with status {self.process.wait()}")
        reply = json.loads(line)
        return Reply(reply.get("value"), reply.get("error"), reply["ms"])

    def ask(self, do, **values):
        self.send(do, **values)
        return self.receive()

    def freeze(self):
        """SIGSTOP; returns when the kernel says that the process is stopped."""
        os.kill(self.pid, signal.SIGSTOP)
        state = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state.si_code != os.CLD_STOPPED:
            raise ActorGone(f"{self.name} ended instead of stopping")

    def thaw(self):
        os.kill(self.pid, signal.SIGCONT)

    def end(self):
        """SIGKILL ends a frozen process, too."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # what was left in the pipe has no reader any more
