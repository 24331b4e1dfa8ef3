"""From a plan and data to a path: one engine run for every (lambda1, lambda2), and whatever ends
it, what was solved is kept.
"""

import math
import warnings
from dataclasses import replace

import numpy as np

from ..core.arguments import some
from ..core.control import Clock, Control, Stop, deferred_interrupts
from ..core.progress import Bar
from ..core.status import End, FitStatus, Optimality
from ..designs import Dense
from ..designs.copies import without_copies
from ..errors import ConvergenceWarning, SeparationWarning
from ..exact.search import CertificateSearch
from ..exchange.local_search import LocalSearch, pairs_tried
from ..exchange.neighbourhoods.groups import groups_tried
from ..formula import marginality_notes
from ..paths import Model, Path
from ..paths.past_separation import REMEDY, PastSeparation, apart, consequence, marked
from ..paths.records import EXCHANGES, Meta, Source, in_user_units
from ..problem.conjugates import smooth
from ..problem.losses import Hinge, Huber, Poisson, SmoothedHinge, name_of, smoothness
from ..problem.problem import Fit, checksum, effective_rows, pose, row_weights
from ..relaxation.cutting_planes import FeatureGenerating
from ..relaxation.path_bounds import bound_by_slopes, bound_solutions, bounded
from ..working_set.groups import GroupFit
from ..working_set.hinge import make_model
from ..working_set.starts import null_gradient
from ..working_set.ties import Twins
from . import inputs
from .certified import certified
from .lambda0_path import Lambda0Path
from .plan import PENALTIES, default_max_k
from .protocols import Session, Slice
from .registry import algorithm_of, make_engine, search_settings
from .slices import huber_threshold, hull, hull_grid, shrink_grid
from .strategies.generating import relaxation_bounds

GATHERED = 1 << 22  # entries of columns that are held at a time: 32 MB


def slices_of(problem, model, plan):
    """(lambda1, lambda2) pairs, largest shrinkage first; default grids where the penalty names a
    term that is not given.
    """
    named = PENALTIES[plan.penalty]
    null = model.null(0.0, 0.0)
    lambda1, lambda2 = plan.lambda1, plan.lambda2
    if lambda1 is None:
        lambda1 = (
            shrink_grid(
                max(float(np.abs(null_gradient(model, null)).max(initial=0.0)), 1e-300),
                plan.n_shrink,
            )
            if 1 in named
            else np.zeros(1)
        )
    if lambda2 is None:
        top = smoothness(problem.loss)
        if not math.isfinite(
            top
        ):  # the Poisson curvature has no bound: its mean at the null model stands in
            top = float(model.derivatives(null)[2].sum())
        lambda2 = shrink_grid(top, plan.n_shrink) if 2 in named else np.zeros(1)
    return [(float(a), float(b)) for a in lambda1 for b in lambda2]


def ridge_in(plan, slices=None):
    """Whether lambda2 > 0 in any slice of a plan, or of the (lambda1, lambda2) given."""
    if slices is not None:
        return any(lambda2 > 0 for _, lambda2 in slices)
    if plan.lambda2 is None:
        return 2 in PENALTIES[plan.penalty]
    return bool((np.asarray(plan.lambda2) > 0).any())


def units(problem):
    """How many columns, or groups, may be chosen."""
    if problem.groups is not None:
        return int(problem.groups.choosable(problem.usable).sum())
    return int(problem.usable.sum()) - problem.forced.size


