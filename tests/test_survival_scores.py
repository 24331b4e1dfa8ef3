"""Scores of survival times on new rows: against stored values of scikit-survival
(data/make_survival_values.py), and against their definitions, with weights and strata.
"""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import survival
from scipy.sparse import csr_array

import l0path
from l0path.problem.coupled.scores import concordance

TRAIN, TEST = slice(0, 50), slice(50, 90)


@cache
def stored():
    return json.loads((Path(__file__).parent / "data" / "survival_values.json").read_text())


def rows():
    return np.array(stored()["X"]), np.column_stack([stored()["time"], stored()["event"]])


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_scores_of_new_rows_are_those_of_scikit_survival(ties):
    (X, y), expected = rows(), stored()[ties]
    path = l0path.fit(
        X[TRAIN],
        y[TRAIN],
        loss=l0path.losses.Cox(ties=ties),
        k=[4],
        algorithm=l0path.solvers.LocalSearch(tol=1e-12),
    )
    over = path.model(k=4).score(X[TEST], y[TEST], times=expected["times"])
    assert over["auc"].to_numpy() == pytest.approx(expected["auc"])
    assert over["brier"].to_numpy() == pytest.approx(expected["brier"], rel=1e-6)
    found = path.model(k=4).score(X[TEST], y[TEST])
    assert found["concordance"] == pytest.approx(expected["concordance"])
    assert found["concordance_uno"] == pytest.approx(expected["uno"])
    between = np.trapezoid(over["brier"], over.index) / np.ptp(over.index)
    assert between == pytest.approx(expected["integrated_brier"], rel=1e-6)
    whole = path.model(k=4).score(X[TEST], y[TEST], times="events")["brier"]
    between = np.trapezoid(whole, whole.index) / np.ptp(whole.index)
    assert found["integrated_brier"] == pytest.approx(between)
    eta = X[TEST] @ path.coef(k=4).to_numpy()
    times = survival.Times(np.full(40, -np.inf), *y[TEST].T, np.ones(40), np.zeros(40, int))
    deviance = -2 * survival.log_likelihood(times, eta, ties == "efron") / y[TEST][:, 1].sum()
    as_many = 2 * np.log(path.n / 40)  # the rows of the fit, as weights path.n / 40
    assert found["deviance"] == pytest.approx(deviance + as_many)


def drawn(seed=2, n=50, **more):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)).round(1)
    return X, survival.draw(rng, n, eta=0.8 * X[:, 0] - 0.8 * X[:, 1], **more)


def uncensored(times, t, stratum, before):
    """The share not censored until t, by stratum: a product over the times of censored rows."""
    share = 1.0
    mine = times.stratum == stratum
    for c in np.unique(times.stop[mine & (times.event == 0)]):
        if c < t or (c == t and not before):
            dead = (times.stop == c) & (times.event > 0)
            at_risk = times.weights[mine & (times.stop >= c) & ~dead].sum()
            gone = times.weights[mine & (times.stop == c) & ~dead].sum()
            share *= 1.0 - gone / at_risk
    return share


def by_definition(times, eta, curve, t):
    """(auc, brier) at a time; curve (n,): probabilities of survival."""
    right = total = squares = 0.0
    n, w = eta.size, times.weights
    for i in range(n):
        case = times.event[i] > 0 and times.stop[i] <= t
        if case:
            one = w[i] / uncensored(times, times.stop[i], times.stratum[i], before=True)
            squares += one * curve[i] ** 2
            for j in range(n):
                if times.stop[j] > t and times.stratum[j] == times.stratum[i]:
                    total += one * w[j]
                    right += one * w[j] * ((eta[i] > eta[j]) + 0.5 * (eta[i] == eta[j]))
        elif times.stop[i] > t:
            share = uncensored(times, t, times.stratum[i], before=False)
            squares += w[i] / share * (1 - curve[i]) ** 2
    return right / total, squares / w.sum()


def concordance_by_pairs(loss, event, eta, weights, more):
    """(weight of the pairs in order, weight of all), pair by pair."""
    right = total = 0.0
    for i in np.flatnonzero(event > 0):
        for j in range(eta.size):
            later = loss.stop[j] > loss.stop[i] or (loss.stop[j] == loss.stop[i] and not event[j])
            late_entry = loss.start.size and loss.start[j] >= loss.stop[i]
            if later and not late_entry and loss.stratum[i] == loss.stratum[j]:
                pair = weights[i] * weights[j] * more[i]
                total += pair
                right += pair * ((eta[i] > eta[j]) + 0.5 * (eta[i] == eta[j]))
    return right, total


