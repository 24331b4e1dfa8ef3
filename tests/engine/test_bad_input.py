"""What is wrong is refused with a message that names the argument and the remedy; what is only odd
gets the right answer; inputs are left as they were.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from small_data import N, P, X, Y, Z

import l0path


def with_entry(a, at, value):
    out = np.array(a, dtype=float)
    out[at] = value
    return out


FRAME = pd.DataFrame(X, columns=list("abcde"))


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
        dict(y=np.column_stack([Y, Y]), loss="huber"),
        ValueError,
        r"y has shape \(40, 2\)",
    ),
    "y two columns": (
        dict(y=pd.DataFrame({"u": Y, "v": Y}), loss="huber"),
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
    # columns
    "crossed box": (
        dict(lower=with_entry(np.zeros(P), 2, 3.0), upper=with_entry(np.ones(P), 2, 1.0)),
        ValueError,
        "lower > upper.*x2: 3 > 1",
    ),
    "box without zero": (
        dict(lower={"x1": 0.5}),
        ValueError,
        r"bounds of x1, \[0.5, inf\], do not contain 0.*always_include",
    ),
    "box below zero": (dict(upper=-1.0), ValueError, "bounds of x0.*do not contain 0"),
    "a forced constant column with a box without zero": (
        dict(X=np.column_stack([np.ones(N), X[:, 1:]]), lower={"x0": 0.1}, always_include=["x0"]),
        ValueError,
        r"x0 is in always_include with bounds \[0.1, inf\].*constant.*take it out",
    ),
    "nan bound": (dict(lower=np.nan), ValueError, "lower contains NaN"),
    "infinite box": (dict(lower=np.inf, always_include=list(range(P))), ValueError, "lower.*x0"),
    "bound for no column": (dict(upper={"x9": 1.0}), ValueError, "upper: there is no column 'x9'"),
    "bounds too short": (
        dict(upper=[1.0, 2.0]),
        ValueError,
        "upper has shape.*one value per column",
    ),
    "text as bound": (dict(lower="low"), TypeError, "lower must be numbers"),
    "text as bound of a column": (dict(lower={"x1": "low"}), TypeError, "lower"),
    "unknown column in": (
        dict(always_include="x9"),
        ValueError,
        "always_include: there is no column 'x9'; the columns are x0",
    ),
    "unknown column out": (
        dict(exclude=[7]),
        ValueError,
        "exclude: column index 7 is out of range for p = 5",
    ),
    "odd column": (dict(exclude=[1.5]), TypeError, "exclude takes column names"),
    "a float as columns": (dict(exclude=1.5), TypeError, "exclude takes column names"),
    "mask too short": (
        dict(always_include=[True, False]),
        TypeError,
        "always_include.*mask of length p = 5",
    ),
    "in and out": (
        dict(always_include=[0, 1], exclude="x1"),
        ValueError,
        "always_include and exclude both name x1",
    ),
    "free and out": (
        dict(penalty_factor=[0, 1, 1, 1, 1], exclude="x0"),
        ValueError,
        "both name x0",
    ),
    "negative factor": (
        dict(penalty_factor=[-1, 1, 1, 1, 1]),
        ValueError,
        "penalty_factor must be >= 0",
    ),
    "nan factor": (
        dict(penalty_factor=[np.nan, 1, 1, 1, 1]),
        ValueError,
        "penalty_factor must be >= 0",
    ),
    "factors too short": (dict(penalty_factor=[1, 1]), ValueError, "penalty_factor has shape"),
    "names too few": (
        dict(feature_names=["a"]),
        ValueError,
        "feature_names has 1 names but X has 5",
    ),
    "names a number": (dict(feature_names=3), TypeError, "feature_names"),
    "groups": (dict(groups=[0, 0, 1]), ValueError, "groups has 3 labels, but X has p = 5 columns"),
    # choices and numbers
    "unknown keyword": (dict(lamda0=1.0), TypeError, "lamda0"),
    "unknown loss": (dict(loss="sqared"), ValueError, "loss='sqared'.*squared, logistic"),
    "hinge": (dict(y=Z, loss="hinge"), ValueError, "smoothed_hinge"),
    "loss a list": (dict(loss=["squared"]), ValueError, r"loss=\['squared'\]"),
    "loss None": (dict(loss=None), ValueError, "loss=None"),
    "unknown penalty": (dict(penalty="L1"), ValueError, "penalty='L1'.*L0L1L2"),
    "penalty a list": (dict(penalty=["L0"]), ValueError, r"penalty=\['L0'\]"),
    "unknown grid": (dict(grid="lambda"), ValueError, "grid='lambda'"),
    "grid a list": (dict(grid=["support"]), ValueError, "grid="),
    "unknown algorithm": (dict(algorithm="simplex"), ValueError, "algorithm='simplex'.*'swap'"),
    "algorithm a number": (dict(algorithm=3), TypeError, "algorithm=3"),
    "certify": (dict(certify="yes"), TypeError, "certify='yes' must be True, False or 'auto'"),
    "unknown scale": (dict(lambda_scale="glmnet"), ValueError, "lambda_scale='glmnet'"),
    "l0learn scale with weights": (
        dict(lambda_scale="l0learn", lambda0=[0.1], sample_weight=np.ones(N)),
        ValueError,
        "lambda_scale='l0learn'.*no weights",
    ),
    "k negative": (dict(k=-1), ValueError, "k=-1"),
    "k fractional": (dict(k=1.5), ValueError, "k=1.5"),
    "k bool": (dict(k=True), ValueError, "k=True"),
    "k text": (dict(k="5"), ValueError, "k='5'"),
    "k empty": (dict(k=[]), ValueError, "k=.* is empty"),
    "k ragged": (dict(k=[1, [2, 3]]), ValueError, "k="),
    "k above max_k": (dict(k=4, max_k=2), ValueError, "max_k=2 is below"),
    "k and lambda0": (dict(k=3, lambda0=[0.1]), ValueError, "k= and lambda0="),
    "k on a lambda0 grid": (dict(k=3, grid="lambda0"), ValueError, "k= needs grid='support'"),
    "max_k negative": (dict(max_k=-1), ValueError, "max_k=-1"),
    "max_k text": (dict(k=2, max_k="3"), ValueError, "max_k='3'"),
    "n_lambda0": (dict(n_lambda0=0), ValueError, "n_lambda0=0"),
    "n_shrink": (dict(penalty="L0L2", n_shrink=0), ValueError, "n_shrink=0"),
    "lambda0 negative": (dict(lambda0=-0.1), ValueError, "lambda0=-0.1"),
    "lambda0 empty": (dict(lambda0=[]), ValueError, r"lambda0=\[\]"),
    "lambda0 text": (dict(lambda0="max"), TypeError, "lambda0='max'"),
    "lambda1 negative": (dict(lambda1=[0.1, -0.1]), ValueError, "lambda1="),
    "lambda2 negative": (dict(lambda2=-1), ValueError, "lambda2=-1"),
    "lambda2 nan": (dict(lambda2=np.nan), ValueError, "lambda2=nan"),
    "lambda2 inf": (dict(lambda2=np.inf), ValueError, "lambda2=inf"),
    "tol zero": (dict(tol=0), ValueError, "tol=0"),
    "tol text": (dict(tol="small"), ValueError, "tol='small'"),
    "tol None": (dict(tol=None), ValueError, "tol=None"),
    "max_iter zero": (dict(max_iter=0), ValueError, "max_iter=0"),
    "time_limit negative": (dict(time_limit=-1), ValueError, "time_limit=-1"),
    "n_jobs zero": (dict(n_jobs=0), ValueError, "n_jobs=0"),
    "n_jobs text": (dict(n_jobs="all"), (ValueError, TypeError), "n_jobs='all'"),
    "random_state text": (dict(random_state="a"), ValueError, "random_state='a'"),
    "random_state negative": (dict(random_state=-1), ValueError, "random_state=-1"),
    "on_solution not callable": (dict(on_solution=5), TypeError, "on_solution=5"),
    "fit_intercept text": (dict(fit_intercept="no"), TypeError, "fit_intercept='no'"),
    "standardize a vector": (dict(standardize=np.ones(N)), TypeError, "standardize="),
    "gamma zero": (dict(y=Z, loss="smoothed_hinge", gamma=0), ValueError, "gamma=0"),
    "gamma text": (
        dict(y=Z, loss="smoothed_hinge", gamma="a"),
        (ValueError, TypeError),
        "gamma='a'",
    ),
    "delta negative": (dict(loss="huber", delta=-1), ValueError, "delta=-1"),
    "delta many": (dict(loss="huber", delta=[1, 2]), (ValueError, TypeError), r"delta=\[1, 2\]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_by_name(name):
    changed, error, message = WRONG[name]
    arguments = {"X": X, "y": Y} | changed
    with pytest.raises(error, match=message):
        l0path.fit(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_selectors_name_what_is_missing():
    path, slices, grid = (
        l0path.fit(X, Y, k=[0, 2, 4]),
        l0path.fit(X, Y, lambda2=[0.1, 1.0], max_k=3),
        l0path.fit(X, Y, lambda0=[0.5, 0.05], max_k=3),
    )
    for select in (path.index, path.model, path.support, path.coef):
        with pytest.raises(LookupError, match=r"k=3 is not on.*nearest sizes are k=2 and k=4"):
            select(k=3)
    with pytest.raises(LookupError, match=r"k=9.*nearest size is k=4"):
        path.model(k=9)
    with pytest.raises(LookupError, match=r"index=3.*rows 0..2"):
        path.model(index=3)
    with pytest.raises(LookupError, match=r"index=1.0"):
        path.model(index=1.0)
    with pytest.raises(
        LookupError,
        match=r"2; add slice=, lambda1= or lambda2=.*slice=0: lambda1=0, lambda2=1; slice=1: "
        r"lambda1=0, lambda2=0.1",
    ):
        slices.model(k=2)
    with pytest.raises(LookupError, match="slice=2 is not on the path"):
        slices.model(k=2, slice=2)
    with pytest.raises(LookupError, match=r"lambda2=0.2 is not on the path"):
        slices.model(k=2, lambda2=0.2)
    with pytest.raises((LookupError, TypeError), match="slice='a'"):
        slices.model(k=2, slice="a")
    with pytest.raises(
        LookupError, match=r"lambda0=0.1 is not on the path.*0.05 and 0.5.*lambda0=0.1"
    ):
        grid.model(lambda0=0.1)
    with pytest.raises((LookupError, TypeError), match="lambda0='a'"):
        grid.model(lambda0="a")
    with pytest.raises(LookupError, match="lambda0=-1"):
        path.model(lambda0=-1)
    with pytest.raises(TypeError, match=r"exactly one.*got k, index"):
        path.model(k=2, index=1)
    with pytest.raises(TypeError, match=r"exactly one.*got none"):
        path.model()
    with pytest.raises(TypeError, match=r"k=2.0 must be a whole number"):
        path.model(k=2.0)
    with pytest.raises(LookupError, match="returned 7"):
        path.model(lambda path: 7)
    with pytest.raises(LookupError, match="covers lambda0 >= "):
        l0path.fit(X, Y, max_k=2).model(lambda0=0.0)


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
            l0path.fit(X, Y, sample_weight=w * scale).table.objective,
            base.table.objective,
            rtol=1e-9,
        )