def solve(
    data,
    plan,
    *,
    keep=None,
    known=None,
    slices=None,
    notes=(),
    by_name=False,
    response=None,
    on_solution=None,
    progress=False,
    check_columns=False,
    clock=None,
    certify=False,
    formula=None,
    offset_name=None,
    pilot=False,
):
    """Run a plan on all rows, or on a training set `keep` (n,): the Path. slices: (lambda1,
    lambda2) pairs of an earlier fit; known: AllRows of it; certify: lower bounds too.
    formula: what X was made by; offset_name: the column of the user's table that is the offset.
    pilot: the threshold of the Huber loss is to be found first.

    The model on the working columns stays in the path's source for who wants its products; who does
    not takes it off, because it holds Gram rows over all columns.
    """
    notes, clock = list(notes), Clock(plan.time_limit) if clock is None else clock
    with deferred_interrupts(clock):
        problem = pose(data, keep, known)
        if pilot:
            data, problem = _with_threshold(data, problem, notes, clock)
        if check_columns:
            notes += inputs.constant_notes(data, problem)
            pairs, more = without_copies(data, problem, ridge_in(plan, slices))
            notes += more
            data, usable = replace(data, copies=pairs), problem.usable.copy()
            usable[pairs[:, 0]] = False
            problem = replace(problem, usable=usable)
        run = _Run(data, problem, plan, keep, notes, on_solution, progress, clock)
        run.formula, run.offset_name = formula, offset_name
        run.prepare(slices)
        if certify and hasattr(run.model, "seen"):
            run.model.seen = {}
        run.all_slices()
        exact = algorithm_of(plan.settings).proves
        if certify or (exact and problem.groups is None):
            run.bounds()
        if exact:
            run.proofs()
        if not exact or not all(math.isfinite(s.lower_bound) for s in run.solutions):
            run.notes += run.unbounded
        path = run.path(by_name, response)
        path._source.extra["model"] = run.model
        return path


def why_saturated(result, problem):
    """A note on the size at which a path ends before max_k."""
    unit = "column" if problem.groups is None else "group"
    fit = next(point.fit for point in result.points if point.k == result.last)
    why = (
        "the fit is perfect"
        if problem.perfect(fit.value, result.scale)
        else f"every other {unit} is a linear combination of those chosen"
        + (" and the intercept" if problem.intercept else "")
        + " and would change nothing"
    )
    return f"sizes end at k = {result.last}, where {why}"


def near_notes(model, names, held):
    """A note on columns that are almost combinations of each other, where it is not there yet."""
    if model.near is None:
        return []
    note = (
        f"{model.near.size} columns are almost linear combinations of each other, up to less than "
        "1e-4 of their length: models with them were fitted on the columns themselves, and "
        f"compared by such fits where a comparison is claimed: {some(model.near, names)}"
    )
    note += (
        "; some keep less than 1e-12 of their length beside the others, too little for any claim"
        if model.unclear
        else ""
    )
    return [] if note in held else [note]


def _with_threshold(data, problem, notes, clock):
    """The data and the problem with the default threshold of the Huber loss."""
    delta, exact = huber_threshold(problem, clock.over)
    if exact:
        notes.append(
            "more than half of the residuals of a pilot fit are equal, so the threshold of the "
            f"Huber loss is a floor, delta = {delta:.4g}; pass delta= in units of y to set it"
        )
    loss = Huber(delta)
    return replace(data, loss=loss), replace(problem, loss=loss)


def cost(problem, point):
    """sum f_j over the unforced columns (or groups) of a solution: what lambda0 multiplies."""
    if problem.groups is not None:
        return float(problem.groups.factor[point.groups].sum())
    return float(problem.factor[point.support[~np.isin(point.support, problem.forced)]].sum())


def rehulled(solutions, problem):
    """Solutions with the lambda0 intervals that hold now, after some were replaced by better ones.
    On a support grid those of the hull, the last size's ending where it did; on a lambda0 grid,
    which does not show every model of the hull, what other rows leave of the old ones.
    """
    out = list(solutions)
    for number in {s.slice for s in solutions}:
        rows = [i for i, s in enumerate(solutions) if s.slice == number]
        points = [solutions[i] for i in rows]
        x = [cost(problem, p) for p in points]
        F = [p.loss + p.shrinkage for p in points]
        if math.isnan(points[0].lambda0):
            last = points[-1].lambda0_low
            found = dict.fromkeys(range(len(rows)), (math.nan, math.nan))
            for i, low, high in hull(x, F):
                found[i] = min(last, high) if i == len(rows) - 1 else low, high
        else:
            found = {i: _left_over(i, points[i], x, F) for i in range(len(rows))}
        for i, (low, high) in found.items():
            out[rows[i]] = out[rows[i]]._replace(lambda0_low=low, lambda0_high=high)
    return out


