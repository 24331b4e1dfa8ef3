"""`fit` against enumeration: values, coefficients, local and global optimality, for every loss with
every option.
"""

import numpy as np
import oracles
import pandas as pd
import pytest
from asked import loss_with
from enumerated_cases import best_of_size, cases, full_beta, medium, unit
from golden_instances import GOLDEN, golden_data
from recomputed import objective_of

import l0path
from l0path import datasets
from l0path.exchange.local_search import LocalSearch


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_stored_objective_is_that_of_the_returned_coefficients(loss):
    for case in cases(loss):
        d, keywords = case.d, oracles.objective_keywords(case.d) | {"lambda0": 0.0}
        scale = unit(case)
        for s in case.path._solutions:
            value = oracles.objective(
                d["X"], d["y"], full_beta(s, d["X"].shape[1]), s.intercept, **keywords
            )
            assert s.objective == pytest.approx(value, rel=1e-10, abs=1e-13 * scale)
            assert objective_of(case.path, index=s.k) == pytest.approx(
                value, rel=1e-10, abs=1e-13 * scale
            )


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_coefficients_are_the_restricted_optimum_of_their_support_within_the_box(loss):
    """Values to 1e-10, coefficients to 1e-9 of the largest where the optimum is unique and well
    conditioned (a strictly convex restricted problem).
    """
    for case in cases(loss):
        d = case.d
        for s in case.path._solutions:
            value, beta, beta0 = oracles.restricted(
                d["X"], d["y"], s.support, **oracles.restricted_keywords(d)
            )
            assert s.objective == pytest.approx(value, rel=1e-9, abs=1e-11 * unit(case))
            mine = full_beta(s, d["X"].shape[1])
            assert (mine >= d["lower"] - 1e-12).all() and (mine <= d["upper"] + 1e-12).all()
            if loss in (
                "squared",
                "logistic",
                "poisson",
            ):  # flat pieces of the other losses leave the optimum open, or hard to tell
                np.testing.assert_allclose(
                    np.append(mine, s.intercept),
                    np.append(beta, beta0),
                    rtol=1e-9,
                    atol=1e-8 * max(np.abs(beta).max(initial=0), abs(beta0)),
                )


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_supports_hold_forced_columns_and_no_excluded_ones_and_every_size_is_there(loss):
    for case in cases(loss):
        sizes = [s.k for s in case.path._solutions]
        assert sizes == list(range(len(sizes)))
        ended = "separated" in case.path._solutions[-1].flags or any(
            "sizes end" in note for note in case.path.notes
        )
        assert sizes[-1] == case.free or ended
        for s in case.path._solutions:
            assert set(case.d["forced"]) <= set(s.support.tolist()) and not set(
                case.excluded
            ) & set(s.support.tolist())
            assert s.support.size == s.k + len(case.d["forced"]) and (np.diff(s.support) > 0).all()


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_never_below_the_best_subset_and_equal_to_it_almost_always(loss):
    hits, cells = 0, 0
    for case in cases(loss):
        for s in case.path._solutions:
            best, slack = best_of_size(case, s.k), 1e-9 * unit(case)
            assert s.objective >= best - slack
            hits, cells = hits + (s.objective <= best + slack), cells + 1
    assert hits >= 0.97 * cells, f"{hits} of {cells} sizes are best subsets"


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_verified_sizes_have_no_improving_exchange(loss):
    """Every pair is within the n_best that are confirmed here, so "refit_swap_m" too means that no
    exchange improves.
    """
    seen = set()
    for case in cases(loss):
        forced = case.d["forced"]
        for s in case.path._solutions:
            inside = [j for j in s.support.tolist() if j not in forced]
            outside = [
                j for j in oracles._chosen(case.d["X"], forced, case.excluded) if j not in s.support
            ]
            assert len(inside) * len(outside) <= 20
            after = [
                case.values[tuple(sorted({*s.support.tolist(), j} - {i}))]
                for i in inside
                for j in outside
            ]
            assert s.objective <= min(after, default=np.inf) + 2e-9 * unit(case)
            seen.add(s.optimality)
    plain = {"refit_swap"} if loss == "squared" else set()
    assert seen == {"refit_swap_m", "global"} | plain


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_high_effort_finds_every_best_subset(loss):
    for case in cases(loss)[:3]:
        path = case.fitted(algorithm=LocalSearch(effort="high"), random_state=1)
        for s in path._solutions:
            assert s.objective == pytest.approx(
                best_of_size(case, s.k), rel=1e-9, abs=1e-9 * unit(case)
            )


