"""Random small problems of several responses, also of losses of rows, of classes with an order or
without, and of survival times.
"""

import numpy as np
import survival
from oracles import CLASSES

from l0path.solvers import LocalSearch

from .coupled_optima import COUPLED
from .instances import (
    KINDS,
    Instance,
    _container,
    _groups,
    boxes,
    penalties,
    sizes_or_values,
)
from .responses import response
from .rows_optima import ROWS
from .weights import COUNTS, OFTEN, SELDOM, repeated, weighted


def rows(seed):
    """The problem of a seed of several responses of one loss of rows after another."""
    return coupled(seed, ROWS[seed % len(ROWS)])


def coupled(seed, loss=None):
    """The problem of a seed, of a loss or of one after another."""
    rng = np.random.default_rng([16, seed])
    against = loss == "baseline"
    loss = "multinomial" if against else loss or COUPLED[seed % 4]
    several = loss == "several" or loss in ROWS
    name = list(KINDS)[rng.integers(len(KINDS))]
    p, n = int(rng.integers(2, 6)), int(rng.integers(8, 36))
    n = int(rng.integers(5, p + 6)) if name == "wide" else n
    X = KINDS[name](rng, n, p)
    stratum = rng.integers(0, rng.choice([1, 1, 3]), n)
    if loss == "cox" and rng.random() < 0.2:  # no risk set sees it
        X[:, rng.integers(p)] = rng.normal(size=3)[stratum]
    given, X, container = _container(rng, X)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    record = {"X": X, "loss": loss, "weights": None, "offset": None, "classes": None}
    record |= {"standardize": bool(rng.random() < 0.75), "intercept": False}
    record |= {"lower": np.full(p, -np.inf), "upper": np.full(p, np.inf)}
    options = {"loss": "squared" if loss == "several" else loss}
    options["standardize"] = record["standardize"]
    if several or loss == "multinomial":
        record["intercept"] = bool(rng.random() < 0.8)
        options["fit_intercept"] = record["intercept"]
    y = RESPONSES.get(loss, _of_rows)(rng, Z, record, options, stratum)
    if against:
        _against_one(rng, y, record, options)
    _shrinkage_and_boxes(rng, loss, record, options)
    copies = weighted(rng, loss, record, options)
    if rng.random() < 0.2:
        shape = (n, np.shape(record["y"])[1]) if several and rng.random() < 0.5 else (n,)
        options["offset"] = record["offset"] = 0.4 * rng.normal(size=shape)
    record = repeated(record, copies)
    forced, excluded, factor, units = _columns(rng, p, options)
    if against and forced and "lower" in options and rng.random() < 0.3:
        weights = record["weights"]
        rows = slice(None) if weights is None else weights > 0
        if np.ptp(record["X"][rows, forced[0]]):
            record["lower"][forced[0]], record["upper"][forced[0]] = 0.1, 0.6  # without 0
    sizes_or_values(rng, p if units is None else len(units), options)
    if rng.random() < 0.8 and "k" not in options:
        options["max_k"] = p
    if rng.random() < OFTEN and units is None:
        options["certify"] = True
    elif several and rng.random() < 0.5:
        options["certify"] = False
    if rng.random() < SELDOM:
        options["algorithm"] = LocalSearch(effort="high")
    action = str(rng.choice(["none", "certify", "n_best", "near_best"]))
    return Instance(
        seed, name, record, forced, excluded, factor, units, given, y, options, action, [container]
    )


