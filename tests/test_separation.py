"""Separated models: their objective is its infimum, which is compared; what is said of them, and
what is chosen.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy
from separated_infima import every_infimum
from separated_samples import KINDS, indicated, sample

import l0path
from l0path.core.control import Clock
from l0path.engine.posing import resolved
from l0path.engine.request import request
from l0path.errors import SeparationWarning
from l0path.problem.losses import make_loss
from l0path.problem.recession import Face, face_of, functions_of
from l0path.working_set import refits
from l0path.working_set.limits import _terms_left, left_of

SEEDS = {  # some with separated rows on the path
    "logistic": [0, 2],
    "multinomial": [0, 2],
    "ordinal": [4, 8],
    "cox": [2, 11, 1086],
    "poisson": [8, 9],
    "negative_binomial": [2, 9],
    "tweedie": [5, 7],
    "binomial": [3, 9],
}


def quiet(*arguments, **more):
    """A fit without its warning of separation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return l0path.fit(*arguments, **more)


def empty_cell(n=60, seed=0):
    """Classes that depend on x0; column 3 is 1 in four observations, all of class 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
    X[:, 3] = 0.0
    X[np.flatnonzero(y == 1)[:4], 3] = 1.0
    return X, y


def check(kind, seeds, **arguments):
    """Paths against the infima of all supports: objectives, the best of each size, the end; how
    many rows are separated, and how many of these are called global.
    """
    separated = proven = 0
    for seed in seeds:
        X, y, own, fit, more = sample(kind, seed)
        want = every_infimum(kind, X, own, **more)
        path = quiet(X, y, max_k=X.shape[1], **fit, **arguments)
        off = want[()] - path._solutions[0].loss  # a constant
        best = [min(v for S, v in want.items() if len(S) == k) - off for k in range(X.shape[1] + 1)]
        for s in path._solutions:
            value = want[tuple(s.support.tolist())] - off
            assert s.objective == pytest.approx(value, rel=2e-7, abs=2e-7), (kind, seed, s.k)
            assert s.objective <= best[s.k] + 1e-6 * (1 + abs(best[s.k])), (kind, seed, s.k)
            assert np.isnan(s.lower_bound) or s.lower_bound <= best[s.k] + 1e-7
            separated += s.separated
            proven += s.separated and s.optimality == "global"
        ks = [s.k for s in path._solutions]
        assert ks == list(range(len(ks)))
        assert len(ks) == X.shape[1] + 1 or min(best) >= path._solutions[-1].objective - 1e-7
    return separated, proven


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_the_best_by_their_infima(kind):
    assert check(kind, SEEDS[kind])[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_the_best_by_their_infima_in_many_samples(kind):
    separated, proven = check(kind, range(1000, 1300))
    assert separated > 60 and proven > 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["logistic", "poisson", "ordinal", "binomial"])
def test_separated_models_are_proven(kind):
    separated, proven = check(kind, range(2000, 2050), algorithm="exact")
    assert proven > 0.7 * separated > 10


def test_iris_has_the_models_of_nnet():
    """nnet::multinom: .1114, .0686, .0443 (its steps end before the infima .1114, .0685, .0442)."""
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    path = quiet(iris.data, iris.target.astype(str), loss="multinomial")
    assert path.details.loss.to_numpy()[1:] == pytest.approx(
        [0.111403, 0.068545, 0.044219, 0.039662], abs=1e-6
    )
    assert path.model(k=1).features == ["petal width (cm)"]
    assert path.model(k=2).features == ["petal length (cm)", "petal width (cm)"]
    assert path.status.startswith("complete: k = 0..4")


def test_quasi_complete_separation_names_its_columns():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning, match="separate the classes quasi-completely by x3;"):
        path = l0path.fit(X, y, loss="logistic")
    assert "quasi-completely by x3;" in path.status and "lambda2=1e-3" in path.status
    apart = path.details.status == "separated"
    assert apart.sum() >= 3 and all("x3" in f for f in path.details.features[apart])
    assert path.details.k.tolist() == list(range(6)) and path._end == "complete"
    with pytest.warns(SeparationWarning, match="separate the classes completely"):
        whole = l0path.fit(X, X[:, 1] > 0, loss="logistic")
    assert "separate the classes completely" in whole.status and whole._end == "separated"
    with pytest.warns(SeparationWarning, match="2 supports of this size"):
        l0path.fit(np.column_stack([X[:, 1], X[:, 1] ** 3]), X[:, 1] > 0, loss="logistic")


@pytest.mark.parametrize("loss", ["squared_hinge", "smoothed_hinge"])
def test_hinges_have_an_optimum_of_loss_zero(loss):
    X, _ = empty_cell()
    path = l0path.fit(X, X[:, 1] > 0, loss=loss)  # without a warning
    last = path.model(index=-1)
    assert last.k == 1 and last.loss <= 1e-12
    assert last.details["status"] == "converged" and path.status.startswith("complete")


def factors(n=120, seed=3):
    """A frame: no observation of the first level of `a` is of class 1; in `b` the level w is of
    class 1 alone.
    """
    rng = np.random.default_rng(seed)
    a, b, x = rng.choice(list("uvw"), n), rng.choice(list("uvw"), n), rng.standard_normal(n)
    z = rng.standard_normal(n)
    y = (x + 0.5 * (a == "w") + rng.logistic(size=n) > 0).astype(int)
    y[b == "w"], y[a == "u"] = 1, 0
    keep = (a != "u") | (b != "w")
    frame = {"y": y, "a": pd.Categorical(a), "b": pd.Categorical(b), "x": x, "z": z}
    return pd.DataFrame(frame)[keep].reset_index(drop=True)


def test_levels_are_named_the_reference_level_too():
    frame = factors()
    with pytest.warns(SeparationWarning, match=r"by a\[u\] \(the reference level\)"):
        path = l0path.fit("y ~ a + x", frame, loss="logistic", always_include=["a"])
    assert path.details.k.tolist() == [0, 1] and "a[v]" not in path.status
    with pytest.warns(SeparationWarning, match=r"by a\[u\] \(the reference level\), b\[w\];"):
        path = l0path.fit("y ~ a + b + x + z", frame, loss="logistic")
    assert path.details.k.tolist() == list(range(5))


def test_a_forced_factor_with_an_empty_cell_gives_all_sizes():
    frame = factors()
    path = quiet("y ~ a + x + z", frame, loss="logistic", always_include=["a"])
    inside = frame[frame.a != "u"]  # what R's glm converges to, too
    for s, features in zip(path._solutions, ([], ["x"], ["x", "z"]), strict=True):
        rest = l0path.fit(
            "y ~ " + " + ".join(["a", *features]),
            inside.assign(a=inside.a.cat.remove_categories("u")),
            loss="logistic",
            always_include=["a", *features],
        )
        assert s.loss == pytest.approx(rest._solutions[0].loss * len(inside) / len(frame), rel=1e-9)
    assert path.coef(k=2)["x"] == pytest.approx(rest.coef(index=0)["x"], rel=1e-6)


def test_what_is_infinite_and_what_is_estimable():
    import statsmodels.api as sm

    frame = factors()
    X = np.column_stack([frame.a == "v", frame.a == "w", frame.x + 100.0]).astype(float)
    inside = (frame.a != "u").to_numpy()
    y = np.where(frame.y > 0, 1.0, -1.0)
    y[np.flatnonzero(~inside)] = -1.0
    found = left_of(make_loss("logistic"), y, X)
    assert found.coefs == 3 and found.sign.tolist() == [1.0, 1.0, 0.0, -1.0]
    rest = sm.Logit(y[inside] > 0, sm.add_constant(X[inside][:, 1:])).fit(disp=0)
    assert found.params[2] == pytest.approx(rest.params[2], rel=1e-7)
    assert np.sqrt(found.variance[2] / len(y)) == pytest.approx(rest.bse[2], rel=1e-6)
    assert found.params[1] - found.params[0] == pytest.approx(rest.params[1], rel=1e-6)
    assert found.value * len(y) == pytest.approx(-rest.llf, rel=1e-9)
    assert np.isinf(found.variance[:2]).all()
    # a direction of either sign
    two = left_of(make_loss("logistic"), np.sign(X[:, 2] - X[:, 2].mean()), X[:, [2, 2]])
    assert np.isnan(two.sign[: two.coefs]).all()
    assert left_of(make_loss("logistic"), y[inside], X[inside][:, 1:]) is None


def test_a_sign_that_no_linear_program_tells_is_not_told(monkeypatch):
    X, y = empty_cell()
    free = np.full(5, np.inf)
    functions = functions_of(
        make_loss("logistic"), np.where(y > 0, 1.0, -1.0), X.T, True, -free, free
    )
    face, contrast = face_of(functions), np.eye(6)[3]
    assert face.sign(contrast) == 1.0
    unsolved = scipy.optimize.OptimizeResult(x=None, fun=None)
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *given, **more: unsolved)
    assert np.isnan(face.sign(contrast))


def test_bounds_cut_the_cone():
    X, y = empty_cell()
    for upper, apart in ((np.inf, True), (2.0, False)):
        box = np.full(5, np.inf)
        box[3] = upper
        path = quiet(X, y, loss="logistic", upper=box, always_include=[3])
        assert all(s.separated == apart for s in path._solutions)


def test_an_offset_stays_in_the_infimum():
    X, y = empty_cell(n=30)
    offset = np.random.default_rng(5).normal(size=30)
    want = every_infimum("logistic", X[:, [0, 3]], 2.0 * y - 1.0, offset=offset)
    path = quiet(X[:, [0, 3]], y, loss="logistic", offset=offset)
    for s in path._solutions:
        assert s.loss == pytest.approx(want[tuple(s.support)], abs=1e-9)


def test_cross_validation_does_not_choose_a_separated_model():
    X, y = empty_cell()
    with pytest.warns(SeparationWarning):
        cv = l0path.cv_fit(X, y, loss="logistic", cv=3, random_state=0, lambda2=0)
    apart = cv.details.status == "separated"
    assert apart.any()
    cv.folds.loc[apart] = -1.0  # the best score of all
    assert not apart[cv.select("min")] and not apart[cv.select("1se")]
    assert cv.select(index=int(np.flatnonzero(apart)[0])) == np.flatnonzero(apart)[0]


def test_cross_validation_does_not_choose_what_separates_in_a_fold():
    """Column 3 is 1 in four observations of class 1 and in one of class 0: without that one, which
    a fold leaves out, it separates.
    """
    X, y = empty_cell()
    inside = np.flatnonzero(y == 0)[0]
    X[inside, 3] = 1.0
    ids = np.arange(60) % 4
    for ridges, chosen in (([0.0], 0.0), ([0.0, 0.01], 0.01)):
        with pytest.warns(SeparationWarning, match="in 1 of 4 folds"):
            cv = l0path.cv_fit(X, y, loss="logistic", cv=ids, lambda2=ridges)
        free = cv.details.lambda2 == 0.0
        assert (cv.details.status == "converged").all()  # with all rows nothing separates
        apart = free & cv.details.features.map(lambda names: "x3" in names)
        assert 0 < apart.sum() < free.sum()
        cv.folds.loc[apart] = -1.0
        cv.folds.loc[free & ~apart] += 1.0 if chosen else 0.0
        for which in ("min", "1se"):
            i = cv.select(which)
            assert not apart[i] and cv.details.lambda2[i] == chosen
        note = next(note for note in cv.notes if "have no finite optimum" in note)
        assert "in a fold" in note and ("pass lambda2" in note) == (not chosen)
    with pytest.warns(SeparationWarning):  # where there is no other
        one = l0path.cv_fit(X, y, loss="logistic", cv=ids, always_include=[3], lambda2=0)
    assert one.model(index=one.select("min")).details["status"] == "converged"
    assert any("every model is one" in note for note in one.notes)


def test_choices_have_a_finite_optimum_in_every_fold_of_every_kind():
    """Whatever the loss, the choice has a finite optimum on all rows and in all folds."""
    left = 0
    for kind in KINDS:
        for seed in (1, 4):
            X, y, _, fit, _ = sample(kind, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cv = l0path.cv_fit(X, y, cv=3, random_state=seed, max_k=3, **{"lambda2": 0, **fit})
            fits = [cv._solutions, *cv._fits]
            apart = np.any([[s.separated for s in one] for one in fits], axis=0)
            left += apart.any()
            assert apart.all() or not apart[cv.select("min")]
            assert any("no finite optimum" in note for note in cv.notes) == apart.any()
    assert left > 8


def test_a_path_of_one_size_does_not_say_that_no_objective_is_lower():
    frame = factors()
    path = quiet("y ~ a + x", frame, loss="logistic", always_include=["a"], max_k=0)
    assert path.status.startswith("complete: k = 0") and "no objective is lower" not in path.status
    assert path._solutions[0].separated and path._solutions[0].objective > 0.1


def test_separated_rows_are_out_of_the_criteria_unless_asked_for():
    X, y = empty_cell()
    path = quiet(X, y, loss="logistic")
    apart = (path.details.status == "separated").to_numpy()
    hull = path.details.dropna(subset="lambda0_low")
    assert hull.lambda0_low.iloc[-1] == 0.0 and apart.sum() >= 3
    assert (hull.lambda0_low.to_numpy()[:-1] == hull.lambda0_high.to_numpy()[1:]).all()
    scores, asked = path.score_table(), path.score_table(separated=True)
    assert scores[apart].drop(columns="df").isna().all(axis=None)
    assert scores[~apart].equals(asked[~apart]) and np.isfinite(asked.to_numpy()).all()
    assert asked.loglik.to_numpy() == pytest.approx(-len(y) * path.details.loss.to_numpy())
    assert not apart[path.select("aic")]
    row = int(np.flatnonzero(apart)[0])
    with pytest.raises(LookupError, match="no model to choose"):
        path.select("bic", rows=[row])


def interactions(n=120, seed=3):
    """A frame in which no observation of class 0 has a = "v" and b = 1."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.choice(list("uvw"), n), rng.integers(0, 2, n), rng.standard_normal(n)
    y = (x + (a == "w") + rng.logistic(size=n) > 0).astype(int)
    y[(a == "v") & (b == 1)] = 1
    return pd.DataFrame({"y": y, "a": pd.Categorical(a), "b": b, "x": x})


