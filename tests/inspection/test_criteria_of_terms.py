"""Criteria where terms have several columns: the best model of all sets of terms, by enumeration
with NumPy and statsmodels.
"""

import math
import warnings
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import comb, gammaln
from separated_infima import loss_of

import l0path

LOSSES = ["squared", "logistic", "poisson", "gamma", "cox", "multinomial", "ordinal"]
CRITERIA = ["aic", "aicc", "bic", "ebic"]


def drawn(loss, seed, most=10):
    """(data, formula, {term: its columns without the reference level}): terms of one to four
    columns, one of them a coarser factor than another in some data sets.
    """
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    n, terms = int(rng.integers(120, 200)), int(rng.integers(4, most + 1))
    data, eta, columns = {}, np.zeros(n), {}
    for t in range(terms):
        levels = int(rng.choice([1, 1, 2, 3, 4, 5]))
        name = f"t{t}"
        if levels == 1:
            data[name] = rng.normal(size=n)
            columns[name] = data[name][:, None]
            effect = rng.normal(0.0, 0.25, 1)
        else:
            code = rng.integers(0, levels, n)
            if t == terms - 1 and rng.random() < 0.3 and levels > 3:
                data["u"] = pd.Categorical(code // 2)
                columns["u"] = (code[:, None] // 2 == np.unique(code // 2)[1:]).astype(float)
            data[name] = pd.Categorical(code)
            columns[name] = (code[:, None] == np.unique(code)[1:]).astype(float)
            effect = rng.normal(0.0, 0.3, columns[name].shape[1])
        if rng.random() < 0.6:
            eta += columns[name] @ effect
    left = "y"
    if loss == "squared":
        data["y"] = eta + rng.normal(size=n)
    elif loss == "logistic":
        data["y"] = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    elif loss == "poisson":
        data["y"] = rng.poisson(np.exp(0.5 + eta))
    elif loss == "gamma":
        data["y"] = rng.gamma(2.0, np.exp(eta) / 2.0)
    elif loss == "cox":
        times, end = rng.exponential(np.exp(-eta)), rng.exponential(2.0, n)
        data |= {"time": np.minimum(times, end), "event": (times <= end).astype(int)}
        left = "Surv(time, event)"
    elif loss == "ordinal":
        cut = np.digitize(eta + rng.logistic(size=n), [-0.8, 0.6])
        data["y"] = pd.Categorical.from_codes(cut, list("abc"), ordered=True)
    else:
        scores = 0.5 * np.column_stack([eta, np.zeros(n), -eta]) + rng.gumbel(size=(n, 3))
        data["y"] = np.array(list("abc"))[scores.argmax(axis=1)]
    return pd.DataFrame(data), f"{left} ~ {' + '.join(columns)}", columns


def partial_likelihood(data, X):
    """The largest log partial likelihood, without ties, by Newton's method."""
    order = np.argsort(-data.time.to_numpy())
    X, event, beta = X[order], data.event.to_numpy()[order].astype(bool), np.zeros(X.shape[1])
    squares = X[:, :, None] * X[:, None, :]
    for _ in range(50):
        eta = X @ beta
        at_risk = np.cumsum(np.exp(eta))
        mean = np.cumsum(np.exp(eta)[:, None] * X, axis=0) / at_risk[:, None]
        mean2 = np.cumsum(np.exp(eta)[:, None, None] * squares, axis=0) / at_risk[:, None, None]
        score = (X - mean)[event].sum(axis=0)
        information = (mean2 - mean[:, :, None] * mean[:, None, :])[event].sum(axis=0)
        step = np.linalg.solve(information, score) if beta.size else beta
        if score @ step < 1e-18:
            break
        beta = beta + step
    return float((X @ beta - np.log(at_risk))[event].sum())


def least(terms, t):
    """The least value of convex terms(t) -> (F, gradient, Hessian) by Newton steps from t."""
    F, g, H = terms(t)
    while True:
        step, size = -np.linalg.solve(H, g), 1.0
        if -g @ step < 1e-10 * abs(F):  # the next step leaves the square of that
            return terms(t + step)[0]
        while not terms(t + size * step)[0] < F:
            size *= 0.5
        t = t + size * step
        F, g, H = terms(t)


def log_likelihood(loss, data, X):
    """The largest log-likelihood of a model with the columns X (n, d), which are independent, and
    an intercept.
    """
    import statsmodels.api as sm

    n = len(X)
    if loss == "cox":
        return partial_likelihood(data, X)
    if loss == "ordinal":
        terms, q = loss_of(loss)(X, data.y.cat.codes.to_numpy(), np.ones(n), np.zeros(n))
        return -least(terms, np.r_[np.zeros(q - 2), -0.5, 0.5])
    y, A = data.y.to_numpy(), np.column_stack([np.ones(n), X])
    if loss == "squared":
        rss = np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2)
        return -0.5 * n * (math.log(2.0 * math.pi * rss / n) + 1.0)
    if loss == "multinomial":
        return sm.MNLogit(np.unique(y, return_inverse=True)[1], A).fit(disp=0, maxiter=100).llf
    if loss == "logistic":
        return sm.GLM(y, A, family=sm.families.Binomial()).fit(tol=1e-12).llf
    if loss == "poisson":
        return sm.GLM(y, A, family=sm.families.Poisson()).fit(tol=1e-12).llf
    mean = sm.GLM(y, A, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12).mu

    def less(log_shape):
        shape = math.exp(log_shape)
        rate = shape / mean
        value = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(y) - rate * y
        return -value.sum()

    return -minimize_scalar(
        less, bounds=(-3.0, 5.0), method="bounded", options={"xatol": 1e-10}
    ).fun


def independent(X):
    """The columns of X that the earlier ones and a constant do not explain."""
    kept = []
    for j in range(X.shape[1]):
        A = np.column_stack([np.ones(len(X)), X[:, [*kept, j]]])
        if np.linalg.matrix_rank(A) == A.shape[1]:
            kept.append(j)
    return X[:, kept]


def enumerated(loss, data, columns):
    """{set of terms: {criterion: value}} of all sets."""
    terms, out = list(columns), {}
    n = data.event.sum() if loss == "cox" else len(data)
    others, own = {"multinomial": 2}.get(loss, 1), {"gamma": 1, "ordinal": 1}.get(loss, 0)
    for chosen in chain.from_iterable(combinations(terms, s) for s in range(len(terms) + 1)):
        X = independent(np.column_stack([np.empty((len(data), 0)), *(columns[t] for t in chosen)]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twice = 2.0 * log_likelihood(loss, data, X)
        d = others * (X.shape[1] + (loss != "cox")) + own
        m = d + (loss == "squared")
        aic, bic = 2.0 * d - twice, math.log(n) * d - twice
        out[frozenset(chosen)] = {
            "aic": aic,
            "aicc": aic + 2.0 * m * (m + 1.0) / (n - m - 1.0),
            "bic": bic,
            "ebic": bic + 2.0 * math.log(comb(len(terms), len(chosen))),
        }
    return out


def compare(loss, seed, most):
    """Compare the choices by all criteria with those of an enumeration; how many are no rows."""
    data, formula, columns = drawn(loss, seed, most)
    path = l0path.fit(formula, data, loss=loss, certify=False)
    every, apart = enumerated(loss, data, columns), 0
    for name in CRITERIA:
        model = path.model(name)
        best = min(every.values(), key=lambda one: one[name])[name]
        about = (loss, seed, name)
        chosen = frozenset(term.split("[")[0] for term in model.groups)  # of terms of one column
        assert every[chosen][name] == pytest.approx(best, abs=1e-6), about
        table = model.path.score_table()
        assert table[name].iloc[model._index] == pytest.approx(best, rel=1e-7, abs=1e-6), about
        assert path.score_table()[name].min() >= best - 1e-6, about
        if path._meta.unlike_terms:
            assert "of all sets of terms" in model.details["chosen_by"] and "all sets" in repr(
                model
            )
        apart += model.path is not path
    return apart


@pytest.mark.parametrize("loss", LOSSES)
def test_criteria_choose_the_best_of_all_sets_of_terms(loss):
    compare(loss, 1, 5)


def test_a_best_model_that_is_no_row_is_whole(tmp_path):
    data, formula, columns = drawn("squared", 1, 5)
    path = l0path.fit(formula, data)
    rule = next(name for name in CRITERIA if path.model(name).path is not path)
    best, model = enumerated("squared", data, columns), path.model(rule)
    assert len(path) == path.details.k.nunique() and model._index == len(path)
    with pytest.raises(LookupError, match=rf"no row of path.table.*path.model\('{rule}'\)"):
        path.select(rule)
    row = path.select(rule, rows=range(len(path)))
    values = {name: one[rule] for name, one in best.items()}
    assert values[frozenset(path.model(index=row).groups)] > min(values.values()) + 1e-6
    # each of its methods, by the rule and of the model
    assert path.coef(rule).equals(model.coef)
    assert path.predict(data, rule).equals(model.predict(data))
    assert path.model(rule).refit().llf == pytest.approx(
        model.path.score_table()["loglik"].iloc[-1]
    )
    assert path.score_table().index.equals(path.details.index)
    assert model.refit().params.to_numpy() == pytest.approx(model.coef.to_numpy(), rel=1e-6)
    assert set(model.summary().table.index) == set(model.groups)
    assert model.certify().incumbent <= model.objective
    assert "def predict(data)" in model.to_python()
    model.save(tmp_path / "model.npz")
    assert l0path.load(tmp_path / "model.npz").coef.equals(model.coef)
    assert path.compare([1, rule]).shape[1] == 2
    # a loaded path has no data to search, and says so
    path.save(tmp_path / "path.npz")
    loaded = l0path.load(tmp_path / "path.npz").model(rule)
    assert loaded._index == row and "rows of the path, not of all" in loaded.details["chosen_by"]
    shrunken = l0path.fit(formula, data, lambda2=0.01)
    assert "shrunken" in shrunken.model(rule).details["chosen_by"]


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_a_term_that_changes_no_fit_is_among_the_sets(loss):
    """It lowers ebic where more than half of the terms are chosen."""
    rng = np.random.default_rng(0)
    code, data = rng.integers(0, 5, 120), pd.DataFrame(rng.normal(size=(120, 4)), columns=[*"abcd"])
    eta = 0.5 * (data.a + data.b + data.c) + 0.6 * (code == 1) - 0.8 * (code == 3)
    data["u"], data["v"] = pd.Categorical(code), pd.Categorical(code // 2)
    data["y"] = eta + rng.normal(size=120) if loss == "squared" else rng.poisson(np.exp(0.6 * eta))
    path = l0path.fit("y ~ a + b + c + d + u + v", data, loss=loss)
    found = path.near_best(criterion="ebic", within=1e6)
    values = {frozenset(m.groups): v for m, v in zip(found.models, found.scores, strict=True)}
    assert len(values) == 64
    for terms, value in values.items():
        if "u" in terms and "v" not in terms:  # the same fit, and another number of sets
            s = len(terms)
            more = 2.0 * math.log(comb(6, s + 1) / comb(6, s))
            assert values[terms | {"v"}] == pytest.approx(value + more, abs=1e-6)
    chosen = frozenset(path.model("ebic").groups)
    assert values[chosen] == min(values.values()) and {"u", "v"} <= chosen


def test_more_than_20_features_are_said():
    """Where the rows of a path are not proven to hold the best of all sets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 25))
    y = X[:, 0] + rng.normal(size=60)
    path = l0path.fit(X, y, max_k=25)
    rows = [s._replace(optimality="global") for s in path._solutions]
    for given, said in ((rows, None), (rows[:6], "of all sets of up to 5 features")):
        one = l0path.Path(path._meta, given, path.status, path.notes, (), path._source)
        told = one.model("bic").details.get("chosen_by")
        assert told is None if said is None else said in told
    rows[3] = rows[3]._replace(optimality="refit_swap")
    one = l0path.Path(path._meta, rows, path.status, path.notes, (), path._source)
    for name in (*CRITERIA, "mbic", "gic", "cp"):
        model = one.model(name)
        assert "more than 20" in model.details["chosen_by"] and "of the rows of the" in repr(model)
        assert one.select(name) == model._index
    few = l0path.fit(X[:, :20], y, certify=False)
    assert "chosen_by" not in few.model("bic").details


def test_more_terms_than_are_compared_are_said(monkeypatch):
    data, formula, _ = drawn("squared", 1, 5)
    monkeypatch.setattr("l0path.inspection.all_models.MOST_TERMS", 3)
    path = l0path.fit(formula, data)
    model = path.model("bic")
    assert model.path is path and "more than 3" in model.details["chosen_by"]
    assert path.select("bic") == model._index


@pytest.mark.parametrize("loss", ["logistic", "poisson", "cox", "multinomial"])
def test_dependent_factors_count_their_rank(loss):
    rng = np.random.default_rng(5)
    code = rng.integers(0, 6, 150)
    data = pd.DataFrame({"fine": pd.Categorical(code), "coarse": pd.Categorical(code // 2)})
    data = data.assign(x=rng.normal(size=150), z=rng.normal(size=150))
    drawn_y, _, _ = drawn(loss, 8, 4)
    names = ["time", "event"] if loss == "cox" else ["y"]
    other = drawn_y[names].sample(150, replace=True, random_state=1).reset_index(drop=True)
    left = "Surv(time, event)" if loss == "cox" else "y"
    path = l0path.fit(f"{left} ~ fine + coarse + x + z", data.join(other), loss=loss, certify=False)
    last = path.score_table().loc[4, "df"]
    others = 2 if loss == "multinomial" else 1
    assert last == others * (7 + (loss != "cox"))  # 5 of fine, none of coarse, 2 numbers


@pytest.mark.slow
def test_criteria_choose_the_best_of_all_sets_in_200_data_sets():
    apart = sum(compare(LOSSES[i % 7], 100 + i, 10) for i in range(200))
    assert apart > 50  # of 800 choices are no rows of the paths


@pytest.mark.parametrize("options", [{"lambda2": 0}, {}])
def test_paths_with_held_out_scores_have_the_best_set_of_terms(options):
    data = l0path.datasets.load_birth_weights()
    table = data.X.assign(weight=data.y)
    text = "weight ~ bs(income, df=8) + white + male + parity"
    cv = l0path.cv_fit(text, table, cv=3, random_state=1, max_k=3, **options)
    model, own = cv.model("bic"), l0path.fit(text, table).model("bic")
    assert model.groups == own.groups
    np.testing.assert_allclose(cv.predict(table, "bic"), own.predict(table), rtol=1e-9)
    with pytest.raises(LookupError, match="is no row of"):
        cv.select("bic")


def test_sets_with_a_term_that_others_explain_count_the_rank():
    """Least squares of dependent columns has coefficients in all of them: df was one too many."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.standard_normal((150, 6)), columns=list("abcdef"))
    z = rng.integers(0, 4, 150)
    table["u"], table["v"] = [f"L{i}" for i in z], [f"M{i // 2}" for i in z]
    table["y"] = table[list("abcde")].sum(axis=1) / 2 + 0.6 * (z == 1) - 0.8 * (z == 3)
    table["y"] += rng.standard_normal(150)
    path = l0path.fit("y ~ a + b + c + d + e + f + u + v", table)
    good = path.near_best(criterion="ebic", within=20)
    both = [i for i, m in enumerate(good.models) if {"u", "v"} <= set(m.groups)]
    assert len(both) > 3
    scores = good.models[0].path.score_table()
    np.testing.assert_allclose(scores.ebic, good.scores, rtol=1e-12)
    for i in both:  # the intercept, the numbers and three differences of levels of u
        assert scores.df[i] == len(good.models[i].groups) + 2
        assert np.count_nonzero(good.models[i].coef) == scores.df[i]
