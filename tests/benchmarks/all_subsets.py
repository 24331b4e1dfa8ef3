"""All subsets of a small data set: python tests/benchmarks/all_subsets.py [--table leaps] (see
README.md)
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments

import l0path
from l0path import datasets

# twelve draws of columns of real data: (data, seed of the draw, columns)
DRAWS = [("diabetes", seed, 28 + seed % 5) for seed in range(4)]
DRAWS += [("sonar", seed, 28 + seed % 5) for seed in range(4)]
DRAWS += [("growth", seed, 28 + seed % 5) for seed in range(2)]
DRAWS += [("wdbc", seed, 28 + seed % 3) for seed in range(2)]
SCRIPT = Path(__file__).with_name("all_subsets.R")
WORSE = 1e-9  # of a sum of squares, by which one model is called worse than another


def drawn(name, seed, count):
    """(X, y): `count` columns of a data set, drawn with a seed."""
    if name == "diabetes":
        data = datasets.load_diabetes(expansion=True)
    else:
        data = getattr(datasets, f"load_{name}")()
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    y = np.unique(y, return_inverse=True)[1].astype(float) if y.dtype.kind not in "fiu" else y
    X = X[:, np.sort(np.random.default_rng(seed).choice(X.shape[1], count, replace=False))]
    return X, y.astype(float)


def simulated(seed, n, p):
    """(X, y): iid normal columns, five of them with effect 1, noise of sd 2."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, rng.choice(p, 5, replace=False)].sum(axis=1) + 2.0 * rng.standard_normal(n)


def half_of_effect_one(seed, n, p, sigma):
    """(X, y) of Hofmann et al. (2020), section 5: iid normal, the first half of the columns with
    effect 1, an intercept of 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 1.0 + X[:, : p // 2].sum(axis=1) + sigma * rng.standard_normal(n)


def of_leaps(X, y):
    """(processor seconds, sums of squares by size) of R's leaps; None where R has it not."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("X.csv", "y.csv")]
        np.savetxt(files[0], X, delimiter=",", fmt="%.17g")
        np.savetxt(files[1], y, fmt="%.17g")
        command = ["Rscript", str(SCRIPT), *files, "1"]
        ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        print(ran.stderr[-500:])
        return None
    seconds, squares = ran.stdout.strip().splitlines()
    return float(seconds), np.array(squares.split(), dtype=float)


def timed(call):
    """Processor seconds of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def against_leaps(instances, args):
    """Default fits and `algorithm="exact"` against R's leaps, in turn."""
    print(f"{'instance':26} {'no proof':>9} {'default':>9} {'exact':>9} {'leaps':>9} ratio")
    for label, X, y in instances:
        _one_instance(label, X, y, args.repeats)


def _one_instance(label, X, y, repeats):
    """One line of `against_leaps`."""
    options = {"max_k": X.shape[1], "n_jobs": 1}
    kinds = ({"certify": False}, {}, {"algorithm": "exact"})
    paths = [l0path.fit(X, y, **kind, **options) for kind in kinds]
    seconds, squares = [], None
    for _ in range(repeats):
        row = [timed(lambda kind=kind: l0path.fit(X, y, **kind, **options)) for kind in kinds]
        theirs = of_leaps(X, y)
        squares = squares if theirs is None else theirs[1]
        seconds.append([*row, np.nan if theirs is None else theirs[0]])
    none, default, exact, leaps = np.median(seconds, axis=0)
    proved = [(path.details.optimality == "global").sum() for path in paths[1:]]
    mine = 2.0 * len(y) * paths[1].details.loss.to_numpy()
    worse = "not known"
    if squares is not None and squares.size == mine.size:
        count = [np.sum(a > b * (1 + WORSE)) for a, b in ((mine, squares), (squares, mine))]
        worse = f"{count[0]} sizes, better: {count[1]}"
    print(
        f"{label:26} {none:9.4f} {default:9.4f} {exact:9.4f} {leaps:9.4f} {default / leaps:6.2f}; "
        f"proved {proved[0]} and {proved[1]} of {len(mine)}; worse than leaps: {worse}"
    )


def sizes_of_halves(args):
    """All sizes of the instances of lmSubsets."""
    for p in (20,) if args.smoke else (60, 80):
        for sigma in (0.05, 0.5, 5.0):
            X, y = half_of_effect_one(0, 1000, p, sigma)
            began = time.perf_counter()
            spent = time.process_time()
            path = l0path.fit(X, y, algorithm="exact", max_k=p, time_limit=300)
            seconds = time.process_time() - spent
            proved = (path.details.optimality == "global").sum()
            print(
                f"p = {p}, sigma = {sigma:4}: {seconds:7.2f} processor s, "
                f"{time.perf_counter() - began:7.2f} s, proved {proved} of {len(path)}"
            )


def criterion_of_halves(args):
    """The best BIC of the instances of lmSubsets."""
    for p in (20,) if args.smoke else (100, 200):
        for sigma in (0.05, 1.0, 5.0):
            X, y = half_of_effect_one(0, 1000, p, sigma)
            l0path.best_subset(X[:, :20], y)
            path = l0path.fit(X, y, certify=False)
            began, spent = time.perf_counter(), time.process_time()
            found = path.certify(criterion="bic", time_limit=120)
            seconds = time.process_time() - spent
            print(
                f"p = {p}, sigma = {sigma:4}: {seconds:7.2f} processor s, "
                f"{time.perf_counter() - began:7.2f} s, {found.nodes} "
                f"nodes, proved: {found.proven}, BIC {found.incumbent:.3f} of {found.model.k} "
                f"columns, bound {found.lower_bound:.3f}"
            )


def logistic(args):
    """The ten best logistic models by AIC: 15 columns of correlation 0.5, no ridge."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.5) * (rng.standard_normal((1000, 15)) + rng.standard_normal((1000, 1)))
    y = (rng.random(1000) < 1 / (1 + np.exp(-0.3 * X[:, :7].sum(axis=1)))).astype(int)
    l0path.best_subset(X, y, loss="logistic", criterion="aic", n_best=10)
    for _ in range(args.repeats):
        began = time.perf_counter()
        found = l0path.best_subset(X, y, loss="logistic", criterion="aic", n_best=10)
        whole = time.perf_counter() - began
        print(f"{whole:.3f} s, {found.nodes} fits, proved: {found.proven}")


def main():
    """Print one table."""
    args = arguments(
        __doc__,
        table=("leaps", "leaps, draws, simulated, sizes, criterion or logistic"),
    )
    if args.table == "leaps":
        data = datasets.load_hitters()
        against_leaps([("hitters", np.asarray(data.X, dtype=float), np.asarray(data.y))], args)
    elif args.table == "draws":
        against_leaps([(f"{d[0]}, seed {d[1]}, p = {d[2]}", *drawn(*d)) for d in DRAWS], args)
    elif args.table == "simulated":
        cases = [(500, 30, seed) for seed in range(5)] + [(1000, 40, seed) for seed in range(5)]
        cases = cases[:1] if args.smoke else cases
        against_leaps(
            [(f"n = {n}, p = {p}, seed {s}", *simulated(s, n, p)) for n, p, s in cases], args
        )
    else:
        {"sizes": sizes_of_halves, "criterion": criterion_of_halves, "logistic": logistic}[
            args.table
        ](args)


if __name__ == "__main__":
    main()
