"""Bars of progress=: on stderr, widgets in notebooks that have ipywidgets (tqdm.auto). With
progress=None a bar comes by itself in an interactive session, once the call has run for `PATIENCE`
seconds; elsewhere nothing is shown, and tqdm is not imported.
"""

import multiprocessing
import os
import sys
import threading
import time
import warnings

PATIENCE = 5.0  # seconds after which a call shows a bar by itself
REFRESHED = 1.0  # seconds between two drawings of a bar that came by itself

_open = threading.local()  # .bars: how many bars of this thread are open, shown or not


def interactive():
    """Whether somebody watches: a notebook, or a terminal that is this process's stderr. Not in
    worker processes, threads of a pool and tests, and not where L0PATH_QUIET is set.
    """
    if (
        multiprocessing.current_process().name != "MainProcess"
        or multiprocessing.parent_process() is not None
        or threading.current_thread() is not threading.main_thread()
        or os.environ.keys() & {"PYTEST_CURRENT_TEST", "L0PATH_QUIET"}
    ):
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


class Bar:
    """A bar over one stage of a call. A context manager: whatever ends the block closes the bar.

    Parameters
    ----------
    show : bool or None
        True shows the bar at once, False never. None shows it in an interactive session when the
        call has run for `PATIENCE` seconds, unless it is part of another call with a bar.
    desc : str
        The text before the bar.
    total : int, optional
        The number of units; None makes it a line of text.
    unit : str
        The name of a unit.
    since : float, optional
        When the call began, of `time.perf_counter`. The default is now.
    **more : dict
        Other arguments of `tqdm.tqdm`.

    Attributes
    ----------
    bar : tqdm or None
        What is on the screen.
    """

    def __init__(self, show, desc, total=None, unit="it", since=None, **more):
        if show not in (None, True, False):
            raise TypeError(
                f"progress={show!r} must be True, False, or None: by itself after {PATIENCE:g} s "
                "in an interactive session"
            )
        line = {} if total is not None else {"bar_format": "{desc}: {elapsed}{postfix}"}
        self.settings = {"desc": desc, "unit": unit, **line, "miniters": 0, **more}
        self.bar, self.total, self.done, self.text = None, total, 0, ""
        self.closed, self.lock = threading.Event(), threading.Lock()
        self.watcher, self.opened = None, time.perf_counter()
        self.began = self.opened if since is None else since
        if show:
            with warnings.catch_warnings():  # tqdm warns of a notebook without ipywidgets, and
                warnings.simplefilter("ignore")  # shows text
                self._draw(_tqdm())
        self.automatic = show is None

    def _draw(self, kind):
        self.bar = kind(total=self.total, **self.settings)
        if self.done:
            self.bar.update(self.done)
        if self.text:
            self.bar.set_postfix_str(self.text)

    def _watch(self, kind):
        """Show the bar when it is time, and let it show that time goes by."""
        self.settings["leave"] = False
        if self.closed.wait(max(self.began + PATIENCE - time.perf_counter(), 0)):
            return
        with self.lock:
            if self.closed.is_set():
                return
            self._draw(kind)
            self.bar.start_t -= time.perf_counter() - self.opened  # of the stage, not the bar
        while not self.closed.wait(REFRESHED):
            self.bar.refresh()

    def update(self, count=1):
        """Record that `count` units are done."""
        with self.lock:
            self.done += count
            if self.bar is not None and count:
                self.bar.update(count)

    def shorten(self, count):
        """Record that `count` units will not be needed."""
        if count and self.total is not None:
            with self.lock:
                self.total -= count
                if self.bar is not None:
                    self.bar.total = self.total
                    self.bar.refresh()

    def say(self, text):
        """A text beside the bar, at most ten times a second."""
        with self.lock:
            self.text = text
            if self.bar is not None:
                self.bar.set_postfix_str(text, refresh=False)
                self.bar.update(0)

    def __enter__(self):
        outermost = not getattr(_open, "bars", 0)
        _open.bars = getattr(_open, "bars", 0) + 1
        if self.automatic and outermost and interactive():
            with warnings.catch_warnings():  # not in the thread: filters are those of all threads
                warnings.simplefilter("ignore")
                kind = _tqdm()
            self.watcher = threading.Thread(target=self._watch, args=(kind,), daemon=True)
            self.watcher.start()
        return self

    def __exit__(self, *_):
        _open.bars -= 1
        self.closed.set()
        with self.lock:
            bar = self.bar
        if self.watcher is not None:
            self.watcher.join()
        if bar is not None:
            bar.refresh()  # the last text
            bar.close()


def _tqdm():
    from tqdm.auto import tqdm

    return tqdm
