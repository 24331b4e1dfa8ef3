"""X, y and weights that are wrong are refused with a message that names the argument and the
remedy; what is only odd gets the right answer; inputs are left as they were.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from small_data import FRAME, N, P, X, Y, Z, assert_refused, with_entry

import l0path

WRONG = {
    # X
    "nan in X": (
        dict(X=with_entry(with_entry(X, (3, 1), np.nan), (7, 4), np.inf)),
        ValueError,
        r"2 entries in 2 of 5 columns: x1 \(1\), x4 \(1\).*impute",
    ),
    "nan in a frame": (
        dict(X=FRAME.mask(np.arange(N)[:, None] < [0, 3, 0, 0, 1])),
        ValueError,
        r"b \(3\), e \(1\)",
    ),
    "nan in sparse": (dict(X=sp.csc_array(with_entry(X, (3, 1), np.nan))), ValueError, r"x1 \(1\)"),
    "no columns": (dict(X=np.ones((N, 0))), ValueError, "0 feature"),
    "no rows": (dict(X=np.ones((0, 3)), y=[]), ValueError, "0 sample"),
    "one dimension": (dict(X=X[:, 0]), ValueError, "reshape"),
    "three dimensions": (dict(X=X[:, :, None]), ValueError, "dimensions"),
    "complex X": (dict(X=X + 1j), TypeError, "Complex"),
    "strings in X": (dict(X=X.astype(str)), TypeError, "X has dtype"),
    "a linear operator": (
        dict(X=aslinearoperator(X)),
        TypeError,
        r"X is a MatrixLinearOperator.*columns cannot be read; pass .*X @ np.eye",
    ),
    "an object of its own": (dict(X=object()), TypeError, "it is of type object; pass a two-dim"),
    "object column": (
        dict(X=FRAME.assign(a=FRAME.a.astype(object))),
        TypeError,
        r"a \(object\).*astype\(float\).*formula",
    ),
    "category column": (
        dict(X=FRAME.assign(b=pd.Categorical(["u", "v"] * 20))),
        TypeError,
        r"b \(category\).*formula",
    ),
    "string column": (dict(X=FRAME.assign(b=["u", "v"] * 20)), TypeError, r"b \(str.*formula"),
    "dates": (dict(X=FRAME.assign(b=pd.Timestamp(0))), TypeError, r"b \(datetime"),
    "X is None": (dict(X=None), TypeError, "X has"),
    "X is a dict": (dict(X={"a": [1]}), TypeError, "X has"),
    "ragged rows": (dict(X=[[1, 2], [3]], y=[1, 2]), ValueError, "rows of equal length"),
    "formula": (
        dict(X="y ~ a", y=FRAME.to_numpy()),
        TypeError,
        "with a formula pass a pandas DataFrame",
    ),
    "huge X": (dict(X=X * 1e200), ValueError, "X.*rescale"),
    # y
    "nan in y": (dict(y=with_entry(Y, 4, np.nan)), ValueError, "y has 1 missing.*position 4"),
    "inf in y": (
        dict(y=with_entry(Y, 4, np.inf)),
        ValueError,
        "y contains NaN or infinity.*position 4",
    ),
    "NA in labels": (
        dict(y=pd.Series(["a", "b"] * 19 + ["a", None]), loss="logistic"),
        ValueError,
        "y has 1 missing.*position 39",
    ),
    "nan in classes": (
        dict(y=with_entry(Z, 2, np.nan), loss="logistic"),
        ValueError,
        "y has 1 missing",
    ),
    "inf in classes": (
        dict(y=with_entry(Z, Z < 0, np.inf), loss="logistic"),
        ValueError,
        "y contains NaN or infinity",
    ),
    "y missing": (dict(y=None), ValueError, "y is missing"),
    "y too short": (dict(y=Y[:-1]), ValueError, "X has 40 rows but y has 39"),
    "y too wide": (
        dict(y=np.column_stack([Y, Y]), loss="quantile"),
        ValueError,
        r"y has shape \(40, 2\)",
    ),
    "y two columns": (
        dict(y=pd.DataFrame({"u": Y, "v": Y}), loss="quantile"),
        ValueError,
        r"y has 2 columns.*y\['u'\]",
    ),
    "y a number": (dict(y=3.0), ValueError, "y has shape"),
    "y strings": (dict(y=["a", "b"] * 20), ValueError, "y has dtype.*loss='logistic'"),
    "y bool": (dict(y=Y > 0), ValueError, "y has dtype bool.*loss='logistic'"),
    "y category": (
        dict(y=pd.Series(["a", "b"] * 20, dtype="category")),
        ValueError,
        "y has dtype category.*loss='logistic'",
    ),
    "y complex": (dict(y=Y + 1j), ValueError, "y has dtype complex"),
    "y dates": (dict(y=pd.date_range("2020", periods=N)), ValueError, "y has dtype datetime"),
    "y huge": (dict(y=Y * 1e200), ValueError, "y.*rescale"),
    "y minute": (dict(y=Y * 1e-200), ValueError, "y.*rescale"),
    "counts below zero": (
        dict(y=np.arange(N) - 1, loss="poisson"),
        ValueError,
        "y has 1 negative.*counts >= 0",
    ),
    "no counts": (dict(y=np.zeros(N), loss="poisson"), ValueError, "y is zero in every row"),
    "no counts where weighted": (
        dict(y=np.arange(N) % 2, loss="poisson", sample_weight=(np.arange(N) + 1) % 2),
        ValueError,
        "y is zero in every row with positive weight",
    ),
    "one class": (dict(y=np.ones(N), loss="logistic"), ValueError, "one class only"),
    "one class where weighted": (
        dict(y=Z, loss="logistic", sample_weight=Z > 0),
        ValueError,
        "one class only on the rows with positive weight",
    ),
    "three classes": (
        dict(y=np.arange(N) % 3, loss="logistic"),
        ValueError,
        "3 classes.*multinomial.*`y == c`",
    ),
    "mixed labels": (
        dict(y=np.array(["a", 1] * 20, dtype=object), loss="logistic"),
        TypeError,
        r"y mixes labels.*y.astype\(str\)",
    ),
    # rows that do not match
    "index of y": (
        dict(X=FRAME, y=pd.Series(Y, index=range(1, N + 1))),
        ValueError,
        r"X and y have different indexes.*y.loc\[X.index\]",
    ),
    "index of weights": (
        dict(X=FRAME, sample_weight=pd.Series(1.0, index=range(1, N + 1))),
        ValueError,
        "X and sample_weight have different indexes",
    ),
    "indexes of y and weights": (
        dict(y=pd.Series(Y), sample_weight=pd.Series(1.0, index=range(1, N + 1))),
        ValueError,
        "y and sample_weight have different indexes",
    ),
    "index of offset": (
        dict(X=FRAME, offset=pd.Series(1.0, index=range(1, N + 1))),
        ValueError,
        "X and offset have different indexes",
    ),
    "weights too short": (dict(sample_weight=np.ones(39)), ValueError, "sample_weight has shape"),
    "offset too long": (dict(offset=np.ones(41)), ValueError, "offset has shape"),
    "offset wide": (dict(offset=X), ValueError, "offset has shape"),
    "counts without trials": (
        dict(loss="binomial", y=np.arange(N) % 5),
        ValueError,
        "y has values from 0 to 4; loss='binomial' takes two columns, successes and failures",
    ),
    "counts of other rows": (
        dict(loss="binomial", y=np.ones((N - 1, 2))),
        ValueError,
        "X has 40 rows but y has 39",
    ),
    "a class without weight": (
        dict(loss="ordinal", y=np.arange(N) % 3, sample_weight=(np.arange(N) % 3 != 1) * 1.0),
        ValueError,
        "no row of positive weight in the class 1; leave",
    ),
    # weights
    "nan in weights": (
        dict(sample_weight=with_entry(np.ones(N), 5, np.nan)),
        ValueError,
        "sample_weight contains NaN or infinity.*position 5",
    ),
    "inf in weights": (
        dict(sample_weight=with_entry(np.ones(N), 5, np.inf)),
        ValueError,
        "sample_weight contains NaN",
    ),
    "weights below zero": (
        dict(sample_weight=np.arange(N) - 2),
        ValueError,
        "sample_weight has 2 negative",
    ),
    "weights all zero": (
        dict(sample_weight=np.zeros(N)),
        ValueError,
        "sample_weight is zero in every row",
    ),
    "weights of text": (dict(sample_weight=["a"] * N), TypeError, "sample_weight must be numbers"),
    "complex weights": (
        dict(sample_weight=np.ones(N) + 0j),
        TypeError,
        "sample_weight must be numbers",
    ),
    "nan in offset": (
        dict(offset=with_entry(np.ones(N), 5, np.nan)),
        ValueError,
        "offset contains NaN or infinity.*position 5",
    ),
    "text as offset": (dict(offset="a"), TypeError, "offset='a' names a column, and X is"),
    "class_weight without classes": (
        dict(class_weight="balanced"),
        ValueError,
        "class_weight.*sample_weight",
    ),
    "class_weight unknown word": (
        dict(y=Z, loss="logistic", class_weight="auto"),
        ValueError,
        "class_weight='auto'.*'balanced'",
    ),
    "class_weight unknown label": (
        dict(y=Z, loss="logistic", class_weight={2: 1.0}),
        ValueError,
        "class_weight names 2.*-1 and 1",
    ),
    "class_weight zero": (
        dict(y=Z, loss="logistic", class_weight={1: 0.0}),
        ValueError,
        "class_weight.*positive",
    ),
    "class_weight text": (
        dict(y=Z, loss="logistic", class_weight={1: "a"}),
        TypeError,
        "class_weight",
    ),
    "class_weight a number": (
        dict(y=Z, loss="logistic", class_weight=3),
        TypeError,
        "class_weight=3.*dict",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_by_name(name):
    assert_refused(*WRONG[name])


@pytest.mark.parametrize(
    "form",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: a.astype(np.float32),
        sp.csc_array,
        sp.coo_array,
        lambda a: pd.DataFrame(a),
    ],
)
def test_inputs_are_never_changed(form):
    A, y, w, o, lower, upper, f = (
        form(X),
        Y.copy(),
        np.linspace(0, 2, N),
        np.linspace(-1, 1, N),
        np.full(P, -1.0),
        np.full(P, 1.0),
        np.array([0.5, 1, 1, 2, 1]),
    )
    inputs = [y, w, o, lower, upper, f]
    copies = [a.copy() for a in inputs]
    whole = A.copy()
    for a in inputs:
        a.flags.writeable = False
    for loss in ("squared", "huber"):
        l0path.fit(
            A,
            y,
            loss=loss,
            sample_weight=w,
            offset=o,
            lower=lower,
            upper=upper,
            penalty_factor=f,
            always_include=[1],
            lambda1=0.01,
            lambda2=0.01,
            max_k=3,
        )
    after, before = (a.toarray() if sp.issparse(a) else np.asarray(a) for a in (A, whole))
    assert np.array_equal(after, before) and type(A) is type(whole)
    assert all(np.array_equal(a, b) for a, b in zip(inputs, copies, strict=True))


def test_tiny_and_huge_weights_only_count_by_their_ratios():
    w = np.linspace(0.5, 2, N)
    base = l0path.fit(X, Y, sample_weight=w)
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(
            l0path.fit(X, Y, sample_weight=w * scale).details.objective,
            base.details.objective,
            rtol=1e-9,
        )
