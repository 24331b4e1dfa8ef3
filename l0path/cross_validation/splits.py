"""Training and test rows of each fold: [(train, test)] of row indices from an integer, a
scikit-learn splitter, pairs, or fold ids.
"""

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..core.arguments import shown, whole
from ..errors import refuse_masked
from ..problem.losses import name_of
from ..problem.problem import codes_of
from ..problem.responses import without_mean

WHAT = (
    "cv must be a number of folds, a scikit-learn splitter, an iterable of (train, test), or fold "
    "ids, one per row"
)


def is_splitter(cv):
    """Whether cv is a splitter of scikit-learn, or behaves like one."""
    return hasattr(cv, "split") and not isinstance(cv, str)


def check_arguments(cv, n_repeats, groups_cv):
    """Refuse arguments that are wrong whatever the data are."""
    if cv is None or isinstance(cv, (str, bool)):
        raise TypeError(f"cv={cv!r}: {WHAT}")
    number = isinstance(cv, (int, float, np.number))
    if number:
        whole(cv, "cv", 2)
    elif not is_splitter(cv) and not isinstance(cv, Iterable):
        raise TypeError(f"cv={cv!r}: {WHAT}")
    if whole(n_repeats, "n_repeats", 1) > 1 and not number:
        raise ValueError(
            f"n_repeats={n_repeats} repeats folds drawn by an integer cv; pass cv=5 or such, or a "
            "repeated splitter (sklearn.model_selection.RepeatedKFold)"
        )
    if groups_cv is not None and not number and not is_splitter(cv):
        raise ValueError(
            "groups_cv is for an integer cv or a splitter; (train, test) pairs and fold ids "
            "already say which rows stay together"
        )


def make_splits(cv, data, X, *, groups_cv=None, n_repeats=1, seed=0):
    """[(train, test)]: arrays of row indices, checked. Repeat r of an integer cv shuffles with seed
    + r. Rows of weight 0 are in no fold of an integer cv, so leaving them out changes nothing.
    """
    n = data.design.n
    groups = None if groups_cv is None else _labels(groups_cv, n, "groups_cv")
    if isinstance(cv, (int, np.integer)):
        pairs = [
            pair
            for r in range(n_repeats)
            for pair in _drawn(int(cv), data, groups, (seed + r) % 2**32)
        ]
    elif is_splitter(cv):
        y = data.y if data.classes is None else np.asarray(data.classes)[codes_of(data)]
        shown = X if hasattr(X, "shape") and X.shape[0] == n else np.zeros((n, 1))
        try:
            pairs = list(cv.split(shown, y, groups))
        except ValueError as error:
            if groups is not None or "'groups'" not in str(error):
                raise
            raise ValueError(
                f"cv={cv!r} keeps groups of rows together: pass groups_cv=, one label for each row "
                "(an estimator takes them by fit(X, y, groups=...))"
            ) from error
    else:
        pairs = _given(cv, n)
    if not pairs:
        raise ValueError(f"cv={cv!r} yields no fold")
    out = [
        (_rows(pair[0], n, i, "training"), _rows(pair[1], n, i, "held-out"))
        for i, pair in enumerate(pairs)
    ]
    for i, (train, test) in enumerate(out):
        _check_fold(i, train, test, data)
    return out


def repeats_of(splits):
    """(folds,) number of the repeat that each fold belongs to, from [(train, test)] in order.

    A repeat leaves every row out at most once, and all repeats leave the same rows out, several
    folds each: repeats of an integer cv and of scikit-learn's repeated splitters are found. Folds
    that are not made like that (random subsets of rows, one hold-out set) count as one repeat.
    """
    repeats, covered = np.zeros(len(splits), dtype=np.int64), [set()]
    for i, (_, test) in enumerate(splits):
        rows = set(test.tolist())
        if rows & covered[-1]:
            covered.append(set())
        covered[-1] |= rows
        repeats[i] = len(covered) - 1
    alike = all(rows == covered[0] for rows in covered) and np.bincount(repeats).min() > 1
    return repeats if alike else np.zeros_like(repeats)


def spread(scores, repeats):
    """Standard deviation of fold scores (..., folds) and standard error of their mean.

    With s_r the standard deviation over the m_r folds of repeat r (with m_r - 1), these
    are sqrt(mean of s_r^2) and sqrt(mean of s_r^2 / m_r) over the repeats. Repeats cut the same
    rows anew, so they do not make the standard error smaller. Both are NaN where no repeat has two
    folds.
    """
    parts = [np.ascontiguousarray(scores[..., repeats == r]) for r in np.unique(repeats)]
    parts = [part for part in parts if part.shape[-1] > 1]
    if not parts:
        nothing = np.full(scores.shape[:-1], np.nan)
        return nothing, nothing
    with np.errstate(invalid="ignore", over="ignore"):  # a score may be infinite, or nearly so
        squares = [part.var(axis=-1, ddof=1) for part in parts]
    errors = [square / part.shape[-1] for square, part in zip(squares, parts, strict=True)]
    return np.sqrt(np.mean(squares, axis=0)), np.sqrt(np.mean(errors, axis=0))


