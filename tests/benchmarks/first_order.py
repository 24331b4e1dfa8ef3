"""First-order algorithms: how many gradients the published forms need, and how good the supports
are, alone, polished and swept, against the default path.

python tests/benchmarks/first_order.py [--part gradients|supports] [--only sq_ar9,lg_ar9] [--sizes
5,10,25] [--ridge 0.01] [--k 50]
"""

import time

import numpy as np
from common import INSTANCES, agreement, arguments, instance, smaller

import l0path
from l0path.algorithms import operators
from l0path.algorithms.one_size import solve_size
from l0path.core.control import Clock
from l0path.engine.protocols import Session, Slice
from l0path.engine.request import request
from l0path.engine.strategies.columns import ColumnExchanges
from l0path.exchange.local_search import pairs_tried
from l0path.exchange.ranking import Wanted
from l0path.exchange.verification import violators
from l0path.problem.penalties import separable
from l0path.problem.problem import pose
from l0path.solvers import DualIHT, FeatureGenerating, LocalSearch, PrimalDual, ProjectedGradient
from l0path.working_set.model import make_model
from l0path.working_set.starts import seed

VARIANTS = ("pg", "apg", "pg+", "apg+", "pg_ll")
ALGORITHMS = {
    **{name: ProjectedGradient(variant=name) for name in (*VARIANTS, "htp")},
    "dual_iht": DualIHT(),
    "stochastic_dual_iht": DualIHT(blocks=10),
    "primal_dual": PrimalDual(),
    "feature_generating": FeatureGenerating(),
}
MAPS = 10_000  # at most, of each run


def posed(X, y, loss):
    """The problem of an instance."""
    return pose(request(X, y, loss=loss).data)


# -------------------- gradients


class Counter:
    """Counts products X'r over all columns while it is entered."""

    def __enter__(self):
        self.count, self.kept = 0, operators.RowView.gradient

        def gradient(view, x):
            self.count += 1
            return self.kept(view, x)

        operators.RowView.gradient = gradient
        return self

    def __exit__(self, *_):
        operators.RowView.gradient = self.kept


def gradients(X, y, loss, k):
    """{variant: (gradient evaluations, status, F, seconds)} of the published forms, from zero to
    residual 1e-6, at most MAPS maps.
    """
    out, problem = {}, posed(X, y, loss)
    for variant in VARIANTS:
        settings = ProjectedGradient(variant=variant, paper_defaults=True, tol=1e-6, max_iter=MAPS)
        began = time.perf_counter()
        with Counter() as counter:
            found = solve_size(
                make_model(problem),
                k,
                lambda2=0.0 if loss == "squared" else 1e-10,
                settings=settings,
            )
        out[variant] = counter.count, found.status, found.fit.value, time.perf_counter() - began
    return out


def gradient_table(cases, sizes):
    """One row per instance and size."""
    print(
        "| instance | k | "
        + " | ".join(f"{v} gradients" for v in VARIANTS)
        + " | apg+ / pg | F after refit, over the lowest: "
        + ", ".join(VARIANTS)
        + " |\n"
        + "|---" * (len(VARIANTS) + 4)
        + "|"
    )
    for name, (X, y, loss) in cases.items():
        if loss not in ("squared", "logistic"):
            continue
        for k in sizes:
            rows = gradients(X, y, loss, k)
            least = min(value for _, _, value, _ in rows.values())
            counts = " | ".join(
                f"{count}{'' if status == 'converged' else ' (' + status + ')'}"
                for count, status, _, _ in rows.values()
            )
            print(
                f"| {name} | {k} | {counts} | 1/{rows['pg'][0] / rows['apg+'][0]:.0f} | "
                + ", ".join(f"{value / least:.4f}" for _, _, value, _ in rows.values())
                + " |",
                flush=True,
            )


# -------------------- supports


def polished(path, support):
    """Value of a support after swaps with refit at its own size alone, until none over all columns
    improves.
    """
    model, neighborhood, k = path.model, path.neighborhood, support.size
    model.grow(support)
    fit = model.refit(support, 0.0, path.lambda2)
    while True:
        fit = neighborhood.swap(fit, thorough=True)
        wanted = (
            Wanted(1e300, -path.pool.tolerance(fit.value), 10)
            if path.exact
            else Wanted(1e300, 1e300, pairs_tried(path.settings, model.problem.n_eff, k))
        )
        found = violators(model, [fit], [wanted], separable(0.0, 0.0, path.lambda2))[0]
        if not model.grow(np.array([c.into for c in found], dtype=np.int64)):
            return fit.value


def values_of(fits):
    """{k: value} of {k: Fit}, k > 0."""
    return {k: fit.value for k, fit in fits.items() if k}


