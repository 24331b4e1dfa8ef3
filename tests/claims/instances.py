"""Random small problems: many kinds of columns, all losses, all options.

Seeds from FIRST_OF_FAMILIES on have the responses of `l0path.problem.families`, the others those
of the first losses.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy.sparse as sp
from oracles import FAMILIES

from .responses import numbers, response
from .weights import OFTEN, SELDOM, repeated, weighted

FIRST_OF_FAMILIES = 10_000  # seeds from here on have a response of `oracles.FAMILIES`
LOSSES = ("squared", "logistic", "poisson", "huber", "squared_hinge", "smoothed_hinge")
UNBOUNDED = ("poisson", "gamma", "negative_binomial", "tweedie")  # curvature
SQUARED = 0.5  # share of the squared loss
KINDS = {}


def kind(make):
    """Register a maker of columns, make(rng, n, p) -> X (n, p)."""
    KINDS[make.__name__] = make
    return make


@kind
def iid(rng, n, p):
    return rng.normal(size=(n, p))


@kind
def correlated(rng, n, p):
    return rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * rng.choice([1.0, 3.0])


def _related(rng, n, p, change):
    """Columns some of which follow from an earlier one."""
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        if rng.random() < 0.5:
            X[:, j] = change(X[:, rng.integers(j)])
    return X


@kind
def copies(rng, n, p):
    return _related(rng, n, p, lambda x: x)


@kind
def opposite(rng, n, p):
    return _related(rng, n, p, lambda x: -x)


@kind
def proportional(rng, n, p):
    return _related(rng, n, p, lambda x: x * rng.choice([-3.0, 0.01, 0.5, 2.0, 7.0, 1e4]))


@kind
def shifted(rng, n, p):
    return _related(rng, n, p, lambda x: rng.choice([-1.0, 1.0, 2.0]) * x + rng.normal())


@kind
def near_copies(rng, n, p):
    return _related(rng, n, p, lambda x: x + 10.0 ** -rng.integers(2, 7) * rng.normal(size=x.size))


@kind
def close_copies(rng, n, p):
    return _related(rng, n, p, lambda x: x + 10.0 ** -rng.integers(7, 11) * rng.normal(size=x.size))


@kind
def combinations_of_others(rng, n, p):
    X = rng.normal(size=(n, p))
    for j in range(2, p):
        if rng.random() < 0.5:
            a, b = rng.choice(j, 2, replace=False)
            X[:, j] = rng.choice([-1.0, 1.0]) * X[:, a] + rng.choice([-1.0, 0.5, 1.0]) * X[:, b]
    return X


@kind
def constant_columns(rng, n, p):
    X = rng.normal(size=(n, p))
    J = rng.random(p) < 0.4
    X[:, J] = rng.choice([0.0, 1.0, -2.5, 1e3], size=J.sum())
    return X


@kind
def far_from_origin(rng, n, p):
    return rng.normal(size=(n, p)) + 10.0 ** rng.integers(2, 6)


@kind
def far_rows(rng, n, p):
    """One row far from the others, in columns that are far from the origin."""
    X = rng.normal(size=(n, p)) + 10.0 ** rng.uniform(1, 6)
    X[rng.integers(n)] *= rng.choice([1.1, 2.0, 10.0, 100.0])
    return X


@kind
def one_far_row(rng, n, p):
    X = rng.normal(size=(n, p))
    X[rng.integers(n)] *= 10.0 ** rng.integers(2, 7)
    return X


@kind
def wildly_scaled(rng, n, p):
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-6, 7, size=p)


@kind
def binary(rng, n, p):
    return (rng.random((n, p)) < rng.uniform(0.1, 0.9, p)).astype(float)


@kind
def sparse(rng, n, p):
    return rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.2)


@kind
def wide(rng, n, p):
    """At most as many rows as columns; `instance` cuts n."""
    return rng.normal(size=(n, p))


@kind
def heavy_tails(rng, n, p):
    return rng.standard_t(1, size=(n, p)) if rng.random() < 0.5 else np.exp(rng.normal(size=(n, p)))


@kind
def integers_with_ties(rng, n, p):
    return rng.integers(-2, 3, size=(n, p)).astype(float)


@kind
def orthogonal_signs(rng, n, p):
    """Signs of a two-level design: exact ties between columns."""
    rows = np.arange(n)[:, None]
    return np.where((rows >> (np.arange(p) % 4)) & 1, 1.0, -1.0) * np.where(
        np.arange(p) < 4, 1.0, np.where((rows >> ((np.arange(p) + 1) % 4)) & 1, 1.0, -1.0)
    )


@kind
def dummies(rng, n, p):
    """All levels of a factor: the columns sum to one."""
    return np.eye(p)[rng.integers(0, p, n)]


@kind
def powers(rng, n, p):
    return rng.uniform(-1, 2, size=(n, 1)) ** np.arange(1, p + 1)


@kind
def spikes(rng, n, p):
    """Columns that differ from zero in one or two rows."""
    X = np.zeros((n, p))
    for j in range(p):
        X[rng.integers(0, n, 2), j] = rng.normal(size=2) * 3
    return X


@kind
def steps(rng, n, p):
    """Nested indicators of the order of the rows, as in trend filtering."""
    return (np.arange(n)[:, None] >= np.sort(rng.integers(0, n, p))).astype(float)


@kind
def repeated_rows(rng, n, p):
    return rng.normal(size=(max(n // 3, 2), p))[rng.integers(0, max(n // 3, 2), n)]


@kind
def mixed(rng, n, p):
    """Columns of different kinds side by side."""
    names = [name for name in KINDS if name not in ("mixed", "wide")]
    return np.column_stack(
        [KINDS[names[rng.integers(len(names))]](rng, n, p)[:, j] for j in range(p)]
    )


@dataclass
class Instance:
    """record: what the oracle needs (see `optima.Optima`), with lambda-free keywords; forced,
    excluded: columns; factor (p,); units: the groups as lists of columns, None without groups;
    X, y: as handed to fit; options: keywords of `l0path.fit`; action: what is done beside; held,
    barred: groups in every model, and in none; terms: names of the groups, of which models keep
    the hierarchy by `rule`, "" for none.
    """

    seed: int
    kind: str
    record: dict
    forced: list
    excluded: list
    factor: np.ndarray
    units: list | None
    X: object
    y: np.ndarray
    options: dict
    action: str
    tags: list = field(default_factory=list)
    held: list = field(default_factory=list)
    barred: list = field(default_factory=list)
    terms: list = field(default_factory=list)
    rule: str = ""

    def describe(self):
        """One line about it."""
        n, p = self.record["X"].shape
        words = {k: v for k, v in self.options.items() if np.isscalar(v) or isinstance(v, list)}
        others = [k for k in self.options if k not in words]
        return f"{self.kind} n={n} p={p} {words} and {others} action={self.action} {self.tags}"


def boxes(rng, p):
    """(lower, upper) arrays that contain 0."""
    shape = rng.choice(["nonnegative", "one bound", "small", "some", "mixed"])
    free = np.full(p, np.inf)
    if shape == "nonnegative":
        return np.zeros(p), free
    if shape == "one bound":
        return -free, np.full(p, rng.choice([0.0, 0.2, 1.0]))
    if shape == "small":
        width = rng.choice([0.1, 0.5, 2.0])
        return np.full(p, -width), np.full(p, width)
    lower = np.where(rng.random(p) < 0.5, -rng.uniform(0, 0.8, p), -free)
    upper = np.where(rng.random(p) < 0.5, rng.uniform(0, 0.8, p), free)
    if shape == "mixed":
        lower[rng.random(p) < 0.3] = 0.0
        upper[rng.random(p) < 0.2] = 0.0
    return lower, upper


def _container(rng, X):
    """X as it is handed over, and the numbers it holds."""
    how = str(rng.choice(["F", "C", "float32", "CSC", "CSR", "DataFrame", "integers"]))
    if how == "float32" and np.abs(X).max() < 1e4:
        X = X.astype(np.float32)
        return np.asfortranarray(X), X.astype(float), how
    if how in ("CSC", "CSR"):
        return (sp.csc_matrix if how == "CSC" else sp.csr_matrix)(X), X, how
    if how == "DataFrame":
        return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])]), X, how
    if how == "integers" and (X == np.round(X)).all():
        return X.astype(np.int64), X, how
    return (np.ascontiguousarray(X) if how == "C" else np.asfortranarray(X)), X, how


def _groups(rng, p):
    """(groups= of fit, the units as lists of columns)."""
    if rng.random() < 0.5:
        labels = rng.integers(0, max(p // 2, 2), p)
        units = [np.flatnonzero(labels == g).tolist() for g in dict.fromkeys(labels.tolist())]
        return [f"g{g}" for g in labels], units
    units = [
        sorted(rng.choice(p, rng.integers(1, min(p, 3) + 1), replace=False).tolist())
        for _ in range(rng.integers(2, 6))
    ]
    units = [list(u) for u in dict.fromkeys(map(tuple, units))]
    alone = sorted(set(range(p)) - {j for u in units for j in u})
    return [list(u) for u in units], units + [[j] for j in alone]


def penalties(rng, loss, options):
    size = {"logistic": 0.25, "poisson": 1.0}.get(loss, 1.0)
    if rng.random() < 0.25:
        options["lambda1"] = float(size * 10 ** rng.uniform(-3, -0.5))
    if rng.random() < 0.45:
        options["lambda2"] = float(size * 10 ** rng.uniform(-4, 0.3))
        if rng.random() < SELDOM:
            options["lambda2"] = [options["lambda2"], options["lambda2"] / 10]


def sizes_or_values(rng, most, options):
    """Draw sizes, one size up to `most`, or values of lambda0."""
    draw = rng.random()
    if draw < 0.15:
        options["grid"] = "lambda0"
    elif draw < 0.33:
        options["lambda0"] = sorted((10 ** rng.uniform(-3, -0.3, 3)).tolist(), reverse=True)
    elif draw < 0.4:
        options["k"] = int(rng.integers(1, most + 1))


def _grid(rng, p, options, even):
    """Sizes or values of lambda0, the algorithm and what is proved."""
    sizes_or_values(rng, p, options)
    if rng.random() < 0.8:
        options["max_k"] = p
    draw = rng.random()
    if draw < 0.15:
        options["algorithm"] = "exact"
    elif draw < 0.21:
        options["algorithm"] = str(rng.choice(["cd", "CDPSI"]))
    elif draw < 0.27:
        names = ["pg", "apg+", "htp"]
        if "lambda2" in options:
            names += ["dual_iht", "feature_generating", "primal_dual"]
        on_prices = "grid" in options or "lambda0" in options
        if even or not on_prices:
            options["algorithm"] = str(rng.choice(names))
    if rng.random() < OFTEN:
        options["certify"] = True


def columns_or_groups(seed):
    """The problem of a seed."""
    rng = np.random.default_rng([14, seed])
    if seed >= FIRST_OF_FAMILIES:
        loss = str(rng.choice(list(FAMILIES)))
    else:
        loss = "squared" if rng.random() < SQUARED else str(rng.choice(LOSSES[1:]))
    name = list(KINDS)[rng.integers(len(KINDS))]
    p, n = int(rng.integers(2, 9)), int(rng.integers(5, 41))
    if name == "wide":
        n = int(rng.integers(4, p + 4)) if p > 3 else 4
    X = KINDS[name](rng, n, p)
    given, X, container = _container(rng, X)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    signal = Z @ (rng.normal(size=p) * (rng.random(p) < 0.6))
    if rng.random() < 0.2:  # as much effect in directions of little variance, as in differences
        U = np.linalg.svd(Z, full_matrices=False)[0]
        signal = np.sqrt(n) * U @ rng.normal(size=U.shape[1])
    y = response(loss, np.clip(signal, -50, 50), rng)
    options, tags = {"loss": loss}, [container]
    penalties(rng, loss, options)
    record = {"X": X, "y": y, "loss": loss, "weights": None, "offset": None}
    record |= {"standardize": bool(rng.random() < 0.75), "intercept": bool(rng.random() < 0.7)}
    record |= {"gamma": float(rng.choice([0.25, 0.5, 1.0]))}
    record["delta"] = float(np.abs(y).mean() * rng.choice([0.1, 0.5, 1.345]) + 1e-3)
    record |= {"lower": np.full(p, -np.inf), "upper": np.full(p, np.inf)}
    copies = weighted(rng, loss, record, options)
    if rng.random() < 0.2:
        options["offset"] = record["offset"] = rng.normal(size=n) * 0.4
    record = repeated(record, copies)
    forced, excluded, factor, units = _columns(rng, p, record, options)
    options |= {"standardize": record["standardize"], "fit_intercept": record["intercept"]}
    if loss in FAMILIES:
        numbers(rng, loss, record, options)
    if loss == "huber":
        options["delta"] = record["delta"]
    if loss == "smoothed_hinge":
        options["gamma"] = record["gamma"]
    _grid(rng, p, options, np.ptp(factor) == 0)
    _allowed(options, record, units)
    action = str(rng.choice(["none", "certify", "certify", "n_best"]))
    if units is not None:
        action = "none"
    if loss == "squared" and "certify" not in options and rng.random() < 0.5:
        options["certify"] = False  # else all sizes are proven, and few rows say refit_swap
    return Instance(
        seed, name, record, forced, excluded, factor, units, given, y, options, action, tags
    )


def _columns(rng, p, record, options):
    """Boxes, forced and excluded columns, factors and groups: (forced, excluded, factor, units)."""
    forced, excluded, factor, units = [], [], np.ones(p), None
    if rng.random() < 0.3:
        record["lower"], record["upper"] = boxes(rng, p)
        options["lower"], options["upper"] = record["lower"], record["upper"]
    if rng.random() < 0.14:
        options["groups"], units = _groups(rng, p)
        factor = np.ones(len(units))
        return forced, excluded, factor, units
    order = rng.permutation(p).tolist()
    if rng.random() < 0.15 and p > 2:
        forced = sorted(order[: rng.integers(1, 3)])
        options["always_include"] = list(forced)
    if rng.random() < SELDOM and p > 3:
        excluded = sorted(order[-int(rng.integers(1, 3)) :])
        excluded = [j for j in excluded if j not in forced]
        options["exclude"] = list(excluded)
    if rng.random() < 0.2:
        factor = rng.choice([0.3, 1.0, 1.0, 2.0, 3.0], size=p)
        if rng.random() < 0.3:  # always in
            forced = sorted({*forced, rng.choice(sorted({*range(p)} - {*excluded}))})
        elif rng.random() < 0.2:  # never in
            out = rng.choice(sorted({*range(p)} - {*forced}))
            excluded, factor[out] = sorted({*excluded, out}), np.inf
        factor[forced] = 0.0
        options["penalty_factor"] = factor.copy()
    factor = np.where(np.isinf(factor), 1.0, factor)
    factor[forced] = 0.0
    if forced and "lower" in options and rng.random() < 0.3:  # a box without 0
        options["lower"], options["upper"] = record["lower"], record["upper"]
        record["lower"][forced[0]], record["upper"][forced[0]] = 0.1, 0.6
    return forced, excluded, factor, units


def _allowed(options, record, units):
    """Take back what the documentation says is refused."""
    algorithm = options.get("algorithm", "swap")
    boxed = np.isfinite(record["lower"]).any() or np.isfinite(record["upper"]).any()
    closed = (np.isfinite(record["lower"]) & np.isfinite(record["upper"])).all()
    columns = record["X"] if record["weights"] is None else record["X"][record["weights"] > 0]
    rows = len(np.unique(columns, axis=0))
    ridge = "lambda2" in options
    provable = ridge or closed or rows > record["X"].shape[1] + 1
    if units is not None and algorithm not in ("swap", "feature_generating"):
        algorithm = "swap"
    if algorithm == "exact" and not provable:
        algorithm = "swap"
    ascending = algorithm in ("dual_iht", "primal_dual")
    if ascending and record["loss"] in UNBOUNDED:
        algorithm = "swap"
    if (ascending or algorithm == "feature_generating") and not ridge:
        algorithm = "swap"
    if algorithm == "feature_generating" and boxed:
        algorithm = "swap"
    options["algorithm"] = algorithm
    for j in np.flatnonzero(np.ptp(columns, axis=0) == 0):  # a constant column has coefficient 0
        if record["lower"][j] > 0 or record["upper"][j] < 0:
            record["lower"][j], record["upper"][j] = -np.inf, np.inf
    if "k" in options and "max_k" in options:
        del options["max_k"]
