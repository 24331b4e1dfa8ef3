"""What families take as responses and numbers, and what is refused."""

import numpy as np
import pytest
from family_samples import counted, drawn

import l0path
from l0path.problem.families.counts import theta_of


@pytest.mark.parametrize("seed", [2, 4, 12, 22, 28, 35])
def test_theta_is_not_where_the_score_is_rounding(seed):
    from scipy import stats

    rng = np.random.default_rng(seed)
    mean = np.exp(0.6 * rng.normal(size=100))
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + mean)).astype(float)
    log_theta = np.linspace(-3.0, 6.0, 901)[:, None]
    theta = np.exp(log_theta)
    likelihood = stats.nbinom.logpmf(y, theta, theta / (theta + mean)).sum(axis=1)
    best = float(log_theta[likelihood.argmax(), 0])
    assert np.log(theta_of(y, mean, np.full(100, 0.01))) == pytest.approx(best, abs=0.01)


def test_theta_is_that_of_maximum_likelihood_on_the_pilots_support():
    from scipy import optimize, stats

    X, y, more = drawn("negative_binomial", n=400)
    path = l0path.fit(X, y, max_k=3, **more)
    k = next(k for k in (2, 3) if set(path.support(k=k)) >= {1, 4} or k == 3)
    mean = path.predict(X, k=k)
    best = optimize.minimize_scalar(
        lambda t: -stats.nbinom.logpmf(y, np.exp(t), 1 / (1 + mean / np.exp(t))).sum(),
        bounds=(-3, 5), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    assert path.theta == pytest.approx(np.exp(best.x), rel=1e-4)
    assert "theta" in str(path.refit(k=2).model.exog_names) or path.refit(k=2).params.size == 4
    few = l0path.fit(X, np.random.default_rng(0).binomial(20, 0.5, 400), max_k=1, **more)
    assert few.theta == 1e8 and any("Poisson" in note for note in few.notes)


@pytest.mark.parametrize(
    ("loss", "bad", "words"),
    [
        ("gamma", 0.0, "loss='tweedie' takes zeros"),
        ("gamma", -1.0, "positive numbers"),
        ("negative_binomial", -1.0, "counts >= 0"),
        ("tweedie", -0.5, "numbers >= 0"),
    ],
)
def test_a_response_that_the_family_has_not_is_refused(loss, bad, words):
    X, y, more = drawn(loss)
    y[3] = bad
    with pytest.raises(ValueError, match=words):
        l0path.fit(X, y, max_k=1, **more)


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [
        ("NegativeBinomial", "theta", 0.0),
        ("Tweedie", "power", 1.0),
        ("Tweedie", "power", 2.5),
        ("Quantile", "level", 1.0),
        ("Quantile", "level", np.nan),
    ],
)
def test_numbers_out_of_range_are_refused(loss, name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        getattr(l0path.losses, loss)(**{name: value})


def test_shares_that_are_all_0_or_1_stay_shares():
    X, Y, _ = counted()
    trials = Y.sum(axis=1) + 1.0
    y = (X[:, 1] + 0.3 * X[:, 0] > 0).astype(float)
    path = l0path.fit(X, y, loss="binomial", trials=trials, max_k=1)
    columns = l0path.fit(X, np.c_[y * trials, (1 - y) * trials], loss="binomial", max_k=1)
    assert path.loss == "binomial" and path.score_table().equals(columns.score_table())
    cv = l0path.cv_fit(X, y, loss="binomial", trials=trials, max_k=1, cv=2, random_state=0)
    assert cv.path.loss == "binomial"
    with pytest.raises(ValueError, match="y is 0 in every row"):
        l0path.fit(X, 0.0 * y, loss="binomial", trials=trials, max_k=1)
    for classes, weights in ((y, None), (y, trials)):
        path = l0path.fit(X, classes, loss="binomial", sample_weight=weights, max_k=1)
        assert path.loss == "logistic"


def test_extreme_offsets_and_equal_counts_have_a_theta():
    X, Y, _ = counted()
    y, offset = Y[:, 0], np.zeros(len(Y))
    offset[3] = 500.0  # the mean squared is not finite
    path = l0path.fit(X, y, loss="negative_binomial", offset=offset, max_k=1)
    assert path.theta > 0 and path.table.converged.all()
    path = l0path.fit(X, np.ones(len(Y)), loss="negative_binomial", max_k=1)
    assert path.table.optimality.tolist() == ["global"]


def test_many_fractions_are_not_classes():
    X, *_ = counted()
    for loss in ("multinomial", "ordinal"):
        with pytest.raises(ValueError, match="90 different numbers, some of which are not whole"):
            l0path.fit(X, X[:, 0], loss=loss)
    halves = np.arange(90) % 7 / 2
    assert len(l0path.fit(X, halves, loss="ordinal", max_k=1, certify=False).classes) == 7