def test_birth_weights_go_on_beyond_an_empty_cell(shared):
    """All pairs of terms of MASS::birthwt: no observation with hypertension, two visits or more and
    class 1, or 0."""
    frame = pd.read_csv(shared / "data" / "birthwt" / "birthwt.csv").drop(columns="bwt")
    frame["race"], frame["ptl"] = pd.Categorical(frame.race), (frame.ptl > 0).astype(int)
    frame["ftv"] = pd.Categorical(np.where(frame.ftv >= 2, "2+", frame.ftv.astype(str)))
    formula = "low ~ (age + lwt + race + smoke + ptl + ht + ui + ftv)**2"
    with pytest.warns(SeparationWarning, match=r"quasi-completely by .*ht:ftv\[T.2\+\]"):
        path = l0path.fit(formula, frame, loss="logistic", max_k=14)
    assert path.status.startswith("complete") and len(path) == 15
    assert (path.details.status == "separated").any()
    assert (np.diff(path.details.loss) < 1e-9).all()
    assert path.details.status[path.select("aic")] == "converged"


def test_risk_sets_in_a_perfect_order_have_their_infimum():
    """Predictors that leave all others behind at 40 times are too far apart for their sums."""
    n = 40
    X = np.column_stack([np.arange(n), np.random.default_rng(0).standard_normal(n)])
    y = np.column_stack([n - np.arange(n) * 1.0, np.ones(n)])
    path = quiet(X, y, loss="cox")
    last = path._solutions[-1]
    assert last.k == 1 and path._end == "separated" and last.separated
    assert last.loss == pytest.approx(0.0, abs=1e-9) and np.isfinite(last.beta).all()
    assert np.isfinite(path.predict(X, index=-1, type="link")).all()


