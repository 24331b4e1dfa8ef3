"""Lower bounds: python tests/benchmarks/bounds.py [--table reads|seeds|fixed|cost] [--ridge 0.05]
[--k 25] [--only sq_ar9,lg_iid] [--seeds 100] (see README.md)
"""

import time
from collections import Counter
from functools import partial

import numpy as np
from common import INSTANCES, arguments, in_turn, instance, ratio, smaller

import l0path
from l0path import relaxation, simulate
from l0path.designs import Dense
from l0path.engine.request import request
from l0path.problem.problem import pose
from l0path.relaxation.safe_rules import fix_cardinality, fix_penalized

READS = 14  # of `improve` after the one at the fits' slopes, in the tables `seeds` and `fixed`
CLOSED = 1e-4  # relative gap that counts as closed in the table `seeds`
FACTORS = (0.5, 1.0, 2.0, 4.0)
FIXED_SIZES = (1, 2, 5, 10, 15, 25)


class Counted(Dense):
    """A dense design that counts its passes over all columns: `passes`, by verb."""

    def __init__(self, X):
        super().__init__(X)
        self.passes = Counter()

    def moments(self, *args, **how):
        self.passes["moments"] += 1
        return super().moments(*args, **how)

    def correlate(self, *args, **how):
        self.passes["correlate"] += 1
        return super().correlate(*args, **how)

    def correlate_into(self, *args, **how):
        self.passes["correlate"] += 1
        return super().correlate_into(*args, **how)


def specification(name, args):
    """An instance's specification, small in smoke runs."""
    return smaller(INSTANCES[name]) if args.smoke else INSTANCES[name]


def coefficients(path):
    """[(support, b)] of a path's models in standardized units."""
    return [
        (
            np.asarray(model.support),
            path.coef(index=model._index, standardized=True)
            .drop("(Intercept)", errors="ignore")
            .to_numpy(),
        )
        for model in path
    ]


def dual_of(X, y, loss, ridge):
    """The `Dual` of a problem with a ridge."""
    return relaxation.dual_problem(pose(request(X, y, loss=loss).data), 0.0, ridge)


def reads_table(args, names):
    """Gap after each read of X."""
    print(
        "| instance | fit s | reads | s | median gap | worst | median gap of the relaxation | "
        "columns fixed |\n|---|---|---|---|---|---|---|---|"
    )
    for name in names:
        spec = specification(name, args)
        X, y = instance(**spec)
        began = time.perf_counter()
        path = l0path.fit(X, y, loss=spec["loss"], lambda2=args.ridge, max_k=args.k)
        fitted = time.perf_counter() - began
        dual, fits = dual_of(X, y, spec["loss"], args.ridge), coefficients(path)
        start, sizes, values = (
            relaxation.points_of_fits(dual, fits),
            path.details.k.to_numpy(),
            path.details.objective.to_numpy(),
        )
        for reads in (0, 1, 2, 3, 5, 8):
            began = time.perf_counter()
            out = relaxation.improve(
                dual, start=start, sizes=sizes, goal=values, steps=reads, coefficients=fits
            )
            seconds = time.perf_counter() - began
            gap, least = (
                ((values - bound) / values)[sizes > 0] for bound in (out.lower, out.relaxed)
            )
            relaxed = f"{np.median(least):.4f}" if np.isfinite(least).all() else ""
            fixed = (
                np.mean(
                    [
                        rule[:, sizes > 0].mean()
                        for rule in fix_cardinality(dual, out.points, sizes, values)
                    ]
                )
                * 2
            )
            print(
                f"| {name} | {fitted:.2f} | {out.reads} | {seconds:.2f} | {np.median(gap):.4f} | "
                f"{gap.max():.4f} | {relaxed} | {fixed:.3f} |",
                flush=True,
            )


