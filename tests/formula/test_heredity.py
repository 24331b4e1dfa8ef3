"""Hierarchies of terms that the search keeps: every size against all closed sets of terms, by their
definition from the names of the terms, and what depends on no choice of first levels.
"""

import itertools
import re

import numpy as np
import oracles
import pandas as pd
import pytest
import survival
from asked import loss_with
from enumerated_families import least, ordered_loss, softmax_loss
from hierarchies import keeps
from hierarchy_samples import closed_sets, encoded, least_squares, table

import l0path
from l0path.engine.strategies import moves
from l0path.engine.strategies.moves import SetMoves
from l0path.exchange import group_ranking
from l0path.exchange.neighborhoods import groups
from l0path.formula.hierarchy import Hierarchy, hierarchy
from l0path.solvers import LocalSearch
from l0path.working_set.rows import RowModel

RULES = ("strong", "weak")
FORMULAS = [
    "y ~ (a + b + c) ** 2",
    "y ~ a*c*d",
    "y ~ a*c + b*d + x",
    "y ~ (a + x) ** 2 + I(a ** 2) + I(x ** 2)",
    "y ~ a/c + b + c:d",
    "y ~ c*e + b:d",  # c and e have an empty cell
    "y ~ z*c + a*d",  # z is constant
    "y ~ (a + s + c) ** 2",  # s is a copy of a, or a + b
    "y ~ c:a + d:a + b",
    "y ~ 0 + c*a + d",
]


def check(path, best, rule, searched=None):
    """Number of sizes above the enumerated optimum; none is below it, nor is any claim wrong.

    searched: of a model, the objective by which its terms were compared, where rows show another.
    """
    above, every = 0, list(path._meta.groups.labels)
    for model, s in zip(path, path._solutions, strict=True):
        constant = ["z"] if "z" in every else []
        assert keeps([*model.groups, *constant], every, rule), model.groups
        objective = s.objective if searched is None else searched(model)
        ahead = (objective - best[s.k]) / max(abs(best[s.k]), 1e-2)
        assert ahead > -1e-7, (s.k, objective, best[s.k])
        assert not s.lower_bound > best[s.k] + 1e-7 * max(abs(best[s.k]), 1e-2)
        assert s.optimality != "global" or ahead < 1e-7, (s.k, s.objective, best[s.k])
        above += ahead > 1e-7
    return above


# -------------------- every size


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 120))]
)
def test_every_size_is_the_best_of_all_closed_sets(seed):
    text, rule = FORMULAS[seed % len(FORMULAS)], RULES[seed % 3 == 2]
    data, lambda2 = table(seed), (0.0, 0.02)[seed % 4 == 3]
    if text == FORMULAS[8]:  # d:a rests on c:a by its coding, which no name tells
        rule = "weak"
    best = least_squares(text, data, rule, lambda2)
    how = {"heredity": rule, "lambda2": lambda2, "max_k": len(best) - 1}
    path = l0path.fit(text, data, **how)
    assert check(path, best, rule) == 0 and set(path.details.optimality) == {"global"}
    check(l0path.fit(text, data, certify=False, **how), best, rule)
    proven = l0path.fit(text, data, algorithm="exact", **how)
    assert check(proven, best, rule) == 0 and set(proven.details.optimality) == {"global"}


@pytest.mark.slow
def test_the_search_alone_finds_nearly_every_optimum():
    above = sizes = 0
    for seed in range(60):
        text, rule = FORMULAS[seed % 8], RULES[seed % 2]
        data = table(1000 + seed)
        best = least_squares(text, data, rule, 0.0)
        path = l0path.fit(text, data, heredity=rule, certify=False, max_k=len(best) - 1)
        above, sizes = above + check(path, best, rule), sizes + len(path)
    assert above <= 0.01 * sizes


