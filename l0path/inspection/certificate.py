"""`Path.certify`, `Model.certify`: how far one solution can be from the best of its size or
lambda0.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..compiled import HELPING_PROCESSES
from ..core import forward
from ..core.arguments import is_whole
from ..core.control import Clock, Control, deferred_interrupts
from ..core.describing import described_by, gap_text
from ..core.hints import refuse_attribute
from ..core.progress import Bar
from ..core.status import GLOBAL_GAP, FitStatus, SearchEnd, relative_gap
from ..core.types import Matrix, Rule, Selector, Settings
from ..designs.copies import without_copies
from ..engine.assemble import rehulled
from ..engine.reported import Reporting
from ..exact.contest import BranchAndBound
from ..exact.fit_enumeration import refuse_groups
from ..exact.integrality_generation import IntegralityGeneration
from ..exact.result import WHY_ENDED, certified, combinations_of_columns, in_place_of
from ..exact.search import CertificateSearch
from ..paths import Model, Path
from ..paths.criteria import score_table
from ..problem.losses import NAMES, OWN_LOSSES
from ..problem.problem import pose, row_weights
from .neighbors import fit_data


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Result of a search for a proof about one solution.

    Attributes
    ----------
    model : Model
        The model, of `path`.
    path : Path
        A copy of the path, in which the row of the model has the new bound.
    incumbent : float
        The objective of the model.
    lower_bound : float
        A lower bound of the objective of every model of at most k unforced features (on a lambda0
        grid: of every model). NaN where nothing is known but the least value of the loss, as where
        features separate the classes.
    gap : float
        (incumbent - lower_bound) / max(|incumbent|, 1e-12): at most 1e-6 where the model is proven,
        and inf where nothing is known.
    proven : bool
        Whether the search closed the gap to 1e-6 (of n_best models: each) and no box was assumed.
        Features that keep less than 3e-5 of their length beside others count as linear combinations
        of these.
    unique : bool
        Whether the model is proven to be the only best one: every other is worse by more than 1e-6
        of the objective. It is known where n_best is 2 or more, where all models were computed (one
        or two features under a squared loss, groups), or where the bound excludes all others.
    deviance_ratio_bound : float
        An upper bound of the deviance ratio of the best models.
    best : list of Model
        The n_best best models, [model] for one.
    nodes : int
        The number of nodes of the search, 0 where none was needed. Where all models were computed,
        their number.
    seconds : float
        The time taken.
    status : str
        "optimal" (to the gap asked for), "time_limit", "node_limit", "interrupted", or
        "gap_not_closed" (where nothing can be branched on).
    assumptions : list of str
        The assumptions under which the statement holds, and the models that it is about.
    fixed_in, fixed_out : ndarray of int
        The unforced features (with groups= the numbers of the unforced groups) that every best
        model is known to have, and those that no best model has. Where `unique` is true, each
        feature is in one of the two.
    search : str
        A text about the work of the search; "" where the bound alone decided.
    criterion : str
        The criterion by which the best models of all sizes were searched; "" for one size or
        lambda0. `incumbent` and `lower_bound` are then values of the criterion, `gap` is their
        difference, `path` holds the best models, and `proven` says that no model that is not
        among `best` has a smaller criterion than the last of these.
    """

    model: Model
    incumbent: float
    lower_bound: float
    gap: float
    proven: bool
    deviance_ratio_bound: float
    best: list
    nodes: int
    seconds: float
    status: str
    assumptions: list
    fixed_in: np.ndarray
    fixed_out: np.ndarray
    path: Path = field(repr=False)
    unique: bool = False
    search: str = ""
    criterion: str = ""

    if not TYPE_CHECKING:  # type checkers know which attributes there are

        def __getattr__(self, name):
            refuse_attribute(self, name, "model")

    def _verdict(self):
        return (
            "proven optimal"
            if self.proven
            else "within the gap asked for"
            if self.status == "optimal"
            else self.status.replace("_", " ")
        )

    @property
    def _bounded(self):
        """Whether `deviance_ratio_bound` says something that the verdict does not."""
        return not self.proven and self.deviance_ratio_bound < 1.0

    def _ratio(self):
        """The deviance ratio, with its bound where that says something."""
        limit = f", at most {self.deviance_ratio_bound:.4f} for a best model"
        return f"{self.model.deviance_ratio:.4f}" + (limit if self._bounded else "")

    @property
    def _score(self):
        """The name of the quantity that was compared."""
        return self.criterion or "objective"

    @property
    def _assumed(self):
        """The assumptions that the first line does not tell."""
        return self.assumptions[1 if self.criterion else 0 :]

    def _values(self):
        """Its values of the best models."""
        if not self.criterion:
            return [m.objective for m in self.best]
        tables = [score_table(m.path)[self.criterion] for m in self.best[:1]]
        return [float(tables[0].iloc[m._index]) for m in self.best]

    def _found(self):
        """The verdict as a line: the score of the model, and its gap."""
        bound = "" if self.proven else f"bound {self.lower_bound:.6g}, "
        gap = f"{bound}gap {gap_text(self.gap, self.proven)}"
        return f"{self._verdict()}: {self._score} {self.incumbent:.6g}, " + (
            gap if math.isfinite(self.gap) else "no bound"
        )

    def _list(self):
        """A line for each of several best models."""
        if len(self.best) == 1:
            return []
        lines = [
            f"{i}. {self._score} {value:.6g}: {', '.join(map(str, m.groups))}"
            for i, (m, value) in enumerate(zip(self.best, self._values(), strict=True), 1)
        ]
        return [f"the {len(lines)} best{' of all sizes' if self.criterion else ''}:", *lines]

    def _names(self, fixed):
        """Names of fixed columns, or labels of fixed groups."""
        labels = self.model.path._meta.unit_labels
        return [str(labels[j]) for j in fixed]

    def _fixed(self):
        """A sentence about the columns of all best models."""
        unit = f"{self.model.path._meta.units.unit}s"
        if self.unique:
            return f"the only best model: every other one has a larger {self._score}"
        names = self._names(self.fixed_in)
        inside = f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
        known = f"{unit} in every best model: {inside}" if names else ""
        none = f"{len(self.fixed_out)} {unit} are in no best model" if self.fixed_out.size else ""
        open_ = "" if self.proven and len(self.best) > 1 else "; n_best=2 would tell more"
        return "; ".join(
            filter(None, [known, none])
        ) or f"the bound alone does not say which {unit} every best model has" + (
            open_ if self.proven else ""
        )

    def _repr_html_(self):
        return forward.certificate_html(self)

    def __repr__(self):
        m, lambda0 = self.model, self.model._solution.lambda0
        at = f" at lambda0 = {lambda0:.4g}" if math.isfinite(lambda0) else ""
        work = f"{self.search}, " if self.search else ""
        lines = [
            f"<l0path.Certificate: {m._line()}",
            f"{self._found()}{at}; deviance ratio {self._ratio()}",
            *([] if self.criterion and not self.unique else [self._fixed()]),
            *self._list(),
            f"{work}{self.seconds:.2g} s",
            *self._assumed,
        ]
        return "\n  ".join(lines) + ">"


