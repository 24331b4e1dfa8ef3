"""How far lower bounds come with how many reads of X: python tests/benchmarks/bounds.py [--ridge 0.05] [--k 25] [--grid support|lambda0] [--only sq_ar9,lg_iid]"""
import time

import numpy as np
from common import INSTANCES, arguments, instance

import l0path
from l0path import duality
from l0path.inputs import parse
from l0path.problem import pose
from l0path.screening import fix_cardinality, fix_penalised

DEFAULTS = dict(fit_intercept=True, standardize=True, sample_weight=None, class_weight=None, offset=None, lower=-np.inf, upper=np.inf, always_include=None, exclude=None, penalty_factor=None,
                feature_names=None, gamma=0.25, delta=None)


def coefficients(path):
    """[(support, b)] of a path's models in standardised units."""
    return [(np.asarray(model.support), np.asarray(path.solutions[i].beta) * path.meta.scale[model.support]) for i, model in enumerate(path)]


def main():
    args = arguments(__doc__, ridge=(0.05, "lambda2"), k=(25, "largest size"), only=("", "names of instances, comma between"),
                     grid=("support", "support, or lambda0 by coordinate descent"))
    print("| instance | fit s | verifying s | reads | s | median gap | worst | median gap of the relaxation | (column, model) pairs fixed | columns out of every model |\n" + "|---" * 10 + "|")
    for name in args.only.split(",") if args.only else INSTANCES:
        X, y = instance(**INSTANCES[name])
        began = time.perf_counter()
        path = l0path.fit(X, y, loss=INSTANCES[name]["loss"], lambda2=args.ridge, max_k=args.k, grid=args.grid, algorithm="swap" if args.grid == "support" else "cd")
        fitted, verifying = time.perf_counter() - began, path.rounds.verify_seconds.sum()
        problem = pose(parse(X, y, loss=INSTANCES[name]["loss"], **DEFAULTS)[0])
        dual = duality.dual_problem(problem, 0.0, args.ridge)
        fits = coefficients(path)
        start, sizes, values = duality.points_of_fits(dual, fits), path.table.k.to_numpy(), path.table.objective.to_numpy()
        goals, rule = ({"sizes": sizes}, fix_cardinality) if args.grid == "support" else ({"lambda0": path.table.lambda0.to_numpy()}, fix_penalised)
        for reads in (0, 1, 2, 3, 5, 8):
            began = time.perf_counter()
            out = duality.improve(dual, start=start, goal=values, steps=reads, coefficients=fits, **goals)
            seconds = time.perf_counter() - began
            gap, least = (((values - bound) / values)[sizes > 0] for bound in (out.lower, out.relaxed))
            relaxed = f"{np.median(least):.4f}" if np.isfinite(least).all() else ""
            gone, into = (fixed[:, sizes > 0] for fixed in rule(dual, out.points, *goals.values(), values))
            fixed = f"{(gone | into).mean():.3f} | {gone.all(axis=1).mean():.3f}"
            print(f"| {name} | {fitted:.2f} | {verifying:.2f} | {out.reads} | {seconds:.2f} | {np.median(gap):.4f} | {gap.max():.4f} | {relaxed} | {fixed} |")


if __name__ == "__main__":
    main()
