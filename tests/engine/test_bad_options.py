"""Options that are wrong, and models that are not on a path, are refused with a message that names
the argument and the remedy.
"""

import numpy as np
import pytest
from small_data import N, P, X, Y, Z, assert_refused, with_entry

import l0path

WRONG = {
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
    "penalty": (dict(**{"penalty": "L0L2"}), TypeError, 'penalty.*lambda2="grid"'),
    "grid": (dict(**{"grid": "lambda0"}), TypeError, 'grid.*lambda0="grid"'),
    "gamma": (dict(gamma=0.5), TypeError, r"gamma.*SmoothedHinge\(width="),
    "delta": (dict(delta=2.0), TypeError, r"delta.*Huber\(delta="),
    "tol": (dict(tol=1e-6), TypeError, r"tol.*LocalSearch\(tol="),
    "lambda_scale": (dict(lambda_scale="l0learn"), TypeError, "lambda_scale.*l0learn_scale"),
    "family": (dict(family="poisson"), TypeError, "family.*loss="),
    "weights": (dict(weights=np.ones(N)), TypeError, "weights.*sample_weight="),
    "a near miss": (dict(feature_name=["a"]), TypeError, "did you mean feature_names="),
    "a loss as a class": (dict(loss=l0path.losses.Huber), TypeError, r"pass a record: Huber\(\)"),
    "unknown lambda2": (dict(lambda2="auto"), ValueError, 'lambda2="auto" is for .*cv_fit.*"grid"'),
    "unknown algorithm": (dict(algorithm="simplex"), ValueError, "algorithm='simplex'.*'swap'"),
    "algorithm a number": (dict(algorithm=3), TypeError, "algorithm=3"),
    "certify": (dict(certify="yes"), TypeError, "certify='yes' must be True, False or 'auto'"),
    "k negative": (dict(k=-1), ValueError, "k=-1"),
    "k fractional": (dict(k=1.5), ValueError, "k=1.5"),
    "k bool": (dict(k=True), ValueError, "k=True"),
    "k text": (dict(k="5"), ValueError, "k='5'"),
    "k empty": (dict(k=[]), ValueError, "k=.* is empty"),
    "k ragged": (dict(k=[1, [2, 3]]), ValueError, "k="),
    "k above max_k": (dict(k=4, max_k=2), ValueError, "max_k=2 is below"),
    "k and lambda0": (dict(k=3, lambda0=[0.1]), ValueError, "k= and lambda0="),
    "k on a lambda0 grid": (dict(k=3, lambda0="grid"), ValueError, "k= and lambda0="),
    "max_k negative": (dict(max_k=-1), ValueError, "max_k=-1"),
    "max_k text": (dict(k=2, max_k="3"), ValueError, "max_k='3'"),
    "lambda0 negative": (dict(lambda0=-0.1), ValueError, "lambda0=-0.1"),
    "lambda0 empty": (dict(lambda0=[]), ValueError, r"lambda0=\[\]"),
    "lambda0 text": (dict(lambda0="max"), ValueError, "lambda0='max'"),
    "lambda1 negative": (dict(lambda1=[0.1, -0.1]), ValueError, "lambda1="),
    "lambda2 negative": (dict(lambda2=-1), ValueError, "lambda2=-1"),
    "lambda2 nan": (dict(lambda2=np.nan), ValueError, "lambda2=nan"),
    "lambda2 inf": (dict(lambda2=np.inf), ValueError, "lambda2=inf"),
    "time_limit negative": (dict(time_limit=-1), ValueError, "time_limit=-1"),
    "n_jobs zero": (dict(n_jobs=0), ValueError, "n_jobs=0"),
    "n_jobs text": (dict(n_jobs="all"), (ValueError, TypeError), "n_jobs='all'"),
    "random_state text": (dict(random_state="a"), ValueError, "random_state='a'"),
    "random_state negative": (dict(random_state=-1), ValueError, "random_state=-1"),
    "on_solution not callable": (dict(on_solution=5), TypeError, "on_solution=5"),
    "fit_intercept text": (dict(fit_intercept="no"), TypeError, "fit_intercept='no'"),
    "standardize a vector": (dict(standardize=np.ones(N)), TypeError, "standardize="),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_refused_by_name(name):
    assert_refused(*WRONG[name])


def test_selectors_name_what_is_missing():
    path, slices, grid = (
        l0path.fit(X, Y, k=[0, 2, 4]),
        l0path.fit(X, Y, lambda2=[0.1, 1.0], max_k=3),
        l0path.fit(X, Y, lambda0=[0.5, 0.05], max_k=3),
    )
    for select in (path.select, path.model, path.support, path.coef):
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