@described_by(Path.certify)
def certify(
    self: Path,
    rule: Rule | None = None,
    *,
    time_limit: float = 30,
    n_best: int = 1,
    criterion: str | None = None,
    gap: float = GLOBAL_GAP,
    node_limit: int | None = None,
    box: float | str | None = None,
    algorithm: Settings | None = None,
    progress: bool | None = None,
    X: Matrix | None = None,
    y: ArrayLike | None = None,
    **selector: Unpack[Selector],
) -> Certificate:
    began = time.perf_counter()
    limits = {"n_best": n_best, "time_limit": time_limit, "progress": progress}
    if criterion is not None:
        others = {"box": box, "node_limit": node_limit, "algorithm": algorithm, "rule": rule}
        _refuse_beside(criterion, {**others, **selector})
        return forward.certify_by(self, criterion, **limits, X=X, y=y)
    settings = BranchAndBound(gap=gap, node_limit=node_limit) if algorithm is None else algorithm
    _check(self, settings, n_best, time_limit)
    (self, index), clock = self._at(rule, **selector), Clock(time_limit)
    control = Control(clock)
    if self._meta.loss in OWN_LOSSES:
        raise ValueError(
            f"certify needs the conjugate of the loss, which loss={self._meta.loss!r} of your own "
            "has not; fit with a loss of the package for proofs"
        )
    s = self._solutions[index]
    if s.relax < 1.0:
        raise ValueError(
            f"this model is a mixture (relax={s.relax:g}), which minimizes nothing, so there is "
            "nothing to prove: certify the shrunken model of its slice, "
            f"certify(k={s.k}, lambda2={s.lambda2:g}, relax=1)"
        )
    if not np.isfinite(self._solutions[index].objective):
        raise ValueError(
            "the losses of this model leave the range of floating point numbers, so nothing can be "
            "proven of it; rescale its features, or change the bounds of those that are forced"
        )
    ahead = (f"{self._meta.loss}:certify",) if self._meta.loss in NAMES else ()
    with HELPING_PROCESSES.compiling(*ahead), deferred_interrupts(clock):
        data = fit_data(self, X, y)
        if data.groups is not None:
            refuse_groups(data, settings, self._solutions[index].lambda1)
        data = _left(self, data, self._solutions[index], n_best == 1 and box is None)
        problem = pose(data)
        reporting = Reporting(problem, data, row_weights(data))
        alone = algorithm is None and box is None and node_limit is None
        if reporting.needed and alone and self._meta.grid == "support":
            exact = forward.certify_size(self, index, **limits, X=X, y=y)
            if exact is not None:
                return exact
        with Bar(progress, "l0path certify") as bar:
            search = CertificateSearch(
                problem,
                data,
                reporting.searched(self._solutions[index]),
                clock=clock,
                box=box,
                settings=settings,
                n_best=int(n_best),
                bar=bar,
            )
            with control.stage():
                search.run()
            clock.interrupted = clock.interrupted or control.inconsistent
    return _certificate(search, self, index, time.perf_counter() - began, reporting)