NUMBER = {"negative_binomial": "theta", "tweedie": "power", "quantile": "quantile"}
GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6, "quantile": 0.3}
MARKED = [
    pytest.param(loss, marks=() if loss in ("logistic", "poisson", "huber") else pytest.mark.slow)
    for loss in oracles.EVERY
    if loss != "squared"
]


@pytest.mark.parametrize("loss", MARKED)
@pytest.mark.parametrize("rule", RULES)
def test_every_loss_is_compared_over_closed_sets(loss, rule):
    data = table(5, 60, loss)
    text = "y ~ (a + b + d) ** 2" if rule == "strong" else "y ~ a*c + b:d"
    given = {NUMBER[loss]: GIVEN[loss]} if loss in NUMBER else {}
    how = {"trials": np.full(60, 4.0)} if loss == "binomial" else {}
    how["loss"] = loss_with(loss, delta=1.345, **given)
    how |= {"heredity": rule, "lambda2": 0.02, "max_k": 6}
    path = l0path.fit(text, data, algorithm=LocalSearch(effort="high"), **how)
    X, at, _ = encoded(text, data)
    same = {"loss": loss, "lambda2": 0.02, "delta": GIVEN.get(loss, 1.345)}
    if loss == "quantile":
        same["gamma"] = path._loss_record().width

    def value(terms):
        J = [j for term in terms for j in at[term]]
        return oracles.restricted(X, data.y.to_numpy(), J, **same)[0]

    best = {}
    for S in closed_sets(list(at), rule):
        best[len(S)] = min(best.get(len(S), np.inf), value(S))
    # rows of a quantile show the check loss, and their terms were compared by a smoothed one
    searched = (lambda model: value(model.groups)) if loss == "quantile" else None
    assert check(path, best, rule, searched) == 0
    proven = l0path.fit(text, data, algorithm="exact", **how)
    assert check(proven, best, rule, searched) == 0
    claimed = {"global", "global_smoothed"} if searched else {"global"}
    assert set(proven.details.optimality) == claimed


@pytest.mark.slow
def test_survival_times_are_compared_over_closed_sets():
    rng = np.random.default_rng(3)
    data = table(3, 50)
    times = survival.draw(rng, 50, eta=0.8 * data.a * (data.d == "q"))
    data["time"], data["event"] = times.stop, times.event
    text = "Surv(time, event) ~ (a + b + d) ** 2"
    path = l0path.fit(text, data, loss="cox", max_k=6, algorithm=LocalSearch(effort="high"))
    X, at, _ = encoded(text, data, loss="cox")
    Z, best = survival.standardized(X, times.weights)[0], {}
    for S in closed_sets(list(at), "strong"):
        J = [j for term in S for j in at[term]]
        value = survival.minimum(survival.Problem(Z[:, J], times, np.zeros(50)))[0]
        best[len(S)] = min(best.get(len(S), np.inf), value)
    assert check(path, best, "strong") == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_ordered_classes_are_compared_over_closed_sets(seed):
    rng, data = np.random.default_rng(seed), table(seed, 50)
    noise = rng.logistic(size=50)
    codes = np.digitize(2 * data.a * (data.d == "q") + data.b + noise, [-1.0, 1.0])
    text = "y ~ (a + b + d) ** 2"
    data = data.assign(y=codes)
    effort = LocalSearch(effort="high")
    path = l0path.fit(text, data, loss="ordinal", lambda2=0.01, max_k=6, algorithm=effort)
    X, at, _ = encoded(text, data)
    w, best = np.full(50, 0.02), {}
    Z = survival.standardized(X, w)[0]
    for S in closed_sets(list(at), "strong"):
        J = [j for term in S for j in at[term]]
        value = least(*ordered_loss(Z[:, J], codes, w, np.zeros(50), 0.01))
        best[len(S)] = min(best.get(len(S), np.inf), value)
    assert check(path, best, "strong") == 0