def test_code_without_a_name_is_warned():
    """`exec` runs code whose globals need not have a `__name__`."""
    known = {"l0path": l0path, "X": np.arange(20.0)[:, None], "y": np.arange(20) > 10}
    with pytest.warns(SeparationWarning):
        exec("path = l0path.fit(X, y, loss='logistic')", known)
    assert known["path"].details.k.tolist() == [0, 1]


def test_no_claim_where_rounding_hides_what_an_empty_row_far_out_leaves():
    # row 5 is as far from the others as these are from the origin, so that the product hardly
    # changes elsewhere beside it; without that row, the others tell it apart
    rng = np.random.default_rng(1)
    X, at = rng.standard_normal((40, 2)), 8.6e5
    y = rng.poisson(np.exp(0.5 * X[:, 0] - 0.6 * X[:, 0] * X[:, 1])).astype(float)
    y[5] = 0.0
    far = at + X
    far[5] *= 2.0
    row = quiet(np.column_stack([far, far[:, 0] * far[:, 1]]), y, loss="poisson").model(index=-1)
    near = np.delete(np.column_stack([X, X[:, 0] * X[:, 1]]), 5, axis=0)
    others = quiet(near, np.delete(y, 5), loss="poisson").model(k=3)
    assert others.coef.iloc[-1] < 0.0  # so that row 5 vanishes, and what is left can be reached
    reached = row.objective <= others.objective * 39 / 40 * (1 + 1e-8)
    assert reached or "not_converged" in row.details["flags"]
    assert reached or row.details["optimality"] == "unverified"


