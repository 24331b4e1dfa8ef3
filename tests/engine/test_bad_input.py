"""What is wrong is refused with a message that names the argument and the remedy; what is only odd
gets the right answer; inputs are left as they were.
"""

import warnings
from decimal import Decimal

import numpy as np
import oracles
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

import l0path
from l0path.errors import ConvergenceWarning, SeparationWarning

N, P = 40, 5


def data(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - 2 * X[:, 2] + rng.normal(size=n)


X, Y = data()
Z = np.where(Y > 0, 1, -1)


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


# -- odd, but answered


def test_constant_columns_are_never_chosen_and_noted():
    wide = np.column_stack([np.full(N, 0.1), X, np.zeros(N), np.full(N, 1e9)])
    for form in (wide, sp.csc_array(wide), wide.astype(np.float32)):
        path = l0path.fit(form, Y)
        assert path.table.k.max() == P and not {0, 6, 7} & set(path.support(k=P))
        assert "3 constant columns, never chosen: x0, x6, x7" in path.notes
    path = l0path.fit(np.column_stack([np.full(N, 0.1), X]), Y, always_include=0)
    assert (
        path.support(k=1).tolist()
        == l0path.fit(np.column_stack([np.zeros(N), X]), Y).support(k=1).tolist()
    )


def test_a_column_constant_on_the_weighted_rows_is_not_chosen():
    w = (np.arange(N) < 30).astype(float)
    path = l0path.fit(np.column_stack([X, np.where(w > 0, 3.0, Y)]), Y, sample_weight=w)
    assert 5 not in path.support(k=5) and any("x5" in note for note in path.notes)


def test_without_an_intercept_a_constant_column_is_a_column():
    path = l0path.fit(np.column_stack([X, np.full(N, 2.0)]), Y + 10, fit_intercept=False, max_k=1)
    assert path.support(k=1).tolist() == [5] and path.coef(k=1)["x5"] == pytest.approx(
        (Y + 10).mean() / 2
    )


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_one_of_equal_columns_stays_usable(loss):
    twice = np.column_stack([X[:, 2], X, X[:, 2], X[:, 0]])
    path = l0path.fit(twice, Y, loss=loss, max_k=8)
    assert path.table.k.max() == 5 and set(path.support(k=5)) == {0, 1, 2, 4, 5}
    assert path.notes[0].startswith("3 columns left out, which changes no optimum:")
    assert path.notes[0].endswith("x3 (equal to x0), x6 (equal to x0), x7 (equal to x1)")
    plain = l0path.fit(X, Y, loss=loss)
    np.testing.assert_allclose(path.table.objective, plain.table.objective, rtol=1e-9)


def test_equal_and_opposite_columns_may_both_be_forced_or_offered():
    both = np.column_stack([X, X[:, 0]])
    plain, forced = (
        l0path.fit(X, Y, always_include=0),
        l0path.fit(both, Y, always_include=[0, 5], max_k=4),
    )
    np.testing.assert_allclose(forced.table.objective, plain.table.objective, rtol=1e-9)
    mirrored = l0path.fit(np.column_stack([X, -X[:, 0]]), Y, max_k=6)
    np.testing.assert_allclose(
        mirrored.table.objective, l0path.fit(X, Y).table.objective, rtol=1e-9
    )
    assert mirrored.table.k.max() == 5 and any(
        "sizes end at k = 5" in note for note in mirrored.notes
    )


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(n):
    path = l0path.fit(X[:n], Y[:n])
    assert path.table.k.max() == n - 1 and path.model(k=0).intercept == pytest.approx(Y[:n].mean())
    assert l0path.fit(X[:2], Y[:2], max_k=5).model(k=1).objective == pytest.approx(0, abs=1e-25)


def test_one_column():
    path = l0path.fit(X[:, :1], Y)
    slope, intercept = np.polyfit(X[:, 0], Y, 1)
    assert path.coef(k=1).tolist() == pytest.approx([intercept, slope])


def test_sizes_beyond_columns_or_rows_are_cut_with_a_note():
    path = l0path.fit(X, Y, max_k=9)
    assert path.table.k.max() == 5 and any("max_k = 9 was cut to 5" in note for note in path.notes)
    path = l0path.fit(X, Y, k=[2, 9])
    assert path.table.k.tolist() == [2, 5] and any(
        "k = 9 is beyond the largest size" in note for note in path.notes
    )
    wide, y = data(1, 6, 20)
    path = l0path.fit(wide, y, max_k=15)
    assert (
        path.table.k.max() == 5
        and path.table.objective.iloc[-1] < 1e-15
        and any("sizes end at k = 5" in note for note in path.notes)
    )
    ridge = l0path.fit(wide, y, max_k=9, lambda2=0.1)
    assert ridge.table.k.max() == 9 and (np.diff(ridge.table.objective) < 0).all()
    assert l0path.fit(X, Y, k=0).table.k.tolist() == [0] and l0path.fit(
        X, Y, max_k=0
    ).table.k.tolist() == [0]
    assert l0path.fit(X, Y, exclude=range(P)).table.k.tolist() == [0]


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, -1e9 - 0.1])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_constant_response_ends_at_the_intercept(value, loss):
    path = l0path.fit(X[:37], np.full(37, value), loss=loss, delta=1.0)
    assert path.table.k.tolist() == [0] and path.model(k=0).intercept == pytest.approx(
        value, rel=1e-14
    )
    assert path.table.objective[0] <= 1e-25 * max(1.0, value**2)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_perfectly_fitted_response_ends_the_path(loss):
    path = l0path.fit(X, X @ [1, 2, 0, 0, 3.0] + 7, loss=loss, delta=1.0)
    assert path.table.k.tolist() == [0, 1, 2, 3] and path.support(k=3).tolist() == [0, 1, 4]
    assert path.coef(k=3).tolist() == pytest.approx([7, 1, 2, 3], rel=1e-12) and any(
        "k = 3" in note for note in path.notes
    )


