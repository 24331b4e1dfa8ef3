"""Integrality generation on the instances of its paper: python tests/benchmarks/integrality.py
[--sizes 10000,20000] [--readings mean,sum] [--limit 60] [--box 1.2]
"""

import time

import numpy as np
from common import arguments

import l0path
from l0path.engine.request import request
from l0path.exact.integrality_generation import IntegralityGeneration, generate
from l0path.problem.problem import pose
from l0path.working_set.hinge import KinkedModel

PAPER = {
    10000: "35",
    20000: "80",
    30000: "117",
    40000: "169",
    50000: "297 (gap 0.05 %)",
}  # Dedieu, Hazimeh & Mazumder (JMLR 22:135, 2021), Table 3: seconds with Gurobi 8.1 on 12 cores
SNR, RIDGE = 10.0, 10.0
UNITS = {"fit_intercept": False, "standardize": False}  # as in the paper


def instance(n, p, k, seed):
    """(X, y): columns independent and standard normal, k equispaced coefficients of 1, y = sign(X b
    + noise) with Var(X b) / Var(noise) = 10, as section 5 of the paper.
    """
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    at = np.linspace(0, p - 1, k).astype(int)
    return (
        X,
        np.where(X[:, at].sum(axis=1) + np.sqrt(k / SNR) * rng.standard_normal(n) > 0, 1, -1),
        at,
    )


def price(model, path, k, lambda2):
    """(support of k columns, lambda0 in the middle of the interval where the path's model of that
    size is the best of the path's, its largest |b|), all by restricted optima of the hinge itself.
    """
    value = {}
    for size in (k - 1, k, k + 1):
        support = path.support(k=size)
        model.grow(support)
        value[size] = model.refit(support, 0.0, lambda2)
    return (
        value[k].support,
        0.5 * (value[k - 1].value - value[k + 1].value),
        np.abs(value[k].b).max(),
    )


def row(n, p, k, reading, args):
    """Time of the path, that of the search, and what the search has proved after its first program
    and at the end.
    """
    X, y, truth = instance(n, p, k, args.seed)
    lambda2 = RIDGE if reading == "mean" else RIDGE / n
    began = time.perf_counter()
    path = l0path.fit(
        X,
        y,
        loss=l0path.losses.SmoothedHinge(width=0.1),
        lambda2=lambda2,
        max_k=k + 1,
        fit_intercept=False,
        standardize=False,
    )
    problem = pose(request(X, y, loss="hinge", algorithm="exact", **UNITS).data)
    support, lambda0, largest = price(KinkedModel(problem), path, k, lambda2)
    fitted = time.perf_counter() - began
    settings = IntegralityGeneration(solver=args.solver, gap=args.gap)
    box = args.box * largest if args.box else None
    out = generate(
        problem,
        lambda0=lambda0,
        lambda2=lambda2,
        box=box,
        fits=[support],
        settings=settings,
        time_limit=args.limit,
    )
    seconds, first = time.perf_counter() - began, out.rounds[0]
    gaps = [
        100 * (upper - lower) / lower
        for upper, lower in ((first.upper, first.lower), (out.upper, out.lower))
    ]
    found = f"{np.isin(truth, out.support).sum()} of {k}, size {out.support.size}"
    print(
        f"| {reading} | {p} | {fitted:.2f} | {seconds:.2f} | "
        f"{PAPER.get(p, '') if n == 1000 and k == 5 else ''} | {out.upper:.6f} | {gaps[0]:.3f} | "
        f"{gaps[1]:.3f} | {out.status} | "
        f"{len(out.rounds)} | {out.binary.size} | {out.nodes} | {found} |",
        flush=True,
    )


def compile_kernels(settings):
    """A small instance, without its row."""
    X, y, _ = instance(100, 60, 3, 0)
    path = l0path.fit(
        X,
        y,
        loss=l0path.losses.SmoothedHinge(width=0.1),
        lambda2=0.1,
        max_k=3,
        fit_intercept=False,
        standardize=False,
    )
    generate(
        pose(request(X, y, loss="hinge", algorithm="exact", **UNITS).data),
        lambda0=0.01,
        lambda2=0.1,
        fits=[path.support(k=3)],
        settings=settings,
        time_limit=5.0,
    )


def main():
    args = arguments(
        __doc__,
        rows=(1000, "n"),
        sizes=("10000,20000,30000,40000,50000", "p, comma between"),
        k=(5, "nonzero coefficients"),
        readings=("mean,sum", "of the printed lambda2 = 10"),
        limit=(60.0, "seconds for a search"),
        gap=(1e-3, "relative gap at which a search ends"),
        box=(0.0, "M as this multiple of the largest |b_j| of the model; 0: no box"),
        solver=("tree", "tree, highs or scip"),
        seed=(1, "of the instance"),
    )
    sizes = [200] if args.smoke else [int(p) for p in args.sizes.split(",")]
    if args.smoke:
        args = type(args)(**{**vars(args), "rows": 100, "limit": 5.0})
    compile_kernels(IntegralityGeneration(solver=args.solver))
    print(
        "| reading | p | path s | path and search s | paper s | objective | gap % after program 1 "
        "| gap % | status | programs | binary z | nodes | true columns found |\n"
        + "|---" * 13
        + "|"
    )
    for reading in args.readings.split(","):
        for p in sizes:
            row(args.rows, p, args.k, reading, args)


if __name__ == "__main__":
    main()
