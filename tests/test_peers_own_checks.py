"""What the tests of other packages ask of those packages, asked of this one: L0Learn (two designs
on which coordinate descent fails and exchanges recover the truth, noiseless data, bounds), abess
(truth and reference coefficients, every family), ncvreg and grpreg (optima without a penalty, as
lm, glm and coxph; constant columns and groups), leaps (the table of salaries in "An Introduction
to Statistical Learning").

Designs and sizes are those of their tests, the draws are ours. What cannot hold: L0Learn's and
abess's tests of their own options, and those of shrinkage penalties (MCP, SCAD, group bridge).
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from lazy import lazy
from thinning import thinned

import l0path
from l0path import simulate

sm = lazy("statsmodels.api")
PHReg = lazy("statsmodels.duration.hazard_regression", "PHReg")
OrderedModel = lazy("statsmodels.miscmodels.ordinal_model", "OrderedModel")

# The best subsets of 1 to 8 features of the salaries of baseball players by the R package leaps
# (regsubsets), as printed in James, Witten, Hastie & Tibshirani (2021), section 6.5.1
LEAPS = {
    1: "CRBI",
    2: "Hits CRBI",
    3: "Hits CRBI PutOuts",
    4: "Hits CRBI Division_W PutOuts",
    5: "AtBat Hits CRBI Division_W PutOuts",
    6: "AtBat Hits Walks CRBI Division_W PutOuts",
    7: "Hits Walks CAtBat CHits CHmRun Division_W PutOuts",
    8: "AtBat Hits Walks CHmRun CRuns CWalks Division_W PutOuts",
}


def noiseless(classes=False):
    """100 rows, 1000 features, the sum of the first ten without noise, or its sign."""
    X = np.random.default_rng(1).standard_normal((100, 1000))
    y = X[:, :10].sum(axis=1)
    return X, np.sign(y) if classes else y


def high_correlation(n, p, k):
    """Features with the correlation 0.95^|i - j|, y the sum of every (p / k)-th without noise."""
    return simulate.linear(n, p, k, rho=0.95, snr=np.inf, random_state=1)


def test_noiseless_data_give_the_true_coefficients():
    X, y = noiseless()
    model = l0path.fit(X, y, max_k=15)[10]
    assert sorted(model.support) == list(range(10))
    np.testing.assert_allclose(model.coef, np.r_[0.0, np.ones(10)], atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_noiseless_classes_are_all_right(loss):
    X, y = noiseless(classes=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l0path.errors.SeparationWarning)  # the logistic path ends
        path = l0path.fit(X, y, loss=loss, max_k=12)
    assert (np.asarray(path[len(path) - 1].predict(X, type="class")) == y).all()


def test_exchanges_recover_what_coordinate_descent_misses():
    data = high_correlation(200, 1000, 25)
    truth = sorted(np.flatnonzero(data.beta))
    assert sorted(l0path.fit(data.X, data.y, max_k=25)[25].support) == truth
    descent = l0path.fit(data.X, data.y, algorithm="cd", max_k=25)
    assert sorted(descent[25].support) != truth


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_exchanges_recover_classes_of_high_correlation(loss):
    # without a ridge these classes are separated by fewer features than the truth has, so the
    # optima of all sizes beyond are ties; L0Learn's test has the ridge of its default in it
    data = high_correlation(1000, 500, 10)
    y = np.sign(data.y)
    path = l0path.fit(data.X, y, loss=loss, lambda2=1e-4, max_k=10)
    assert sorted(path[10].support) == sorted(np.flatnonzero(data.beta))


@pytest.mark.parametrize(
    ("shrinkage", "loss"),
    thinned(
        2, [{}, {"lambda1": 1e-3}, {"lambda2": 1e-3}], ["squared", "logistic", "squared_hinge"]
    ),
)
def test_bounds_hold(loss, shrinkage):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((100, 500)) < 0.15, rng.standard_normal((100, 500)), 0.0)
    y = X[:, :10].sum(axis=1) + rng.standard_normal(100)
    y = y if loss == "squared" else np.sign(y)
    path = l0path.fit(
        X, y, loss=loss, lower=-0.04, upper=0.05, fit_intercept=False, max_k=8, **shrinkage
    )
    coef = path.coef(full=True).to_numpy()
    assert coef.min() >= -0.04 - 1e-12
    assert coef.max() <= 0.05 + 1e-12


@pytest.mark.parametrize(
    ("lower", "upper"), [(np.nan, 1.0), (0.0, np.nan), (1.0, 0.0), (1.0, 2.0), (-2.0, -1.0)]
)
def test_bounds_that_are_none_are_refused(lower, upper):
    X, y = noiseless()
    with pytest.raises(ValueError, match=r"lower|upper|bound"):
        l0path.fit(X[:, :20], y, lower=lower, upper=upper)


def recovered(cv, truth):
    """The model of the true size has the true features; its refit's coefficients."""
    model = cv.model(k=len(truth))
    assert sorted(model.support) == truth
    return model


