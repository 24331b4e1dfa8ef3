"""The end of a run: time limits, and Ctrl-C at places where the state is consistent."""

import importlib
import math
import signal
import sys
import threading
import time
from contextlib import contextmanager

from .status import End


class Stop(Exception):
    """The path ends here.

    Parameters
    ----------
    reason : str
        The text that `path.status` shows.
    end : End
        The same as a value.
    """

    def __init__(self, reason, end=End.STOPPED):
        super().__init__(reason)
        self.end = end


class ClusterError(RuntimeError):
    """Workers, or the scheduler, of the cluster that holds X are lost.

    Attributes
    ----------
    path : Path or None
        The models solved so far, where a fit to all rows had begun.
    """

    path = None


class Clock:
    """Ends a run where its state is whole: Stop at the time limit, KeyboardInterrupt after Ctrl-C
    (`interrupted`).
    """

    def __init__(self, time_limit=None):
        self.started, self.limit, self.interrupted = time.perf_counter(), time_limit, False

    def poll(self):
        if self.interrupted:
            raise KeyboardInterrupt
        if self.limit is not None and time.perf_counter() - self.started > self.limit:
            raise Stop(f"time_limit of {self.limit:g} s reached", End.TIME_LIMIT)

    def over(self):
        """Whether `poll` would end the run."""
        return self.interrupted or (
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
    def interrupted(self):
        return self.whole.interrupted


class Control:
    """Ends a run by clock or Ctrl-C and remembers why; solutions found before are kept.

    Parameters
    ----------
    clock : Clock
        The time limit and Ctrl-C.
    keeps : bool
        Whether a `ClusterError` is remembered too, for a caller that raises it again with what was
        solved; else it passes.

    Attributes
    ----------
    end : End or None
        What ended the run early. None while nothing has.
    reason : str
        The same as a text for people.
    inconsistent : bool
        Whether an interrupt came from elsewhere than the clock. It may have fallen where working
        columns are half updated, so no kernel may run on them any more.
    error : ClusterError or None
        The loss of the cluster that ended the run.
    """

    def __init__(self, clock, keeps=False):
        self.clock, self.end, self.reason, self.inconsistent = clock, None, "", False
        self.keeps, self.error = keeps, None

    @contextmanager
    def stage(self, during=""):
        """A stage of the run. The first `Stop` or KeyboardInterrupt that ends one is remembered,
        with the text `during` behind its reason, and the run goes on with what it has.
        """
        try:
            yield
        except Stop as stop:
            self._ended(stop.end, f"{stop}{during}")
        except KeyboardInterrupt:
            self.inconsistent = True
            self._ended(End.INTERRUPTED, f"{End.INTERRUPTED.reason}{during}")
        except ClusterError as error:
            if not self.keeps:
                raise
            # what is half done when an answer does not come is as half done as after Ctrl-C
            self.error, self.inconsistent = error, True
            self._ended(End.STOPPED, f"{error}{during}")

    def finish(self):
        """Say of a Ctrl-C that came too late to leave anything out that it came."""
        if self.clock.interrupted:
            self._ended(End.INTERRUPTED, End.INTERRUPTED.reason)

    def _ended(self, end, reason):
        if self.end is None:
            self.end, self.reason = end, reason


def imported_whole(name):
    """The module of this name. A Ctrl-C waits until it is imported: what an import leaves half done
    stays so for the rest of the process.
    """
    if name not in sys.modules:
        held = Clock()
        with deferred_interrupts(held):
            importlib.import_module(name)
        if held.interrupted:
            signal.raise_signal(signal.SIGINT)
    return sys.modules[name]


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
        if clock.interrupted:
            before(number, frame)
        clock.interrupted = True

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
