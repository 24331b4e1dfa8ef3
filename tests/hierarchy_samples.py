"""Tables and closed sets that the tests of hierarchies of terms share."""

import itertools

import numpy as np
import oracles
import pandas as pd
from hierarchies import keeps

from l0path.formula import opened


def table(seed, n=40, loss="squared"):
    """y depends on the slope of a in a level of c, on a product, or on a cell of c and d."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.standard_normal(n) for name in "abx"})
    frame["z"], frame["s"] = 1.0, frame.a if seed % 2 else frame.a + frame.b
    frame["c"] = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    frame["d"] = rng.choice(["p", "q"], n)
    frame["e"] = np.where(frame.c == "w", "k", rng.choice(["k", "m"], n))
    parts = [frame.a * (frame.c == "w"), frame.a * frame.b, (frame.c == "v") * (frame.d == "q")]
    eta = sum(rng.choice([0.0, 1.0]) * part for part in parts) + 0.3 * frame.x
    y = (eta - eta.mean()) / eta.std() + 0.6 * rng.standard_normal(n)
    if loss in oracles.CLASSES:
        y = np.where(y + rng.logistic(size=n) > 0, 1.0, -1.0)
    elif loss in ("poisson", "negative_binomial"):
        y = rng.poisson(np.exp(0.5 + 0.4 * y)).astype(float)
    elif loss == "gamma":
        y = np.exp(0.5 * y) * rng.gamma(2.0, 0.5, n)
    elif loss == "tweedie":
        y = rng.poisson(2.0, n) * rng.gamma(2.0, 0.5, n) * np.exp(0.4 * y)
    elif loss == "binomial":
        y = np.clip(1.0 / (1.0 + np.exp(-y)) + 0.1 * rng.standard_normal(n), 0.0, 1.0)
    frame.insert(0, "y", y)
    return frame


def closed_sets(terms, rule, constant=()):
    """All sets of terms that keep the rule; constant terms are in none, and are not missed."""
    free = [term for term in terms if term not in constant]
    subsets = itertools.chain.from_iterable(
        itertools.combinations(free, k) for k in range(len(free) + 1)
    )
    return [S for S in subsets if keeps([*S, *constant], terms, rule)]


def encoded(text, data, **options):
    """(X (n, p), {term: its columns}, whether there is an intercept)."""
    made = opened(text, data, options)[0]
    return np.asarray(made.X, dtype=float), dict(made.formula.terms), made.formula.intercept


def least_squares(text, data, rule, lambda2):
    """{k: least objective over closed sets} by orthogonal factorizations."""
    X, at, intercept = encoded(text, data)
    y, best = data.y.to_numpy(), {}
    mean = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    scale = np.sqrt(((X - mean) ** 2).mean(axis=0))
    Z = (X - mean) / np.where(scale > 1e-12, scale, np.inf)
    y = y - y.mean() if intercept else y
    constant = [term for term, J in at.items() if not Z[:, J].any()]
    for S in closed_sets(list(at), rule, constant):
        J = [j for term in S for j in at[term]]
        A = np.vstack([Z[:, J], np.sqrt(2 * lambda2 * y.size) * np.eye(len(J))])
        r = np.append(y, np.zeros(len(J)))
        r = r - A @ np.linalg.lstsq(A, r, rcond=1e-10)[0]
        best[len(S)] = min(best.get(len(S), np.inf), 0.5 * r @ r / y.size)
    return best
