"""How far lower bounds come with how many reads of X: python tests/benchmarks/bounds.py [--ridge 0.05] [--k 25] [--only sq_ar9,lg_iid]"""
import time

import numpy as np
from common import INSTANCES, arguments, instance

import l0path
from l0path import duality
from l0path.inputs import parse
from l0path.problem import pose
from l0path.screening import fix_cardinality

DEFAULTS = dict(fit_intercept=True, standardize=True, sample_weight=None, class_weight=None, offset=None, lower=-np.inf, upper=np.inf, always_include=None, exclude=None, penalty_factor=None,
                feature_names=None, gamma=0.25, delta=None)


def coefficients(path):
    """[(support, b)] of a path's models in standardised units."""
    return [(np.asarray(model.support), path.coef(k=model.k, standardized=True).drop("(Intercept)", errors="ignore").to_numpy()) for model in path]


def main():
    args = arguments(__doc__, ridge=(0.05, "lambda2"), k=(25, "largest size"), only=("", "names of instances, comma between"))
    print("| instance | fit s | reads | s | median gap | worst | median gap of the relaxation | columns fixed |\n|---|---|---|---|---|---|---|---|")
    for name in args.only.split(",") if args.only else INSTANCES:
        X, y = instance(**INSTANCES[name])
        began = time.perf_counter()
        path = l0path.fit(X, y, loss=INSTANCES[name]["loss"], lambda2=args.ridge, max_k=args.k)
        fitted = time.perf_counter() - began
        problem = pose(parse(X, y, loss=INSTANCES[name]["loss"], **DEFAULTS)[0])
        dual = duality.dual_problem(problem, 0.0, args.ridge)
        fits = coefficients(path)
        start, sizes, values = duality.points_of_fits(dual, fits), path.table.k.to_numpy(), path.table.objective.to_numpy()
        for reads in (0, 1, 2, 3, 5, 8):
            began = time.perf_counter()
            out = duality.improve(dual, start=start, sizes=sizes, goal=values, steps=reads, coefficients=fits)
            seconds = time.perf_counter() - began
            gap, least = (((values - bound) / values)[sizes > 0] for bound in (out.lower, out.relaxed))
            relaxed = f"{np.median(least):.4f}" if np.isfinite(least).all() else ""
            fixed = np.mean([rule[:, sizes > 0].mean() for rule in fix_cardinality(dual, out.points, sizes, values)]) * 2
            print(f"| {name} | {fitted:.2f} | {out.reads} | {seconds:.2f} | {np.median(gap):.4f} | {gap.max():.4f} | {relaxed} | {fixed:.3f} |")


if __name__ == "__main__":
    main()