def test_counts_with_negative_objectives_run_to_the_end():
    """exp(eta) - y eta is negative for large counts: that is no perfect fit."""
    rng = np.random.default_rng(2)
    for scale in (2.0, 13.8):
        y = rng.poisson(np.exp(0.3 * X[:, 0] + scale))
        path = l0path.fit(X, y, loss="poisson")
        assert (
            path.table.k.tolist() == list(range(P + 1))
            and path.table.objective[0] < 0
            and path.support(k=1).tolist() == [0]
        )
        for k, (value, support) in oracles.best_subsets(
            X, y, 1, loss="poisson", offset=np.full(N, scale)
        ).items():
            assert (
                path.model(k=k).objective == pytest.approx(value, rel=1e-10)
                and tuple(path.support(k=k)) == support
            )
    assert l0path.fit(X, np.full(N, 3), loss="poisson").table.k.tolist() == [0]


def test_counts_with_large_offsets():
    rng = np.random.default_rng(3)
    o = rng.choice([-8.0, 12.0], N)
    y = rng.poisson(np.exp(0.5 * X[:, 1] + o))
    path = l0path.fit(X, y, loss="poisson", offset=o, max_k=2)
    assert path.model(k=1).objective == pytest.approx(
        oracles.best_subsets(X, y, 1, loss="poisson", offset=o)[1][0], rel=1e-10
    )
    shifted = l0path.fit(X, y, loss="poisson", offset=o + 200, max_k=2)
    assert shifted.coef(k=1).to_numpy() == pytest.approx(
        path.coef(k=1).to_numpy() - [200, 0], rel=1e-8
    )


def test_rates_that_run_to_zero_give_a_warning_and_a_low_objective():
    group = (np.arange(N) < 8).astype(float)
    y = np.where(group > 0, 0, np.random.default_rng(4).poisson(3, N))
    with pytest.warns(SeparationWarning, match="rates"):
        path = l0path.fit(np.column_stack([X, group]), y, loss="poisson")
    (row,) = np.flatnonzero(path.table.status == "separated")
    assert (np.diff(path.table.objective[: row + 1]) < 0).all()
    assert 5 in path.support(index=int(row))
    assert len(path) > row + 1 and path.table["flags"][row + 1 :].str.contains("left_out").all()
    o = np.where(group > 0, -30.0, np.log(max(y[group == 0].mean(), 1)))
    assert (
        path.table.objective[row]
        <= oracles.objective(np.zeros((N, 1)), y, [0.0], loss="poisson", offset=o) + 1e-6
    )