def least_of_responses(kind, data, Z, lambda2):
    """The least value on columns Z for the responses u and v, or the classes y."""
    n = len(Z)
    if kind == "multinomial":
        Y = (data.y.to_numpy()[:, None] == np.arange(3)).astype(float)
        return least(*softmax_loss(Z, Y, np.full(n, 1 / n), 0.0, lambda2))
    Y = data[["u", "v"]].to_numpy()
    A = np.vstack([Z / np.sqrt(n), np.sqrt(2 * lambda2) * np.eye(Z.shape[1])])
    T = np.vstack([(Y - Y.mean(axis=0)) / np.sqrt(n), np.zeros((Z.shape[1], 2))])
    return 0.5 * ((T - A @ np.linalg.lstsq(A, T, rcond=None)[0]) ** 2).sum()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["several", "multinomial"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(12))])
def test_responses_and_classes_are_compared_over_closed_sets(seed, kind, rule):
    rng, data = np.random.default_rng(seed), table(seed, 50)
    signal = 2 * data.a * (data.d == "q") + data.b
    data["u"] = signal + rng.standard_normal(50)
    data["v"] = 0.5 * signal - data.a + rng.standard_normal(50)
    classes = np.column_stack([signal, -signal, 0 * signal]) + rng.gumbel(size=(50, 3))
    data["y"] = classes.argmax(axis=1)
    terms = "(a + b + d) ** 2" if seed % 2 else "a*c + b + d"
    text = f"u + v ~ {terms}" if kind == "several" else f"y ~ {terms}"
    how = {} if kind == "several" else {"loss": "multinomial"}
    how |= {"algorithm": LocalSearch(effort="high"), "certify": "auto" if seed % 4 < 2 else False}
    path = l0path.fit(text, data, lambda2=0.01, heredity=rule, **how)
    X, at, _ = encoded(f"y ~ {terms}", data)
    Z, best = survival.standardized(X, np.ones(50))[0], {}
    for S in closed_sets(list(at), rule):
        value = least_of_responses(kind, data, Z[:, [j for term in S for j in at[term]]], 0.01)
        best[len(S)] = min(best.get(len(S), np.inf), value)
    assert check(path, best, rule) == 0


def test_values_of_lambda0_are_those_of_closed_sets():
    text, data = FORMULAS[0], table(6)
    best = least_squares(text, data, "strong", 0.0)
    path = l0path.fit(text, data, lambda0=[0.2, 0.05, 0.01, 0.001])
    for s in path._solutions:
        assert s.objective == pytest.approx(min(v + s.lambda0 * k for k, v in best.items()))
    assert set(path.details.optimality) == {"global"}


