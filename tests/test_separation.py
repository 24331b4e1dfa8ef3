"""Separated classes: what is said of them, and what is chosen."""

import warnings

import numpy as np
import oracles
import pandas as pd
import pytest

import l0path
from l0path.errors import SeparationWarning
from l0path.problem.recession import separating


def empty_cell(n=60, seed=0):
    """Classes that depend on x0; column 3 is 1 in four observations, all of class 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    X[:, 3] = 0.0
    X[np.flatnonzero(y == 1)[:4], 3] = 1.0
    return X, y


def test_quasi_complete_separation_names_its_columns():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning, match="separate the classes quasi-completely by x3,"):
        path = l0path.fit(X, y, loss="logistic")
    assert "quasi-completely by x3, so" in path.status and "lambda2=1e-3" in path.status
    apart = path.table.index[path.table.status == "separated"]
    assert len(apart) == 1 and "x3" in path.model(index=int(apart[0])).features
    with pytest.warns(SeparationWarning, match="separate the classes completely"):
        whole = l0path.fit(X, X[:, 1] > 0, loss="logistic")
    assert "separate the classes completely" in whole.status


def test_the_direction_uses_few_columns_and_keeps_to_bounds():
    X, y = empty_cell()
    none = np.full(5, np.inf)
    sides = np.where(y > 0, 1.0, -1.0)
    assert separating(X.T, sides, True, -none, none).tolist() == [3]
    assert separating(X.T, sides, True, -none, np.array([1, 1, 1, 2.0, 1])).size == 0
    assert separating(X[:, :3].T, sides, True, -none[:3], none[:3]).size == 0


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_hinges_have_an_optimum_of_loss_zero(loss):
    X, _ = empty_cell()
    path = l0path.fit(X, X[:, 1] > 0, loss=loss)  # without a warning
    last = path.model(index=-1)
    assert last.k == 1 and last.loss <= 1e-12
    assert last.status == "converged" and path.status.startswith("complete")


def test_cross_validation_does_not_choose_a_separated_model():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        cv = l0path.cv_fit(X, y, loss="logistic", cv=3, random_state=0)
    apart = cv.path.table.status == "separated"
    assert apart.any()
    cv.folds.loc[apart] = -1.0  # the best score of all
    assert not apart[cv.index("min")] and not apart[cv.index("1se")]
    assert cv.index(index=int(np.flatnonzero(apart)[0])) == np.flatnonzero(apart)[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sizes_beyond_are_the_best_of_the_other_columns(seed):
    X, y = empty_cell(seed=seed)
    with pytest.warns(SeparationWarning, match="quasi-completely by x3, so larger sizes"):
        path = l0path.fit(X, y, loss="logistic")
    others = [0, 1, 2, 4]
    best = oracles.best_subsets(X[:, others], np.where(y > 0, 1.0, -1.0), 4, loss="logistic")
    assert path.table.k.tolist() == list(range(5)) and path.status.startswith("complete: k = 0..4")
    beyond = [s for s in path.solutions if s.left_out]
    assert len(beyond) >= 2 and "left_out" not in path.solutions[0].flags
    for s in beyond:
        assert s.loss == pytest.approx(best[s.k][0], rel=1e-8) and 3 not in s.support
        assert s.optimality not in ("global", "unverified") and s.status == "converged"
        assert np.isnan(s.lower_bound)
    (note,) = [text for text in path.notes if "left_out" in text]
    assert f"without x3: k = {', '.join(str(s.k) for s in beyond)})" in note


def test_a_separated_row_is_off_the_hull_and_out_of_the_criteria():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, loss="logistic")
    apart = (path.table.status == "separated").to_numpy()
    assert apart.sum() == 1 and path.table.lambda0_low[apart].isna().all()
    hull = path.table[~apart].dropna(subset="lambda0_low")
    assert hull.lambda0_low.iloc[-1] == 0.0
    assert (hull.lambda0_low.to_numpy()[:-1] == hull.lambda0_high.to_numpy()[1:]).all()
    scores, asked = path.score_table(), path.score_table(separated=True)
    assert scores[apart].drop(columns="df").isna().all(axis=None)
    assert scores[~apart].equals(asked[~apart]) and np.isfinite(asked.to_numpy()).all()
    row = int(np.flatnonzero(apart)[0])
    assert asked.bic.idxmin() == row != path.select("bic")
    assert path.select("bic", separated=True) == row
    with pytest.raises(LookupError, match="no model to choose"):
        path.select("bic", rows=[row])


def test_a_certificate_does_not_prove_rows_that_left_columns_out():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, loss="logistic", algorithm="exact", certify=True)
    beyond = path.table[path.table["flags"].str.contains("left_out")]
    assert len(beyond) and not (beyond.optimality == "global").any()
    certificate = path.certify(k=int(beyond.k.iloc[0]))
    assert not certificate.proven


def interactions(n=120, seed=3):
    """A frame in which no observation of class 0 has a = "v" and b = 1."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.choice(list("uvw"), n), rng.integers(0, 2, n), rng.standard_normal(n)
    y = (x + (a == "w") + rng.logistic(size=n) > 0).astype(int)
    y[(a == "v") & (b == 1)] = 1
    return pd.DataFrame({"y": y, "a": pd.Categorical(a), "b": b, "x": x})