def supports_of(problem, path, ridge, K):
    """{k: value} three times: the supports of a path polished each at its own size; sweeps over all
    sizes that begin with them; the default path, which they join once it is done, swept on.
    """
    model = make_model(problem)
    supports = {s.k: s.support for s in path._solutions if s.k}
    part, starting = Slice(0.0, ridge, K), Session(Clock(), supports=tuple(supports.values()))
    engine = ColumnExchanges(model, part, LocalSearch(), starting)
    seed(model, engine.pool.fits[0], K)
    alone = {k: polished(engine, support) for k, support in supports.items()}
    swept, joined = (
        ColumnExchanges(make_model(problem), part, LocalSearch(), session)
        for session in (starting, Session(Clock()))
    )
    swept.run()
    joined.run()
    again = ColumnExchanges(joined.model, part, LocalSearch(), starting)
    for fit in joined.pool.fits.values():
        again.pool.update(fit)
    again.run()
    return alone, values_of(swept.pool.fits), values_of(again.pool.fits)


def share(a):
    """An Agreement as a cell."""
    return "" if a is None else f"{a.not_worse:.0%} ({a.better:.0%} better, worst {a.worst:+.1e})"


def print_total(name, those):
    """The row of an algorithm over all instances. those: a list of agreements for each instance."""
    means = [
        np.average([a.not_worse for a in column], weights=[a.cells for a in column])
        if all(column)
        else float("nan")
        for column in zip(*those, strict=True)
    ]
    worst = [
        max(a.worst for a in column) if all(column) else float("nan")
        for column in zip(*those, strict=True)
    ]
    print(
        f"| all | {name} | | "
        + " | ".join(
            "" if np.isnan(m) else f"{m:.0%}, worst {w:+.1e}"
            for m, w in zip(means, worst, strict=True)
        )
        + " |"
    )


def support_table(cases, ridge, K, algorithms):
    """One row per instance and algorithm; the last rows are over all instances."""
    print(
        "| instance | algorithm | s | alone, as good as the default path or better | polished at "
        "each size | with polish=True | sweeps from them | default path and them |\n"
        + "|---" * 8
        + "|"
    )
    rows = {name: [] for name in algorithms}
    for label, (X, y, loss) in cases.items():
        default = {
            s.k: s.objective
            for s in l0path.fit(X, y, loss=loss, lambda2=ridge, max_k=K)._solutions
            if s.k
        }
        problem = posed(X, y, loss)
        for name in algorithms:
            began = time.perf_counter()
            path = l0path.fit(X, y, loss=loss, algorithm=ALGORITHMS[name], lambda2=ridge, max_k=K)
            seconds = time.perf_counter() - began
            found = [
                {s.k: s.objective for s in path._solutions if s.k},
                *supports_of(problem, path, ridge, K),
            ]
            if name != "primal_dual":
                settings = type(ALGORITHMS[name])(**{**vars(ALGORITHMS[name]), "polish": True})
                found.insert(
                    2,
                    {
                        s.k: s.objective
                        for s in l0path.fit(
                            X, y, loss=loss, algorithm=settings, lambda2=ridge, max_k=K
                        )._solutions
                        if s.k
                    },
                )
            else:
                found.insert(2, {})
            cells = [agreement(values, default) for values in found]
            rows[name].append(cells)
            print(
                f"| {label} | {name} | {seconds:.2f} | "
                + " | ".join(share(a) for a in cells)
                + " |",
                flush=True,
            )
    for name, those in rows.items():
        print_total(name, those)


def main():
    """Print the tables asked for."""
    args = arguments(
        __doc__.splitlines()[0],
        part=("gradients,supports", "tables, comma between"),
        only=("", "names of instances, comma between"),
        sizes=("5,10,25", "sizes of the gradient table"),
        ridge=(0.01, "lambda2 of the support table"),
        k=(50, "largest size of the support table"),
        algorithms=(",".join(ALGORITHMS), "of the support table, comma between"),
    )
    names = args.only.split(",") if args.only else list(INSTANCES)
    specs = {
        name: smaller({**INSTANCES[name], "n": 100, "p": 200}) if args.smoke else INSTANCES[name]
        for name in names
    }
    cases = {name: (*instance(**spec), spec["loss"]) for name, spec in specs.items()}
    if "gradients" in args.part:
        gradient_table(cases, [3] if args.smoke else [int(v) for v in args.sizes.split(",")])
    if "supports" in args.part:
        support_table(cases, args.ridge, 6 if args.smoke else args.k, args.algorithms.split(","))


if __name__ == "__main__":
    main()
