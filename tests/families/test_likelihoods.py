"""Log-likelihoods of families against their densities, with the dispersion, or scale, of maximum
likelihood, and what criteria make of them.
"""

import numpy as np
import pandas as pd
import pytest
from family_samples import drawn
from scipy.optimize import minimize_scalar

import l0path


def test_likelihoods_have_the_dispersion_of_maximum_likelihood():
    from scipy import optimize, stats

    for loss in ("gamma", "negative_binomial"):
        X, y, more = drawn(loss)
        path = l0path.fit(X, y, max_k=2, **more)
        mean = path.predict(X, k=2)
        if loss == "gamma":
            top = -optimize.minimize_scalar(
                lambda nu, y=y, mean=mean: -stats.gamma.logpdf(y, nu, scale=mean / nu).sum(),
                bounds=(0.05, 50), method="bounded", options={"xatol": 1e-10},
            ).fun  # fmt: skip
        else:
            top = stats.nbinom.logpmf(
                y, path.loss.theta, path.loss.theta / (path.loss.theta + mean)
            ).sum()
        row = path.score_table().iloc[2]
        assert row.loglik == pytest.approx(top, rel=1e-9)
        assert row.df == 4 and row.aic == pytest.approx(2 * 4 - 2 * top)
        assert row.bic == pytest.approx(4 * np.log(y.size) - 2 * top)


@pytest.mark.parametrize(
    "loss", ["logistic", "poisson", "gamma", "negative_binomial", "tweedie", "quantile"]
)
def test_criteria_are_their_formulas_in_the_df_beside_them(loss):
    X, y, more = drawn(loss)
    table = l0path.fit(X, y, max_k=2, **more).score_table()
    n, formulas = table.attrs["n"], table.attrs["formulas"]
    known = {"log": np.log, "n": n, **{name: table[name] for name in ("loglik", "df")}}
    for name in ("aic", "bic"):
        np.testing.assert_allclose(table[name], eval(formulas[name], {}, known))


def test_weights_of_counts_in_two_columns_count_rows():
    rng = np.random.default_rng(90011)
    X, trials, weights = rng.normal(size=(40, 3)), rng.integers(1, 6, 40), rng.integers(0, 4, 40)
    Y = np.column_stack([found := rng.binomial(trials, 0.5), trials - found])
    Y[0] = 0  # no trial, no row
    at, more = np.repeat(np.arange(40), weights), {"loss": "binomial", "max_k": 2}
    path = l0path.fit(X, Y, freq_weight=weights, **more)
    copied = l0path.fit(X[at], Y[at], **more)
    pd.testing.assert_frame_equal(path.score_table(), copied.score_table(), rtol=1e-8)
    assert path._meta.n_eff == weights[1:].sum() and copied._meta.trials == Y[at].sum()


def test_counts_in_two_columns_hold_the_weights_of_a_loaded_path(tmp_path):
    rng = np.random.default_rng(90060)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 6, (40, 2))
    path = l0path.fit(X, Y, loss="binomial", max_k=2)
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert str(loaded.model(k=1).summary(X=X, y=Y)) == str(path.model(k=1).summary())
    assert loaded.certify(k=1, X=X, y=Y).proven
    l0path.fit(X, Y, loss="binomial", max_k=2, sample_weight=np.arange(40)).save(tmp_path / "w.npz")
    with pytest.raises(ValueError, match="weights, which a path file does not hold"):
        l0path.load(tmp_path / "w.npz").model(k=1).summary(X=X, y=Y)


@pytest.mark.parametrize("power", [1.05, 1.3, 1.7, 1.97, 2.0])
def test_tweedie_likelihoods_are_those_of_the_best_dispersion(power, tmp_path):
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(70, 4)), rng.integers(0, 3, 70).astype(float)
    y = rng.gamma(1.5, 10.0 * np.exp(X[:, 0])) * (rng.random(70) < (0.7 if power < 2 else 2.0))
    path = l0path.fit(X, y, loss=l0path.losses.Tweedie(power=power), freq_weight=weights, max_k=2)
    rows = list(zip(weights, y, path.predict(X, k=2), strict=True))

    def deviance(log_phi):  # the density by its series
        return -2 * sum(
            w * tweedie_log_density(*row, np.exp(log_phi), power) for w, *row in rows if w
        )

    least = minimize_scalar(deviance, bounds=(-2.0, 5.0), options={"xatol": 1e-7}).fun
    row = path.score_table().iloc[2]
    assert row.loglik == pytest.approx(-least / 2, rel=1e-9)
    assert row.aic == pytest.approx(2 * 4 + least)
    path.save(tmp_path / "path.npz")
    pd.testing.assert_frame_equal(
        l0path.load(tmp_path / "path.npz").score_table(), path.score_table()
    )


@pytest.mark.parametrize("loss", ["gamma", "tweedie", "quantile"])
def test_a_perfect_fit_has_no_scale_and_is_not_chosen(loss):
    X = np.random.default_rng(0).normal(size=(40, 4))
    eta = X[:, 0] - X[:, 1]
    path = l0path.fit(X, eta if loss == "quantile" else np.exp(eta), loss=loss, max_k=2)
    table = path.score_table()
    assert table.loglik.tolist()[2] == np.inf and path.select("bic") == 1


def tweedie_log_density(y, mean, phi, p):
    """By the series of Dunn & Smyth (2005); for p = 2 of a gamma distribution."""
    from scipy import special, stats

    if p == 2.0:
        return stats.gamma.logpdf(y, 1 / phi, scale=mean * phi)
    exponent = (y * mean ** (1 - p) / (1 - p) - mean ** (2 - p) / (2 - p)) / phi
    if y == 0:
        return exponent
    alpha, j = (2 - p) / (1 - p), np.arange(1.0, 1000.0)
    log_z = -alpha * np.log(y) + alpha * np.log(p - 1) - (1 - alpha) * np.log(phi) - np.log(2 - p)
    terms = j * log_z - special.gammaln(j + 1) - special.gammaln(-j * alpha)
    return exponent + special.logsumexp(terms) - np.log(y)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_quantile_likelihoods_are_those_of_the_best_scale(quantile):
    from scipy import optimize

    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.standard_t(3, size=60)
    path = l0path.fit(X, y, loss=l0path.losses.Quantile(quantile), max_k=3)
    r = y - path.predict(X, k=2)
    check = np.where(r > 0, quantile, quantile - 1.0) @ r

    def minus(log_s):
        return check / np.exp(log_s) - 60 * np.log(quantile * (1 - quantile) / np.exp(log_s))

    table = path.score_table()
    found = optimize.minimize_scalar(minus, bounds=(-5, 3), method="bounded")
    assert table.loglik.iloc[2] == pytest.approx(-found.fun, rel=1e-8)
    assert table.bic.iloc[2] == pytest.approx(4 * np.log(60) + 2 * found.fun, rel=1e-8)


def test_a_loss_beyond_all_numbers_is_not_converged():
    """A forced coefficient sends means to exp(1e5)."""
    X, y = np.random.default_rng(90061).normal(size=(20, 2)) * [1e6, 1.0], np.arange(20.0) % 4
    more = dict(loss="tweedie", always_include=[0], lower=[0.1, -np.inf], max_k=1)
    with pytest.warns(l0path.errors.ConvergenceWarning):
        path = l0path.fit(X, y, **more)
    assert np.isinf(path.details.objective[0]) and path.details.status[0] == "not_converged"
    with pytest.raises(ValueError, match="leave the range of floating point numbers"):
        path.certify(k=0)
