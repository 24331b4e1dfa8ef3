"""Simulated data: distribution, truth, reproducibility and refusals."""

import time
import tracemalloc

import numpy as np
import pytest

from l0path import simulate

KINDS = [("iid", 0.0), ("ar1", 0.0), ("ar1", 0.7), ("ar1", -0.5), ("constant", 0.3), ("block", 0.6)]


def sigma_matrix(p, correlation, rho, block_size):
    """The p x p correlation matrix by its definition."""
    i, j = np.indices((p, p))
    if correlation == "ar1":
        return np.where(i == j, 1.0, float(rho) ** abs(i - j))
    same = (i // block_size == j // block_size) if correlation == "block" else np.ones((p, p), bool)
    return np.where(i == j, 1.0, np.where(same, rho, 0.0))


@pytest.mark.parametrize("correlation, rho", KINDS)
def test_empirical_correlation_is_the_one_asked_for(correlation, rho):
    X = simulate.linear(
        40_000, 7, 2, rho=rho, correlation=correlation, block_size=3, random_state=1
    ).X
    expected = sigma_matrix(7, correlation, rho, 3)
    np.testing.assert_allclose(np.cov(X, rowvar=False), expected, atol=0.03)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.025)


@pytest.mark.parametrize("correlation, rho", KINDS)
@pytest.mark.parametrize("snr", [0.5, 5.0])
def test_sigma_is_signal_variance_over_snr(correlation, rho, snr):
    sim = simulate.linear(
        20,
        11,
        5,
        rho=rho,
        correlation=correlation,
        block_size=4,
        beta="normal",
        support="random",
        snr=snr,
        random_state=3,
    )
    variance = sim.beta @ sigma_matrix(11, correlation, rho, 4) @ sim.beta
    assert sim.sigma == pytest.approx(np.sqrt(variance / snr), rel=1e-12)


def test_empirical_snr_and_r2():
    sim = simulate.linear(50_000, 12, 4, rho=0.5, snr=3.0, intercept=-2.0, random_state=5)
    noise = sim.y - sim.eta
    assert np.var(sim.eta) / np.var(noise) == pytest.approx(3.0, rel=0.03)
    assert noise.std() == pytest.approx(sim.sigma, rel=0.02)
    assert sim.eta.mean() == pytest.approx(-2.0, abs=0.06)


def test_recipe_with_variance_one_half():
    """Five unit coefficients, identity correlation and SNR 10 give a noise variance of 1/2."""
    assert simulate.linear(5, 50, 5, snr=10.0, random_state=0).sigma ** 2 == pytest.approx(
        0.5, rel=1e-14
    )


def test_no_noise():
    sim = simulate.linear(30, 8, 3, snr=np.inf, intercept=1.5, random_state=0)
    assert sim.sigma == 0.0
    np.testing.assert_allclose(sim.y, 1.5 + sim.X @ sim.beta, rtol=1e-13)
    coef = np.linalg.lstsq(np.column_stack([np.ones(30), sim.X]), sim.y, rcond=None)[0]
    np.testing.assert_allclose(coef, np.r_[1.5, sim.beta], atol=1e-12)


def test_empty_truth_is_pure_noise():
    sim = simulate.linear(2000, 3, 0, random_state=0)
    assert sim.sigma == 1.0 and sim.support.size == 0 and not sim.beta.any()
    assert sim.y.std() == pytest.approx(1.0, rel=0.05)
    assert not simulate.linear(5, 3, 0, snr=np.inf, random_state=0).y.any()


def test_logistic_probabilities():
    sim = simulate.logistic(200_000, 3, 1, scale=2.0, intercept=0.5, random_state=2)
    assert set(np.unique(sim.y)) == {-1, 1} and np.isnan(sim.sigma)
    assert sim.beta.tolist() == [0.0, 2.0, 0.0]
    x = sim.X[:, 1]
    for low in (-1.0, -0.2, 0.4):
        rows = (x > low) & (x < low + 0.1)
        expected = (1.0 / (1.0 + np.exp(-(0.5 + 2.0 * x[rows])))).mean()
        assert (sim.y[rows] == 1).mean() == pytest.approx(expected, abs=0.02)


def test_large_scale_makes_the_classes_separable():
    sim = simulate.logistic(500, 20, 5, scale=1e6, random_state=0)
    assert (np.sign(sim.eta) == sim.y).all()


