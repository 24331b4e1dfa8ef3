"""What a path says, held against the optima of all supports: the false claims of one instance.

A claim is false where it is refuted beyond its own tolerance (1e-6 relative for `global`, 1e-8 for
exchanges) and beyond rounding: 1e-10 of the loss at zero, and what rounding of eta does.
"""

import math
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import oracles
from asked import asked

import l0path
from l0path.errors import ConvergenceWarning, SeparationWarning

from .seeds import instance
from .truth import Row, Truth

CLOSED = 1e-6  # relative gap up to which a model is called global
LIMITS = {"time_limit": 60, "node_limit": 5000}  # of a certificate
LEAST_SLOPE = 1e-20  # of the slopes where no column is in: below it a loss has vanished
WIDTH = 1e-100  # by which our check loss is smoothed, which tells it by at most as much
NOT_COMPARED = ("model.alternatives() lists", "several slices", "lambda0 grid", "no proof: ")


@dataclass
class Report:
    """false: (cause, text) of each false claim; checked: how many claims of each kind were held
    against the optima.
    """

    false: list = field(default_factory=list)
    checked: Counter = field(default_factory=Counter)

    def say(self, cause, wrong, text):
        """Count a claim, and keep it if it is false."""
        self.checked[cause] += 1
        if wrong:
            self.false.append((cause, text))


def arguments(options):
    """The arguments of `fit`: the number of a loss in its record, a grid of lambda0 by name."""
    given = asked(options)
    if given.pop("grid", None):
        given.setdefault("lambda0", "grid")
    return given


def check(seed):
    """The Report of the instance of a seed."""
    return check_instance(instance(seed))


def check_instance(d):
    """The Report of an instance."""
    report = Report()
    before = [np.array(a, copy=True) for a in (_dense(d.X), d.y)]
    truths = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            path = l0path.fit(d.X, d.y, n_jobs=1, random_state=0, **arguments(d.options))
            d.record |= _estimated(d, path)
            if d.record["loss"] == "quantile":
                _check_losses(d, path, report)
                rows, d = [], replace(d, action="none")
            else:
                rows = check_path(d, path, truths, report)
            if d.action == "near_best":
                _near_best(d, path, rows, truths, report)
            elif d.action != "none":
                _certify(d, path, rows, truths, report)
        except Exception as error:
            report.say("raised", True, f"{type(error).__name__}: {error}")
    same = all(np.array_equal(a, b) for a, b in zip(before, (_dense(d.X), d.y), strict=True))
    report.say("input", not same, "X or y was changed")
    return report


def _estimated(d, path):
    """The numbers of the loss that a pilot fit of the package found."""
    if d.record["loss"] == "quantile":
        return {"gamma": 1e-100}  # rows are about the check loss
    return {"delta": path.loss.theta} if d.record["loss"] == "negative_binomial" else {}


def _dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def _check_losses(d, path, report):
    """Rows of a quantile: their objective is the check loss, and their coefficients are the best on
    their supports. What is said of other supports is checked in families/test_check_loss.py.
    """
    r = d.record
    same = {name: r[name] for name in ("weights", "offset", "standardize", "intercept")}
    for model in path:
        beta = path.coef(index=model._index, full=True).to_numpy()[-r["X"].shape[1] :]
        intercept = float(model.intercept)
        more = {
            "lambda1": model.details["lambda1"],
            "lambda2": model.details["lambda2"],
            "delta": r["delta"],
        }
        own = oracles.objective(
            r["X"], r["y"], beta, intercept, loss="quantile", gamma=WIDTH, **same, **more
        )
        paid = model.objective - path._solutions[model._index].shrinkage - model.loss
        scale = max(abs(own), 1e-3 * float(np.abs(r["y"]).mean()), 1e-300)
        rounding = 1e-14 * float((np.abs(r["X"]) @ np.abs(beta)).max())
        wrong = not abs(own + paid - model.objective) <= 1e-9 * scale + rounding + WIDTH
        report.say("objective", wrong, f"k = {model.k}: {model.objective:.12g}, own {own:.12g}")
        del more["delta"]
        box = {"lower": r["lower"], "upper": r["upper"]}
        lacks = oracles.check_residual(
            r["X"],
            r["y"],
            model.support,
            beta,
            intercept,
            quantile=r["delta"],
            **same,
            **more,
            **box,
        )
        if model.details["status"] == "converged":
            report.say("converged", lacks > 1e-10, f"k = {model.k}: lacks {lacks:.3g}")
        free = len(r["y"]) if d.units is None else 0
        several = 0 < model.k < min(free, r["X"].shape[1] - len(d.forced) - len(d.excluded))
        report.checked[model.optimality] += several


