"""X, y and the loss as the estimators take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ..core.tables import pandas_of
from ..designs.protocol import is_design
from ..problem.families.own import take_undecorated
from ..problem.families.trials import in_two_columns
from ..problem.losses import canonical_name
from ..problem.specified import told_apart

SPARSE_FORMATS = ("csc", "csr")  # formats taken as they are


def loss_named(loss):
    """The own name of a loss of regressors and classifiers, ordered classes among them."""
    loss = told_apart(loss)[0]
    take_undecorated(loss)
    return canonical_name(loss, exact=True)


def refuse_responses(loss, y, classes):
    """Refuse times and events, and counts in two columns, in a regressor or (classes) a
    classifier.
    """
    loss = told_apart(loss)[0]
    times = isinstance(y, np.ndarray) and y.dtype.names
    if times or (isinstance(loss, str) and loss == "cox"):
        what = f"y has the fields {', '.join(y.dtype.names)}" if times else f"loss={loss!r}"
        raise ValueError(
            f"{what}: survival times are for l0path.L0Survival and l0path.L0SurvivalCV"
        )
    if not classes and isinstance(loss, str) and loss == "binomial" and in_two_columns(y):
        raise ValueError(
            "y has 2 columns, and estimators take one: pass the shares, successes / (successes + "
            "failures), with the numbers of trials as sample_weight (the model is the same; for "
            "criteria and standard errors pass trials= to l0path.fit)"
        )


def categories_of(y):
    """The category dtype of labels, which holds their order; None for other types."""
    y = pandas_of(y, "y")
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    kind = getattr(y, "dtype", None)
    return kind if isinstance(kind, pd.CategoricalDtype) else None


def checked(estimator, X, *y, **options):
    """scikit-learn's `validate_data`, which would take a design for a number."""
    if is_design(X):
        raise TypeError(
            f"X is a design ({type(X).__name__}), whose rows scikit-learn cannot take apart; pass "
            f"{type(estimator).__name__} an array, a DataFrame or a sparse matrix, or the design "
            "to l0path.fit or l0path.cv_fit"
        )
    return validate_data(estimator, X, *y, accept_sparse=SPARSE_FORMATS, **options)


def without_column(arguments, j):
    """The arguments of `fit` with the column j in exclude= too."""
    exclude = arguments["exclude"]
    if exclude is None or isinstance(exclude, (str, int, np.integer)):
        exclude = [] if exclude is None else [exclude]
    exclude = list(exclude)
    if exclude and all(isinstance(v, (bool, np.bool_)) for v in exclude):
        exclude = np.flatnonzero(exclude).tolist()
    return arguments | {"exclude": [*exclude, j]}


def column_of(X, j):
    """(n,) the column j of an array or a sparse matrix."""
    column = X[:, [j]]
    return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()
