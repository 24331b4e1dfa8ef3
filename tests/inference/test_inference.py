"""What follows a selection: bounds by their formulas, p-values against statsmodels and hand
computations, knockoffs by their second moments, and what must not matter (processes, the state of
numpy).
"""

import signal

import numpy as np
import pandas as pd
import pytest
from inference_samples import sample
from lazy import lazy

import l0path
from l0path.core.control import Stop
from l0path.core.status import End
from l0path.errors import SeparationWarning
from l0path.inference import knockoffs
from l0path.inference import rows as paths_on_rows
from l0path.inference.rows import draw, resolve

plt = lazy("matplotlib.pyplot")


# -------------------- what they share

CALLS = {
    "stability_selection": {"n_subsamples": 4, "k": 4},
    "split_inference": {"n_splits": 3},
    "knockoff_filter": {},
}


def outcome(name, X, y, **more):
    out = getattr(l0path, name)(X, y, **CALLS[name], **more)
    return (
        out
        if isinstance(out, pd.DataFrame)
        else (out.statistic if name == "knockoff_filter" else out.by_size)
    )


@pytest.mark.parametrize("name", CALLS)
def test_results_depend_on_the_seed_alone(name):
    X, y = sample()
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = outcome(name, X, y, random_state=11)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    for more in ({"n_jobs": 1}, {"n_jobs": 2}):
        (pd.testing.assert_frame_equal if one.ndim == 2 else pd.testing.assert_series_equal)(
            outcome(name, X, y, random_state=11, **more), one
        )
    assert not outcome(name, X, y, random_state=12).equals(one)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(10)])
    assert outcome(name, frame, pd.Series(y), random_state=11).index[0].startswith("column ")
    np.testing.assert_allclose(outcome(name, frame, y, random_state=11).to_numpy(), one.to_numpy())
    generator = outcome(name, X, y, random_state=np.random.default_rng(0))
    assert generator.equals(outcome(name, X, y, random_state=np.random.default_rng(0)))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"lambda0": 0.1}, TypeError, "lambda0=0.1 has no meaning here: sizes are compared"),
        ({"lambda0": "grid"}, TypeError, "lambda0='grid' has no meaning here"),
        ({"on_solution": print}, TypeError, "has no meaning here"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
        ({"nonsense": 1}, TypeError, "nonsense"),
        ({"max_k": 0}, ValueError, "max_k=0 must be a whole number >= 1"),
        ({"exclude": range(10)}, ValueError, "no feature of X competes"),
        ({"loss": "logistic"}, ValueError, "looks continuous"),
    ],
)
def test_bad_input_is_named(name, change, error, message):
    X, y = sample()
    with pytest.raises(error, match=message):
        getattr(l0path, name)(X, y, **{**CALLS[name], **change})