def _several(rng, Z, record, options, stratum):
    """Responses, of which some are constant, or copies or combinations of others."""
    n, r = len(Z), int(rng.integers(2, 4))
    Y = Z @ (rng.normal(size=(Z.shape[1], r)) * (rng.random((Z.shape[1], 1)) < 0.6))
    Y = Y * rng.choice([0.3, 1.0]) + rng.normal(size=(n, r)) * rng.choice([0.01, 0.5, 1.0])
    draw = rng.random()
    if draw < 0.3:
        Y[:, -1] = (Y[:, 0], -2 * Y[:, 0], Y[:, 0] + Y[:, 1], np.full(n, 3.0))[int(draw * 13.3)]
    if rng.random() < 0.2:
        Y[:, 0] *= 10.0 ** rng.integers(-3, 4)
    record["y"], record["v"] = Y, np.ones(r)
    if rng.random() < 0.4:
        options["response_weights"] = record["v"] = rng.choice([0.1, 0.5, 1.0, 3.0], r)
    return Y


def _of_rows(rng, Z, record, options, stratum):
    """Responses of a loss of rows: copies, one that is told by a column, rare and frequent ones."""
    loss, (n, p), r = record["loss"], Z.shape, int(rng.integers(2, 4))
    B = rng.normal(size=(p, r)) * (rng.random((p, 1)) < 0.6) * rng.choice([0.3, 1.0])
    signal = np.clip(Z @ B, -50, 50)
    Y, draw, x = np.column_stack([response(loss, s, rng) for s in signal.T]), rng.random(), Z[:, 0]
    if draw < 0.15:
        Y[:, -1] = Y[:, 0]
    elif draw < 0.3 and loss in CLASSES:  # told by a column, wherever it varies
        Y[:, 0] = np.where(x == x.max(), 1.0, -1.0) if draw < 0.2 else np.where(x > 0, 1.0, -1.0)
        Y[0, 0] *= -1.0 if np.ptp(Y[:, 0]) == 0 else 1.0
    elif draw < 0.3 and loss in COUNTS:
        Y[np.abs(x) > 0.5, 0] = 0.0
        Y[rng.integers(n), 0] += 1.0
    elif draw < 0.4 and loss in COUNTS:
        Y[:, 0] = rng.poisson(0.1 * np.exp(np.clip(signal[:, 0], -3, 3)))
        Y[rng.integers(n), 0] += 1.0
        Y[:, -1] = rng.poisson(1000 * np.exp(np.clip(0.3 * signal[:, -1], -1, 1)))
    elif draw < 0.4 and loss in ("huber", "gamma"):
        Y[:, 0] *= 10.0 ** rng.integers(-3, 4)
    if loss == "huber":
        options["delta"] = float(np.abs(Y).mean() * rng.choice([0.1, 0.5, 1.345]) + 1e-3)
    if loss == "smoothed_hinge":
        options["gamma"] = float(rng.choice([0.25, 0.5, 1.0]))
    if loss == "negative_binomial":
        options["theta"] = float(rng.choice([0.5, 1.5, 20.0]))
    if loss == "tweedie":
        options["power"] = float(rng.choice([1.2, 1.5, 1.9]))
    record["gamma"] = options.get("gamma", 0.0)
    record["delta"] = next((options[w] for w in ("delta", "theta", "power") if w in options), 0.0)
    record["y"], record["v"] = Y, np.ones(r)
    if rng.random() < 0.4:
        spread = [0.1, 0.5, 1.0, 3.0] if rng.random() < 0.6 else [1e-4, 1.0, 1e4]
        options["response_weights"] = record["v"] = rng.choice(spread, r)
    return (Y + 1) / 2 if loss in CLASSES else Y


def _classes(rng, Z, record, options, stratum):
    """Classes without an order, often separated, some of one row."""
    K, p = int(rng.choice([2, 3, 3, 4])), Z.shape[1]
    eta = Z @ (rng.normal(size=(p, K)) * (rng.random((p, 1)) < 0.6)) * rng.choice([0.3, 1.0, 3.0])
    return _coded((eta + rng.gumbel(size=eta.shape)).argmax(axis=1), K, rng, record)


def _against_one(rng, y, record, options):
    """One of the classes is a baseline: it comes first."""
    codes, base = record["y"], int(rng.integers(record["classes"]))
    options["baseline"] = y[codes == base][0]
    record["y"] = np.where(codes == base, 0, codes + (codes < base))
    record["baseline"] = True