@pytest.mark.parametrize(("text", "rule"), list(zip(FORMULAS[:2], RULES, strict=True)))
def test_no_exchange_of_terms_improves_what_was_checked(text, rule):
    data = table(7)
    path = l0path.fit(text, data, certify=False, heredity=rule)
    X, at, _ = encoded(text, data)
    checked = [m for m in path if m.optimality == "refit_swap" and 0 < m.k < len(at)]
    assert checked

    def loss(terms):
        A = np.column_stack([np.ones(len(X)), X[:, [j for term in terms for j in at[term]]]])
        r = data.y - A @ np.linalg.lstsq(A, data.y)[0]
        return 0.5 * r @ r / len(X)

    for model in checked:
        for out, into in itertools.product(model.groups, set(at) - set(model.groups)):
            others = [*(term for term in model.groups if term != out), into]
            if keeps(others, list(at), rule):
                assert loss(others) > model.objective * (1 - 1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", ["y ~ a*x*b + I(a ** 2)", "y ~ a*c*d"])
def test_moves_of_several_terms_are_predicted_as_refits_find_them(text, rule, monkeypatch):
    plain, compared = SetMoves._predicted, []

    def checked(moves, fit, chains):
        found = plain(moves, fit, chains)
        for chain, values in zip(chains, found, strict=True):
            new = moves.groups.refit(np.union1d(fit.groups, chain), fit)
            for value in values[np.isfinite(values)]:
                compared.append(value)
                assert value == pytest.approx(new.value, rel=1e-9)
                drops = [g for _, g in moves.search.steps.drops(new) if g not in chain]
                if drops:
                    new = moves.groups.refit(new.groups[new.groups != drops[0]], new)
        return found

    monkeypatch.setattr(SetMoves, "_predicted", checked)
    l0path.fit(text, table(9), certify=False, heredity=rule)
    assert len(compared) > 5


# -------------------- the choice of first levels


def test_moves_of_terms_of_several_classes_are_refitted_where_their_quadratic_is_rough(monkeypatch):
    rng = np.random.default_rng(110)
    n, p = 150, 48
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.7 * X[:, j - 1] + 0.71 * X[:, j]
    b = np.zeros(p)
    b[rng.choice(p, 6, replace=False)] = rng.standard_normal(6)
    eta = np.column_stack([X @ b, X[:, 3] - X[:, 8], 1.2 * X[:, 20]])
    data = pd.DataFrame(X[:, :8], columns=list("abcdefgh"))
    data["y"] = np.argmax(eta + rng.gumbel(size=(n, 3)), axis=1)
    asked = {"loss": "multinomial", "lambda2": 1e-3, "max_k": 7}
    found = l0path.fit("y ~ (a + b + c + d + e + f + g + h)**2", data, **asked)
    monkeypatch.setattr(moves, "CLASSES_MARGIN", 1.0)  # then no move goes without a refit
    every = l0path.fit("y ~ (a + b + c + d + e + f + g + h)**2", data, **asked)
    assert [row.objective for row in found] == pytest.approx(
        [row.objective for row in every], rel=1e-9
    )


def first_levels(data):
    """data with every pair of first levels of c and d."""
    for firsts in itertools.product("uwv", "pq"):
        out = data.copy()
        for name, first in zip("cd", firsts, strict=True):
            levels = sorted(data[name].unique(), key=lambda v, first=first: (v != first, v))
            out[name] = pd.Categorical(data[name], categories=levels)
        yield out


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "text", ["y ~ c:a + d:a + b", pytest.param("y ~ a*c*d", marks=pytest.mark.slow)]
)
def test_models_depend_on_no_choice_of_first_levels(loss, text):
    data = table(8, 150, loss)
    codings = list(first_levels(data))[::2]
    paths = [(l0path.fit(text, one, loss=loss, max_k=5, certify=False), one) for one in codings]
    first = paths[0][0]
    assert len(first) > 3 and not any("first level" in note for note in first.notes)
    for path, rows in paths[1:]:
        assert [m.groups for m in path] == [m.groups for m in first]
        np.testing.assert_allclose(path.details.objective, first.details.objective, rtol=1e-9)
        for m in first:
            np.testing.assert_allclose(
                path.predict(rows, k=m.k), first.predict(data, k=m.k), rtol=1e-5, atol=1e-6
            )


def test_a_note_says_where_models_depend_on_the_first_levels():
    data = table(9)

    def said(**how):
        path = l0path.fit("y ~ a*c", data, max_k=2, **how)
        return any("first level" in note for note in path.notes)

    assert not said()
    assert said(lambda2=0.1) and said(lambda1=0.01) and said(upper=5.0)
    free = [l0path.fit("y ~ a*c", table(s), heredity=None, max_k=2) for s in range(6)]
    assert any("without a" in note for path in free for note in path.notes)


# -------------------- polynomials


