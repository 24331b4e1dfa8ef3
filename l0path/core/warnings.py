"""Warnings of one thread: `recorded`, in the place of `warnings.catch_warnings(record=True)`; and
warnings that show the line of the user: `warn_user`.
"""

import sys
import threading
import warnings
from contextlib import contextmanager

_lock, _open, _outside = (
    threading.Lock(),
    [],
    [],
    # records that are open, as (thread, list), the oldest first; the state of `warnings` before the
    # first of them
)


@contextmanager
def recorded():
    """A list that takes the warnings (`warnings.WarningMessage`) this thread gives inside; none is
    shown, nor an error.

    `warnings.catch_warnings` holds for all threads at once, so folds in threads would record those
    of others and end each other's records. Here the first record opened changes the state of
    `warnings` and the last one closed restores it; what a thread without a record warns of goes to
    the oldest.
    """
    mine = (threading.get_ident(), [])
    with _lock:
        if not _open:
            _outside.append(warnings.catch_warnings())
            _outside[0].__enter__()
            warnings.simplefilter("always")
            warnings.showwarning = _keep
        _open.append(mine)
    try:
        yield mine[1]
    finally:
        with _lock:
            _open[:] = [record for record in _open if record is not mine]
            if not _open:
                _outside.pop().__exit__(None, None, None)


def again(caught):
    """Warn again of warnings (`warnings.WarningMessage`) that a record has taken, as they were."""
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _keep(message, category, filename, lineno, file=None, line=None):
    """In the place of `warnings.showwarning`: into the innermost record of this thread."""
    records = list(_open)
    own = [found for thread, found in records if thread == threading.get_ident()] or [
        found for _, found in records[:1]
    ]
    for found in own[-1:]:
        found.append(warnings.WarningMessage(message, category, filename, lineno))


def _package_of(frame):
    """The package that a frame belongs to; code that `exec` runs may have no name."""
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def warn_user(warning):
    """Warn of the line outside this package that called into it."""
    package, level = __name__.split(".")[0], 1
    frame = sys._getframe()
    while frame.f_back is not None and _package_of(frame) == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
