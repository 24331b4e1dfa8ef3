"""Garbage collection, put off while many objects are made that all stay: it would go through all
objects of the process again and again.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event


@contextmanager
def collection_put_off() -> Iterator[None]:
    """No garbage collection inside. What is garbage by then is collected afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class CollectLater(event.Listener):
    """No garbage collection while one of our kernels is compiled: numba makes hundreds of thousands
    of objects that all live until its end, and going through them again and again took a sixth of
    the time. What it leaves behind is collected between kernels.
    """

    def __init__(self):
        self.depth = 0
        self.enabled = False

    @staticmethod
    def _ours(event):
        source = getattr(event.data.get("dispatcher"), "py_func", None)
        return (getattr(source, "__module__", None) or "").startswith("l0path.")

    def on_start(self, event):
        """Suspend garbage collection; numba calls this while it holds its compiler lock."""
        if self.depth or self._ours(event):
            if self.depth == 0:
                self.enabled = gc.isenabled()
                gc.disable()
            self.depth += 1

    def on_end(self, event):
        """Resume garbage collection; numba calls this after every compilation, failed ones too."""
        if self.depth:
            self.depth -= 1
            if self.depth == 0 and self.enabled:
                gc.enable()


event.register("numba:compile", CollectLater())
