"""The estimated cost as a text, and the error for a fit that needs more memory than there is."""

import math
import os
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from ...compiled import processes
from ...core import forward, threads
from ...designs.protocol import traits_of
from ...problem.losses import Squared
from .counting import counted, stored_bytes

TIMED_SIDE = 160  # of the matrices whose product is timed
TIMED_LENGTH = 1 << 18  # of the vectors that are added
FACTOR_OFF = {True: 3.0, False: 5.0}  # by which seconds may be off: squared loss, others
OVERHEAD = 0.02  # seconds of a fit whatever its size
PER_SIZE = {True: 0.001, False: 0.002}  # seconds for each size whatever n, likewise
NEGLIGIBLE = 1 << 24  # bytes for which nobody is asked: asking takes 0.1 ms
LONG = 60.0  # seconds of a call that says beforehand what it takes
SHORT = 1e9  # operations of a call that is not long anyway: speeds are not timed for it
PER_KERNEL = 1.5  # seconds of a processor to compile one


@dataclass(frozen=True)
class FitCost:
    """An estimate of the costs of a fit, made before it begins: the result of `l0path.fit_cost`.

    Attributes
    ----------
    bytes_held : int
        Bytes of memory that the fit takes beside X, at its largest.
    bytes_x : int
        Bytes of X as it is stored.
    reads : int
        How often the whole of X is read.
    bytes_read : int
        Bytes of X that are read: `reads` times `bytes_x`.
    kernels : int or None
        Kernels that are neither loaded nor stored and would be compiled first. None where they are
        not known beforehand: for other algorithms than the default one, and in `fit` itself.
    seconds : tuple of float
        Roughly the least and the most seconds, compiling included where `kernels` is known. How
        long a search takes depends on the data, so the truth may lie outside.
    available : int or None
        Bytes of memory that could be taken when this was made. None where that cannot be told.
    folds : int
        Fits of a cross-validation that all of this covers beside the fit on all rows.
    """

    bytes_held: int
    bytes_x: int
    reads: int
    bytes_read: int
    kernels: int | None
    seconds: tuple[float, float]
    available: int | None
    folds: int = 0

    def _rows(self):
        """What is estimated, by name: the text and the table of a notebook."""
        low, high = self.seconds
        free = "" if self.available is None else f" ({size(self.available)} free)"
        return [
            ("time", f"roughly {_seconds(low)} to {_seconds(high)}"),
            *([("kernels to compile", f"{self.kernels}")] if self.kernels else []),
            ("memory beside X", f"about {size(self.bytes_held)}{free}"),
            ("reads of X", f"about {self.reads} ({size(self.bytes_x)} each)"),
            *([("fits", f"on all rows, and of {self.folds} folds")] if self.folds else []),
        ]

    def _repr_html_(self):
        return forward.cost_html(self)

    def __str__(self):
        return "; ".join(f"{name}: {value}" for name, value in self._rows())

    def __repr__(self):
        return f"<l0path.FitCost: {self}>"


def cost_of(request, kernels=None) -> FitCost:
    """The cost of a request and of its folds. kernels: how many are to be compiled, where that is
    known.
    """
    counts, stored, folds = counted(request), stored_bytes(request.data.design), request.folds
    products, others = speeds()
    with threads.limited(request.n_jobs):
        cores = min(threads.count(), processes.cores())
    middle = counts.products / (products * cores) + counts.others / others
    squared = isinstance(request.data.loss, Squared)
    middle += OVERHEAD + PER_SIZE[squared] * counts.largest
    held, reads = counts.held, counts.reads
    if folds is not None:
        held, reads = folds.held(held), reads * (1 + folds.passes)
        middle += middle * folds.number / min(folds.jobs, processes.cores())
    spread = FACTOR_OFF[squared]
    compiling = PER_KERNEL * (kernels or 0)
    return FitCost(
        bytes_held=held,
        bytes_x=stored,
        reads=reads,
        bytes_read=reads * stored,
        kernels=kernels,
        seconds=(
            middle / spread + compiling / (2.0 * cores),
            middle * spread + 2.0 * compiling,
        ),
        available=processes.measured_memory(),
        folds=0 if folds is None else folds.number,
    )


def refuse_too_large(request) -> None:
    """MemoryError where not even the least that such a fit holds can be had."""
    counts, design = counted(request), request.data.design
    if counts.least <= NEGLIGIBLE:
        return
    free = processes.measured_memory()
    if free is None or counts.least <= free:
        return
    blocks = (
        f"give memory_limit= less than {size(design.memory_limit)} to designs.blocks"
        if traits_of(design).memory_limit
        else "pass X=l0path.designs.blocks(X, memory_limit='1GB'), which holds fewer Gram rows and "
        "reads X more often"
    )
    raise MemoryError(
        f"X of {design.n} rows and {design.p} columns with max_k={counts.largest} needs at least "
        f"{size(counts.least)} of memory beside X, and {size(free)} are free; {blocks}, or a "
        f"smaller max_k= than {counts.largest} (l0path.fit_cost tells what a fit needs)"
    )


def tell_if_long(call, request, number, jobs, remedy, progress=None, *, each=1) -> None:
    """Say on stderr what a call that makes `number` times the fits of a request takes, where that
    is more than `LONG`; nothing with progress=False, or where L0PATH_QUIET is set.

    Parameters
    ----------
    call : str
        The name of the function.
    request : Request
        One of the fits, and its folds.
    number, jobs : int
        How often these are made, and in how many processes.
    remedy : str
        What makes it shorter.
    progress : bool or None
        What the user gave.
    each : int
        The number of fits on parts of the rows that cost as much as the request.
    """
    if progress is False or os.environ.get("L0PATH_QUIET"):
        return
    counts, times = counted(request), number * (1 + (request.folds.number if request.folds else 0))
    if (counts.products + counts.others) * times < SHORT:
        return
    if jobs > 1:  # each has one thread
        request = replace(request, n_jobs=1)
    low, high = (
        seconds * number / min(jobs, processes.cores()) for seconds in cost_of(request).seconds
    )
    if math.sqrt(low * high) >= LONG:
        print(
            f"l0path: {call} makes {times * each} fits with sizes up to {counts.largest}, roughly "
            f"{_seconds(low)} to {_seconds(high)} in all; {remedy} makes it shorter",
            file=sys.stderr,
        )


def speeds():
    """(operations per second of products of matrices on one thread, of all other work), the best
    of a few timed products and sums that take some milliseconds.
    """
    A, v = np.full((TIMED_SIDE, TIMED_SIDE), 0.5), np.full(TIMED_LENGTH, 0.5)
    out, sums = np.empty_like(A), np.empty_like(v)
    with threads.one_blas_thread():
        product = min(_timed(lambda: np.matmul(A, A, out=out)) for _ in range(5))
    adding = min(_timed(lambda: np.add(v, v, out=sums)) for _ in range(5))
    return 2.0 * TIMED_SIDE**3 / product, 2.0 * TIMED_LENGTH / adding


def _timed(work):
    began = time.perf_counter()
    work()
    return max(time.perf_counter() - began, 1e-7)


def size(count):
    """A number of bytes for people."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return (
                f"{count / unit:.2g} {name}" if count < 10 * unit else f"{count / unit:.0f} {name}"
            )
    return f"{math.ceil(count / 1e3)} kB"


def _seconds(value):
    """Seconds for people, to one digit."""
    for unit, name in ((3600.0, "h"), (60.0, "min")):
        if value >= 2 * unit:
            return f"{value / unit:.0f} {name}"
    return f"{value:.1g} s" if value < 10 else f"{value:.0f} s"