# -- classes


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (False, True), (0, 1), (-1.5, 2.5), (3, 10)], ids=str
)
def test_labels_of_any_type_in_sorted_order(labels):
    y = np.asarray(labels)[(Z > 0).astype(int)]
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    assert path.classes == tuple(labels)
    same = l0path.fit(X, Z, loss="logistic", max_k=2)
    assert path.coef(k=2).tolist() == same.coef(k=2).tolist()
    agree = (path.predict(X, k=2, type="class") == y) == (same.predict(X, k=2, type="class") == Z)
    assert agree.all()


def test_category_order_rules_and_unused_categories_do_not_count():
    y = pd.Series(pd.Categorical(np.where(Z > 0, "a", "b"), categories=["z", "b", "a"]))
    path = l0path.fit(X, y, loss="logistic", max_k=2)
    assert (
        path.classes == ("b", "a")
        and path.coef(k=1).tolist() == l0path.fit(X, Z, loss="logistic", max_k=1).coef(k=1).tolist()
    )


def test_two_values_under_a_real_loss_are_noted():
    assert any("two values only" in note for note in l0path.fit(X, Z, max_k=1).notes)


SEPARATED = {
    "complete": (X[:, [0, 1]], np.where(X[:, 0] > 0, 1, -1)),
    "by two": (X[:, :2], np.where(X[:, 0] + X[:, 1] > 0, 1, -1)),
    "touching": (
        np.column_stack([np.r_[np.linspace(-2, 0, 20), np.linspace(0, 2, 20)], X[:, 1]]),
        np.repeat([-1, 1], 20),
    ),
    "one group": (
        np.column_stack([np.arange(N) < 8, X[:, 1]]),
        np.where(np.arange(N) < 8, 1, np.where(X[:, 3] > 0, 1, -1)),
    ),
}


@pytest.mark.parametrize("name", SEPARATED)
def test_a_separated_support_ends_the_path(name):
    """Kept at |eta| <= 30, flagged, one warning, the remedy in the status; shrinkage or a box goes
    on.
    """
    A, y = SEPARATED[name]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        path = l0path.fit(A, y, loss="logistic")
    assert [w.category for w in seen] == [SeparationWarning]
    last = path.table.iloc[-1]
    assert (
        last.status == "separated"
        and "separated" in last["flags"]
        and "lambda2=1e-3" in path.status
    )
    assert not path.table["flags"].iloc[:-1].str.contains("separated").any()
    for s in path.solutions:
        assert oracles.separated(A[:, s.support], y) == ("separated" in s.flags)
    eta = path.predict(A, index=-1, type="link")
    assert np.abs(eta).max() <= 30 * (1 + 1e-12) and last.objective < path.table.objective.iloc[-2]
    assert l0path.fit(A, y, loss="logistic", lambda2=1e-3).table.k.max() == 2
    boxed = l0path.fit(A, y, loss="logistic", lower=-3, upper=3)
    assert boxed.table.k.max() == 2 and not boxed.table["flags"].str.contains("separated").any()


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge", "hinge"])
def test_hinges_fit_separated_classes_perfectly(loss):
    A, y = SEPARATED["complete"]
    path = l0path.fit(A, y, loss=loss, **({"algorithm": "exact"} if loss == "hinge" else {}))
    last = path.model(k=1)
    assert path.table.k.tolist() == [0, 1] and last.objective <= 1e-12
    assert last.status == "converged" and "separated" not in last.flags
    assert path.status == "complete: k = 0..1" and "perfect" in " ".join(path.notes)


def test_a_bound_in_the_way_of_separation_is_respected():
    x = np.repeat([-1.0, 1.0], 20)
    path = l0path.fit(np.column_stack([x, X[:, 0]]), x, loss="logistic", upper=[0.5, np.inf])
    assert (
        path.table.k.tolist() == [0, 1, 2]
        and path.coef(k=2)["x0"] == pytest.approx(0.5)
        and (path.table.status == "converged").all()
    )
    with pytest.warns(SeparationWarning):
        free = l0path.fit(np.column_stack([x, X[:, 0]]), x, loss="logistic", lower=[0, -np.inf])
    assert free.table.k.tolist() == [0, 1] and free.coef(k=1)["x0"] == pytest.approx(30, rel=1e-6)


