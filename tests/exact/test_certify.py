"""Bounds through the public surface: `fit(certify=True)` and `Path.certify` against enumeration;
what is kept, refused and interrupted.
"""

import math
import signal
import warnings

import numpy as np
import oracles
import pytest

import l0path
from l0path import plots, relaxation
from l0path.errors import ConvergenceWarning, SeparationWarning
from l0path.inspection.neighbors import fit_data
from l0path.problem.problem import pose
from l0path.relaxation import path_bounds

REL = 1e-9  # by which rounding may part two values of an optimum


def wide(seed=0, n=60, p=150, k=4, noise=0.7, loss="squared"):
    """(X, y): more columns than rows, k of them at work."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = X[:, :k] @ np.linspace(2.0, 1.0, k) + noise * rng.standard_normal(n)
    return X, y if loss == "squared" else np.sign(y)


def tall(seed=0, n=120, p=15):
    """(X, y): more rows than columns."""
    return wide(seed, n, p)


def quiet_fit(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return l0path.fit(*args, **options)


def least(table, objective):
    """(least objective, [nonzero (p,) of the solutions that attain it])."""
    values = {support: objective(support) for support in table}
    best = min(values.values())
    return best, [
        np.abs(table[support][1]) > 1e-9
        for support, value in values.items()
        if value <= best + REL * abs(best)
    ]


def at_most(table, size):
    """The objective of supports of at most `size` columns."""
    return lambda support: table[support][0] if len(support) <= size else np.inf


def priced(table, factor, lambda0):
    """The objective (P) of supports."""
    return lambda support: table[support][0] + lambda0 * factor[list(support)].sum()


def check_row(row, best):
    """A row of path.table against the optimum that it is about."""
    if np.isfinite(row.lower_bound):
        assert row.lower_bound <= best + REL * abs(best) and row.gap >= 0
        assert row.gap == (row.objective - row.lower_bound) / max(abs(row.objective), 1e-12)
    if row.optimality == "global":
        assert row.objective <= best + 2e-6 * abs(best)


def check_certificate(path, index, table, objective, scale, box=None):
    """A certificate against the enumerated optimum; within an assumed box against the best
    enumerated solution that lies in it. Returns how many columns were fixed, and whether it is
    proven.
    """
    before = path.details
    c = path.certify(index=index, box=box)
    assumed = any("assumes |b_j|" in text for text in c.assumptions)
    inside = {
        s: v
        for s, v in table.items()
        if not assumed
        or (np.abs(v[1] * scale) <= float(c.assumptions[0].split("<= ")[1].split()[0])).all()
    }
    best, members = least(inside, objective)
    row = c.path.details.loc[index]
    assert (
        c.best == [c.model]
        and c.model.path is c.path
        and c.incumbent == row.objective <= before.objective[index]
        and isinstance(c.gap, float)
    )
    # a better model changes where the others are best
    moved = [] if row.loss == before.loss[index] else ["lambda0_low", "lambda0_high"]
    others = c.path.details.drop(index).drop(columns=moved)
    assert before.equals(path.details) and others.equals(before.drop(index).drop(columns=moved))
    if math.isfinite(c.gap):
        assert (
            c.proven
            or assumed
            or path._meta.loss == "poisson"
            or any("the search did not branch" in text for text in c.assumptions)
        )
        assert row.lower_bound == c.lower_bound <= best + REL * abs(best) and 0 <= c.gap == row.gap
        if not assumed and math.isfinite(before.gap[index]):
            assert c.gap <= before.gap[index]
    else:
        assert np.isnan(c.lower_bound) and np.isnan(row.gap) and not c.proven
    for nonzero in members:
        assert nonzero[c.fixed_in].all() and not nonzero[c.fixed_out].any()
    assert (
        not c.deviance_ratio_bound < c.model.deviance_ratio
    )  # both NaN where the null loss of counts is negative
    assert c.proven == (c.status == "optimal") == (c.gap <= 1e-6 and not assumed)
    assert not c.proven or (c.incumbent <= best + 2e-6 * abs(best) and row.optimality == "global")
    return c.fixed_in.size + c.fixed_out.size, c.proven


@pytest.mark.parametrize("count", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_bounds_and_certificates_against_enumeration(count):
    """Random problems of every loss with weights, offset, forced columns, factors, boxes, with and
    without intercept, standardization, lambda1, lambda2.
    """
    fixed = proven = bounds = 0
    for number, d in enumerate(oracles.instances(count, seed=77, columns=(4, 6))):
        table = oracles.every_support(
            d["X"], d["y"], forced=d["forced"], **oracles.restricted_keywords(d)
        )
        path = quiet_fit(d["X"], d["y"], certify=True, **oracles.fit_keywords(d))
        grid = quiet_fit(
            d["X"], d["y"], certify=True, lambda0=[d["lambda0"]], **oracles.fit_keywords(d)
        )
        penalized = priced(table, d["penalty_factor"], d["lambda0"])
        for row in path.details[path.details.status == "converged"].itertuples():
            check_row(row, least(table, at_most(table, row.k + len(d["forced"])))[0])
        check_row(next(grid.details.itertuples()), least(table, penalized)[0])
        bounds += int(
            path.details.lower_bound.notna().sum() + grid.details.lower_bound.notna().sum()
        )
        index = len(path) // 2
        free = d["lambda2"] == 0 and not np.isfinite(d["lower"]).any()
        for one, objective in (
            (path, at_most(table, path._solutions[index].k + len(d["forced"]))),
            (grid, penalized),
        ):
            at = index if one is path else 0
            if one._solutions[at].status == "converged":
                more, closed = check_certificate(
                    one,
                    at,
                    table,
                    objective,
                    path._meta.scale,
                    "auto" if free and number % 2 else None,
                )
                fixed, proven = fixed + more, proven + closed
    assert (
        fixed > 1.6 * count and proven > count / 6 and bounds > 2.5 * count
    )  # so that the checks above were about something


def test_a_certified_path_is_the_path_with_bounds():
    X, y = wide()
    plain, certified = (
        l0path.fit(X, y, lambda2=0.05, max_k=8),
        l0path.fit(X, y, lambda2=0.05, max_k=8, certify=True),
    )
    same = ["k", "objective", "loss", "lambda0_low", "status"]
    assert plain.details[same].equals(certified.details[same]) and plain.coef().equals(
        certified.coef()
    )
    assert (
        plain.details.gap.notna().sum() == 2  # the best column of all has itself as bound
        and certified.details.gap.notna().all()
        and certified.notes == plain.notes
    )
    assert certified.details.gap[4] < 0.2


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_bounds_begin_with_what_the_fit_has_read(loss, monkeypatch):
    """Two batched reads of X after the fit, none for the slopes of the models; a path that has lost
    its model reads them, to the same bounds.
    """
    X, y = wide(loss=loss, noise=3.0)
    read, calls = relaxation.bounds.evaluate, []
    monkeypatch.setattr(relaxation.bounds, "evaluate", lambda *args: calls.append(1) or read(*args))
    path = l0path.fit(X, y, loss=loss, lambda2=0.05, max_k=6, certify=True)
    assert len(calls) == path_bounds.FIT_READS
    plain = l0path.fit(X, y, loss=loss, lambda2=0.05, max_k=6)
    solutions = list(plain._solutions)
    path_bounds.bound_solutions(pose(fit_data(plain, X, y)), solutions)
    assert len(calls) == 2 * path_bounds.FIT_READS + 1
    np.testing.assert_allclose(
        [s.lower_bound for s in solutions], path.details.lower_bound, rtol=1e-3
    )


def test_every_slice_and_kept_sizes_are_bounded():
    X, y = wide()
    path = l0path.fit(X, y, lambda2=[0.01, 0.1], k=[1, 3], certify=True)
    assert path.details.gap.notna().all() and len(path) == 4
    alone = l0path.fit(X, y, lambda2=0.1, k=[1, 3], certify=True)
    np.testing.assert_allclose(path.details.lower_bound[:2], alone.details.lower_bound, rtol=1e-6)


def test_without_ridge_a_tall_squared_loss_has_bounds_and_others_say_why_not():
    X, y = tall()
    path = l0path.fit(X, y, certify=True)
    assert path.details.gap.notna().all() and not path.notes
    c = path.certify(k=4)
    assert (
        c.proven
        and c.fixed_in.tolist() == [0, 1, 2, 3]
        and c.gap <= 1e-6
        and c.path.model(k=4).optimality == "global"
        and "proven optimal" in repr(c)
    )
    for data, options, proven in (
        (wide(), {}, False),
        (wide(loss="classes", n=200, p=20), {"loss": "logistic"}, True),
    ):
        path = l0path.fit(*data, max_k=4, certify=True, **options)
        known = path.details.gap.notna().tolist()
        # the best column of all is its own bound, tall ones have a search over all sizes
        assert known == [True, True, *[proven] * 3]
        assert proven or any("lambda2=0.1" in note and "box=" in note for note in path.notes)
        assert path.certify(k=3).proven  # all of half a million models are compared
        c = path.certify(k=4)
        assert c.proven == proven  # a tall one needs no bound beforehand
        assert proven or (
            c.gap == math.inf
            and c.status == "gap_not_closed"
            and not c.proven
            and "no bound" in repr(c)
            and any("lambda2" in text for text in c.assumptions)
        )


@pytest.mark.parametrize("lambda2", [1e-3, 0.05, 0.5])
def test_for_more_rows_than_columns_no_deviance_ratio_is_bounded_worse_than_by_least_squares(
    lambda2,
):
    X, y = wide(3, n=60, p=10, noise=3.0)
    w = np.random.default_rng(4).uniform(0.5, 2.0, 60)
    w /= w.sum()
    Z = X - w @ X
    Z /= np.sqrt(w @ Z**2)
    c = y - w @ y
    table = oracles.every_ridge(Z.T @ (w[:, None] * Z), Z.T @ (w * c), 0.5 * w @ c**2, lambda2)

    def ratio(b):
        return 1 - w @ (c - Z @ b) ** 2 / (w @ c**2)

    full = ratio(np.linalg.lstsq(np.sqrt(w)[:, None] * Z, np.sqrt(w) * c, rcond=None)[0])
    path = l0path.fit(X, y, sample_weight=w, lambda2=lambda2)
    for k in range(1, 10):
        best = min(
            (value for support, value in table.items() if len(support) == k),
            key=lambda value: value[0],
        )
        found = path.certify(k=k).deviance_ratio_bound
        assert ratio(best[1]) - 1e-9 <= found <= full + 1e-9
    grid = l0path.fit(X, y, sample_weight=w, lambda2=lambda2, lambda0=[0.02])
    best = min(table.items(), key=lambda entry: entry[1][0] + 0.02 * len(entry[0]))[1]
    assert ratio(best[1]) - 1e-9 <= grid.certify(index=0).deviance_ratio_bound <= full + 1e-9


def test_separated_sizes_have_no_bound():
    X, y = wide(loss="classes", noise=0.0)
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, loss="logistic", certify=True)
    assert path.details.gap[path.details.status == "separated"].isna().all()
    assert path.certify(k=int(path.details.k.iloc[-1])).gap == math.inf


def test_a_box_is_stated_and_proves_nothing():
    X, y = wide(n=200, p=20, loss="classes", noise=2.0)
    path = l0path.fit(X, y, loss="logistic", max_k=5)
    c = path.certify(k=4, box="auto")
    largest = path.coef(k=4, standardized=True).iloc[1:].abs().max()
    assert (
        f"<= {2 * largest:.6g}" in c.assumptions[0]
        and "2 times" in c.assumptions[0]
        and not c.proven
        and c.status == "gap_not_closed"
    )
    assert (
        0 <= c.gap < 1
        and "bound_in_box" in c.model.details["flags"]
        and c.path.notes[-1].endswith(c.assumptions[0])
        and not path.notes
    )
    again = c.path.certify(k=4)
    # what was assumed is not kept as known: this one is proved anew
    assert (
        again.proven
        and not again.assumptions
        and "bound_in_box" not in again.model.details["flags"]
    )
    wider = c.path.certify(
        k=4, box=3 * largest
    )  # both are ascents that stop within 1e-6 of the best dual value
    assert (
        wider.lower_bound <= c.lower_bound * (1 + 1e-6)
        and "as given" in wider.assumptions[0]
        and wider.model.details["flags"].count("bound_in_box") == 1
    )
    boxed = l0path.fit(X, y, loss="logistic", max_k=5, lower=-2, upper=2).certify(k=4)
    assert math.isfinite(boxed.gap) and not boxed.assumptions


def test_more_work_gives_a_smaller_gap_and_a_model_certifies_itself():
    X, y = wide(noise=1.5)
    path = l0path.fit(X, y, lambda2=0.05, max_k=6, certify=True)
    work = {"node_limit": 200, "time_limit": None}  # a busy machine may use up a time limit
    c = path.model(k=4).certify(**work)
    assert c.gap <= path.details.gap[4] and c.model.k == 4 and c.model.gap == c.gap
    later = l0path.fit(X, y, lambda2=0.05, max_k=6).certify(k=4, **work)
    assert later.gap == pytest.approx(c.gap, rel=1e-3)


def test_saved_bounds_come_back_and_a_loaded_path_certifies(tmp_path):
    X, y = wide()
    path = l0path.fit(X, y, lambda2=0.05, max_k=5, certify=True, exclude=[7])
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz")
    assert loaded.details.equals(path.details)
    with pytest.raises(ValueError, match="pass X= and y="):
        loaded.certify(k=3)
    there, here = loaded.certify(k=3, X=X, y=y), path.certify(k=3)
    assert (
        there.lower_bound == pytest.approx(here.lower_bound, rel=1e-12)
        and there.fixed_out.tolist() == here.fixed_out.tolist()
        and "1 feature" in here.assumptions[0]
    )
    here.path.save(tmp_path / "again.npz")
    assert l0path.load(tmp_path / "again.npz").details.equals(here.path.details)


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_loses_nothing(monkeypatch, after):
    """Ctrl-C while bounds are computed: the models stay, and so do the bounds of slices that were
    done.
    """
    from l0path import relaxation
    from l0path.relaxation import path_bounds

    X, y = wide()
    real, calls = relaxation.improve, []

    def improve(*args, **options):
        if len(calls) == after:
            signal.raise_signal(signal.SIGINT)
        calls.append(0)
        return real(*args, **options)

    monkeypatch.setattr(path_bounds.relaxation, "improve", improve)
    path = l0path.fit(X, y, lambda2=[0.01, 0.1], max_k=4, certify=True)
    assert len(path) == 10 and path.status.startswith("interrupted (Ctrl-C) while bounds")
    assert (
        path.details.optimality.ne("unverified").all()
        and path.details.gap[: 5 * after].notna().all()
    )
    calls.clear()
    if after == 0:
        c = l0path.fit(X, y, lambda2=0.01, max_k=4).certify(k=3)
        assert c.status == "interrupted" and isinstance(c.gap, float)


def test_a_time_limit_keeps_models_and_says_so():
    X, y = wide()
    path = l0path.fit(X, y, lambda2=0.05, max_k=4)
    c = path.certify(k=3, time_limit=1e-9)
    assert (
        c.status == "time_limit"
        and c.gap == math.inf
        and np.isnan(c.lower_bound)
        and c.deviance_ratio_bound == 1.0
    )
    known = path.certify(k=3).path
    assert (
        known.certify(k=3, time_limit=1e-9).gap == known.details.gap[3]
    )  # what is known stays known
    stopped = l0path.fit(X, y, lambda2=0.05, certify=True, on_solution=lambda model: model.k == 2)
    assert stopped.status.startswith("stopped by on_solution") and stopped.details.gap.notna().all()
    short = l0path.fit(X, y, lambda2=0.05, certify=True, time_limit=1e-9)
    assert (
        len(short)
        and short.status.startswith("time_limit")
        and short.details.lower_bound[1:].isna().all()
    )


def test_cross_validation_bounds_the_fit_on_all_rows():
    X, y = wide()
    cv = l0path.cv_fit(X, y, lambda2=0.05, max_k=4, cv=3, random_state=1, certify=True)
    assert cv.details.gap.notna().all()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (dict(n_best=0), ValueError, "n_best=0"),
        (dict(gap=-1.0), ValueError, "gap=-1.0"),
        (dict(node_limit=0), ValueError, "node_limit=0"),
        (dict(n_best=True), ValueError, "n_best=True"),
        (dict(time_limit=0), ValueError, "time_limit=0"),
        (dict(time_limit="1"), ValueError, "time_limit='1'"),
        (dict(box=-1.0), ValueError, "box=-1.0"),
        (dict(box="large"), ValueError, "box='large'"),
        (dict(box=math.inf), ValueError, "box=inf"),
        (dict(box=1e-6), ValueError, "leaves out the solution"),
        (dict(X=np.ones((3, 2))), ValueError, "y="),
    ],
)
def test_errors_of_certify(options, error, match):
    X, y = wide()
    path = l0path.fit(X, y, lambda2=0.05, max_k=3)
    with pytest.raises(error, match=match):
        path.certify(k=2, **options)
    with pytest.raises(LookupError):
        path.certify(k=77)
    with pytest.raises(TypeError):
        path.certify()


def test_the_gap_plot_shows_objective_and_bound():
    X, y = wide()
    path = l0path.fit(X, y, lambda2=[0.01, 0.1], max_k=4, certify=True)
    frame = plots.data(path, "gap")
    for name in ("objective", "lower_bound", "gap"):
        np.testing.assert_array_equal(frame[name], path.details[name])
    ax = path.slice(0).plot("gap")
    gaps = path.slice(0).details.gap.to_numpy()
    drawn = np.where(gaps <= 1e-6, 0.0, 100.0 * gaps)  # in percent, 0 where proven
    np.testing.assert_allclose(ax.lines[0].get_ydata(), drawn, rtol=1e-12)
    assert not any("no lower bound" in text.get_text() for text in ax.texts)


def test_a_model_with_a_near_copy_is_not_the_only_best_one():
    """Another model is within 1e-8 of the objective: no column is fixed, and none is unique."""
    for seed in range(500, 512):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 4))
        X[:, 3] = X[:, 0] + 10 ** rng.uniform(-9, -6) * rng.standard_normal(60)
        y = X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(60)
        path = l0path.fit(X, y, lambda2=0.1, max_k=2)
        for k in (1, 2):
            first, second = path.certify(k=k, n_best=2).best
            c = path.certify(k=k)
            if second.objective - first.objective < 1e-7 * first.objective:
                assert not c.unique
                assert not {0, 3} & {*c.fixed_in.tolist(), *c.fixed_out.tolist()}


def test_a_row_that_was_compared_with_all_others_is_its_own_bound():
    data = l0path.datasets.load_growth()
    row = l0path.fit(data.X, data.y).details.iloc[1]
    assert row.optimality == "global"
    assert row.lower_bound == pytest.approx(row.objective, rel=1e-9)
    assert 0 <= row.gap <= 1e-9


def test_steps_whose_powers_overflow_are_no_error():
    """Ordered classes, next to no ridge, one row far off and weights over ten powers."""
    rng = np.random.default_rng(128)
    n, p = int(rng.integers(15, 25)), int(rng.integers(2, 6))
    X = 1e5 + rng.standard_normal((n, p))
    X[:, -1] -= 1e5
    X[0] *= 1e4
    signal = rng.logistic(size=n) * 0.2
    signal += ((X - np.median(X, axis=0)) @ rng.standard_normal(p)).clip(-20, 20)
    y = np.searchsorted(np.quantile(signal, [0.25, 0.5, 0.75]), signal)
    weights = 10 ** rng.uniform(-5, 5, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(X, y, loss="ordinal", sample_weight=weights, lambda2=1e-8, max_k=p)
        assert path.certify(k=1).incumbent <= path.details.objective[1] * (1 + 1e-9)


def test_advice_where_features_outnumber_rows_is_a_ridge_that_closes_gaps():
    """A ridge of 1e-3 was named, whose bounds are worth nothing there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 80))
    y = X[:, 0] + rng.standard_normal(40)
    path = l0path.fit(X, y, max_k=5)
    told = repr(path.certify(k=5, time_limit=1))
    assert "not small (lambda2=0.1, or 0.01;" in told and "ask for a smaller k" in told
    with pytest.raises(ValueError, match=r"80 features and 40 rows.*smaller k, fit with a ridge"):
        path.near_best(k=5)
    assert path.certify(k=3).proven and path.near_best(k=4).complete
    X = rng.standard_normal((60, 200))
    y = X[:, :5] @ [1.0, -1.0, 1.0, -1.0, 1.0] + rng.standard_normal(60)
    small = l0path.fit(X, y, max_k=6, lambda2=1e-3).certify(k=6, time_limit=1)
    assert small.gap > 0.5 and "raise time_limit, ask for a smaller k, or fit" in repr(small)
    assert l0path.fit(X, y, max_k=6, lambda2=0.1).certify(k=6).proven
