"""lambda0 intervals and grids against enumeration, and the default sizes and grids."""

import numpy as np
import oracles
import pytest
from enumerated_cases import best_of_size, cases, full_beta, medium, unit

import l0path

# -- lambda0


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_every_lambda0_of_a_hull_interval_is_minimized_by_its_model(loss):
    rng = np.random.default_rng(5)
    for case in cases(loss):
        sizes = [s.k for s in case.path._solutions]
        F = {k: best_of_size(case, k) for k in range(case.free + 1)}
        if (
            max(abs(s.objective - F[s.k]) for s in case.path._solutions) > 1e-9 * unit(case)
            or sizes[-1] < case.free
        ):
            continue  # a missed best subset, or an early end: nothing to compare with
        table, factor = case.path.details, case.d["penalty_factor"]
        if np.ptp(np.delete(factor, [*case.d["forced"], *case.excluded])) > 0:
            continue  # priced columns: see below
        price = float(np.delete(factor, [*case.d["forced"], *case.excluded])[0])
        hull = table[table.lambda0_low.notna()].sort_values("k")
        assert hull.lambda0_high.iloc[0] == np.inf and hull.lambda0_low.iloc[-1] == 0.0
        np.testing.assert_array_equal(hull.lambda0_high.iloc[1:], hull.lambda0_low.iloc[:-1])
        for row in hull.itertuples():
            top = row.lambda0_high if np.isfinite(row.lambda0_high) else 3 * row.lambda0_low + 1
            for at in (row.lambda0_low, row.lambda0_low + rng.random() * (top - row.lambda0_low)):
                least = min(v + at * price * k for k, v in F.items())
                assert F[row.k] + at * price * row.k <= least + 1e-9 * unit(case)
                if row.lambda0_low <= at < row.lambda0_high:
                    assert case.path.select(lambda0=at) == row.Index