def truth_of(d, truths, model):
    key = model.details["lambda1"], model.details["lambda2"]
    if key not in truths:
        truths[key] = Truth(d, *key)
    return truths[key]


def check_path(d, path, truths, report):
    """Check every row, and every slice."""
    rows = [Row(d, truth_of(d, truths, model), model) for model in path]
    for row in rows:
        _numbers(d, row, report)
        _converged(d, row, report)
        if row.details["status"] == "converged":
            _optimality(d, row, report)
        _bound(row, report)
    for number in sorted({row.details["slice"] for row in rows}):
        those = [row for row in rows if row.details["slice"] == number]
        _intervals(those, report)
        _end(d, path, those, report)
    return rows


def _slice(d, path, truths, number):
    """The rows of a slice."""
    return [Row(d, truth_of(d, truths, m), m) for m in path if m.details["slice"] == number]


def _numbers(d, row, report):
    """The objective is that of the coefficients, which keep to the box and to the support; without
    an optimum it is the infimum, which no coefficients are below.
    """
    m, r, o, at = row.model, d.record, row.truth.optima, (row.beta, row.intercept)
    own = o.objective(*at, row.details["lambda1"], row.details["lambda2"]) + row.paid
    slack = row.slack(1e-9) + o.rounding(*at)
    above = own - m.objective
    near = above >= -slack if row.details["status"] == "separated" else abs(above) <= slack
    if m.objective == math.inf and row.details["status"] == "not_converged":
        near = own == math.inf  # beyond all numbers, and said so
    report.say("objective", not near, f"{row}: own {own:.12g}")
    slack = 1e-9 * (1 + np.abs(row.beta.T))
    out = (row.beta.T < r["lower"] - slack) | (row.beta.T > r["upper"] + slack)
    report.say("box", bool(out.any()), f"{row}: {row.beta}")
    chosen = row.chosen if d.units is None else [j for g in row.chosen for j in d.units[g]]
    more = np.isin(np.arange(o.p), chosen) & _varies_in_last_digits(r)
    allowed = row.use[0, : row.beta.size] | np.repeat(more, row.beta.size // o.p)
    report.say("support", bool((row.beta.ravel()[~allowed] != 0).any()), f"{row}: {row.beta}")
    report.say("hierarchy", not row.truth.kept[row.number], f"{row}")
    report.say("size", m.k != len(row.chosen), f"{row}")
    report.say("not a number", bool(np.isnan([m.objective, m.loss]).any()), f"{row}")


def _varies_in_last_digits(record):
    """(p,) which columns are constant to us, and none to the package: they vary by more than eight
    roundings of their own, as sums of larger numbers that cancel do.
    """
    w = record["weights"]
    mean = np.average(record["X"], axis=0, weights=w)
    deviation = np.sqrt(np.average((record["X"] - mean) ** 2, axis=0, weights=w))
    return (deviation > 8 * np.finfo(float).eps * np.abs(mean)) & (
        deviation <= 1e-13 * np.abs(mean)
    )


def _converged(d, row, report):
    """Converged: the conditions of optimality hold on the support; separated: there is none."""
    m, truth, o = row.model, row.truth, row.truth.optima
    best = truth.value[row.number] + row.paid
    mask = int(truth.columns[row.number])
    if row.details["status"] == "separated":
        finite = o.attained(mask, row.use)
        report.say("separated", finite, f"{row}: a finite optimum {best:.10g} exists")
        return
    if row.details["status"] != "converged":
        report.checked["not converged"] += 1
        return
    report.say("attained", o.recedes(mask), f"{row}: its columns have no finite optimum")
    near = o.nearby(row.t, row.beta, row.intercept)
    residual = np.minimum(*(o.violation(t, row.use)[1] for t in (row.t, near)))
    # a gradient is known to 1e-9 of what it sums; along nearly dependent columns the optimum may be
    # far away and hardly lower
    far = np.abs(row.t - o.table[1][truth.columns[[row.number]]])[0]
    slack = row.slack(1e-8, row.number) + 1e-9 * float(o.sizes(row.t[0]) @ far)
    rounding = (o.rounding(row.beta, row.intercept) + row.noise) / max(truth.scale, 1e-300)
    seen = residual[0] * o.sizes(row.t[0]).max() > LEAST_SLOPE * o.sizes(o.start).max()
    steep = seen and residual[0] > 1e-5 + 100 * math.sqrt(rounding)
    wrong = m.objective > best + slack or steep
    report.say(
        "converged",
        wrong,
        f"{row}: its support's best is {best:.10g}, violation {residual[0]:.2g}, slack {slack:.2g}",
    )


def _optimality(d, row, report):
    """The class that a row claims."""
    m, truth = row.model, row.truth
    if "left_out" in row.details["flags"] and m.optimality in (
        "global",
        "refit_swap",
        "refit_swap_m",
    ):
        report.checked["left_out"] += 1  # compared with supports without some columns only
    elif m.optimality == "global":
        value, at = truth.best(None if row.on_price else m.k, row.price)
        wrong = m.objective > value + row.slack(CLOSED, at)
        report.say("global", wrong, f"{row}: {truth.name(at)} has {value:.10g}")
    elif m.optimality in ("refit_swap", "refit_swap_m"):
        near = truth.exchanges(row.number)
        tried = row.details["exchanges"] or (20 if d.units is None else 10)
        if not near.size or (m.optimality == "refit_swap_m" and tried < near.size):
            return
        value = truth.value[near] + row.price * truth.cost[near]
        at = int(near[np.argmin(value)])
        wrong = m.objective > value.min() + row.slack(1e-8, at)
        report.say(m.optimality, wrong, f"{row}: {truth.name(at)} has {value.min():.10g}")
    elif m.optimality in ("cd", "swap"):
        _coordinatewise(d, row, report)
    else:
        report.checked[m.optimality] += 1


def _coordinatewise(d, row, report):
    """No coefficient alone, or no exchange with the others held, improves the model."""
    m, r = row.model, d.record
    words = {k: r[k] for k in r if k not in ("X", "y")}
    words |= {
        "lambda1": row.details["lambda1"],
        "lambda2": row.details["lambda2"],
        "excluded": d.excluded,
    }
    X = np.where(row.truth.optima.alive, r["X"], 0.0)
    if m.optimality == "swap":
        gain = oracles.frozen_swap_improvement(
            X,
            r["y"],
            row.beta,
            row.intercept,
            row.price,
            penalty_factor=d.factor,
            forced=d.forced,
            **words,
        )
    else:
        gain = oracles.cd_stationary_gap(
            X, r["y"], row.beta, row.intercept, row.price, penalty_factor=d.factor, **words
        )
    wrong = gain > row.slack(1e-7) and row.on_price
    report.say(m.optimality, wrong, f"{row}: improves by {gain:.4g}")


def _bound(row, report):
    """lower_bound is below every model, and the gap follows from it; so is the bound that was
    computed, in whose place a proven model shows its objective.
    """
    m, truth = row.model, row.truth
    if not math.isfinite(m.lower_bound):
        return
    value, at = truth.best(None if row.on_price else m.k, row.price)
    bound = np.nanmax([m.lower_bound, m._solution.lower_bound])
    wrong = bound > value + 1e-9 * abs(value) + 1e-10 * truth.scale + truth.noise(at)
    report.say("bound", wrong, f"{row}: bound {bound:.12g}, {truth.name(at)} has {value}")
    if m.objective == math.inf:
        return
    gap = (m.objective - m.lower_bound) / max(abs(m.objective), 1e-12)
    report.say("gap", not abs(max(gap, 0.0) - m.gap) <= 1e-9 + 1e-6 * abs(gap), f"{row}: {gap}")


def _intervals(rows, report):
    """Within its interval of lambda0 a row is the best of its slice, but for separated rows that
    were passed.
    """
    if any("left_out" in row.details["flags"] for row in rows):
        rows = [row for row in rows if row.details["status"] != "separated"]
    cost = np.array([float(row.truth.cost[row.number]) for row in rows])
    F = np.array([row.model.objective - row.paid for row in rows])
    for i, row in enumerate(rows):
        low, high = row.details["lambda0_low"], row.details["lambda0_high"]
        if not (math.isfinite(low) and high > low):
            continue
        for value in (
            low,
            (low + high) / 2 if math.isfinite(high) else 2 * low + row.truth.scale,
            high,
        ):
            if not math.isfinite(value) or value < 0:
                continue
            rounding = 8 * np.finfo(float).eps * (np.abs(F) + value * cost).max()
            wrong = F[i] + value * cost[i] > (F + value * cost).min() + row.slack(1e-9) + rounding
            report.say("interval", wrong, f"{row}: not the best row at {value:.6g}")


def _end(d, path, rows, report):
    """A complete path of sizes ends where it was asked to, or where no column helps."""
    last, truth = rows[-1], rows[-1].truth
    if (
        last.on_price
        or not path.status.startswith("complete")
        or last.details["status"] != "converged"
    ):
        return
    if "left_out" in last.details["flags"] or any(
        "searched without" in note for note in path.notes
    ):
        return  # columns that separate the classes
    want = int(truth.size[truth.kept].max())
    for word in ("k", "max_k"):
        if word in d.options:
            want = min(want, d.options[word])
    if "k" not in d.options and "max_k" not in d.options:
        return
    if "k" not in d.options:
        sizes = [row.model.k for row in rows]
        report.say("sizes", sizes != list(range(len(sizes))), f"sizes {sizes}")
    if last.model.k < want:
        value, at = truth.best(want, 0.0)
        wrong = last.model.objective > value + last.slack(1e-8, at)
        text = f"ends with {last}, {truth.name(at)} has {value:.10g}; {path.notes}"
        report.say("end", wrong, text)


def _certify(d, path, rows, truths, report):
    """Ask for a proof of one row, and check all that it says."""
    row = rows[(d.seed // 7) % len(rows)]
    n_best = 1 + d.seed % 4 if d.action == "n_best" else 1
    try:
        c = path.certify(index=row.model._index, n_best=n_best, **LIMITS)
    except ValueError as error:
        infinite = row.model.objective == math.inf and "nothing can be proven" in str(error)
        report.say("refused", not infinite, f"certify {row}: {error}")
        return
    check_certificate(d, c, n_best, truths, report)
    if row.details["status"] == "converged":
        wrong = c.incumbent > row.model.objective + row.slack(1e-9)
        report.say("worse", wrong, f"certify {row}: {c.incumbent} is worse")


def check_certificate(d, c, n_best, truths, report):
    """Check all that a certificate of `n_best` models says."""
    there = Row(d, truth_of(d, truths, c.model), c.model)
    truth, k = there.truth, None if there.on_price else there.model.k
    for model in [c.model, *c.best]:
        one = Row(d, truth, model)
        _numbers(d, one, report)
        _converged(d, one, report)
    _intervals(_slice(d, c.path, truths, c.model.details["slice"]), report)
    value, at = truth.best(k, there.price)
    text = f"certify {there} {c.status} bound {c.lower_bound}: {truth.name(at)} has {value:.10g}"
    if c.proven or c.status == "optimal":
        report.say("proven", c.incumbent > value + there.slack(CLOSED, at), text)
    if math.isfinite(c.lower_bound):
        slack = 1e-9 * abs(value) + 1e-10 * truth.scale + truth.noise(at)
        report.say("certified bound", c.lower_bound > value + slack, text)
    if math.isfinite(c.deviance_ratio_bound) and there.details["status"] == "converged":
        wrong = there.model.deviance_ratio > c.deviance_ratio_bound + 1e-7
        report.say("deviance ratio", wrong, f"{text}: {c.deviance_ratio_bound}")
    _fixed(c, there, k, d.units, report)
    if n_best > 1 and c.status == "optimal":
        _ranked(c, there, k, n_best, report)


def _fixed(c, row, k, units, report):
    """fixed_in: no best model is without the column (or group); fixed_out: none has it."""
    truth, o = row.truth, row.truth.optima
    value = truth.value + row.price * truth.cost
    allowed = np.ones(value.size, bool) if k is None else truth.size <= k
    best = value[allowed].min()
    tied = np.flatnonzero(allowed & (value <= best + 1e-12 * abs(best)))
    t, size = o.table[1][truth.columns[tied]], np.abs(o.table[1]).max(initial=1e-300)
    for j in c.fixed_in:
        without = tied[~truth.having(tied, j)]
        text = f"certify {row} {c.status}: {j} in {c.fixed_in}, but"
        report.say("fixed_in", without.size > 0, f"{text} {truth.name(without[:1].sum())}")
    for j in c.fixed_out:
        own = o.entries([j] if units is None else units[j])
        used = (np.abs(t[:, own]) > 1e-6 * size).any(axis=1)
        having = tied[used & truth.having(tied, j)]
        text = f"certify {row} {c.status}: {j} in {c.fixed_out}, but"
        report.say("fixed_out", having.size > 0, f"{text} {truth.name(having[:1].sum())}")


def _attained(row):
    """(sets of the size of a row, {number: their columns}, those that have a finite optimum)."""
    truth = row.truth
    of_size = np.flatnonzero(truth.kept & (truth.size == row.model.k))
    masks = {number: int(truth.columns[number]) for number in of_size}
    finite = [number for number in of_size if not truth.optima.recedes(masks[number])]
    return of_size, masks, finite


def _reached(d, mask):
    """Whether the fit of a set of columns alone converges, where it can be asked for."""
    if d.units is not None:
        return True
    columns = [j for j in range(d.record["X"].shape[1]) if mask >> j & 1]
    given = arguments(d.options) | {"always_include": columns, "max_k": 0, "certify": False}
    for name in ("k", "lambda0", "exclude", "penalty_factor", "algorithm"):
        given.pop(name, None)
    return l0path.fit(d.X, d.y, n_jobs=1, **given).details["status"].iloc[0] == "converged"


def _near_best(d, path, rows, truths, report):
    """All models of a size nearly as good as the best one: none is missing, and none is worse."""
    row, within = rows[d.seed // 7 % len(rows)], (0.01, 0.1, 1.0)[d.seed % 3]
    try:
        found = path.near_best(k=row.model.k, within=within, time_limit=60)
    except ValueError as error:
        if "has a finite optimum" in str(error):
            _, masks, finite = _attained(row)
            reached = any(_reached(d, masks[number]) for number in finite)
            report.say("none attained", reached, f"near_best {row}: {error}")
            return
        served = any(word in str(error) for word in NOT_COMPARED)
        report.say("refused", not served, f"near_best {row}: {error}")
        return
    truth = row.truth
    report.say("complete", False, "") if found.complete else None
    of_size, masks, finite = _attained(row)
    limit = truth.value[finite].min(initial=np.inf)
    limit, worst = limit + within * (limit - found.floor), row.slack(1e-8)
    there = {Row(d, truth, model).number for model in found.models}
    for number in of_size:
        own, mask = truth.value[number], masks[number]
        text = f"near_best {row} within {within}: {truth.name(number)} has {own:.10g}, {limit=}"
        slack = worst + truth.noise(number)
        if number in there:
            report.say("near", own > limit + slack or number not in finite, text)
        elif found.complete:
            dependent = not truth.optima.independent(mask)
            report.say("missing", own < limit - slack and not dependent, text)


def _ranked(c, row, k, n_best, report):
    """The n_best best supports: each as good as the true one of its rank."""
    truth = row.truth
    value = truth.value + row.price * truth.cost
    right = truth.proper() if k is None else truth.proper() & (truth.size == k)
    value = np.sort(value[right])[:n_best]
    found = [model.objective for model in c.best]
    supports = {(*model.support.tolist(), *map(str, model.groups or ())) for model in c.best}
    text = f"certify {row} n_best={n_best}: {found}, true {value.tolist()}"
    report.say("n_best", len(supports) != len(found), f"{text}: supports repeat")
    slack = row.slack(CLOSED, row.number)
    wrong = len(found) < value.size or any(
        a > b + slack for a, b in zip(found, value, strict=False)
    )
    report.say("n_best", wrong, text)
