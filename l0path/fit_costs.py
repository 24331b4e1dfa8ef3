"""`fit_cost`: the memory, the reads and roughly the time that a fit takes, before it is run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from .compiled import cache, processes
from .core.hints import hands_on
from .core.types import Matrix
from .engine.costs import FitCost, cost_of
from .engine.costs.kernels import kinds_of_kernels
from .engine.request import ARGUMENTS, request


@hands_on(*ARGUMENTS, "relax", "scoring")
def fit_cost(
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    cv: int | Iterable | Any = None,
    groups_cv: ArrayLike | None = None,
    n_repeats: int = 1,
    **arguments: Any,
) -> FitCost:
    """Estimate what a fit costs before it is run: memory, reads of X, and roughly the time.

    The arguments are checked as `l0path.fit` checks them, or with cv= as `l0path.cv_fit` does, and
    nothing is fitted. Bytes follow from the sizes of the arrays of a search and from how these
    usually grow, which was measured on default paths; they are good to a factor of two there.
    Seconds follow from counted operations and from two operations that are timed here, in some
    milliseconds. They are rough: how many exchanges a search makes depends on the data, and other
    work on the machine slows it down.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame, sparse matrix, design or str
        The features to choose from, as for `l0path.fit`. Or a formula.
    y : array-like of shape (n,) or (n, r), DataFrame or None
        The response.
    cv : int, splitter, iterable, or array-like, optional
        The folds of a `l0path.cv_fit`, all of which are counted beside the fit on all rows. None
        counts the fit on all rows alone.
    groups_cv : array-like of shape (n,) or str, optional
        As in `l0path.cv_fit`, and ignored with cv=None, as is n_repeats.
    n_repeats : int, default 1
        The number of repeats of an integer cv.
    **arguments : dict
        All other arguments of `l0path.fit`, or of `l0path.cv_fit`.

    Returns
    -------
    FitCost
        `bytes_held`, `bytes_x`, `reads`, `bytes_read`, `kernels`, `seconds` (least, most),
        `available` and `folds`. Its text is the line that `fit(progress=True)` and
        `cv_fit(progress=True)` begin with.

    Raises
    ------
    ValueError or TypeError
        Where `l0path.fit` or `l0path.cv_fit` raises them.

    Notes
    -----
    A fit that cannot have the least memory it needs raises MemoryError before it reads X, and says
    how `l0path.designs.blocks` makes it smaller. The least is what no fit of these sizes does
    without; `bytes_held` is what it is expected to hold.

    `l0path.stability_selection` costs about n_subsamples / 2 such fits, because each subsample has
    half of the rows, and `l0path.split_inference` about n_splits / 2.

    Folds take about as long as the fit on all rows, each. Several of a squared loss advance at a
    time (`l0path.cv_fit`); they hold columns of their own, and share reads of X.

    Kernels are counted for default fits, whose kernels are known: a tiny fit of the kind runs as
    plain Python, in about a second, unless `l0path` has compiled or loaded all of them already.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> X = np.random.default_rng(0).standard_normal((100, 2000))
    >>> cost = l0path.fit_cost(X, X[:, 0], max_k=10)
    >>> cost.bytes_x, cost.bytes_held > 0
    (1600000, True)
    >>> more = l0path.fit_cost(X, X[:, 0], max_k=10, cv=10)
    >>> more.folds, more.reads > cost.reads
    (10, True)
    """
    if cv is None:
        asked = request(X, y, **arguments)
    else:
        from .cross_validation.run import asked_of  # a fit alone needs no folds

        arguments.pop("scoring", None)  # it changes no cost
        folds = {"cv": cv, "groups_cv": groups_cv, "n_repeats": n_repeats}
        asked = asked_of(X, y, **folds, **arguments)
    return cost_of(asked, kernels_to_compile(kinds_of_kernels(asked)))


def kernels_to_compile(kinds: tuple[str, ...]) -> int | None:
    """Number of kernels of these kinds of fits (`warm.recipes`) that are neither in this process
    nor stored or shipped; None for no kinds.
    """
    from .warm import recipes  # it fits, and imports what it needs for that

    if not kinds:
        return None
    run = recipes(kinds)

    def as_far_as_it_goes():  # Python raises where a kernel gives inf: what was entered counts
        with contextlib.suppress(Exception):
            run()

    names = [kernel._cache.entry(types) for kernel, types in processes.entered(as_far_as_it_goes)]
    return sum(name is not None and cache.KERNEL_FOLDERS.state(name) is None for name in names)