def one_seed(seed, factor, snr, n, p, k):
    """(relative gap of the relaxation's best point, its passes, what no point can beat, gap after
    `Path.certify`, its passes, passes of the fit) of one simulated data set.
    """
    sim = simulate.linear(n, p, k, correlation="iid", snr=snr, random_state=seed)
    ridge = (
        0.5 * factor * sim.sigma * np.sqrt(2 * np.log(p) / n) / np.abs(sim.beta[sim.support]).min()
    )
    X = Counted(sim.X)
    path = l0path.fit(X, sim.y, lambda2=ridge, max_k=k)
    fitting = X.passes.total()
    X.passes.clear()
    certificate = path.certify(k=k)
    certifying = X.passes.total()
    X.passes.clear()
    dual, fits, value = (
        dual_of(X, sim.y, "squared", ridge),
        coefficients(path)[-1:],
        path.details.objective.to_numpy()[-1:],
    )
    out = relaxation.improve(
        dual,
        start=relaxation.points_of_fits(dual, fits),
        sizes=[k],
        goal=value,
        steps=READS,
        tol=CLOSED,
        coefficients=fits,
    )
    gaps = [
        (value[0] - bound) / value[0] for bound in (out.lower[0], min(out.relaxed[0], value[0]))
    ]
    return gaps[0], X.passes.total(), gaps[1], certificate.gap, certifying, fitting


def seeds_table(args):
    """Gap at the true size over seeds. The relaxation is exact if 2 lambda2 |b_j| of every chosen
    column is at least the largest slope of the others (Liu et al., ICML 2017), of which noise alone

    makes about sigma sqrt(2 log p / n): the ridge is a multiple of what that asks of the smallest
    coefficient.
    """
    n, p, k, seeds = (60, 100, 3, 3) if args.smoke else (200, 500, 5, args.seeds)
    print(
        f"# n = {n}, p = {p}, k = {k}, {seeds} seeds; 2 lambda2 = factor * sigma sqrt(2 log p / n) "
        "/ smallest |beta|"
    )
    print(
        f"# closed: relative gap at most {CLOSED:g}; passes over all columns: median / most, those "
        "of the moments and of the start included"
    )
    print(
        "| snr | factor | lambda2 | relaxation closed | mean gap | relaxation itself | passes | "
        "certify closed | worst gap | passes | passes of the fit |\n|" + "---|" * 11
    )
    for snr in (5.0, 20.0):
        for factor in FACTORS:
            gap, passes, least, certified, certifying, fitting = np.array(
                [one_seed(seed, factor, snr, n, p, k) for seed in range(seeds)]
            ).T
            ridge = 0.5 * factor * np.sqrt(k / snr) * np.sqrt(2 * np.log(p) / n)
            print(
                f"| {snr:g} | {factor:g} | {ridge:.3f} | {(gap <= CLOSED).mean():.2f} | "
                f"{gap.mean():.1e} | {least.mean():.1e} | {np.median(passes):.0f} / "
                f"{passes.max():.0f} | "
                f"{(certified <= CLOSED).mean():.2f} | {certified.max():.1e} | "
                f"{np.median(certifying):.0f} / {certifying.max():.0f} | {np.median(fitting):.0f} "
                f"/ {fitting.max():.0f} |",
                flush=True,
            )


def prices(path, sizes):
    """{k: lambda0}: of those of the sizes that are best for some price, one inside their
    interval.
    """
    table = path.details.set_index("k")
    rows = {
        k: table.loc[k]
        for k in sizes
        if k in table.index
        and table.loc[k, "lambda0_low"] > 0
        and np.isfinite(table.loc[k, "lambda0_high"])
    }
    return {k: float(np.sqrt(row.lambda0_low * row.lambda0_high)) for k, row in rows.items()}