@pytest.mark.parametrize("rule", RULES)
def test_products_and_squares_enter_with_their_columns(rule):
    rng = np.random.default_rng(14)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.3 * rng.standard_normal(40)
    design = l0path.designs.polynomial(X, heredity=rule, names=list("abc"))
    path = l0path.fit(design, y)
    frame = pd.DataFrame(X - X.mean(axis=0), columns=list("abc")).assign(y=y)
    squares = " + ".join(f"I({name} ** 2)" for name in "abc")
    same = l0path.fit(f"y ~ (a + b + c) ** 2 + {squares}", frame, heredity=rule)
    np.testing.assert_allclose(path.details.objective, same.details.objective, rtol=1e-9)
    assert set(path.details.optimality) == {"global"}
    for model in path:
        names = [re.sub(r"(\w)\^2", r"I(\1 ** 2)", name) for name in model.groups]
        assert keeps(names, list(same._meta.groups.labels), rule)
    asked = l0path.fit(l0path.designs.polynomial(X), y, heredity=rule)
    np.testing.assert_allclose(asked.details.objective, path.details.objective, rtol=1e-9)
    free = l0path.fit(l0path.designs.polynomial(X, heredity=rule, parents=[0, 1]), y, max_k=2)
    assert free._meta.groups is None
    np.testing.assert_allclose(path.predict(X, k=3), same.predict(frame, k=3), rtol=1e-7)


def test_too_many_features_are_refused():
    design = l0path.designs.polynomial(np.random.default_rng(0).random((5, 70)), heredity="weak")
    with pytest.raises(ValueError, match="at most 2000 terms, and here are 2555"):
        l0path.fit(design, np.arange(5.0))


# -------------------- closed sets


@pytest.mark.parametrize("rule", RULES)
def test_closed_sets_are_those_of_the_definition(rule):
    rng = np.random.default_rng(15)
    for _ in range(10):
        G = 5
        needs = np.tril(rng.random((G, G)) < 0.3, -1)
        found = hierarchy(rule, needs)
        sets = []
        for bits in range(1 << G):
            inside = np.array([bits >> g & 1 for g in range(G)], dtype=bool)
            lacks = [
                needs[g].any()
                and (not inside[needs[g]].all() if rule == "strong" else not inside[needs[g]].any())
                for g in np.flatnonzero(inside)
            ]
            assert found.closed(inside) == (not any(lacks))
            if not any(lacks):
                sets.append(inside)
            largest = found.largest(inside)
            within = [S for S in sets if not (S & ~inside).any()]
            assert (largest == np.any(within, axis=0)).all()
        for inside in sets:
            members = np.flatnonzero(inside)
            rests = [np.where(np.arange(inside.size) == g, False, inside) for g in members]
            closed = [found.closed(rest) for rest in rests]
            assert found.removable(inside)[members].tolist() == closed
            for member, into in zip(members, found.exchanges(members, inside), strict=True):
                assert (into == found.instead(member, inside)).all()
            keys = {S.tobytes() for S in sets}
            for g in range(G):
                other = inside.copy()
                other[g] = not inside[g]
                if inside[g]:
                    assert found.removable(inside)[g] == (other.tobytes() in keys)
                else:
                    assert found.met(inside)[g] == (other.tobytes() in keys)
                    for member in np.flatnonzero(inside):
                        swapped = other.copy()
                        swapped[member] = False
                        assert found.instead(member, inside)[g] == (swapped.tobytes() in keys)
                    free = rng.random(G) < 0.7
                    free[g] = True
                    chains = found.chains(np.array([g]), inside, free)
                    for chain in chains:
                        grown = inside.copy()
                        grown[chain] = True
                        assert g in chain and free[chain].all() and grown.tobytes() in keys
                    within = found.largest(inside | free)
                    assert bool(chains) == within[g]
        assert isinstance(found, Hierarchy)


# -------------------- products of single columns