def test_hull_intervals_with_priced_columns_are_the_minimizers_among_the_models_of_the_path():
    looked = 0
    for case in cases("squared"):
        price = np.array(
            [
                np.delete(
                    case.d["penalty_factor"][s.support],
                    np.flatnonzero(np.isin(s.support, case.d["forced"])),
                ).sum()
                for s in case.path._solutions
            ]
        )
        F = np.array([s.objective for s in case.path._solutions])
        for i, s in enumerate(case.path._solutions):
            if np.isfinite(s.lambda0_high) and s.lambda0_high > s.lambda0_low:
                at = 0.5 * (s.lambda0_low + s.lambda0_high)
                assert F[i] + at * price[i] <= (F + at * price).min() + 1e-12
                looked += 1
    assert looked > 20


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_own_lambda0_grid_finds_the_penalized_optimum(loss):
    hits = cells = 0
    for case in cases(loss):
        d = case.d
        grid = d["lambda0"] * np.array([0.2, 4.0, 1.0])
        path = case.fitted(lambda0=grid)
        assert path.details.lambda0.tolist() == sorted(grid, reverse=True)
        unforced = [j for j in range(d["X"].shape[1]) if j not in d["forced"]]
        prices = {
            support: d["penalty_factor"][[j for j in support if j in unforced]].sum()
            for support in case.values
        }
        keywords = oracles.objective_keywords(d) | {
            "penalty_factor": np.where(
                np.isin(np.arange(d["X"].shape[1]), d["forced"]), 0, d["penalty_factor"]
            )
        }
        for s in path._solutions:
            value = oracles.objective(
                d["X"],
                d["y"],
                full_beta(s, d["X"].shape[1]),
                s.intercept,
                **keywords | {"lambda0": s.lambda0},
            )
            best = min(v + s.lambda0 * prices[support] for support, v in case.values.items())
            slack = 1e-9 * unit(case)
            assert s.objective == pytest.approx(value, rel=1e-10) and value >= best - slack
            hits, cells = hits + (value <= best + slack), cells + 1
    assert hits >= 0.95 * cells, f"{hits} of {cells} rows are penalized optima"


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_lambda0_rows_have_no_improving_addition_removal_or_exchange(loss):
    """What "refit_swap" claims on a lambda0 grid; "refit_swap_m" looks at the m best of a ranking
    only, which may leave one row in fifty open.
    """
    open_rows, rows = [], 0
    for at, case in enumerate(cases(loss)):
        d = case.d
        path = case.fitted(lambda0=d["lambda0"] * np.geomspace(0.1, 5, 8))
        price = np.where(np.isin(np.arange(d["X"].shape[1]), d["forced"]), 0.0, d["penalty_factor"])
        outside = oracles._chosen(d["X"], d["forced"], case.excluded)
        for s in path._solutions:
            here = set(s.support.tolist())
            free = [j for j in here if j not in d["forced"]]
            near = (
                [here | {j} for j in outside]
                + [here - {i} for i in free]
                + [here - {i} | {j} for i in free for j in outside if j not in here]
            )
            best = min(
                case.values[tuple(sorted(S))] + s.lambda0 * price[list(S)].sum() for S in near
            )
            rows += 1
            if s.optimality in ("refit_swap", "refit_swap_m") and best < s.objective - 1e-8 * unit(
                case
            ):
                open_rows.append((at, s.lambda0, s.support.tolist(), s.objective - best))
    assert len(open_rows) <= (0 if loss == "squared" else 0.02 * rows), (
        f"{len(open_rows)} of {rows} rows: {open_rows[:5]}"
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_dynamic_lambda0_grid(loss):
    """From the value at which a column may enter (its refit may let it in at once) downwards; every
    value changes the support; no row below the penalized optimum, most of them equal to it.
    """
    hits = rows = 0
    for case in cases(loss):
        d = case.d
        path = case.fitted(lambda0="grid")
        price = np.where(np.isin(np.arange(d["X"].shape[1]), d["forced"]), 0.0, d["penalty_factor"])
        assert (np.diff(path.details.lambda0) < 0).all() and path.details.k[0] <= 1
        for s, t in zip(path._solutions, path._solutions[1:], strict=False):
            assert s.support.tolist() != t.support.tolist()
        for s in path._solutions:
            assert s.objective == pytest.approx(
                s.loss + s.shrinkage + s.lambda0 * price[s.support[s.beta != 0]].sum(), rel=1e-12
            )
            best = min(v + s.lambda0 * price[list(S)].sum() for S, v in case.values.items())
            assert s.objective >= best - 1e-9 * unit(case)
            hits, rows = hits + (s.objective <= best + 1e-9 * unit(case)), rows + 1
    assert hits >= 0.95 * rows, f"{hits} of {rows} rows are penalized optima"


def test_default_shrinkage_grids():
    """Squared: lambda2 from 1 to 1e-4, lambda1 the same fractions of lambda1_max; each pair a
    slice, solved as on its own.
    """
    X, y = medium(1, p=12)
    for penalty, pairs in (("L0L2", 3), ("L0L1", 3), ("L0L1L2", 9)):
        terms = [
            name for name in ("lambda1", "lambda2") if name.replace("ambda", "").upper() in penalty
        ]
        path = l0path.fit(X, y, max_k=4, **dict.fromkeys(terms, l0path.grid(n=3)))
        assert path._meta.penalty == penalty and path.details.slice.nunique() == pairs
        _, s = oracles.scaling(X)
        top = np.abs((X - X.mean(axis=0)).T @ (y - y.mean()) / 60 / s).max()
        if "L2" in penalty:
            assert sorted(path.details.lambda2.unique(), reverse=True) == pytest.approx(
                [1, 1e-2, 1e-4]
            )
        if "L1" in penalty:
            assert sorted(path.details.lambda1.unique(), reverse=True) == pytest.approx(
                [top, 1e-2 * top, 1e-4 * top]
            )
        for i in range(pairs):
            part = path.slice(i)
            alone = l0path.fit(
                X, y, lambda1=part.details.lambda1[0], lambda2=part.details.lambda2[0], max_k=4
            )
            assert (
                part.details.objective <= alone.details.objective * (1 + 1e-9)
            ).all()  # neighboring slices lend their supports
            assert (
                part.details.objective >= alone.details.objective * 0.97
            ).all() and part.details.objective[0] == pytest.approx(
                alone.details.objective[0], rel=1e-12
            )
    assert l0path.fit(X, y, lambda2=0.3, max_k=2).details.lambda2.unique().tolist() == [0.3]
    assert l0path.fit(X, y, lambda1=[0.1, 0.2], max_k=2)._meta.penalty == "L0L1"
    assert l0path.fit(
        X, y, lambda2=l0path.grid(n=1), max_k=2
    ).details.lambda2.unique() == pytest.approx([1.0])


def test_some_sizes_are_rows_of_the_whole_path():
    X, y = medium(2, p=40)
    whole = l0path.fit(X, y, max_k=7)
    for k in (7, [1, 4, 7], np.array([7, 1])):
        some = l0path.fit(X, y, k=k)
        assert some.details.k.tolist() == sorted({*np.atleast_1d(k).tolist()})
        for model in some:
            same = whole.model(k=model.k)
            assert (
                same.objective == pytest.approx(model.objective, rel=1e-12)
                and same.support.tolist() == model.support.tolist()
            )


def test_default_sizes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(31, 40)), rng.normal(size=31)
    assert l0path.fit(X, y).details.k.max() == 15
    assert l0path.fit(X[:, :9], y).details.k.max() == 9
    assert l0path.fit(X, y, freq_weight=np.arange(31) % 2 + 1).details.k.max() == 46 // 2
    assert l0path.fit(X, y, sample_weight=np.arange(31) % 2 + 1).details.k.max() == 15
    assert l0path.fit(X, y, sample_weight=(np.arange(31) < 20) * 1.5).details.k.max() == 10