def fixed_table(args, names):
    """Shares of the columns that safe rules fix: once, at the best dual point of the relaxation,
    and by `Path.certify`, bounds and rules in turn.
    """
    print(
        "| instance | form | k | gap | in once | out once | gap certified | in | out | s |\n|"
        + "---|" * 10
    )
    for name in names:
        spec = specification(name, args)
        X, y = instance(**spec)
        path = l0path.fit(X, y, loss=spec["loss"], lambda2=args.ridge, max_k=args.k)
        sizes = [k for k in FIXED_SIZES if k <= args.k and k in set(path.details.k)]
        price = prices(path, sizes)
        penalized = (
            l0path.fit(
                X,
                y,
                loss=spec["loss"],
                lambda2=args.ridge,
                lambda0=sorted(price.values(), reverse=True),
            )
            if price
            else None
        )
        forms = [
            ("at most k", path, [{"k": k} for k in sizes], fix_cardinality),
            ("lambda0", penalized, [{"index": i} for i in range(len(price))], fix_penalized),
        ]
        dual = dual_of(X, y, spec["loss"], args.ridge)
        for form, fitted, selectors, rule in forms:
            models = [fitted.model(**selector) for selector in selectors]
            if not models:
                continue
            every = coefficients(fitted)
            fits, goal = [every[m._index] for m in models], np.array([m.objective for m in models])
            target = (
                {"sizes": [m.k for m in models]}
                if rule is fix_cardinality
                else {"lambda0": [m.details["lambda0"] for m in models]}
            )
            out = relaxation.improve(
                dual,
                start=relaxation.points_of_fits(dual, fits),
                goal=goal,
                steps=READS,
                tol=1e-5,
                coefficients=fits,
                **target,
            )
            outside, inside = (
                fixed.mean(axis=0) for fixed in rule(dual, out.points, *target.values(), goal)
            )
            for i, (model, selector) in enumerate(zip(models, selectors, strict=True)):
                c = fitted.certify(**selector, time_limit=args.limit)
                print(
                    f"| {name} | {form} | {model.k} | {(goal[i] - out.lower[i]) / goal[i]:.4f} | "
                    f"{inside[i] * path.p:.0f} of {model.k} | {outside[i]:.3f} | {c.gap:.1e} | "
                    f"{len(c.fixed_in)} of {model.k} | {len(c.fixed_out) / path.p:.3f} | "
                    f"{c.seconds:.2f} |",
                    flush=True,
                )


def cost_table(args):
    """Time of `fit(certify=True)` against `fit`, in turn."""
    n, p, k = (100, 300, 5) if args.smoke else (1000, 10_000, 20)
    print(
        f"# n = {n}, p = {p}, k = 0..{k}; ratio: median over the repetitions\n| loss | lambda2 | "
        "fit s | certified s | ratio | median gap |\n|" + "---|" * 6
    )
    for loss in ("squared", "logistic"):
        X, y = instance(seed=2, loss=loss, n=n, p=p, k=10, snr=5.0 if loss == "squared" else 1.0)
        for ridge in (1e-3, args.ridge, 0.25):
            asked = partial(l0path.fit, X, y, loss=loss, lambda2=ridge, max_k=k)
            plain, certified = in_turn(
                {"l0path plain": asked, "l0path certified": partial(asked, certify=True)}, args
            ).values()
            print(
                f"| {loss} | {ridge:g} | {plain.median:.2f} | {certified.median:.2f} | "
                f"{ratio(certified, plain):.2f} | "
                f"{certified.result.details.gap.iloc[1:].median():.4f} |",
                flush=True,
            )


def main():
    args = arguments(
        __doc__,
        table=("reads", "reads, seeds, fixed or cost"),
        ridge=(0.05, "lambda2"),
        k=(25, "largest size"),
        only=("", "names of instances, comma between"),
        seeds=(100, "data sets"),
        limit=(30.0, "seconds of each certify in the table `fixed`"),
    )
    names = args.only.split(",") if args.only else list(INSTANCES)
    {
        "reads": lambda: reads_table(args, names),
        "seeds": lambda: seeds_table(args),
        "fixed": lambda: fixed_table(args, names),
        "cost": lambda: cost_table(args),
    }[args.table]()


if __name__ == "__main__":
    main()