def _refuse_beside(criterion, others):
    """Refuse arguments that have no meaning beside a criterion over all sizes."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(
            f"criterion={criterion!r} compares models of all sizes, so {given[0]}= has no meaning "
            "beside it; leave it out"
        )


def check_limits(n_best, time_limit, name="n_best"):
    """Refuse limits of a search that are none."""
    if not is_whole(n_best) or n_best < 1:
        raise ValueError(
            f"{name}={n_best!r} must be a whole number >= 1: how many of the best supports are "
            "wanted"
        )
    if time_limit is not None and (
        isinstance(time_limit, bool)
        or not isinstance(time_limit, (int, float, np.number))
        or not time_limit > 0
    ):
        raise ValueError(f"time_limit={time_limit!r} must be a positive number of seconds, or None")


def _check(path, settings, n_best, time_limit):
    """Raise ValueError for arguments that no search takes."""
    check_limits(n_best, time_limit)
    if not isinstance(settings, (BranchAndBound, IntegralityGeneration)):
        raise TypeError(
            f"algorithm={settings!r} must be None, or BranchAndBound(...) or "
            "IntegralityGeneration(...) of l0path.solvers"
        )
    if isinstance(settings, IntegralityGeneration) and (
        path._meta.responses is not None or path._meta.traits.coupled
    ):
        raise ValueError(
            "integrality generation serves one response and losses that are sums over rows; leave "
            "algorithm=None"
        )
    if n_best > 1 and isinstance(settings, IntegralityGeneration):
        raise ValueError(
            f"n_best={n_best} needs branch and bound: integrality generation finds one model; "
            "leave algorithm=None"
        )


def _left(path, data, solution, alone):
    """The data of a certificate without the copies of columns that change no optimum; alone: one
    model is looked for and no box is assumed, else each copy counts.
    """
    if not alone:
        return data
    if path._source.data is not None:
        return replace(data, copies=path._source.data.copies)
    return replace(data, copies=without_copies(data, pose(data), solution.lambda2 > 0)[0])


def _of_the_loss(reporting, before, s, found):
    """(solution, result) of a search of a smoothed loss, about the loss itself: the better of two
    solutions by it, and nothing that is proven of the smoothed loss alone.
    """
    s = reporting.solution(s)
    if before.objective <= s.objective:
        bounds = {"lower_bound": s.lower_bound}
        s = before if math.isnan(s.lower_bound) else before._replace(**bounds)
    above, none = reporting.smoothed.loss.above, np.zeros(found.into.size, dtype=bool)
    what = "no best model was missed" if found.status == "optimal" else "not all were compared"
    text = (
        f"the search was under the smoothed loss ({what}), which is above the check loss by at "
        f"most {above:.4g}: the bound is lower by that"
    )
    known = math.isfinite(s.lower_bound)
    closed = known and relative_gap(s.objective, s.lower_bound) <= GLOBAL_GAP
    status = found.status
    if status == "optimal" and not closed:
        status = "gap_not_closed"
    return s, found._replace(
        status=status,
        loss=found.loss - above,
        unique=False,
        into=none,
        out=none,
        assumptions=[*found.assumptions, text],
    )


def _same_set(one, other):
    """Whether two solutions chose the same columns, and the same groups (of those that overlap,
    several sets have the same columns).
    """
    return np.array_equal(one.units, other.units) and np.array_equal(one.support, other.support)


def _certificate(search, path, index, seconds, reporting):
    """The `Certificate` of a search, with the path's copy."""
    found, data, problem = search.result, search.data, search.bounds.whole
    before, weights = path._solutions[index], row_weights(data)
    s = certified(search.solution, found, problem, data, weights)
    if reporting.needed:
        s, found = _of_the_loss(reporting, before, s, found)
    notes = [*path.notes]
    if found.conditional:
        notes.append(f"row {index}: {found.assumptions[0]}")
    rounds = path.rounds.to_dict("records")
    rows = [*path._solutions[:index], s, *path._solutions[index + 1 :]]
    model = Model(
        Path(
            path._meta,
            rehulled(rows, problem) if s.loss != before.loss else rows,
            path.status,
            notes,
            rounds,
            path._source,
            end=path._end,
        ),
        index,
    )
    best, status, lost = [model], found.status, False
    if search.n_best > 1:
        rows = [in_place_of(before, fit, problem, data, weights) for fit in found.best]
        rows = sorted(map(reporting.solution, rows), key=lambda row: row.objective)
        rows = [s if _same_set(row, s) else row for row in rows]  # what is known of it
        ranked = Path(
            path._meta, rows, f"the {len(rows)} best supports found", notes, (), path._source
        )
        best = [Model(ranked, i) for i in range(len(rows))]
        lost = any(row.status == FitStatus.NOT_CONVERGED for row in rows)  # in the units of X
        status = "gap_not_closed" if lost and status == "optimal" else status
    known = math.isfinite(s.lower_bound)
    gap = relative_gap(s.objective, s.lower_bound) if known else math.inf
    proven = (
        status == "optimal"
        and gap <= GLOBAL_GAP
        and (search.n_best == 1 or search.settings.gap <= GLOBAL_GAP)
    )
    copied = [] if data.copies is None else data.copies[:, 1]
    return Certificate(
        model=model,
        incumbent=s.objective,
        lower_bound=s.lower_bound,
        gap=gap,
        proven=proven,
        deviance_ratio_bound=path._meta.deviance_ratio(
            s.loss if found.unique and proven else min(found.loss, s.loss)
        ),
        best=best,
        nodes=found.nodes,
        seconds=seconds,
        status=status,
        assumptions=[
            *found.assumptions,
            *([f"no proof: {WHY_ENDED[SearchEnd.TOO_CLOSE]}"] if lost else []),
            *combinations_of_columns(problem, s.lambda2, data.names),
        ],
        # a copy in the place of its column is as good
        fixed_in=np.setdiff1d(np.flatnonzero(found.into), copied),
        fixed_out=np.flatnonzero(found.out),
        path=model.path,
        unique=found.unique and proven,
        search=found.searched,
    )
