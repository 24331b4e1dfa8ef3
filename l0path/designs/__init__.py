"""Designs: batched access to a matrix X (n, p), whatever holds it. Solvers see the verbs of a
design and nothing else.

A design has `n`, `p` and correlate, columns, dot, moments, nonfinite: see `Dense` for their shapes;
`protocol.DesignTraits` is what it may offer beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from l0path.designs.build import as_design
from l0path.designs.copies import directions, duplicates
from l0path.designs.csc import Csc
from l0path.designs.dense import Dense
from l0path.designs.disk.column_blocks import ColumnBlocks
from l0path.designs.disk.conversion import convert
from l0path.designs.disk.opening import blocks
from l0path.designs.features.additive import Additive, Levels, step_design
from l0path.designs.features.derived import Derived, DerivedDesign
from l0path.designs.features.pairs import Pairs
from l0path.designs.features.polynomial import Polynomial, expand
from l0path.designs.names import Numbered
from l0path.designs.standardized import Reordered, Standardized
from l0path.designs.training_set import AllRows, TrainingSet

from ..core.arguments import is_whole
from ..core.tables import pandas_of
from ..core.types import Columns, Design, Matrix

__all__ = [
    "Additive",
    "AllRows",
    "ColumnBlocks",
    "Csc",
    "Dense",
    "Derived",
    "Levels",
    "Numbered",
    "Pairs",
    "Polynomial",
    "Reordered",
    "Standardized",
    "TrainingSet",
    "additive",
    "as_design",
    "blocks",
    "check_finite",
    "convert",
    "derived",
    "directions",
    "duplicates",
    "in_memory",
    "polynomial",
]


def polynomial(
    X: Matrix,
    degree: int = 2,
    interaction_only: bool = False,
    center: bool = True,
    heredity: str | None = None,
    names: Sequence[str] | None = None,
    *,
    parents: Columns | None = None,
    min_rows: int = 1,
) -> Polynomial:
    """Degree-2 features of X as a design for `fit`, `cv_fit` and `Path` methods, never stored.

    The features are the p columns x_j, then the products (x_j - c_j)(x_k - c_k), j <= k, ordered by
    j, then k.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame or sparse matrix
        Finite numbers.
    degree : int, default 2
        Only 2 is available.
    interaction_only : bool, default False
        Whether to leave out squares. The square of a column with at most two different values is
        always left out: it is a combination of the column and the intercept.
    center : bool, default True
        Whether c_j is the mean of column j over all rows of X, unweighted, which stays the same in
        folds and in predictions, or 0. Centering makes products less collinear with their parents;
        models that hold both parents and an intercept span the same space with and without. x_j
        itself is in the units of X.
    heredity : str, optional
        Without `parents` the rule that the search keeps: "strong" models have a product only
        together with both of its columns, and a square only with its column; "weak" products with
        at least one of them. The default heredity="auto" of the fit takes it, for at most 2000
        features. With `parents` a rule on the candidates: "strong" allows products with both
        factors among them, "weak" those with at least one; the search is not constrained, unless
        the fit has `heredity=` too.
    names : sequence of str, optional
        Names of the p columns of an array or sparse X; a DataFrame brings its own. None means x0,
        x1, ... Products are called "age:bmi", squares "age^2".
    parents : array-like of str, int, or bool, optional
        Columns of X that products may build on; refused without heredity. Usually
        `l0path.fit(X, y).model("bic").support`. They save features where these would be many.
    min_rows : int, default 1
        For sparse X only: products of columns that are both nonzero in at least so many rows. Where
        they never are, the product is zero or, centered, a combination of the two columns.

    Returns
    -------
    Polynomial
        A design with `n`, `p` features and `names`. `path.predict` takes new rows of X's own
        columns (by name for DataFrames).

    Raises
    ------
    ValueError or TypeError
        If an argument is not one of those above, X holds NaN or infinity, is a design that is read
        from disk, or makes more than 2e8 features, or with center=True a sparse column is more than
        100 standard deviations from 0.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> y = X[:, 3] * X[:, 8] + X[:, 5] + 0.1 * rng.standard_normal(200)
    >>> path = l0path.fit(l0path.designs.polynomial(X), y, max_k=2)
    >>> list(path.coef(k=2).index), path.predict(X[:5], k=2).shape
    (['(Intercept)', 'x5', 'x3:x8'], (5,))
    """
    if isinstance(degree, bool) or degree != 2:
        raise ValueError(
            f"degree={degree!r} must be 2: products of two columns; build columns of higher degree "
            "beforehand"
        )
    for value, name in ((interaction_only, "interaction_only"), (center, "center")):
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name}={value!r} must be True or False")
    if heredity not in (None, "weak", "strong"):
        raise ValueError(f"heredity={heredity!r} must be None, 'weak' or 'strong'")
    if heredity is None and parents is not None:
        raise ValueError(
            "parents= needs heredity='strong' or 'weak': it names the columns that products may "
            "build on, both factors or one, for example l0path.fit(X, y).model('bic').support"
        )
    if not is_whole(min_rows) or min_rows < 1:
        raise ValueError(f"min_rows={min_rows!r} must be a whole number >= 1")
    base, own, index, by_name = _in_memory(X, names, "polynomial")
    if min_rows > 1 and isinstance(base, Dense):
        raise ValueError(
            f"min_rows={min_rows} counts rows in which sparse columns are nonzero, but X is dense; "
            "leave min_rows=1, or pass scipy.sparse.csc_array(X)"
        )
    design = expand(
        base,
        own,
        interaction_only=bool(interaction_only),
        center=bool(center),
        heredity=heredity,
        parents=_positions(parents, own),
        min_rows=int(min_rows),
        by_name=by_name,
    )
    design.row_index = index
    if parents is None:
        design.heredity = heredity
    return design


def additive(X: Matrix, bins: int | None = 16, names: Sequence[str] | None = None) -> Additive:
    """Piecewise-linear functions of each column of X as a design, for additive models.

    The model is f_1(x_1) + f_2(x_2) + ...; columns are chosen by `groups=design.groups`. Features
    are never stored.

    Parameters
    ----------
    X : array-like of shape (n, p), DataFrame or sparse matrix
        Finite numbers. A sparse X is not filled.
    bins : int or None, default 16
        The largest number of steps of a column: knots at bins + 1 quantiles of its distinct values
        (0 among them, where it lies inside), at all values where there are no more. None: knots at
        all values, at most 65537, which takes lambda2 > 0 and few rows.
    names : sequence of str, optional
        Names of the p columns of an array or sparse X; a DataFrame brings its own. None means x0,
        x1, ... Features are called "age[1]", "age[2]", ... by ascending steps.

    Returns
    -------
    Additive
        A design with `n`, `p` features, `names`, `names.low` and `names.high` (p,), the knots on
        both sides of each step, and `groups`, {column: its features}; constant columns have none.
        Knots are those of all rows given here, in folds and predictions too. `path.predict` takes
        new rows of X's own columns; a function stays constant beyond the knots.

    Raises
    ------
    ValueError or TypeError
        If bins is no whole number >= 1, or X holds NaN or infinity, has only constant columns, is a
        design that is read from disk, or makes more than 2e8 features.

    Notes
    -----
    Column j has knots t_0 < ... < t_m. Its feature l is 0 at x = 0, rises by sqrt(h_l) over h_l =
    t_l - t_{l-1}, and is constant elsewhere. Two things follow:

    - sum_l phi_l(x) phi_l(z) = min(|x - a|, |z - a|) for knots x, z on one side of a = clip(0, t_0,
      t_m), and 0 across: the histogram intersection kernel. Between knots it is off by h_l / 4 at
      most. With bins=None it is exact on the rows of X.
    - sum_l b_l^2 is the integral of f_j'(t)^2 dt: with standardize=False the ridge lambda2 is the
      roughness penalty of a linear smoothing spline.

    Sources: Maji, Berg & Malik, IEEE TPAMI 35, 2013; kernels as groups of features: Tan, Tsang &
    Wang, JMLR 15, 2014.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (300, 20))
    >>> y = np.sin(2 * X[:, 3]) + X[:, 8] ** 2 + 0.1 * rng.standard_normal(300)
    >>> design = l0path.designs.additive(X, bins=10)
    >>> path = l0path.fit(design, y, groups=design.groups, max_k=3)
    >>> path.model(k=2).groups, path.predict(X[:5], k=2).shape
    (['x3', 'x8'], (5,))
    """
    if bins is not None and (not is_whole(bins) or bins < 1):
        raise ValueError(
            f"bins={bins!r} must be a whole number >= 1, or None for a knot at every value"
        )
    base, own, index, by_name = _in_memory(X, names, "additive")
    design = step_design(base, own, None if bins is None else int(bins), by_name)
    design.row_index = index
    return design


def derived(base: Dense | Csc, names: Derived) -> Additive | Polynomial:
    """The design of the features that `names` describe over a base design.

    Parameters
    ----------
    base : Dense or Csc
        The design of X.
    names : Derived
        The features.

    Returns
    -------
    Additive or Polynomial
        The design of the features.
    """
    return (Additive if isinstance(names, Levels) else Polynomial)(base, names)


def in_memory(design: Design) -> bool:
    """Whether a design holds X, or the columns that its features are made of, as arrays.

    Parameters
    ----------
    design : Design
        A design of this module.

    Returns
    -------
    bool
        False for files, clusters and designs of the user's own.
    """
    base = design.base if isinstance(design, DerivedDesign) else design
    return type(base) in (Dense, Csc)


def _in_memory(X, names, what):
    """(Dense or Csc design, names, index of a DataFrame, whether its columns are told apart by
    name) of a finite X that is held in memory.
    """
    X = pandas_of(X)
    if names is not None and isinstance(X, pd.DataFrame):
        raise ValueError(
            f"names={list(names)[:3]!r}... is for arrays and sparse matrices; a DataFrame brings "
            "its own names: rename its columns, X.set_axis(names, axis=1)"
        )
    base, own, index, notes = as_design(X, names)
    if type(base) not in (Dense, Csc):
        raise TypeError(
            f"X is a design ({type(base).__name__}); pass {what} an array, a DataFrame or a sparse "
            "matrix, which is held in memory"
        )
    check_finite(base, own)
    return base, own, index, index is not None and not notes


def _positions(parents, names):
    """Sorted column numbers of names, indices or a mask."""
    if parents is None:
        return None
    parents = [parents] if isinstance(parents, (str, int, np.integer)) else list(parents)
    if len(parents) == len(names) and all(isinstance(j, (bool, np.bool_)) for j in parents):
        return np.flatnonzero(parents)
    place = {name: j for j, name in reversed(list(enumerate(names)))}
    out = [place.get(j, None) if isinstance(j, str) else j for j in parents]
    for given, j in zip(parents, out, strict=True):
        if not is_whole(j) or not 0 <= j < len(names):
            raise ValueError(
                f"parents names {given!r}, which is no column of X; pass names, indices 0 to "
                f"{len(names) - 1} or a mask of length {len(names)}"
            )
    return np.unique(np.array(out, dtype=np.intp))


def check_finite(design: Design, names: Sequence[str]) -> None:
    """Refuse a design that holds NaN or infinity.

    Parameters
    ----------
    design : design
        The columns.
    names : sequence of str
        Their names.

    Raises
    ------
    ValueError
        If there are any; up to five columns are named, with the number of entries in each.
    """
    count = design.nonfinite()
    bad = np.flatnonzero(count)
    if bad.size:
        shown = ", ".join(f"{names[j]} ({count[j]})" for j in bad[:5]) + (
            ", ..." if bad.size > 5 else ""
        )
        raise ValueError(
            f"X contains NaN or infinity: {count.sum()} entries in {bad.size} of {design.p} "
            f"columns: {shown}; "
            "drop those rows or columns, or impute them (sklearn.impute.SimpleImputer)"
        )