@pytest.mark.parametrize(
    "name, change, message",
    [
        (
            "stability_selection",
            {"threshold": 0.5},
            r"threshold=0.5 must be a number in \(0.5, 1\]",
        ),
        ("stability_selection", {"n_subsamples": 5}, "n_subsamples=5 must be even"),
        ("stability_selection", {"k": 11}, "k=11 must be a whole number >= 1 and at most 10"),
        ("stability_selection", {"k": 3, "max_k": 2}, "max_k=2 is below k=3"),
        ("stability_selection", {"fraction": 0.001}, "fraction=0.001 leaves 0 rows"),
        ("stability_selection", {"fraction": 1.0}, "fraction=1.0"),
        ("stability_selection", {"n_jobs": 0}, "n_jobs=0"),
        ("split_inference", {"n_splits": 0}, "n_splits=0"),
        ("split_inference", {"level": 95}, "level=95"),
        ("split_inference", {"rule": "min"}, "choices of l0path.cv_fit"),
        ("split_inference", {"k": 40}, "k=40"),
        ("split_inference", {"fraction": 0.99}, "too few rows"),
        ("split_inference", {"k": 2, "lambda2": [1.0, 0.1]}, "one model in each slice"),
        ("split_inference", {"loss": "huber"}, "pass k="),
        ("knockoff_filter", {"fdr": 10}, "fdr=10"),
        ("knockoff_filter", {"kind": "second-order"}, "kind='second-order' is not known"),
        ("knockoff_filter", {"s": "max"}, "s='max' is not known"),
        ("knockoff_filter", {"s": 1.9, "kind": "model"}, "s is too large"),
        ("knockoff_filter", {"s": [0.5, 0.5]}, "one for each of the 10 features"),
        (
            "knockoff_filter",
            {"kind": "model", "covariance": np.eye(3)},
            r"covariance has shape \(3, 3\)",
        ),
        (
            "knockoff_filter",
            {"kind": "model", "covariance": np.ones((10, 10))},
            "covariance of X is singular",
        ),
        (
            "knockoff_filter",
            {"kind": "fixed", "covariance": np.eye(10)},
            "covariance= is for kind='model'",
        ),
        ("knockoff_filter", {"groups": np.arange(10) // 2}, "groups= has no knockoffs"),
    ],
)
def test_bad_input_of_each_is_named(name, change, message):
    X, y = sample()
    with pytest.raises(ValueError, match=message):
        getattr(l0path, name)(X, y, **{**CALLS[name], **change})


def test_hinge_has_no_p_values():
    with pytest.raises(
        ValueError,
        match="split_inference needs a likelihood, which loss='squared_hinge' does not have",
    ):
        l0path.split_inference(*sample(loss="logistic"), loss="squared_hinge")


@pytest.mark.parametrize("name", ["stability_selection", "split_inference"])
def test_time_limit_and_interrupts_keep_what_has_finished(name, monkeypatch):
    X, y = sample()
    whole, calls = outcome(name, X, y, random_state=0), []
    original = paths_on_rows.path_on_rows

    def interrupted(*arguments, error=KeyboardInterrupt):
        calls.append(1)
        if len(calls) > 2:
            raise error
        return original(*arguments)

    module = {"stability_selection": "stability", "split_inference": "splitting"}[name]
    late = Stop(End.TIME_LIMIT.reason, End.TIME_LIMIT)
    for error, says in ((KeyboardInterrupt, "interrupted"), (late, "time_limit reached")):
        calls.clear()
        monkeypatch.setattr(
            f"l0path.inference.{module}.path_on_rows",
            lambda *a, error=error: interrupted(*a, error=error),
        )
        out = getattr(l0path, name)(X, y, **CALLS[name], random_state=0)
        status = out.attrs["status"] if name == "split_inference" else out.status
        assert status.startswith(says) and "2 of" in status
        if name == "stability_selection":
            assert out.n_subsamples == 2
    assert whole is not None
    monkeypatch.undo()
    with pytest.raises(TimeoutError, match="time_limit"):
        getattr(l0path, name)(X, y, **CALLS[name], random_state=0, time_limit=1e-9)


@pytest.mark.parametrize("where", ["resolved", "fit_request"])
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_before_anything_is_done_is_passed_on(name, where, monkeypatch):
    X, y = sample()
    plain = paths_on_rows.resolved

    def press(*arguments, **more):
        signal.raise_signal(signal.SIGINT)
        return plain(*arguments, **more)

    module = knockoffs if (name, where) == ("knockoff_filter", "fit_request") else paths_on_rows
    monkeypatch.setattr(module, where, press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            getattr(l0path, name)(X, y, **CALLS[name], random_state=0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_plots_show_the_numbers():
    X, y = sample()
    result = l0path.stability_selection(X, y, n_subsamples=8, k=2, max_k=4, random_state=0)
    ax = result.plot(n=5)
    assert [bar.get_width() for bar in ax.patches] == result.frequency[
        result.frequency > 0
    ].sort_values(ascending=False, kind="stable").iloc[:5].tolist()
    ax = result.plot("path")
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 4]
    assert len(drawn) == len(result.by_size)
    np.testing.assert_allclose(
        sorted(map(tuple, drawn)), sorted(map(tuple, result.by_size.to_numpy()))
    )
    with pytest.raises(ValueError, match="kind='bars'"):
        result.plot("bars")
    for plus in (True, False):
        chosen = l0path.knockoff_filter(X, y, plus=plus, random_state=0)
        _, ax = plt.subplots()
        assert chosen.plot(ax=ax) is ax
        heights = np.concatenate(
            [line.get_ydata() for line in ax.lines if line.get_marker() == "o"]
        )
        np.testing.assert_allclose(
            np.sort(heights), np.sort(chosen.statistic[chosen.statistic != 0])
        )
        assert {text.get_text() for text in ax.texts} == set(chosen.selected)
    plt.close("all")
    assert "of 10 chosen" in repr(result) and "of 10 features" in repr(chosen)


# -------------------- what they promise


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fixed", "model"])
def test_false_discovery_rate_of_knockoffs(kind):
    proportions, power = [], []
    for seed in range(100):
        X, y, beta = simulated(seed, 150, 50, 15, 0.5, 6.0)
        W = l0path.knockoff_filter(
            X, y, kind=kind, random_state=seed, max_k=30
        ).statistic.to_numpy()
        chosen = np.array([knockoffs.threshold_of(W, fdr) for fdr in (0.1, 0.2)])[:, None] <= W
        proportions.append((chosen & (beta == 0)).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1))
        power.append((chosen & (beta != 0)).sum(axis=1) / 15)
    mean, error = np.mean(proportions, axis=0), np.std(proportions, axis=0, ddof=1) / 10
    assert (mean <= np.array([0.1, 0.2]) + 2 * error).all()
    assert np.mean(power, axis=0)[1] > 0.4


def simulated(seed, n, p, k, rho, size):
    rng = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = size / np.sqrt(n) * rng.choice([-1.0, 1.0], k)
    X = l0path.simulate.linear(n, p, 0, rho=rho, random_state=rng).X
    return X, X @ beta + rng.standard_normal(n), beta


@pytest.mark.slow
def test_false_choices_of_stability_selection_stay_below_the_bound():
    false, bound = [], []
    for seed in range(40):
        X, y, beta = simulated(seed, 120, 80, 6, 0.0, 5.0)
        result = l0path.stability_selection(X, y, n_subsamples=50, random_state=seed)
        false.append(np.isin(result.frequency.index[beta == 0], result.selected).sum())
        bound.append(result.bounds["r_concave"])
    assert np.mean(false) <= np.mean(bound) + 2 * np.std(false) / np.sqrt(40)


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [1, 20])
def test_family_wise_error_and_coverage_of_splits(n_splits):
    wrong, covered = [], []
    for seed in range(100):
        X, y, beta = simulated(seed, 150, 30, 3, 0.2, 10.0)
        table = l0path.split_inference(X, y, n_splits=n_splits, rule="ebic", random_state=seed)
        wrong.append((table.p_value[beta == 0] <= 0.05).any())
        covered.append(((table.ci_low <= beta) & (beta <= table.ci_high))[beta != 0].mean())
    assert np.mean(wrong) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(covered) >= 0.95 - 2 * np.std(covered) / 10


@pytest.mark.parametrize("call", ["stability_selection", "split_inference"])
def test_subsets_that_no_path_can_be_fitted_to_are_named(call):
    X, _ = sample(40)
    rare = np.arange(40) == 3
    run = getattr(l0path, call)
    with pytest.raises(ValueError, match=r"fraction=0\.5 of the 1 rows of class True is no row"):
        run(X, rare, loss="logistic", lambda2=0.01, k=1, random_state=0)
    with pytest.raises(ValueError, match="y is zero in every row of a random subset"):
        run(X, 2.0 * rare, loss="poisson", lambda2=0.01, k=1, random_state=0)


def test_held_out_rows_that_tell_nothing_leave_intervals_open():
    X, y = (part[:8] for part in sample())
    table = l0path.split_inference(
        X[:, :4], y, n_splits=4, k=2, always_include=[0], random_state=0
    )  # as many coefficients as held-out rows
    assert (
        (table.p_value == 1).all()
        and (table.ci_low == -np.inf).all()
        and (table.ci_high == np.inf).all()
        and table.selected.sum() == 3
    )  # k, and the forced one
    X, counts = sample()[0][:20], 3.0 * np.isin(np.arange(20), [2, 5])
    data = resolve(X, counts, {"loss": "poisson"}).request.data
    seed = next(
        s
        for s in range(99)
        if {2, 5}
        <= set(
            draw(data, 0.5, np.random.default_rng(np.random.SeedSequence(s).spawn(1)[0]))[
                0
            ].tolist()
        )
    )  # both counts among the rows that choose
    table = l0path.split_inference(
        X, counts, loss="poisson", lambda2=0.01, k=1, n_splits=1, random_state=seed
    )
    assert (table.ci_high == np.inf).all() and table.selected.sum() == 1


def test_separated_held_out_rows_are_told_apart_from_a_separated_path():
    X, _ = sample()
    with pytest.warns(SeparationWarning) as caught:
        table = l0path.split_inference(
            X, X[:, 1] > 0, loss="logistic", lambda2=0.01, k=1, n_splits=4, random_state=0
        )
    assert [str(w.message)[:79] for w in caught] == [
        "in 4 of 4 splits the chosen features separate the classes of the held-out rows "
    ]
    assert (
        table.selected.iloc[1] == 1
        and (table.ci_low == -np.inf).all()
        and (table.p_value == 1).all()
    )


def test_formulas_with_terms_of_several_columns():
    X, y = sample(60)
    X = X[:, :3]
    frame = pd.DataFrame(X, columns=list("abc")).assign(f=np.resize(list("uvw"), 60), y=y)
    with pytest.raises(ValueError, match="pass groups=False"):
        l0path.knockoff_filter("y ~ a + b + f", frame)
    coded = np.column_stack([X[:, :2], frame.f == "v", frame.f == "w"]).astype(float)
    by_formula, by_array = (
        l0path.knockoff_filter("y ~ a + b + f", frame, groups=False, random_state=0),
        l0path.knockoff_filter(coded, y, random_state=0),
    )
    assert by_formula.statistic.index.tolist() == ["a", "b", "f[T.v]", "f[T.w]"]
    np.testing.assert_allclose(by_formula.statistic, by_array.statistic)
    assert l0path.stability_selection(
        "y ~ a + b + f", frame, n_subsamples=4, random_state=0
    ).frequency.index.tolist() == ["a", "b", "f"]
    assert l0path.split_inference(
        "y ~ a + b + f", frame, n_splits=2, random_state=0
    ).index.tolist() == ["a", "b", "f[T.v]", "f[T.w]"]


def test_sizes_that_a_path_did_not_reach_have_no_bound():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 60))
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(40) > 0, "yes", "no")
    with pytest.warns(SeparationWarning):
        result = l0path.stability_selection(
            X, y, loss="logistic", k=8, n_subsamples=4, random_state=0
        )
    assert result.n_reached < 4 and result.bounds.isna().all()
    assert np.isnan(result.expected_false)
    assert f"in {4 - result.n_reached} of 4 subsamples the path ended before k = 8" in repr(result)
    shrunk = l0path.stability_selection(
        X, y, loss="logistic", k=8, n_subsamples=4, lambda2=0.1, random_state=0
    )
    assert shrunk.n_reached == 4 and shrunk.bounds.notna().all()


def test_the_default_size_is_one_that_subsamples_have():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((24, 900))
    y = X[:, 0] + 0.5 * rng.standard_normal(24)
    result = l0path.stability_selection(X, y, n_subsamples=2, random_state=0)
    assert result.k == 6 and result.n_reached == 2  # 12 rows in a subsample, half as many columns


def test_the_table_of_a_stability_selection():
    X, y = sample()
    result = l0path.stability_selection(X, y, k=2, n_subsamples=8, random_state=0)
    table = result.table
    assert table.columns.tolist() == ["frequency", "count", "selected"]
    assert (table["frequency"] > 0).all() and table["frequency"].is_monotonic_decreasing
    assert sorted(table.index[table["selected"]]) == sorted(result.selected)
    np.testing.assert_array_equal(table["count"], (table["frequency"] * 8).round())
    counted = pd.Series(np.concatenate(result.supports)).value_counts()
    assert {f"x{j}": n for j, n in counted.items()} == table["count"].to_dict()