def test_an_empty_cell_of_an_interaction_leaves_its_term_out():
    frame = interactions()
    with pytest.warns(SeparationWarning, match="groups separate the classes quasi-completely by"):
        path = l0path.fit("y ~ (a + b + x)**2", frame, loss="logistic")
    assert path.status.startswith("complete") and "searched without a:b" in path.status
    assert path.table.k.tolist() == list(range(6))  # of six terms
    beyond = [s for s in path.solutions if s.left_out]
    label = path.meta.groups.labels.index("a:b")
    assert beyond and all(label not in s.groups for s in beyond)
    assert {s.optimality for s in beyond} == {"refit_swap_m"}
    # as plain columns
    X = np.column_stack(
        [frame.a == "v", frame.a == "w", frame.b, frame.x, (frame.a == "v") * frame.b]
    ).astype(float)
    with pytest.warns(SeparationWarning, match="quasi-completely by"):
        path = l0path.fit(X, frame.y, loss="logistic")
    assert path.status.startswith("complete") and len(path) >= 5


def test_columns_that_separate_together_are_not_all_left_out():
    """x1 alone does not separate; x1 and x2 do: what size 1 has stays."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 5))
    y = (X[:, 1] + 0.3 * rng.logistic(size=80) > 0).astype(int)
    X[:, 2] = np.where(y == 1, np.maximum(0, -X[:, 1]), np.minimum(0, -X[:, 1]))
    X[::2, 2] = -X[::2, 1]
    X[(np.sign(X[:, 1] + X[:, 2]) == 1) & (y == 0), 2] *= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(X, y, loss="logistic")
    assert path.status.startswith("complete") and "quasi-completely" in path.status
    losses = path.table.loss[path.table.status == "converged"]
    assert (np.diff(losses) <= 1e-9).all()


def test_forced_columns_that_separate_end_the_path():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning, match="k = 0 columns"):
        path = l0path.fit(X, y, loss="logistic", always_include=[3])
    assert len(path) == 1 and path.status.startswith("ended at k = 0")


def test_rates_of_zero_are_passed_as_well():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((90, 4)), rng.poisson(2.0, 90)
    X[:, 2] = np.arange(90) < 8
    y[:8] = 0
    with pytest.warns(SeparationWarning, match="rates of some rows to zero by x2, so larger"):
        path = l0path.fit(X, y, loss="poisson")
    assert path.status.startswith("complete: k = 0..3")
    best = oracles.best_subsets(X[:, [0, 1, 3]], y.astype(float), 3, loss="poisson")
    assert path.solutions[-1].left_out
    assert path.solutions[-1].loss == pytest.approx(best[3][0], rel=1e-8)


def test_stopping_beyond_a_separated_size_keeps_what_was_solved():
    X, y = empty_cell()
    seen = []

    def stop(model):
        seen.append((model.k, "left_out" in model.flags))
        return seen[-1][1]

    path = l0path.fit(X, y, loss="logistic", on_solution=stop)
    assert seen[-1][1] and path.status.startswith("stopped by on_solution")
    assert (path.table.status == "separated").any() and seen[-1][0] in path.table.k.tolist()


def test_birth_weights_go_on_beyond_an_empty_cell(shared):
    """All pairs of terms of MASS::birthwt: no observation with hypertension, two visits or more and
    class 1, or 0."""
    frame = pd.read_csv(shared / "data" / "birthwt" / "birthwt.csv").drop(columns="bwt")
    frame["race"], frame["ptl"] = pd.Categorical(frame.race), (frame.ptl > 0).astype(int)
    frame["ftv"] = pd.Categorical(np.where(frame.ftv >= 2, "2+", frame.ftv.astype(str)))
    with pytest.warns(SeparationWarning, match="quasi-completely by ht:ftv"):
        path = l0path.fit(
            "low ~ (age + lwt + race + smoke + ptl + ht + ui + ftv)**2", frame, loss="logistic"
        )
    assert path.status.startswith("complete") and len(path) > 25
    kept = path.table[path.table.status == "converged"]
    assert (np.diff(kept.loss) < 1e-9).all()
    assert path.table.status[path.select("aic")] == "converged"


@pytest.mark.parametrize("groups", [None, ["a", "b", "c", "d", "e"]])
def test_alternatives_beyond_a_separation_compare_models_that_have_an_optimum(groups):
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        path = l0path.fit(X, y, loss="logistic", groups=groups)
    sides = np.where(y > 0, 1.0, -1.0)
    row = next(i for i, s in enumerate(path.solutions) if s.left_out and s.k == 3)
    names = path.names if groups is None else groups
    inside = list(path.solutions[row].support)
    near = path.alternatives(index=row)
    assert len(near) == 3 and names[3] not in near.added.tolist()
    for _, exchange in near.iterrows():
        columns = [
            names.index(exchange.added) if names[j] == exchange.dropped else j for j in inside
        ]
        value = oracles.best_subsets(X[:, columns], sides, 3, loss="logistic")[3][0]
        assert exchange.objective == pytest.approx(value, rel=1e-7)
    assert (near.relative > 0).all()  # no better model, as its optimality says
    assert names[3] not in path.summary(index=row).table.best_exchange.tolist()
    # around the separated model itself nothing is left out
    apart = int(np.flatnonzero(path.table.status == "separated")[0])
    assert len(path.alternatives(index=apart)) == 6