@pytest.mark.parametrize("weight", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_next_to_no_weight_separates_as_any_other(kind, weight):
    (X, y), w = indicated(kind), np.ones(40)
    fixed = {"negative_binomial": l0path.losses.NegativeBinomial(theta=2.0)}
    given = {"loss": fixed.get(kind, kind), "max_k": 0}
    w[0] = weight
    path = quiet(X, y, sample_weight=w, always_include=[0, 1, 2], **given)
    assert path.details.status.tolist() == ["separated"]
    w[0] = 0.0
    without = l0path.fit(X, y, sample_weight=w, always_include=[0, 1], **given)
    both = [p.coef(index=0, full=True).to_numpy(float)[-3:-1] for p in (path, without)]
    np.testing.assert_allclose(*both, rtol=1e-5)


def test_a_step_beyond_all_numbers_has_an_infinite_value():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.poisson(2.0, 20).astype(float)
    p = resolved(request(X, y, loss="poisson"), Clock())[1]
    Z, free = np.ascontiguousarray(p.X.columns(np.arange(2)).T), np.full(2, np.inf)
    of = functions_of(p.loss, p.y, Z, p.intercept, -free, free)
    q, gone = of.low.size, np.zeros(of.held.size, dtype=bool)
    terms = _terms_left(p, Z, Face(of, np.zeros(q), gone, None))
    for size in (1e4, -1e4):
        value, slopes, _ = terms(np.full(q, size))
        assert value == np.inf and not slopes.any()
    assert np.isfinite(terms(np.zeros(q))[0])


def test_newton_steps_reach_the_optimum_of_what_is_left_by_themselves(monkeypatch):
    def refused(*given, **more):
        raise AssertionError("trust regions take ten times as long, and are for far-apart weights")

    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 16))
    y = np.argmax(2 * X[:, :6] @ rng.normal(size=(6, 3)) + rng.gumbel(size=(80, 3)), axis=1)
    monkeypatch.setattr(scipy.optimize, "minimize", refused)
    path = quiet(X, y, loss="multinomial")
    assert (path.details["status"] == "separated").sum() >= 3


def test_few_exchanges_of_a_separated_fit_are_taken_to_their_infimum(monkeypatch):
    # those of a fit that starts from 0 were all, a thousand of them
    asked, own = [0], refits.limit_of

    def counted(*given, **more):
        asked[0] += 1
        return own(*given, **more)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    X[:, 0] = np.arange(150) < 20
    y = (X[:, 1:6].sum(axis=1) + rng.logistic(size=150) > 0).astype(int)
    y[:20] = 1
    monkeypatch.setattr(refits, "limit_of", counted)
    path = quiet(X, y, loss="logistic")
    assert (path.details["status"] == "separated").sum() == 20
    assert asked[0] < 400