def test_abess_gaussian():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 50))
    y = X[:, [3, 17, 40]] @ [5.0, -20.0, 12.0] + rng.standard_normal(100)
    path = l0path.fit(X, y)
    assert path.model("ebic").k == 3
    model = recovered(path, [3, 17, 40])
    ols = sm.OLS(y, sm.add_constant(X[:, [3, 17, 40]])).fit()
    np.testing.assert_allclose(model.coef, ols.params, rtol=1e-9)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(50)]).assign(y=y)
    by_formula = l0path.fit("y ~ .", data=frame)
    assert list(by_formula[3].features) == ["x3", "x17", "x40"]


def test_abess_binomial():
    data = simulate.logistic(150, 100, 3, beta=2.0, random_state=1)
    truth = sorted(np.flatnonzero(data.beta))
    model = recovered(l0path.fit(data.X, data.y, loss="logistic", max_k=8), truth)
    glm = sm.GLM(data.y > 0, sm.add_constant(data.X[:, truth]), sm.families.Binomial()).fit(
        tol=1e-12
    )
    np.testing.assert_allclose(model.coef, glm.params, rtol=1e-6)


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_abess_counts_and_amounts(family):
    draw = getattr(simulate, family)
    data = draw(200, 100, 3, beta=0.5, random_state=78)
    truth = sorted(np.flatnonzero(data.beta))
    model = recovered(l0path.fit(data.X, data.y, loss=family, max_k=8), truth)
    kind = {
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(sm.families.links.Log()),
    }[family]
    glm = sm.GLM(data.y, sm.add_constant(data.X[:, truth]), kind).fit(tol=1e-12, maxiter=200)
    np.testing.assert_allclose(model.coef, glm.params, rtol=1e-6)


def survival_times(n, p, rng):
    """Proportional hazards of three of p features, censored uniformly."""
    X = rng.standard_normal((n, p))
    time = rng.exponential(size=n) * np.exp(-X[:, :3] @ [1.5, -1.5, 1.0])
    limit = rng.uniform(0, 3, n)
    return X, np.minimum(time, limit), time < limit


def test_abess_cox():
    X, time, event = survival_times(200, 20, np.random.default_rng(2))
    model = recovered(l0path.fit(X, np.column_stack([time, event]), loss="cox"), [0, 1, 2])
    reference = PHReg(time, X[:, :3], status=event, ties="efron").fit()
    np.testing.assert_allclose(model.coef, reference.params, rtol=1e-6)


def test_abess_several_responses():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 10))
    B = np.zeros((10, 3))
    B[[1, 4, 8]] = rng.uniform(2, 6, (3, 3))
    Y = X @ B + rng.standard_normal((30, 3))
    path = l0path.fit(X, Y)
    assert sorted(path[3].support) == [1, 4, 8]
    ols = np.linalg.lstsq(sm.add_constant(X[:, [1, 4, 8]]), Y, rcond=None)[0]
    np.testing.assert_allclose(path.coef(k=3), ols, rtol=1e-9)


def test_abess_several_classes():
    # abess skips this test of its own; 600 x 100 as there
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 100))
    B = np.zeros((100, 3))
    B[[5, 50, 90]] = 2.5 * np.array([[1, 0, -1], [-1, 1, 0], [0, -1, 1]])
    share = np.exp(X @ B)
    share /= share.sum(axis=1, keepdims=True)
    y = (rng.random((600, 1)) > share.cumsum(axis=1)).sum(axis=1)
    path = l0path.fit(X, y, loss="multinomial", max_k=6)
    assert sorted(path[3].support) == [5, 50, 90]
    reference = sm.MNLogit(y, sm.add_constant(X[:, [5, 50, 90]])).fit(disp=False, tol=1e-12)
    coef = path.coef(k=3, baseline=0).to_numpy()
    np.testing.assert_allclose(coef[:, 1:], reference.params, rtol=1e-5)