@pytest.mark.parametrize("seed", range(12))
def test_the_concordance_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    start = rng.integers(0, 4, n).astype(float) if seed % 2 else np.empty(0)
    stop = rng.integers(1, 6, n) + (start if start.size else 0.0)
    event, eta = rng.integers(0, 2, n).astype(float), rng.integers(0, 5, n) / 3.0
    weights, more = rng.choice([0.0, 0.1, 0.7, 2.0], n), rng.random(n)
    loss = SimpleNamespace(start=start, stop=stop, stratum=rng.integers(0, 2, n))
    right, total = concordance_by_pairs(loss, event, eta, weights, more)
    if total == 0:
        with pytest.raises(ValueError, match="concordance needs an event"):
            concordance(loss, event, eta, weights, more)
    else:
        found = concordance(loss, event, eta, weights, more)
        assert found == pytest.approx(right / total, abs=1e-12)


def test_rows_that_all_enter_after_the_events_have_no_concordance():
    loss = SimpleNamespace(
        start=np.array([0.0, 1.0, 1.0]), stop=np.array([1.0, 2.0, 3.0]), stratum=np.zeros(3, int)
    )
    event, weights = np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.3, 0.7])
    with pytest.raises(ValueError, match="concordance needs an event"):
        concordance(loss, event, np.arange(3.0), weights)


def test_scores_over_time_by_their_definition_with_weights_and_strata():
    X, times = drawn(strata=2, weighted=True)
    ward, y = np.array(["a", "b"])[times.stratum], np.column_stack([times.stop, times.event])
    kept = {"sample_weight": times.weights, "strata": ward}
    path = l0path.fit(X, y, loss="cox", max_k=2, **kept)
    eta, at = np.asarray(path.predict(X, k=2)), [2.0, 4.0, 5.0]
    found = path.model(k=2).score(X, y, times=at, **kept)
    curves = path.model(k=2).survival(X, times=at, strata=ward).to_numpy()
    for t, curve in zip(at, curves.T, strict=True):
        assert found.loc[t].to_numpy() == pytest.approx(by_definition(times, eta, curve, t))
    right = total = 0.0
    for i in np.flatnonzero(times.event):
        share = uncensored(times, times.stop[i], times.stratum[i], before=True)
        for j in range(len(X)):
            after = times.stop[j] > times.stop[i] or (
                times.stop[j] == times.stop[i] and not times.event[j]
            )
            if times.stratum[j] == times.stratum[i] and after:
                pair = times.weights[i] * times.weights[j] / share**2
                total += pair
                right += pair * ((eta[i] > eta[j]) + 0.5 * (eta[i] == eta[j]))
    assert path.model(k=2).score(X, y, **kept)["concordance_uno"] == pytest.approx(right / total)


def test_rows_of_weight_zero_and_loaded_paths_change_no_score(tmp_path):
    X, times = drawn(weighted=True)
    y = np.column_stack([times.stop, times.event])
    path = l0path.fit(X[:30], y[:30], loss="cox", max_k=2)
    weights = np.where(np.arange(20) % 3 == 0, 0.0, times.weights[30:])
    seen = weights > 0
    found = path.model(k=2).score(X[30:], y[30:], sample_weight=weights)
    few = path.model(k=2).score(X[30:][seen], y[30:][seen], sample_weight=weights[seen])
    assert found.to_numpy() == pytest.approx(few.to_numpy())
    path.save(tmp_path / "path.npz")
    again = (
        l0path.load(tmp_path / "path.npz").model(k=2).score(X[30:], y[30:], sample_weight=weights)
    )
    assert again.to_numpy() == pytest.approx(found.to_numpy())


def test_validation_scores_every_model():
    X, times = drawn()
    y = np.column_stack([times.stop, times.event])
    path = l0path.fit(X[:30], y[:30], loss="cox", max_k=2)
    for name in ("deviance", "concordance", "concordance_uno", "integrated_brier"):
        cv = path.validate(X[30:], y[30:], scoring=name)
        each = [path.model(k=k).score(X[30:], y[30:])[name] for k in range(3)]
        assert cv.scores["cv_mean"].to_numpy() == pytest.approx(each)
        assert cv._greater == name.startswith("concordance")


def test_a_formula_finds_times_and_strata_in_the_table():
    X, times = drawn(strata=2)
    data = pd.DataFrame(X, columns=list("abcd")).assign(
        time=times.stop, died=times.event, ward=times.stratum
    )
    data.loc[3, "a"] = np.nan
    path = l0path.fit("Surv(time, died) ~ a + b + c", data, loss="cox", strata="ward", max_k=2)
    full = data.dropna()
    y = full[["time", "died"]].to_numpy()
    expected = path.model(k=2).score(full, y, strata=full["ward"])
    found = path.model(k=2).score(data, strata="ward")
    assert found.to_numpy() == pytest.approx(expected.to_numpy())


