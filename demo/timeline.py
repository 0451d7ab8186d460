"""What the demo prints: one line for each thing that happens, with its time."""
import os
import sys
import time

COLOURS = {"A": "33", "B": "32", "kernel": "36",
           "act": "1", "bad": "1;31", "good": "1;32", "dim": "2"}


class Timeline:
    def __init__(self, out=sys.stdout):
        self.out = out
        self.started = time.monotonic()
        self.coloured = (out.isatty() and "NO_COLOR" not in os.environ and
                         os.environ.get("TERM") != "dumb")

    def paint(self, text, colour):
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self.coloured else text

    def say(self, text="", colour=None):
        print(self.paint(text, colour) if colour else text, file=self.out, flush=True)

    def event(self, who, text):
        """Somebody did something: when, who, what."""
        moment = f"{time.monotonic() - self.started:6.3f} s"
        self.say(f"{self.paint(moment, 'dim')}  {self.paint(f'{who:6}', who)}  {text}")

    def detail(self, what, text, colour="dim"):
        """More about the event above."""
        self.say(f"{'':18}{self.paint(f'{what:8}', colour)}  {text}")

    def act(self, text):
        self.say()
        self.say(text, "act")