def products(loss):
    """A formula of all products of five columns, whose strengths and correlations leave some sizes
    to exchanges, and its table.
    """
    rng = np.random.default_rng(5)
    X = rng.standard_normal((160, 5)) + 0.5 * rng.standard_normal((160, 1))
    eta = X @ [0.6, -0.4, 0.0, 0.3, 0.0] + 0.7 * X[:, 0] * X[:, 2] - 0.5 * X[:, 3] * X[:, 4]
    data = pd.DataFrame(X, columns=list("abcde"))
    counts = rng.poisson(np.exp(np.clip(eta, -3, 2)))
    data["y"] = counts if loss == "poisson" else np.where(eta + rng.logistic(size=160) > 0, 1, -1)
    return "y ~ (a + b + c + d + e) ** 2", data


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_trials_of_single_columns_decide_as_refits_do(loss, rule, monkeypatch):
    text, data = products(loss)
    tried, calls, local, made = groups.tried, [], RowModel.local_table, []
    monkeypatch.setattr(groups, "tried", lambda *a: calls.append(a) or tried(*a))
    monkeypatch.setattr(RowModel, "local_table", lambda *a: made.append(a) or local(*a))
    options = {"loss": loss, "heredity": rule, "certify": False}
    path = l0path.fit(text, data, **options)
    assert len(calls) - len(made) > 20  # by tables of the fits themselves

    def refitted(self, fit, pairs, sets, target):
        return self.model.first_below(sets, fit, target)

    monkeypatch.setattr(groups.GroupNeighborhood, "_first_new", refitted)
    other = l0path.fit(text, data, **options)
    assert len(path) == 16
    assert [m.groups for m in path] == [m.groups for m in other]
    np.testing.assert_allclose(path.details.objective, other.details.objective, rtol=1e-12)
    for one, two in zip(path, other, strict=True):  # at the optimum, not near it
        np.testing.assert_allclose(one.coef, two.coef, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_the_tables_of_trials_have_the_curvatures_of_their_fits(loss, monkeypatch):
    plain, compared = group_ranking.own_table, []

    def checked(model, fit, *at_fit):
        table, exact = plain(model, fit, *at_fit), model.model.exact
        compared.append(fit)
        wanted, k = exact(fit, model.lambda2, model.model.Z[: model.model.width]), fit.support.size
        np.testing.assert_allclose(table.rows[table.index[:k]], wanted.rows, atol=1e-12)
        np.testing.assert_allclose(table.c, wanted.c, atol=1e-12)
        np.testing.assert_allclose(table.diagonal, wanted.a, atol=1e-12)
        np.testing.assert_allclose(table.B[:k, :k], wanted.B, rtol=1e-6, atol=1e-8)
        (v,) = table.curvatures
        np.testing.assert_allclose(table.B[k, k], 1.0 / v.sum(), rtol=1e-12)  # of the intercept
        mean = model.model.Z[: table.c.size] @ v / v.sum()
        np.testing.assert_allclose(table.center[: table.c.size], mean, atol=1e-12)
        return table

    monkeypatch.setattr(group_ranking, "own_table", checked)
    text, data = products(loss)
    l0path.fit(text, data, loss=loss, max_k=6, lambda2=1e-3, certify=False)
    assert len(compared) > 6


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_sizes_go_on_where_a_term_that_adds_nothing_lets_in_one_that_does(loss):
    """a is s + d: by itself it changes no model that has both, and a:s needs it."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"s": rng.standard_normal(60), "d": rng.integers(0, 2, 60) * 1.0})
    data["a"], square = data["s"] + data["d"], data["s"] ** 2 + 0.5 * rng.standard_normal(60)
    means = np.exp(np.clip(square, -2.0, 2.0))
    data["y"] = rng.poisson(means) if loss == "poisson" else (square > 1.0) * 1
    more = {"loss": loss, "heredity": "strong", "always_include": ["s", "d"], "lambda2": 0}
    path = l0path.fit("y ~ (a + s + d) ** 2", data, **more)
    assert path.details.k.tolist()[:4] == [0, 1, 2, 3]
    asked = {"loss": loss, "heredity": None, "max_k": 0, "lambda2": 0}
    for k, terms in ((2, "a + a:s"), (3, "a + a:s + s:d")):
        text = f"y ~ s + d + {terms}"
        alone = l0path.fit(text, data, always_include=text[4:].split(" + "), **asked)
        assert path.details.objective[k] <= alone.details.objective[0] + 1e-9
    assert path.details.objective[3] < path.details.objective[1] - 0.05