@pytest.mark.parametrize("scoring", ["deviance", "integrated_brier"])
def test_outer_folds_are_scored_as_inner_ones(scoring):
    X, times = drawn(strata=2, weighted=True)
    y, folds = np.column_stack([times.stop, times.event]), np.arange(50) % 3
    kept = {"sample_weight": times.weights, "strata": times.stratum, "scoring": scoring}
    kept["lambda2"] = 0
    found = l0path.nested_cv(X, y, loss="cox", max_k=1, rule="1se", outer=folds, cv=2, **kept)
    plain = l0path.cv_fit(X, y, loss="cox", max_k=1, cv=folds, **kept)
    for fold, (k, score) in enumerate(found.table[["k", "score"]].to_numpy()):
        assert score == pytest.approx(plain.folds.loc[int(k), fold], rel=1e-6)
        held_out = plain.held_out(k=int(k))[folds == fold]
        assert found.held_out[folds == fold] == pytest.approx(held_out, rel=1e-5)


def test_what_late_entry_and_other_losses_do_not_have():
    X, times = drawn(entry=True)
    y = np.column_stack([times.start, times.stop, times.event])
    path = l0path.fit(X, y, loss="cox", max_k=2)
    found = path.model(k=2).score(X, y)
    assert found[["concordance_uno", "integrated_brier"]].isna().all()
    assert found[["deviance", "concordance"]].notna().all()
    with pytest.raises(ValueError, match="rows that enter late"):
        path.model(k=2).score(X, y, times="events")
    cv = l0path.cv_fit(X, y, loss="cox", cv=3, max_k=1, random_state=0)
    assert cv.metrics().columns.tolist()[1::2] == ["deviance", "concordance"]
    other = l0path.fit(X, times.stop, max_k=1)
    with pytest.raises(ValueError, match="times='events' is for loss='cox'"):
        other.model(k=1).score(X, times.stop, times="events")
    with pytest.raises(ValueError, match="strata is for loss='cox'"):
        other.model(k=1).score(X, times.stop, strata=times.stratum)
    right = l0path.fit(X, y[:, 1:], loss="cox", max_k=1)
    with pytest.raises(ValueError, match="is not before the last time"):
        right.model(k=1).score(X, y[:, 1:], times=[1.0, 1e3])
    with pytest.raises(ValueError, match="y has no event"):
        right.model(k=1).score(X, np.column_stack([times.stop, 0 * times.stop]), times="events")


def test_survival_curves_of_risk_groups():
    X, times = drawn(strata=2)
    y = np.column_stack([times.stop, times.event])
    path = l0path.fit(X, y, loss="cox", max_k=2, strata=times.stratum)
    eta = np.asarray(path.predict(X, k=2))
    order = np.argsort(eta)
    axes = [
        path.model(k=2).plot("survival", groups=2),
        path.model(k=2).plot("survival", csr_array(X), y, groups=2),
        path.model(k=2).plot("survival", X, y, groups=2, strata=times.stratum),
        path[1].plot("survival", risk=eta, groups=2),
    ]
    for ax in axes:
        for half, line in zip((order[:25], order[25:]), ax.lines[::2], strict=True):
            table = l0path.plots.kaplan_meier(y[half])
            assert line.get_xdata()[1:] == pytest.approx(table.index.to_numpy())
            assert line.get_ydata()[1:] == pytest.approx(table["survival"].to_numpy())
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts[0].startswith("lower risk (n = 25, ")
    unseen = np.where(np.arange(50) < 10, np.nan, eta)
    ax = path[1].plot("survival", risk=unseen, groups=1)
    assert ax.get_legend().get_texts()[0].get_text().startswith("all rows (n = 40, ")
    with pytest.raises(ValueError, match="risk= is about the rows of the fit"):
        path.model(k=2).plot("survival", X, y, risk=eta)
    with pytest.raises(ValueError, match="no stratum of the fit"):
        path.model(k=2).plot("survival", X, y, strata=times.stratum + 7)
    with pytest.raises(ValueError, match="go with X and y"):
        path.model(k=2).plot("survival", strata=times.stratum)
    with pytest.raises(ValueError, match="groups=0 must be a whole number >= 1"):
        path.model(k=2).plot("survival", groups=0)
    with pytest.raises(ValueError, match="survival curves are those of loss='cox'"):
        l0path.fit(X, times.stop, max_k=1).model(k=1).plot("survival")


def test_the_explorer_page_has_curves_of_three_risks():
    X, times = drawn()
    y = np.column_stack([times.stop, times.event])
    path = l0path.fit(X, y, loss="cox", max_k=2)
    text = path.explore().html
    start = text.index('id="data">') + len('id="data">')
    shown = json.loads(text[start : text.index("</script>", start)])["survival"]
    assert len(shown["curves"]) == 3 and len(shown["names"]) == 3
    eta = np.asarray(path.predict(X, k=2))
    for risk, curve in zip((0.1, 0.5, 0.9), shown["curves"][2], strict=True):
        row = np.flatnonzero(eta == np.quantile(eta, risk, method="nearest"))[:1]
        expected = path.model(k=2).survival(X[row], times=shown["times"]).to_numpy()[0]
        assert curve == pytest.approx(expected, abs=6e-5)
    several = l0path.fit(X, y, loss="cox", max_k=1, strata=np.arange(50) % 2)
    assert '"survival":null' in several.explore().html