def _drawn(count, data, groups, seed):
    """Shuffled folds, stratified for classes, whole groups kept together."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    rows = np.flatnonzero(data.weights > 0)
    if count > rows.size:
        raise ValueError(
            f"cv={count} folds need at least as many rows with positive weight, there are "
            f"{rows.size}"
        )
    survival = data.loss.traits.response == "survival"  # stratified by events
    plain = data.classes is None and not survival
    y = (data.y if data.classes is None else codes_of(data))[rows]
    if survival and count > y.sum():
        raise ValueError(
            f"cv={count} folds need at least as many events, there are {y.sum():.0f} in the rows "
            "with positive weight; use fewer folds"
        )
    if data.classes is not None and (groups is not None or count < rows.size):
        _, sizes = np.unique(y, return_counts=True)
        if sizes.max() < count or (groups is None and sizes.min() < 2):
            raise ValueError(
                f"cv={count} stratified folds are too many for classes of {sizes.min()} and "
                f"{sizes.max()} rows; use fewer folds"
            )
    if groups is not None:
        groups = groups[rows]
        many = np.unique(groups).size
        if many < count:
            raise ValueError(f"cv={count} folds need at least as many groups, groups_cv has {many}")
        splitter = (
            GroupKFold(count, shuffle=True, random_state=seed)
            if plain
            else StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        )
    elif plain or count == rows.size:
        splitter = KFold(count, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="The least populated class", category=UserWarning
        )  # folds without one class can be scored all the same
        return [
            (rows[train], rows[test])
            for train, test in splitter.split(np.zeros((rows.size, 1)), y, groups)
        ]


def _labels(value, n, name):
    """Labels (n,) as integer codes."""
    if isinstance(value, str):
        raise ValueError(
            f"{name}={value!r} names a column, which only the table of a formula has; pass the "
            f"labels, X[{value!r}], and leave the column out of X if it is no feature"
        )
    refuse_masked(value, name)
    array = value if isinstance(value, (pd.Series, pd.Categorical)) else np.asarray(value)
    if np.ndim(array) != 1 or len(array) != n:
        raise ValueError(
            f"{name} has shape {np.shape(array)}, X has {n} rows: pass one label per row"
        )
    codes, _ = pd.factorize(array, sort=False)
    if (codes < 0).any():
        raise ValueError(
            f"{name} has {(codes < 0).sum()} missing labels, the first at position "
            f"{np.flatnonzero(codes < 0)[0]}; give every row a label"
        )
    return codes


def _given(cv, n):
    """Pairs, or fold ids: each label's rows are left out once, in the order of the labels."""
    refuse_masked(cv, "cv")
    items = list(cv)
    scalar = pd.api.types.is_scalar
    if items and all(
        isinstance(item, (tuple, list))
        and len(item) == 2
        and not scalar(item[0])
        and not scalar(item[1])
        for item in items
    ):
        return items
    if not items or not all(scalar(item) for item in items):
        raise TypeError(f"cv={type(cv).__name__} of {len(items)} items: {WHAT}")
    ids = _labels(
        cv if isinstance(cv, (pd.Series, pd.Categorical, np.ndarray)) else np.array(items),
        n,
        "cv (fold ids)",
    )
    if ids.max() < 1:
        raise ValueError("cv (fold ids) names one fold only; give at least two")
    first = pd.Series(items).drop_duplicates()
    try:
        order = np.argsort(first.to_numpy(), kind="stable")
    except TypeError:
        order = np.arange(len(first))
    return [(np.flatnonzero(ids != code), np.flatnonzero(ids == code)) for code in order]


def _rows(value, n, i, what):
    """Row indices of a fold from indices or a mask."""
    refuse_masked(value, f"cv (the {what} rows of fold {i})")
    rows = np.asarray(value)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise ValueError(
            f"fold {i}: the {what} rows must be a non-empty vector of row indices or a mask of {n} "
            f"rows, got {value!r}"
        )
    if rows.min() < -n or rows.max() >= n:
        raise ValueError(
            f"fold {i}: the {what} rows go from {rows.min()} to {rows.max()}, X has rows 0..{n - 1}"
        )
    return rows.astype(np.int64) % n


def _check_fold(i, train, test, data):
    """A fold must be able to fit and to score."""
    weights = data.weights[train]
    if not (weights > 0).any() or not (data.weights[test] > 0).any():
        raise ValueError(
            f"fold {i} has no {'held-out' if (weights > 0).any() else 'training'} row of positive "
            "weight; choose other folds"
        )
    y = data.y[train][weights > 0]
    if data.loss.traits.response == "survival":
        for what, rows in (("training", train), ("held-out", test)):
            if not data.weights[rows] @ data.y[rows] > 0:
                raise ValueError(
                    f"fold {i}: the {what} rows have no event; use fewer folds, which an integer "
                    "cv stratifies by events, or sklearn.model_selection.StratifiedKFold"
                )
    if data.loss.traits.response == "ordered":
        lost = np.setdiff1d(np.arange(len(data.classes)), y)
        if lost.size:
            raise ValueError(
                f"fold {i}: the training rows have none of the class "
                f"{shown(data.classes[lost[0]])}; stratify the folds, or use fewer"
            )
        return
    if data.loss.traits.by_class and not y.any(axis=0).all():
        missing = data.classes[int(np.flatnonzero(~y.any(axis=0))[0])]
        raise ValueError(
            f"fold {i}: the training rows have none of the class {shown(missing)}; stratify the "
            "folds, or use fewer"
        )
    if y.ndim == 1 and data.classes is not None and (np.all(y > 0) or np.all(y < 0)):
        raise ValueError(
            f"fold {i}: the training rows have one class only, "
            f"{shown(data.classes[int(y[0] > 0)])}; stratify the folds: an integer cv does, or "
            "sklearn.model_selection.StratifiedKFold"
        )
    if y.ndim == 1 and without_mean(data.loss, weights @ data.y[train]):
        raise ValueError(
            f"fold {i}: y is zero in every training row, so loss={name_of(data.loss)!r} has no "
            "finite intercept there; use fewer folds"
        )
