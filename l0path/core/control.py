"""When a run ends: time limits, and Ctrl-C where the state is whole."""

import math
import signal
import threading
import time
from contextlib import contextmanager


class Stop(Exception):
    """The path ends here; the message is the reason that `path.status` shows."""


class Clock:
    """Ends a run where its state is whole: Stop at the time limit, KeyboardInterrupt after Ctrl-C
    (`pressed`).
    """

    def __init__(self, time_limit=None):
        self.started, self.limit, self.pressed = time.perf_counter(), time_limit, False

    def poll(self):
        if self.pressed:
            raise KeyboardInterrupt
        if self.limit is not None and time.perf_counter() - self.started > self.limit:
            raise Stop(f"time_limit of {self.limit:g} s reached")

    def over(self):
        """Whether `poll` would end the run."""
        return self.pressed or (
            self.limit is not None and time.perf_counter() - self.started > self.limit
        )

    def left(self):
        """Seconds left."""
        return math.inf if self.limit is None else self.limit - (time.perf_counter() - self.started)

    def within(self, seconds):
        """A clock of its own limit for a part of the run, None for that of the run; Ctrl-C ends
        both.
        """
        return _Part(self, seconds)


class _Part(Clock):
    """The clock of a part of a run."""

    def __init__(self, whole, seconds):
        self.whole, self.started = whole, time.perf_counter()
        self.limit = min(whole.left(), math.inf if seconds is None else seconds)

    @property
    def pressed(self):
        return self.whole.pressed


@contextmanager
def deferred_interrupts(clock):
    """Ctrl-C inside waits for the next poll: an exception in the middle of an update or of the
    thread pool would leave arrays or locks half changed. A second Ctrl-C acts at once.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def handler(number, frame):
        if clock.pressed:
            before(number, frame)
        clock.pressed = True

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