def _ordered(rng, Z, record, options, stratum):
    """Ordered classes, likewise."""
    eta = Z @ (rng.normal(size=Z.shape[1]) * (rng.random(Z.shape[1]) < 0.6))
    eta = eta * rng.choice([0.3, 1.0, 3.0]) + rng.logistic(size=len(Z))
    K = int(rng.choice([2, 3, 3, 4]))
    edges = np.quantile(eta, np.sort(rng.uniform(size=K - 1)))
    return _coded(np.searchsorted(edges, eta), K, rng, record)


def _coded(codes, K, rng, record):
    codes[rng.permutation(codes.size)[:K]] = np.arange(K)
    record |= {"y": codes, "classes": K}
    return codes * 2 + 1 if rng.random() < 0.5 else codes


def _survival(rng, Z, record, options, stratum):
    """Times with ties, entry times and strata."""
    eta = Z @ (rng.normal(size=Z.shape[1]) * (rng.random(Z.shape[1]) < 0.6))
    times = survival.draw(
        rng,
        len(Z),
        entry=bool(rng.random() < 0.3),
        eta=np.clip(eta * rng.choice([0.3, 1.0, 3.0]), -20, 20),
        tied=bool(rng.random() < 0.6),
    )
    times = times._replace(stratum=stratum)
    record |= {"y": times, "efron": bool(rng.random() < 0.5)}
    options["ties"] = "efron" if record["efron"] else "breslow"
    if np.ptp(stratum) > 0:
        options["strata"] = stratum
    start = [times.start] if np.isfinite(times.start).any() else []
    return np.column_stack([*start, times.stop, times.event])


def _lifetimes(rng, Z, record, options, stratum):
    """Times of a Weibull model, some tied or nearly without noise, with two event times."""
    eta = Z @ (rng.normal(size=Z.shape[1]) * (rng.random(Z.shape[1]) < 0.6))
    scale, shape = rng.choice([0.3, 1.0, 3.0]), rng.choice([0.5, 1.0, 2.0, 20.0])
    times = survival.draw(rng, len(Z), eta=np.clip(eta * scale, -20, 20), tied=rng.random() < 0.3)
    event = times.event.copy()
    event[np.argsort(times.stop)[:2]] = 1.0
    stop = times.stop ** (1.0 / shape) * 10.0 ** rng.integers(-3, 4)
    stop[np.argmax(stop)] *= 1.5  # not all events are at the last time
    record["y"] = times._replace(stop=stop, event=event)
    return np.column_stack([stop, event])


RESPONSES = {
    "several": _several,
    "multinomial": _classes,
    "ordinal": _ordered,
    "cox": _survival,
    "weibull": _lifetimes,
}


def _shrinkage_and_boxes(rng, loss, record, options):
    penalties(rng, loss, options)
    if loss == "several":
        options.pop("lambda1", None)
    elif (loss != "multinomial" and rng.random() < 0.25) or (
        "baseline" in record and rng.random() < 0.6
    ):
        record["lower"], record["upper"] = boxes(rng, record["X"].shape[1])
        options["lower"], options["upper"] = record["lower"], record["upper"]


def _columns(rng, p, options):
    """Forced and excluded columns, factors and groups: (forced, excluded, factor, units)."""
    forced, excluded, factor = [], [], np.ones(p)
    if rng.random() < 0.2:
        options["groups"], units = _groups(rng, p)
        return forced, excluded, np.ones(len(units)), units
    order = rng.permutation(p).tolist()
    if rng.random() < 0.25:
        forced = options["always_include"] = [order[0]]
    if rng.random() < SELDOM and p > 3:
        excluded = options["exclude"] = [order[-1]]
    if rng.random() < SELDOM:
        options["penalty_factor"] = rng.choice([0.3, 1.0, 2.0], size=p)
        factor = options["penalty_factor"].copy()
    factor[forced] = 0.0
    return forced, excluded, factor, None