def test_abess_ordered_classes():
    data = simulate.ordinal(300, 50, 3, beta=1.5, random_state=2)
    truth = sorted(np.flatnonzero(data.beta))
    model = recovered(l0path.fit(data.X, data.y, loss="ordinal", max_k=8), truth)
    codes = pd.Categorical(data.y, ordered=True)
    reference = OrderedModel(codes, data.X[:, truth], distr="logit")
    reference = reference.fit(method="bfgs", disp=False, gtol=1e-9, maxiter=500)
    np.testing.assert_allclose(model.coef.iloc[-3:], reference.params[:3], rtol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_all_features_are_the_fit_without_a_penalty(loss):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 10))
    y = {
        "squared": rng.standard_normal(200),
        "logistic": (rng.random(200) < 0.5).astype(float),
        "poisson": rng.poisson(1.0, 200).astype(float),
    }[loss]
    family = {
        "squared": sm.families.Gaussian(),
        "logistic": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
    }[loss]
    glm = sm.GLM(y, sm.add_constant(X), family).fit(tol=1e-12)
    path = l0path.fit(X, y, loss=loss)
    model = path[10]
    np.testing.assert_allclose(model.coef, glm.params, rtol=1e-6, atol=1e-9)
    # as statsmodels, which does not count the variance of the squared loss; R's AIC is 2 larger
    assert path.score_table()["aic"].iloc[10] == pytest.approx(glm.aic, rel=1e-9)


def test_all_features_of_a_cox_model_are_the_fit_without_a_penalty():
    rng = np.random.default_rng(3)
    X, time, event = (
        rng.standard_normal((100, 10)),
        rng.exponential(size=100),
        rng.random(100) < 0.5,
    )
    reference = PHReg(time, X, status=event, ties="efron").fit()
    model = l0path.fit(X, np.column_stack([time, event]), loss="cox")[10]
    np.testing.assert_allclose(model.coef, reference.params, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("broken", ["constant column", "constant group", "equal columns"])
def test_groups_without_full_rank_fit_as_least_squares(broken):
    rng = np.random.default_rng(7)
    groups = np.repeat([0, 1, 2, 3], [4, 3, 2, 1])
    X = rng.standard_normal((50, 10))
    y = rng.standard_normal(50)
    if broken == "constant column":
        X[:, 4] = 0.0
    elif broken == "constant group":
        X[:, groups == 2] = 0.0
    else:
        X[:, 6] = X[:, 5]
    path = l0path.fit(X, y, groups=groups)
    A = sm.add_constant(X, has_constant="add")
    least = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    best = min(((y - np.asarray(m.predict(X))) ** 2).sum() for m in path)
    assert best == pytest.approx(least @ least, rel=1e-9)


def test_noiseless_orthogonal_groups():
    X = np.vstack([np.eye(8), -np.eye(8)]) * np.sqrt(8)
    beta = np.repeat([-1.0, 2.0], 4)
    path = l0path.fit(X, X @ beta, groups=np.repeat([0, 1], 4))
    assert sorted(path[1].support) == [4, 5, 6, 7]
    np.testing.assert_allclose(path[2].coef, np.r_[0.0, beta], atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "cox"])
def test_constant_columns_are_never_chosen(loss):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((50, 10))
    X[:, 2:5] = 0.0
    y = {
        "squared": rng.standard_normal(50),
        "logistic": rng.random(50) > 0.5,
        "poisson": rng.poisson(1.0, 50),
        "cox": np.column_stack([rng.exponential(size=50), rng.random(50) < 0.8]),
    }[loss]
    path = l0path.fit(X, y, loss=loss)
    assert not {2, 3, 4} & {j for model in path for j in model.support}


def test_leaps_table_of_the_salaries():
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X, data.y, max_k=8)
    assert {k: " ".join(path[k].features) for k in LEAPS} == LEAPS