def _left_over(i, point, x, F):
    """What of a point's interval [low, high) the other points (x_j, F_j) leave it; NaN if none."""
    low, high = point.lambda0_low, point.lambda0_high
    for a, f in zip(x, F, strict=True):
        if a > x[i]:
            low = max(low, (F[i] - f) / (a - x[i]))
        elif a < x[i]:
            high = min(high, (f - F[i]) / (x[i] - a))
        elif f < F[i]:
            high = math.nan
    return (low, high) if low < high else (math.nan, math.nan)


class _Run:
    """One call's progress: solutions so far survive whatever ends it."""

    def __init__(self, data, problem, plan, keep, notes, on_solution, progress, clock):
        self.data, self.problem, self.plan, self.keep, self.notes = data, problem, plan, keep, notes
        self.on_solution, self.progress, self.clock = on_solution, progress, clock
        self.control = Control(clock)
        self.solutions, self.rounds = [], []
        self.formula = self.offset_name = None
        self.unbounded = []  # notes on bounds that there are none
        self.cut = ""  # what became of a max_k beyond the columns
        self.separated, self.passed = None, []  # (k, fit) where sizes end; texts on those passed
        self.weights = row_weights(data, keep)
        self.twins = {}  # with and without lambda1 or lambda2: columns that say the same

    def prepare(self, slices):
        p, plan = self.problem, self.plan
        free = self.free = units(p)
        want = default_max_k(self.data.groups, p.X.p, p.n_eff) if plan.max_k is None else plan.max_k
        self.max_k = max(min(want, free), 0)
        if plan.max_k is not None and self.max_k < want:
            self.notes.append(
                f"max_k = {want} was cut to {self.max_k}, the number of usable "
                f"{'columns' if p.groups is None else 'groups'}"
            )
            self.cut = self.notes[-1]
        # exact: a path to start from, whose models are proved afterwards
        self.route = replace(plan, settings=search_settings(plan.settings))
        # the hinge has no exchanges: its supports are those of a smoothed hinge, its coefficients
        # its own
        self.hinge = make_model(p) if isinstance(p.loss, Hinge) else None
        soft = p if self.hinge is None else replace(p, loss=smooth(p.loss))
        self.model = self.fresh_model(soft)
        self.slices = slices if slices is not None else slices_of(p, self.model, plan)
        self.meta = None

    def all_slices(self):
        supports = []
        with Bar(self.progress, "l0path", len(self.slices) * (self.max_k + 1), "model") as bar:
            for number, (lambda1, lambda2) in enumerate(self.slices):
                supports = self.one_slice(number, lambda1, lambda2, supports, bar)
                if self.control.end:
                    break

    def bounds(self):
        """Lower bounds for every solution; those that are not reached in time stay NaN."""
        bar = Bar(self.progress, "l0path lower bounds")
        with self.control.stage(" while bounds were computed"), bar:
            if self.problem.groups is not None:
                self.unbounded = self.group_bounds()
            else:
                model = None if self.keep is not None or self.control.torn else self.model
                self.unbounded = bound_solutions(
                    self.problem,
                    self.solutions,
                    poll=lambda: bar.say("") or self.clock.over(),
                    model=model,
                    names=self.data.names,
                )
            self.clock.poll()

    def group_bounds(self):
        """Lower bounds for models of groups, from the relaxations of the feature generating
        machine; returns notes.

        On a lambda0 grid no model has an objective below the least D_k + lambda0 f k, D_k the bound
        of size k, f the price of a group; beyond the last size the least value of the loss stands
        for D_k.
        """
        if self.hinge is not None or self.problem.boxed or isinstance(self.problem.loss, Poisson):
            return [
                "no lower bounds: those on groups are for losses of bounded curvature (not "
                "poisson, not the hinge) without lower= and upper="
            ]
        without = [number for number, (_, lambda2) in enumerate(self.slices) if not lambda2 > 0]
        for number, (lambda1, lambda2) in enumerate(self.slices):
            rows = [
                i
                for i, s in enumerate(self.solutions)
                if s.slice == number and s.status != FitStatus.SEPARATED
            ]
            if not rows or number in without or isinstance(self.plan.settings, FeatureGenerating):
                continue
            part = Slice(lambda1, lambda2, self.max_k)
            starts = tuple(self.solutions[i].groups for i in rows)
            D, prices = relaxation_bounds(self.model, part, Session(self.clock, supports=starts))
            last = D.size - 1
            for i in rows:
                s = self.solutions[i]
                if math.isnan(s.lambda0):
                    bound = D[s.k] if s.k <= last else math.nan
                else:
                    price = s.lambda0 * prices.max(initial=0.0)
                    beyond = [self.problem.floor + price * (last + 1)] if last < prices.size else []
                    bound = np.min(
                        [*(D + price * np.arange(last + 1)), *beyond]
                    )  # NaN where a size has no bound
                self.solutions[i] = bounded(self.problem, s, float(bound))
        return (
            [
                f"no lower bounds in slice {', '.join(map(str, without))}: those on groups need a "
                "ridge; fit with lambda2=1e-3"
            ]
            if without
            else []
        )

    def proofs(self):
        """Search every solution for a better one until it is proved, each for its share of the time
        that is left; those that are not reached keep what they are.
        """
        if self.control.end:
            return
        known = {}  # fits of sets of groups, by shrinkage: sizes and lambda0 values share them
        bar = Bar(self.progress, "l0path proofs", len(self.solutions), "model")
        with self.control.stage(" while models were proved"), bar:
            for i, s in enumerate(self.solutions):
                left = (
                    None
                    if self.clock.limit is None
                    else max(self.clock.left() / (len(self.solutions) - i), 1e-3)
                )
                search = CertificateSearch(
                    self.problem,
                    self.data,
                    s,
                    clock=self.clock.within(left),
                    settings=self.plan.settings,
                    bar=bar,
                    known=known.setdefault((s.lambda1, s.lambda2), {}),
                )
                found = search.run()
                self.solutions[i] = certified(s, found, self.problem, self.data, self.weights)
                bar.update()
                self.clock.poll()
                self.tell(self.solutions[i])
        self.solutions = rehulled(self.solutions, self.problem)
        open_ones = [s.k for s in self.solutions if s.optimality != Optimality.GLOBAL]
        if open_ones:
            self.notes.append(
                f"{len(open_ones)} of {len(self.solutions)} models are not proved optimal (k = "
                f"{', '.join(map(str, open_ones[:10]))}{', ...' if len(open_ones) > 10 else ''}): "
                "see gap"
            )

    def tell(self, solution):
        """Show a solution to on_solution, which may end the path."""
        if self.on_solution is None:
            return
        source = Source(self.data, self.plan)
        shown = Path(
            self.describe(), [solution], "running", self.notes, (), source, end=End.RUNNING
        )
        if self.on_solution(Model(shown, 0)) is True:
            raise Stop("stopped by on_solution", End.STOPPED)

    def one_slice(self, number, lambda1, lambda2, supports, bar):
        """Solve a slice; whatever stops it, keep its solutions."""
        seen = set()

        def listener(found):
            if found.k not in seen:
                bar.update()
            seen.add(found.k)
            if self.on_solution is not None:
                k, fit, optimality, bound, lambda0, _ = found
                point = self.solution(number, k, fit, lambda1, lambda2, optimality, lambda0, bound)
                self.tell(point)

        def beyond(problem, supports, rows):
            def larger(found):
                if found.k not in rows:
                    listener(found._replace(fit=marked(found.fit), lower_bound=float("nan")))

            return self.search(self.fresh_model(problem), part, supports, larger)

        part = Slice(lambda1, lambda2, self.max_k, compare_single=self.compares_single())
        engine = self.search(self.model, part, supports, listener)
        if engine is None:
            return supports
        result = engine.result
        if isinstance(engine, Lambda0Path):
            self.collect_points(number, result, lambda1, lambda2)
            rounds = result.rounds
        else:
            past = PastSeparation(self.problem, engine, result, self.data.names)
            if self.plan.grid == "support" and not self.control.end:
                past.run(beyond)
            self.collect(number, result, lambda1, lambda2, past)
            rounds = past.rounds
        if not self.control.end:
            bar.shorten(self.max_k + 1 - len(seen))  # sizes that this slice does not have
        self.rounds += [{"slice": number, "round": r, **row} for r, row in enumerate(rounds)]
        return result.starts

    def fresh_model(self, problem):
        """The model on working columns of a problem, of none but the forced ones."""
        model = make_model(problem)
        model.max_iter = self.plan.max_iter
        model.grow(problem.forced)
        return model

    def compares_single(self):
        """Whether models of one column, or group, are compared with all others."""
        published = getattr(self.plan.settings, "paper_defaults", False)
        return self.plan.grid == "support" and self.hinge is None and not published

    def search(self, model, part, supports, listener):
        """An engine that has run on the model of a problem for a slice; None where it was stopped
        before it was made.
        """
        seed, engine = self.plan.random_state, None
        rng = (
            seed
            if isinstance(seed, np.random.Generator)
            else np.random.default_rng(0 if seed is None else seed)
        )
        with self.control.stage():
            part = part._replace(max_k=min(self.max_k, units(model.problem)))
            session = Session(self.clock, listener, rng, tuple(supports))
            engine = make_engine(model, self.route, part, session)
            engine.run()
        return engine

    def collect(self, number, result, lambda1, lambda2, past):
        """Solutions of a slice, by size or by lambda0; past: its rows, and what was passed."""
        rows = sorted(past.rows.items())
        known = self.predictions([row.fit for _, row in rows])
        points = [
            self.solution(
                number,
                k,
                row.fit,
                lambda1,
                lambda2,
                row.optimality,
                bound=row.bound,
                predicted=eta,
            )
            for (k, row), eta in zip(rows, known, strict=True)
        ]
        # a separated size that was passed, so that larger ones follow, is the best for no lambda0
        last = max((i for i, p in enumerate(points) if not p.separated), default=0)
        on = [i for i, p in enumerate(points) if not (past.steps and p.separated and i < last)]
        x = [cost(self.problem, points[i]) for i in on]
        intervals = self.intervals(past, [points[i] for i in on], x)
        if (
            self.control.end and intervals
        ):  # stopped early: what larger sizes would have taken over is not known
            intervals[-1] = (intervals[-1][0], float("nan"), intervals[-1][2])
        for i, low, high in intervals:
            points[on[i]] = points[on[i]]._replace(lambda0_low=low, lambda0_high=high)
        self.notes += near_notes(self.model, self.data.names, self.notes)
        self.note_end(number, past)
        if self.plan.grid == "lambda0":
            points = self.on_lambda0(result, points, intervals, x)
        elif self.plan.sizes is not None:
            kept = [p for p in points if p.k in self.plan.sizes]
            lost = [k for k in self.plan.sizes if k not in {p.k for p in kept}]
            if lost and not self.control.end:
                self.notes.append(
                    f"k = {', '.join(map(str, lost))} {'are' if len(lost) > 1 else 'is'} beyond "
                    f"the largest size that could be fitted, {points[-1].k}"
                )
                kept = kept if points[-1] in kept else [*kept, points[-1]]
            points = kept
        own = self.plan.grid == "support" and any(
            math.isfinite(p.lower_bound) for p in result.points
        )
        self.solutions += points if own else self.bounded_by(result, points)

    def note_end(self, number, past):
        """Say at which sizes a slice was separated, what was left out, and why it ends."""
        result = past.result
        if past.steps:
            self.passed.append(past.story())
            self.notes.append(f"slice {number}: {past.note()}")
        if past.unresolved is not None:
            self.note_separation(result.last, past.unresolved)
        elif result.end == End.SATURATED and result.last < min(self.max_k, units(past.problem)):
            self.notes.append(f"slice {number}: {why_saturated(result, self.problem)}")

    def bounded_by(self, result, points):
        """Solutions of a slice of a fit to all rows with the bounds that the dual points of its
        search give, where it has any and was not stopped: one read of X.
        """
        if self.control.end or self.keep is not None or self.clock.over():
            return points
        return bound_by_slopes(self.problem, points, result.dual_points, self.model)

    def collect_points(self, number, result, lambda1, lambda2):
        """Solutions of a lambda0 path, one per value."""
        known = self.predictions([p.fit for p in result.points])
        points = [
            self.solution(
                number,
                p.k,
                p.fit,
                lambda1,
                lambda2,
                p.optimality,
                p.lambda0,
                predicted=eta,
            )
            for p, eta in zip(result.points, known, strict=True)
        ]
        null = self.solution(
            number, 0, result.null, lambda1, lambda2, ""
        )  # intervals start from it even where no lambda0 of the grid shows it
        ends = [null, *points]
        for i, low, high in hull(
            [cost(self.problem, p) for p in ends], [p.loss + p.shrinkage for p in ends]
        ):
            if low == 0.0 and result.points and result.points[-1].lambda0_low > 0.0:
                low = min(result.points[-1].lambda0_low, high)  # below it another column enters
            for at in [i - 1] if i else [t for t, p in enumerate(points) if p.k == 0]:
                points[at] = points[at]._replace(lambda0_low=low, lambda0_high=high)
        separated = [p for p in result.points if apart(p.fit)]
        if separated:
            first = min(separated, key=lambda p: p.k)
            self.note_separation(first.k, first.fit)
        self.notes += [*result.notes, *near_notes(self.model, self.data.names, self.notes)]
        self.solutions += self.bounded_by(result, points)

    def note_separation(self, k, fit):
        """Remember the first separated size that ends a slice for the status and the warning."""
        if self.separated is None or k < self.separated[0]:
            self.separated = k, fit

    def intervals(self, past, points, x):
        """Hull intervals; one column beyond max_k, by its best addition, bounds the last from
        below.
        """
        F = [p.loss + p.shrinkage for p in points]
        # an interrupt raised by something else than Ctrl-C may fall where the working columns are
        # half updated: no kernel may run on them after it
        beyond = (
            past.engine.next_value()
            if not self.control.torn and points and points[-1].k == past.result.last == self.max_k
            else None
        )
        if beyond is None:
            return hull(x, F)
        return [piece for piece in hull([*x, x[-1] + 1.0], [*F, beyond]) if piece[0] < len(points)]

    def on_lambda0(self, result, points, intervals, x):
        """Rows for lambda0 values: the dynamic grid of the hull, or the user's, each with the
        stored model of least loss + shrinkage + lambda0 sum f.
        """
        F = np.array([p.loss + p.shrinkage for p in points])
        dynamic = self.plan.lambda0 is None
        values = hull_grid(intervals, self.plan.n_lambda0) if dynamic else self.plan.lambda0
        out, short = [], 0
        floor = intervals[-1][1] if intervals else 0.0
        for value in values:
            i = intervals[len(out)][0] if dynamic else int(np.argmin(F + value * np.asarray(x)))
            point = points[i]
            flags = point.flags
            if not dynamic and value < floor and not self.control.end:
                flags, short = (*flags, "max_k"), short + 1
            out.append(
                point._replace(
                    lambda0=float(value),
                    objective=float(F[i] + value * x[i]),
                    flags=flags,
                    lower_bound=float("nan"),
                    # the only model of a size need not be the best for a lambda0
                    optimality=result.claim
                    if point.optimality == Optimality.GLOBAL
                    else point.optimality,
                )
            )
        if short:
            what = "columns" if self.problem.groups is None else "groups"
            self.notes.append(
                f"{short} of the lambda0 values call for more than max_k = {self.max_k} {what}; "
                "their rows show the best model up to that size and carry the flag max_k"
            )
        return out

    def predictions(self, fits):
        """X beta of each fit; None where each is as quickly made alone. Where the rows of X lie one
        after another a column costs a read of all of X: those that fits share are fetched once.
        """
        design, left = self.data.design, 0
        if self.hinge is not None or not isinstance(design, Dense) or design.X.flags.f_contiguous:
            yield from (None for _ in fits)
            return
        while left < len(fits):
            J, right = fits[left].support, left + 1
            while (
                right < len(fits)
                and (more := np.union1d(J, fits[right].support)).size * design.n <= GATHERED
            ):
                J, right = more, right + 1
            held = Dense(design.columns(J))
            for fit in fits[left:right]:
                yield held.dot(
                    np.searchsorted(J, fit.support), fit.b / self.problem.X.scale[fit.support]
                )
            left = right

    def solution(
        self,
        number,
        k,
        fit,
        lambda1,
        lambda2,
        optimality,
        lambda0=float("nan"),
        bound=float("nan"),
        predicted=None,
    ):
        """A Fit in the user's units; a verification by ranked pairs says how many. bound: what no
        model of its size falls below; predicted: X beta, where it is known.
        """
        before, fit = fit, self.first_of_a_kind(fit, lambda1, lambda2)
        if fit is not before:
            predicted = None  # opposite columns may differ by a constant
        if self.model.unclear and self.model.faint(lambda2) and fit.support.size:
            optimality = Optimality.UNVERIFIED
        if self.hinge is not None:
            self.hinge.grow(fit.support)
            own = self.hinge.refit(fit.support, lambda1, lambda2)
            fit = GroupFit(*own, fit.groups) if isinstance(fit, GroupFit) else own
            optimality = (
                Optimality.UNVERIFIED
                if optimality == Optimality.UNVERIFIED
                else Optimality.STATIONARY
            )
        found = in_user_units(
            self.problem,
            self.data,
            self.weights,
            fit,
            number=number,
            k=k,
            lambda0=lambda0,
            lambda1=lambda1,
            lambda2=lambda2,
            optimality=optimality,
            free=self.free,
            predicted=predicted,
        )
        if optimality == Optimality.REFIT_SWAP_M and isinstance(self.route.settings, LocalSearch):
            m = (
                pairs_tried(self.route.settings, self.problem.n_eff, fit.support.size)
                if self.problem.groups is None
                else groups_tried(self.route.settings)
            )
            found = found._replace(flags=(*found.flags, f"{EXCHANGES}{m}"))
        return bounded(self.problem, found, bound)

    def first_of_a_kind(self, fit, lambda1, lambda2):
        """The fit with the columns of smallest index among those that say the same."""
        if self.problem.groups is not None or self.control.torn or not fit.support.size:
            return fit
        shrunk = bool(lambda1 or lambda2)
        if shrunk not in self.twins:
            self.twins[shrunk] = Twins(self.model, not shrunk)
        return self.twins[shrunk].smallest(fit)

    def describe(self, by_name=False, response=None):
        """The path's Meta."""
        if self.meta is not None:
            return self.meta
        data, X = self.data, self.problem.X
        bare = (
            make_model(replace(self.problem, forced=np.empty(0, dtype=np.int64)))
            if not self.problem.quadratic
            else self.model
        )
        empty = np.empty(0, dtype=np.int64)
        start = self.problem.shift if self.problem.quadratic else bare.refit(empty, 0.0, 0.0).b0
        null = self.solution(
            0, 0, Fit(empty, np.empty(0), start, 0.0), 0.0, 0.0, Optimality.GLOBAL
        ).loss
        parameter = (
            data.loss.gamma
            if isinstance(data.loss, SmoothedHinge)
            else data.loss.delta
            if isinstance(data.loss, Huber)
            else None
        )
        terms = (
            "L0"
            + ("L1" if any(a for a, _ in self.slices) else "")
            + ("L2" if any(b for _, b in self.slices) else "")
        )
        counted = data.weights if self.keep is None else data.weights * self.keep
        self.meta = Meta(
            names=data.names,
            n=data.design.n,
            p=data.design.p,
            n_eff=effective_rows(counted),
            loss=name_of(data.loss),
            loss_parameter=parameter,
            intercept=data.intercept,
            standardize=data.standardize,
            null_loss=null,
            center=X.center if data.intercept else np.zeros(X.p),
            scale=X.scale,
            forced=self.problem.forced,
            factor=data.factor,
            lower=data.lower,
            upper=data.upper,
            excluded=data.excluded,
            classes=data.classes,
            penalty=terms,
            algorithm=type(self.plan.settings).__name__,
            grid=self.plan.grid,
            has_offset=data.offset is not None
            and (self.formula is None or self.formula.other_offset or not self.formula.offsets),
            offset_name=self.offset_name,
            weighted=bool(np.ptp(data.weights) > 0 or data.class_weight is not None),
            by_name=by_name,
            response=response,
            groups=data.groups,
            formula=self.formula,
            random_state=self.plan.random_state
            if isinstance(self.plan.random_state, (int, np.integer))
            else None,
            checksum=checksum(data) if self.keep is None else "",
            log_constant=float(self.weights @ np.array([math.lgamma(v + 1.0) for v in data.y]))
            if isinstance(data.loss, Poisson)
            else 0.0,
            floor=self.problem.floor,
        )
        return self.meta

    def _short_of(self, largest):
        """What the status of a whole path says where it does not reach the max_k asked for."""
        asked = None if self.plan.grid == "lambda0" else self.plan.max_k
        if self.cut:
            return f" ({self.cut})"
        return "" if asked is None or largest >= asked else f" (not max_k = {asked}, see notes)"

    def path(self, by_name, response):
        """The Path with its status, notes and one warning of each kind."""
        self.meta = None
        self.control.finish()
        sizes = [s.k for s in self.solutions]
        reach = f"k = 0..{max(sizes)}" if sizes else "nothing"
        passed = "; ".join(dict.fromkeys(self.passed))
        if self.separated is not None:
            k, fit = self.separated
            unit = "columns" if self.problem.groups is None else "groups"
            what, why = consequence(self.problem, self.data.names, fit)
            status = f"ended at k = {k}: its {unit} {what}, so {why}"
            status += f" ({passed})" if passed else ""
            text = f"k = {k} {unit} {what}, so the path ends there: {why}"
            warnings.warn(SeparationWarning(text), stacklevel=5)
            end = End.SEPARATED
        elif self.control.end:
            unverified = sum(s.optimality == Optimality.UNVERIFIED for s in self.solutions)
            status = f"{self.control.reason}; {reach} solved, "
            status += f"{unverified} of {len(sizes)} unverified"
            end = self.control.end
        else:
            end = End.COMPLETE
            status = f"complete: {reach}{self._short_of(max(sizes, default=0))}" + (
                f"; {passed}; {REMEDY}" if passed else ""
            )
            if passed:
                warnings.warn(SeparationWarning(f"{passed}; {REMEDY}"), stacklevel=5)
        bad = [s.k for s in self.solutions if s.status == FitStatus.NOT_CONVERGED]
        if bad:
            warnings.warn(
                ConvergenceWarning(
                    f"{len(bad)} of {len(sizes)} models did not converge (first k = {bad[0]}); "
                    "raise max_iter, or add a little lambda2"
                ),
                stacklevel=5,
            )
        if self.formula is not None and self.keep is None:
            constant = np.flatnonzero(~self.problem.usable & ~self.data.excluded)
            models = [(s.k, s.support) for s in self.solutions]
            self.notes += marginality_notes(self.formula, models, constant)
        return Path(
            self.describe(by_name, response),
            self.solutions,
            status,
            self.notes,
            self.rounds,
            Source(self.data, self.plan),
            end=end,
        )