def test_an_offset_that_predicts_the_classes_is_no_separation():
    y = np.where(np.random.default_rng(8).random(N) > 0.5, 1, -1)
    path = l0path.fit(X[:, :3], y, loss="logistic", offset=4.0 * y)
    for k, (value, support) in oracles.best_subsets(
        X[:, :3], y, 3, loss="logistic", offset=4.0 * y
    ).items():
        assert (
            path.model(k=k).objective == pytest.approx(value, rel=1e-9)
            and tuple(path.support(k=k)) == support
        )
    assert (path.table.status == "converged").all()


def test_heavy_tails_are_no_separation():
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.normal(size=80), [1e3, -1e3, 2e3]])
    y = np.where(rng.random(83) < oracles.expit(2 * x), 1, -1)
    assert not oracles.separated(x[:, None], y)
    path = l0path.fit(x[:, None], y, loss="logistic")
    assert (path.table.status == "converged").all() and np.abs(
        path.predict(x[:, None], k=1, type="link")
    ).max() > 1000
    assert path.model(k=1).objective == pytest.approx(
        oracles.restricted(x[:, None], y, [0], loss="logistic")[0], rel=1e-9
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
@pytest.mark.parametrize("n", [16, 10_000])
def test_separation_of_some_rows_is_found_in_any_unit_and_number_of_rows(n, scale, intercept):
    """One level of a factor has one class, or no counts, alone: the loss of its rows falls to 0 for
    ever, that of the others has its optimum.
    """
    level = np.arange(n) < 4
    y = np.where(level, 1, np.arange(n) % 2)
    with pytest.warns(SeparationWarning, match="separate the classes"):
        path = l0path.fit(
            scale * level[:, None], y, loss="logistic", fit_intercept=intercept, standardize=False
        )
    last = path.model(index=-1)
    assert last.k == 1 and last.status == "separated" and last.optimality == "unverified"
    assert last.objective == pytest.approx(np.log(2) * (n - 4) / n, rel=1e-7)
    with pytest.warns(SeparationWarning, match="rates"):
        counts = l0path.fit(
            scale * level[:, None],
            np.where(level, 0, 1 + np.arange(n) % 2),
            loss="poisson",
            fit_intercept=intercept,
            standardize=False,
        )
    assert counts.table.status.tolist() == ["converged", "separated"]


@pytest.mark.parametrize(
    "loss", ["logistic", "poisson", "squared_hinge", "smoothed_hinge", "huber"]
)
def test_columns_of_very_different_units_need_no_standardisation(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    eta = 0.3 + X @ [1, -1, 0.5]
    y = (
        np.where(eta + rng.logistic(size=200) > 0, 1.0, -1.0)
        if loss in oracles.CLASSES
        else rng.poisson(np.exp(0.4 * eta)) * 1.0
        if loss == "poisson"
        else eta + rng.standard_t(2, size=200)
    )
    value, beta, intercept = oracles.restricted(X, y, range(3), loss=loss, standardize=False)
    units = np.array([1e5, 1e-5, 1.0])
    model = l0path.fit(X * units, y, loss=loss, standardize=False, delta=1.345).model(k=3)
    assert model.converged and model.objective == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(model.coef.to_numpy()[1:] * units, beta, rtol=1e-7)
    assert model.intercept == pytest.approx(intercept, abs=1e-7)


def test_curvature_that_rounding_hides_is_no_separation():
    """Ten genes and shuffled labels: the optimum is far out, where hardly a row is curved, but it
    is one.
    """
    data = l0path.datasets.load_srbct()
    rng = np.random.default_rng(5)
    y = [rng.permutation(np.where(data.y == "EWS", 1, -1)) for _ in range(9)][-1]
    A = data.X.to_numpy()[:, [207, 728, 836, 1112, 1137, 1271, 1375, 2111, 2180, 2239]]
    assert not oracles.separated(A, y)
    path = l0path.fit(A, y, loss="logistic", always_include=range(10), max_k=0)
    model = path.model(index=0)
    eta = model.predict(A, type="link")
    slopes = y / (1.0 + np.exp(y * eta))
    assert (
        "separated" not in model.flags
        and model.loss < 0.021
        and np.abs(np.column_stack([np.ones(len(y)), A / A.std(axis=0)]).T @ slopes).max() < 1e-6
    )


@pytest.mark.parametrize(
    ("n", "p", "k", "seed"), [(80, 400, 4, 3), (100, 300, 6, 3), (100, 300, 6, 4), (120, 600, 8, 0)]
)
def test_separated_supports_come_before_others(n, p, k, seed):
    """A support whose loss falls to zero is the best of its size, however large the loss where its
    coefficients stop.
    """
    s = l0path.simulate.logistic(
        n, p, k, scale=1000, random_state=seed, correlation="constant", rho=0.3
    )
    with pytest.warns(SeparationWarning):
        path = l0path.fit(s.X, s.y, loss="logistic", max_k=n // 3)
    found = path.table[path.table.status == "converged"]
    assert (
        (np.diff(found.loss) < 0).all()
        and len(found) == len(path) - 1
        and path.status.startswith(f"ended at k = {len(path) - 1}")
    )
    assert oracles.separated(
        s.X[:, path.support(index=-1)], np.where(s.y == path.classes[1], 1, -1)
    )


def test_equal_forced_columns_are_no_separation():
    path = l0path.fit(
        np.column_stack([X, X[:, 0]]),
        np.where(X[:, 3] + np.sin(9 * X[:, 1]) > 0, 1, -1),
        loss="logistic",
        always_include=[0, 5],
        max_k=3,
    )
    assert (path.table.status == "converged").all()


# -- selectors


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


# -- innocence and fuzz


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


JUNK = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2,
        3,
        0.0,
        0.5,
        -0.5,
        1e-9,
        1e9,
        np.nan,
        np.inf,
        -np.inf,
        "",
        "a",
        "x1",
        "balanced",
        [],
        [0],
        [1, 2],
        [0.1, 0.2],
        ["x0"],
        {},
        {"x1": 0.5},
        {1: 2.0},
        (),
        b"x",
        Decimal(1),
        1j,
        object,
        np.ones(N),
        np.zeros(N),
        np.arange(N),
        -np.ones(N),
        np.full(N, 1e9),
        np.ones(P),
        np.zeros(P),
        np.ones((2, 2)),
        [None],
        range(3),
        pd.Series(np.ones(N)),
        np.array("a"),
    ]
)
FUZZED = [
    "loss",
    "penalty",
    "algorithm",
    "grid",
    "k",
    "max_k",
    "n_lambda0",
    "lambda0",
    "lambda1",
    "lambda2",
    "n_shrink",
    "fit_intercept",
    "standardize",
    "sample_weight",
    "class_weight",
    "offset",
    "lower",
    "upper",
    "always_include",
    "exclude",
    "penalty_factor",
    "groups",
    "feature_names",
    "gamma",
    "delta",
    "lambda_scale",
    "tol",
    "max_iter",
    "random_state",
]
PLAUSIBLE = {
    "loss": ["squared", "huber", "logistic", "poisson", "smoothed_hinge"],
    "penalty": ["L0L2", "L0L1"],
    "algorithm": ["swap", "cd", "CDPSI"],
    "grid": ["lambda0"],
    "lambda0": [0.1, 0.0],
    "max_k": [2],
    "n_shrink": [2],
}


@st.composite
def arguments(draw):
    names = draw(st.lists(st.sampled_from(FUZZED), max_size=4, unique=True))
    return {
        name: draw(st.one_of(JUNK, st.sampled_from(PLAUSIBLE[name])) if name in PLAUSIBLE else JUNK)
        for name in names
    }


RESPONSES = {
    "real": Y,
    "classes": Z,
    "counts": np.arange(N) % 4,
    "constant": np.ones(N),
    "strings": np.array(["a", "b"] * 20),
    "wild": 1e8 * Y,
    "short": Y[:3],
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(arguments(), st.sampled_from(sorted(RESPONSES)))
def test_junk_is_refused_politely_or_answered_rightly(given_arguments, response):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            path = l0path.fit(
                X, RESPONSES[response], **{"max_k": 3, "n_shrink": 2} | given_arguments
            )
        except (ValueError, TypeError, LookupError) as caught:
            error = caught
        else:
            error = None
        if error is not None:
            assert type(error) in (ValueError, TypeError, LookupError), repr(
                error
            )  # not IndexError, KeyError, LinAlgError, UnicodeError ...
            assert any(word in str(error) for word in (*FUZZED, "y ", "X ", "y=")), (
                f"names no argument: {error}"
            )
            return
        for i in range(len(path)):
            assert path.objective(index=i) == pytest.approx(
                path.solutions[i].objective,
                rel=1e-9,
                abs=1e-12 * max(abs(path.meta.null_loss), 1e-300),
            )