# -- W smaller than p


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 9), marks=pytest.mark.slow)])
def test_no_exchange_over_all_columns_improves_although_the_search_saw_few(seeds):
    grew = 0
    for seed in seeds:
        X, y = medium(seed)
        path = l0path.fit(X, y, max_k=6, lambda2=[0.0, 0.05][seed % 2])
        assert path.rounds.working.iloc[-1] < 200
        grew += path.rounds.working.iloc[-1] > 100
        for model in path:
            assert model.optimality == ("global" if model.k <= 1 else "refit_swap")
            if model.k in (1, 3):
                worse = oracles.refit_swap_improvement(
                    X, y, model.support, model.objective, lambda2=model.details["lambda2"]
                )
                assert worse <= 1e-9 * path._meta.null_loss
    assert 2 * grew >= len(seeds), (
        "the columns that correlate most were enough: this test needs harder data"
    )


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_ranked_exchanges_leave_almost_nothing_to_gain(loss):
    """Class "refit_swap_m": all pairs over all columns are tried here, not only the m best
    ranked.
    """
    gains = []
    for seed in range(2):
        X, y = medium(seed, loss, p=110)
        path = l0path.fit(X, y, loss=loss_with(loss, delta=1.0), max_k=4, lambda2=1e-2)
        model = path.model(k=(2, 4)[seed])
        assert model.optimality == "refit_swap_m"
        gains.append(
            oracles.refit_swap_improvement(
                X, y, model.support, model.objective, loss=loss, delta=1.0, lambda2=1e-2
            )
            / path._meta.null_loss
        )
    assert max(gains) <= 1e-9, gains


# -- known answers


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row[0]}-{row[1]}-{row[3]}")
def test_golden_instance(row):
    loss, intercept, lambda0, lambda1, lambda2, values, support, optimum = row
    X, y = golden_data(loss)
    options = dict(
        loss=loss_with(loss, gamma=0.5, delta=1.0),
        fit_intercept=bool(intercept),
        lambda1=lambda1,
        lambda2=lambda2,
        standardize=False,
    )
    path = l0path.fit(X, y, max_k=4, **options)
    assert " ".join(f"{s.objective:.6f}" for s in path._solutions) == values
    model = l0path.fit(X, y, lambda0=lambda0, max_k=6, **options).model(lambda0=lambda0)
    assert f"{model.objective:.6f}" == f"{optimum:.6f}" and tuple(model.support + 1) == support


@pytest.mark.parametrize("name, max_k", [("diabetes", 10), ("hitters", 3), ("prostate", 8)])
def test_best_subsets_of_real_data(name, max_k, request):
    if name == "prostate":
        folder = request.getfixturevalue("shared") / "data" / "prostate"
        if not folder.is_dir():
            pytest.skip("prostate data not at hand")
        table = pd.read_csv(next(folder.glob("*.csv")))
        X, y = (
            table[["lcavol", "lweight", "age", "lbph", "svi", "lcp", "gleason", "pgg45"]].astype(
                float
            ),
            table["lpsa"],
        )
    else:
        data = getattr(datasets, f"load_{name}")()
        X, y = data.X, data.y
    path = l0path.fit(X, y, max_k=max_k)
    for k, (value, support) in oracles.best_subsets(X.to_numpy(), y.to_numpy(), max_k).items():
        assert tuple(path.support(k=k)) == support
        assert path.model(k=k).objective == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
def test_wild_scales_and_means(loss):
    """Columns scaled by 1e-6 .. 1e6 and moved by up to 1e6 standard deviations: the same supports
    and objectives as for the columns as they were.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8))
    y = oracles._response(loss, X[:, 0] - X[:, 3] + 0.7 * X[:, 5], rng)
    plain = l0path.fit(X, y, loss=loss_with(loss, delta=1.0), max_k=5)
    scale, shift = (
        10.0 ** np.array([-6, -3, 0, 0, 3, 6, 6, -6]),
        np.array([0, 1e6, 1e6, -1e6, 1e3, 0, -1e6, 1e4]),
    )
    wild = l0path.fit((X + shift) * scale, y, loss=loss_with(loss, delta=1.0), max_k=5)
    for a, b in zip(plain, wild, strict=True):
        assert a.support.tolist() == b.support.tolist()
        assert b.objective == pytest.approx(a.objective, rel=1e-9)
        np.testing.assert_allclose(
            wild.coef(k=a.k).iloc[1:] * scale[b.support], plain.coef(k=a.k).iloc[1:], rtol=1e-6
        )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_wild_columns_without_standardizing_match_the_oracle(loss):
    rng = np.random.default_rng(4)
    scale = 10.0 ** np.array([-4, -2, 0, 1, 3, 4])
    X = rng.normal(size=(50, 6)) * scale + np.array([0, 5, 1e3, -10, 0, 1e5])
    y = oracles._response(loss, X[:, 0] / scale[0] + (X[:, 4]) / scale[4], rng)
    path = l0path.fit(X, y, loss=loss, standardize=False, max_k=3)
    for k, (value, support) in oracles.best_subsets(X, y, 3, loss=loss, standardize=False).items():
        assert (
            path.model(k=k).objective == pytest.approx(value, rel=1e-9)
            and tuple(path.support(k=k)) == support
        )
