"""X, y and the loss as the estimators take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ..core.tables import pandas_of
from ..designs.build import is_date
from ..designs.checks import DATES
from ..designs.protocol import is_design
from ..problem.families.own import take_undecorated
from ..problem.families.trials import in_two_columns
from ..problem.losses import SURVIVAL, canonical_name
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
    if times or (isinstance(loss, str) and loss in SURVIVAL):
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
    if options.get("y_numeric") and np.asarray(y[0]).dtype.kind in "OU" and _has_text(y[0]):
        raise ValueError(
            f"y holds text, and {type(estimator).__name__} needs numbers; take "
            "l0path.L0Classifier for classes"
        )
    try:
        found = validate_data(estimator, X, *y, accept_sparse=SPARSE_FORMATS, **options)
        array = found[0] if y else found
        if array.dtype == object:  # scikit-learn lets categories and strings of pandas pass
            array.astype(float)
    except (TypeError, ValueError) as error:
        # scikit-learn says what text is no number, and not where it stands
        table = pandas_of(X, "X")
        columns = list(table.items()) if isinstance(table, pd.DataFrame) else []
        text = [str(name) for name, column in columns if _has_text(column)]
        dates = [str(name) for name, column in columns if is_date(column.dtype)]
        if dates and not text:
            raise ValueError(
                f"X has columns that are not numbers: {', '.join(dates)}; {DATES}"
            ) from error
        if not text:
            raise
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(text)}; code them in a step before, "
            "such as make_column_transformer((OneHotEncoder(drop='first', sparse_output=False), "
            f"{text}), remainder='passthrough')"
        ) from error
    return found


def _has_text(values):
    """Whether an entry is a text that is no number."""
    texts = [v for v in np.ravel(np.asarray(values, dtype=object)) if isinstance(v, str)]
    return bool(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").isna().any())


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