def test_poisson_mean_and_variance_given_the_linear_predictor():
    sim = simulate.poisson(100_000, 4, 2, scale=0.3, intercept=1.0, random_state=4)
    mean = np.exp(sim.eta)
    assert np.issubdtype(sim.y.dtype, np.integer) and sim.y.min() >= 0 and np.isnan(sim.sigma)
    assert sim.beta[sim.support].tolist() == [0.3, 0.3]
    assert ((sim.y - mean) / np.sqrt(mean)).mean() == pytest.approx(0.0, abs=0.02)
    assert ((sim.y - mean) ** 2 / mean).mean() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("make", [simulate.linear, simulate.logistic, simulate.poisson])
def test_seeds_reproduce_and_the_global_state_is_untouched(make):
    before = np.random.get_state()  # noqa: NPY002  the state that must not change
    a, b, c = (
        make(20, 9, 3, rho=0.4, beta="uniform", support="random", random_state=s) for s in (7, 7, 8)
    )
    make(5, 3, 1)
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0] and (before[1] == after[1]).all() and before[2:] == after[2:]
    for field in ("X", "y", "beta", "support"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert not np.array_equal(a.X, c.X)
    np.testing.assert_array_equal(
        make(
            20,
            9,
            3,
            rho=0.4,
            beta="uniform",
            support="random",
            random_state=np.random.default_rng(7),
        ).y,
        a.y,
    )
    np.testing.assert_array_equal(
        make(20, 9, 3, rho=0.4, beta="uniform", support="random", random_state=np.int64(7)).y, a.y
    )


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    first, second = (simulate.linear(10, 3, 1, random_state=rng) for _ in range(2))
    assert not np.array_equal(first.X, second.X)


def test_fields_types_and_layout():
    sim = simulate.linear(6, 10, 3, random_state=0)
    assert (
        sim.X.shape == (6, 10)
        and sim.X.dtype == np.float64
        and sim.X.flags.f_contiguous
        and sim.X.flags.writeable
    )
    assert sim.y.shape == (6,) and sim.beta.shape == (10,) and sim.beta.dtype == np.float64
    assert sim.support.tolist() == [1, 4, 7] and np.flatnonzero(sim.beta).tolist() == [1, 4, 7]
    assert isinstance(sim.sigma, float) and sim.intercept == 0.0
    assert (
        repr(sim)
        == f"Simulation(linear: n=6, p=10, k=3, sigma={sim.sigma:.4g}, intercept=0, support=[1, 4, "
        "7])"
    )
    assert "..." in repr(simulate.logistic(4, 30, 15, random_state=0)) and "sigma" not in repr(
        simulate.logistic(4, 3, 1, random_state=0)
    )
    with pytest.raises(AttributeError):
        sim.sigma = 2.0


@pytest.mark.parametrize("p, k", [(10, 10), (10, 1), (1000, 25), (7, 3)])
def test_equispaced_support_has_equal_gaps(p, k):
    support = simulate.linear(2, p, k, random_state=0).support
    assert support.size == k and 0 <= support[0] and support[-1] < p
    assert set(np.diff(support)) <= {p // k}


def test_ways_to_give_beta_and_support():
    def make(**given):
        return simulate.linear(4, 6, 2, random_state=0, **given)

    assert make(beta=-3.0).beta[make().support].tolist() == [-3.0, -3.0]
    sim = make(beta=[1.0, -2.0], support=[5, 0])
    assert sim.support.tolist() == [0, 5] and sim.beta.tolist() == [1.0, 0, 0, 0, 0, -2.0]
    given = np.array([0, 0.5, 0, 0, 4, 0])
    sim = make(beta=given)
    assert (
        sim.support.tolist() == [1, 4]
        and sim.beta.tolist() == given.tolist()
        and sim.beta is not given
    )
    assert make(beta=given, support=np.array([4, 1])).support.tolist() == [1, 4]
    assert abs(simulate.linear(2, 500, 400, beta="uniform", random_state=0).beta).max() <= 1.0
    assert simulate.linear(2, 500, 400, beta="normal", random_state=0).beta.std() == pytest.approx(
        np.sqrt(0.8), rel=0.1
    )
    random = simulate.linear(2, 500, 40, support="random", random_state=0).support
    assert random.size == 40 and (np.diff(random) > 0).all() and len(set(np.diff(random))) > 1


def test_new_response_keeps_design_and_truth():
    sim = simulate.logistic(4000, 5, 2, random_state=0)
    first, again, other = sim.new_response(1), sim.new_response(1), sim.new_response(2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any() and (first != sim.y).any()
    expected = np.tanh(sim.eta / 2).mean()
    assert first.mean() == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    "error, words, given",
    [
        (TypeError, "n must be an integer", dict(n=10.5)),
        (TypeError, "k must be an integer", dict(k=True)),
        (ValueError, "p must be at least 1, got 0", dict(p=0)),
        (ValueError, "k=7 nonzero coefficients do not fit in p=6", dict(k=7)),
        (ValueError, "snr must be positive, got -1", dict(snr=-1)),
        (ValueError, "snr must be positive, got nan", dict(snr=np.nan)),
        (ValueError, "correlation='toeplitz'", dict(correlation="toeplitz")),
        (ValueError, "rho=1.0 is outside", dict(rho=1.0)),
        (ValueError, "rho=nan is outside", dict(rho=np.nan)),
        (ValueError, "0 <= rho < 1", dict(rho=-0.1, correlation="constant")),
        (ValueError, "contradicts", dict(rho=0.2, correlation="iid")),
        (
            ValueError,
            "block_size must be at least 1",
            dict(rho=0.2, correlation="block", block_size=0),
        ),
        (ValueError, "support='first'", dict(support="first")),
        (ValueError, "support has 3 indices but k=2", dict(support=[0, 1, 2])),
        (ValueError, "distinct indices from 0 to 5", dict(support=[0, 6])),
        (ValueError, "distinct indices", dict(support=[2, 2])),
        (TypeError, "integer feature indices", dict(support=[0.0, 1.0])),
        (ValueError, "beta='ones'", dict(beta="ones")),
        (ValueError, r"beta has shape \(3,\)", dict(beta=[1.0, 2.0, 3.0])),
        (ValueError, "beta has 1 zeros", dict(beta=[0.0, 1.0])),
        (ValueError, "beta has 3 nonzero coefficients but k=2", dict(beta=[1.0, 2, 3, 0, 0, 0])),
        (ValueError, "not where beta is nonzero", dict(beta=[1.0, 2, 0, 0, 0, 0], support=[0, 2])),
        (ValueError, "not finite", dict(beta=[np.inf, 1.0])),
        (ValueError, "intercept must be finite", dict(intercept=np.inf)),
        (TypeError, "random_state must be None", dict(random_state="seed")),
        (ValueError, "random_state must be at least 0", dict(random_state=-1)),
    ],
)
def test_errors_name_the_argument(error, words, given):
    with pytest.raises(error, match=words):
        simulate.linear(**(dict(n=8, p=6, k=2, random_state=0) | given))


def test_errors_of_the_other_families():
    with pytest.raises(ValueError, match="scale must be positive and finite, got 0"):
        simulate.logistic(5, 4, 2, scale=0)
    with pytest.raises(ValueError, match="Poisson mean"):
        simulate.poisson(5, 4, 2, intercept=30.0, random_state=0)


def test_wide_designs_take_linear_memory_and_little_time():
    start = time.perf_counter()
    tracemalloc.start()
    sim = simulate.linear(20, 50_000, 10, rho=0.9, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * sim.X.nbytes + 8e6
    assert time.perf_counter() - start < 30.0


def test_ordered_classes_have_the_shares_of_their_thresholds():
    sim = simulate.ordinal(100_000, 3, 1, thresholds=(-0.5, 1.0), random_state=2)
    for c, t in enumerate((-0.5, 1.0)):
        share = np.mean(1.0 / (1.0 + np.exp(sim.eta - t)))
        assert np.mean(sim.y <= c) == pytest.approx(share, abs=0.005)
    assert set(sim.y) == {0, 1, 2} and sim.new_response(0).shape == (100_000,)
    with pytest.raises(ValueError, match="thresholds"):
        simulate.ordinal(10, 3, 1, thresholds=(1.0, 0.0))


def test_successes_and_quantiles_have_their_distribution():
    sim = simulate.binomial(50_000, 2, 1, trials=4, intercept=0.5, random_state=3)
    share = 1.0 / (1.0 + np.exp(-sim.eta))
    assert sim.y.shape == (50_000, 2) and (sim.y.sum(axis=1) == 4).all()
    assert abs((sim.y[:, 0] - 4 * share).mean()) < 0.02
    residual = (sim.y[:, 0] - 4 * share) ** 2 / (4 * share * (1 - share))
    assert abs(residual.mean() - 1.0) < 0.03
    assert sim.new_response(0).shape == sim.y.shape
    sim = simulate.quantile(50_000, 2, 1, quantile=0.8, sigma=2.0, random_state=3)
    assert abs((sim.y <= sim.eta).mean() - 0.8) < 0.01
    assert abs(np.std(sim.y - sim.eta) - 2.0) < 0.03 and sim.sigma == 2.0
    for wrong in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="quantile"):
            simulate.quantile(10, 2, 1, quantile=wrong)
    with pytest.raises(ValueError, match="trials=0"):
        simulate.binomial(10, 2, 1, trials=0)
