"""Optima of an instance by what may be chosen, and rows of a path in the same terms."""

import math
from functools import cached_property

import numpy as np
from hierarchies import parents

from .coupled_optima import COUPLED, CoupledOptima
from .optima import Optima
from .rows_optima import RowsOptima


def kind_of(record):
    """The class of the optima of a record."""
    if record["loss"] in (*COUPLED, "weibull"):
        return CoupledOptima
    return RowsOptima if "v" in record else Optima


class Truth:
    """Optima of an instance by what may be chosen: sets of units (columns or groups)."""

    def __init__(self, d, lambda1, lambda2):
        self.optima = o = kind_of(d.record)(d.record, lambda1, lambda2)
        p = o.p
        alive = [j for j in range(p) if o.alive[j]]
        if d.units is None:
            self.units = [j for j in alive if j not in d.forced and j not in d.excluded]
            self.masks = np.array([1 << j for j in self.units], dtype=int)
        else:
            there = [g for g, unit in enumerate(d.units) if any(j in alive for j in unit)]
            self.units = [g for g in there if g not in d.held and g not in d.barred]
            self.masks = np.array([sum(1 << j for j in d.units[g]) for g in self.units], dtype=int)
        self.cost_of = d.factor[self.units]
        self.base = sum(1 << j for j in d.forced)
        sets = np.arange(1 << len(self.units))
        self.sets, self.columns = sets, np.full(sets.size, self.base)
        self.size, self.cost = np.zeros(sets.size, dtype=int), np.zeros(sets.size)
        for i, mask in enumerate(self.masks):
            has = (sets >> i) & 1 == 1
            self.columns[has] |= mask
            self.size[has] += 1
            self.cost[has] += self.cost_of[i]
        self.kept = self._kept(d, alive)
        self.value = np.where(self.kept, o.values[self.columns], np.inf)
        self.scale = o.size_of_loss()

    def _kept(self, d, alive):
        """(sets,) bool: which sets have what their terms need; a constant term is not missed."""
        out = np.ones(self.sets.size, dtype=bool)
        if not d.rule:
            return out
        constant = [g for g, unit in enumerate(d.units) if not any(j in alive for j in unit)]
        given = {d.terms[g] for g in [*d.held, *constant] if g not in d.barred}
        at, needs = {d.terms[g]: i for i, g in enumerate(self.units)}, parents(d.terms, d.rule)
        join = np.logical_and if d.rule == "strong" else np.logical_or
        for term, i in at.items():
            met = [
                np.full(out.size, other in given)
                if other not in at
                else (self.sets >> at[other]) & 1 == 1
                for other in needs[term]
            ]
            if met:
                out &= join.reduce(met) | ((self.sets >> i) & 1 == 0)
        return out

    def having(self, numbers, unit):
        """(m,) whether sets have a column, or a group, that is not in every model."""
        at = self.units.index(unit) if unit in self.units else 63
        return (numbers >> at) & 1 == 1

    def number(self, chosen):
        """The number of a set of units (columns, or numbers of groups)."""
        return sum(1 << self.units.index(u) for u in chosen if u in self.units)

    def best(self, k, price):
        """(value, number) of the best set: of at most k units, or (k None) at a price."""
        value = self.value + price * self.cost if k is None else self.value
        allowed = np.flatnonzero(np.ones(value.size, bool) if k is None else self.size <= k)
        at = allowed[np.argmin(value[allowed])]
        return float(value[at]), int(at)

    def exchanges(self, number):
        """Numbers of the sets one exchange away."""
        inside = [i for i in range(len(self.units)) if number >> i & 1]
        outside = [i for i in range(len(self.units)) if not number >> i & 1]
        near = [number ^ (1 << i) ^ (1 << j) for i in inside for j in outside]
        return np.array([other for other in near if self.kept[other]], dtype=int)

    def meet(self, number, t, beta, intercept):
        """Take a point of a set over, where it is better than what the minimizer found: beside
        close copies Newton steps end early. Sets of more units may use it, too.
        """
        o = self.optima
        use = o._sets(self.columns[[number]])
        low, high = np.where(use, o.low, 0.0), np.where(use, o.high, 0.0)
        if not ((low <= t) & (t <= high)).all():
            return
        value = float(o.value(t)[0]) + float(o.noise(t)[0] + o.rounding(beta, intercept))
        values, points = o.table
        mask = int(self.columns[number])
        above = np.flatnonzero((np.arange(values.size) & mask == mask) & (values > value))
        values[above], points[above] = value, t[0]
        self.value = np.where(self.kept, values[self.columns], np.inf)

    def noise(self, number):
        """Rounding of the objective of a set's optimum."""
        t = self.optima.table[1][self.columns[[number]]]
        return float(self.optima.noise(t)[0])

    def proper(self):
        """Which sets are worse without any one of their units."""
        out = np.ones(self.sets.size, dtype=bool)
        for i in range(len(self.units)):
            has = (self.sets >> i) & 1 == 1
            less = self.value[self.sets[has] ^ (1 << i)]
            least = np.where(np.isfinite(less), less, 0.0)
            limit = least - 1e-9 * np.abs(least) - 1e-10 * self.scale
            out[has] &= np.isinf(less) | (self.value[has] < limit)
        return out & self.kept

    def name(self, number):
        return [self.units[i] for i in range(len(self.units)) if number >> i & 1]


class Row:
    """A row of a path with its coefficients in the oracle's terms."""

    def __init__(self, d, truth, model):
        self.model, self.truth, o = model, truth, truth.optima
        self.details = details = model.details.to_dict()
        full = model.path.coef(index=model._index, full=True).to_numpy(dtype=float)
        self.intercept = np.asarray(model.intercept, dtype=float)
        if "shape" in details:
            self.intercept = np.append(self.intercept, details["shape"])
        self.beta = full[-o.p :]
        if getattr(o, "baseline", False):
            assert not self.beta[:, 0].any() and self.intercept[0] == 0.0
            self.beta, self.intercept = self.beta[:, 1:], self.intercept[1:]
        self.t = o.coordinates(np.arange(o.p), self.beta, self.intercept)[None, :]
        for bound in (o.low, o.high):  # at a bound up to rounding of units
            near = np.isfinite(bound) & (np.abs(self.t - bound) <= 1e-12 * np.abs(bound))
            self.t = np.where(near, bound, self.t)
        if d.units is None:
            self.chosen = [j for j in model.support.tolist() if j not in d.forced]
        else:
            groups = model.path._solutions[model._index].groups.tolist()
            self.chosen = [g for g in groups if g not in d.held]
        self.number = truth.number(self.chosen)
        self.on_price = math.isfinite(details["lambda0"])
        self.price = details["lambda0"] if self.on_price else 0.0
        self.use = o._sets(truth.columns[[self.number]])
        self.noise = float(o.noise(self.t)[0])
        truth.meet(self.number, self.t, self.beta, self.intercept)
        self.paid = self.price * float(truth.cost[self._used(d)])

    def _used(self, d):
        """The number of the chosen units with a coefficient: a price is paid for these."""
        if d.units is not None:
            return self.number
        return self.truth.number([j for j in self.chosen if np.any(self.beta[j] != 0)])

    def slack(self, relative, *numbers):
        """What a comparison with this row's objective must exceed."""
        own = relative * abs(self.model.objective) + 1e-10 * self.truth.scale + self.noise
        return own + sum(self.truth.noise(number) for number in numbers)

    @cached_property
    def _text(self):
        m, of = self.model, self.details
        at = f"lambda0={of['lambda0']:.6g} " if self.on_price else ""
        return (
            f"row {m._index} slice {of['slice']} {at}k={m.k} {self.chosen} objective "
            f"{m.objective:.10g} {m.optimality} {of['status']} {of['flags']}"
        )

    def __str__(self):
        return self._text  # of every claim, whether it is false or not
