"""Exact solving: python tests/benchmarks/exact.py [--python l0bnb/bin/python] [--only
simulated,diabetes,riboflavin] [--limit 120] (see README.md)
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from common import arguments, instance

import l0path
from l0path.datasets import load_diabetes

COLUMNS = (1000, 10_000, 100_000)
RIDGES = (0.1, 0.05, 0.02, 0.01)
# times the largest |b| of our solution: the box that l0bnb is given, as its own path function gives
# itself
BOX = 1.2
# seconds beyond its time limit after which l0bnb is ended: it looks at the clock between nodes, and
# reads X and compiles before
PATIENCE = 120.0


def simulated(p, n=500, k=10):
    """(X, y): k equal coefficients, SNR 5, constant correlation 0.1, columns of mean 0 and variance
    1, y centered.
    """
    X, y = instance(
        seed=100, loss="squared", n=n, p=p, k=k, correlation="constant", rho=0.1, snr=5.0
    )
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, y - y.mean()


def middle(path, k):
    """lambda0: the middle of the interval in which size k, or else the next smaller size that has
    one, is best.
    """
    table = path.details.set_index("k")
    sizes = [
        j
        for j in range(k, 0, -1)
        if table.lambda0_low[j] > 0 and math.isfinite(table.lambda0_high[j])
    ]
    return 0.5 * float(table.lambda0_low[sizes[0]] + table.lambda0_high[sizes[0]])


class Rival:
    """l0bnb in its own environment, a process for each call. python: its interpreter, "" for none;
    threads: of its thread pools.
    """

    def __init__(self, python, folder, threads):
        self.python, self.folder = python, Path(folder)
        self.surroundings = {
            **os.environ,
            **dict.fromkeys(
                ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
                str(threads),
            ),
        }
        asked = [
            python,
            "-c",
            "import importlib.metadata as m; print(m.version('l0bnb'), m.version('numpy'))",
        ]
        found = (
            subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
            if python
            else []
        )
        self.here = len(found) == 2
        print(
            f"# l0bnb {found[0]}, numpy {found[1]} of {python}, threads: {threads}"
            if self.here
            else f"# l0bnb is left out: --python {python!r} is not an interpreter that has it "
            "(peers-l0bnb.txt)"
        )

    def give(self, X, y):
        """Lay the data down for the calls that follow; l0bnb computes products with columns, so X
        keeps its order (F).
        """
        if self.here:
            np.save(self.folder / "X.npy", X)
            np.save(self.folder / "y.npy", y)

    def solve(self, **task):
        """The answer of run_l0bnb.py with a status, None without l0bnb."""
        if not self.here:
            return None
        call = [
            self.python,
            str(Path(__file__).with_name("run_l0bnb.py")),
            str(self.folder / "X.npy"),
            str(self.folder / "y.npy"),
            json.dumps(task),
        ]
        try:
            done = subprocess.run(
                call,
                capture_output=True,
                text=True,
                check=True,
                timeout=task["limit"] + PATIENCE,
                env=self.surroundings,
            )
        except subprocess.TimeoutExpired:
            return {
                "seconds": math.inf,
                "gap": math.nan,
                "cost": math.nan,
                "nodes": -1,
                "status": "ended",
            }
        except subprocess.CalledProcessError as error:
            print(f"# l0bnb failed: {error.stderr.strip().splitlines()[-1][:150]}")
            return None
        out = json.loads(done.stdout.strip().splitlines()[-1])
        return {
            **out,
            "status": "optimal"
            if out["gap"] <= task["gap"]
            else "time_limit"
            if out["seconds"] >= task["limit"]
            else "gap_not_closed",
        }


def repeated(calls, args):
    """{name: [results]} of {name: call}, in turn; a name whose result took more than args.slow
    seconds is not called again.
    """
    out = {name: [] for name in calls}
    for turn in range(args.repeats):
        for name, call in calls.items():
            if turn == 0 or (out[name][-1] is not None and seconds_of(out[name][-1]) <= args.slow):
                out[name].append(call())
    return out


def seconds_of(result):
    return result["seconds"] if isinstance(result, dict) else result.seconds


def shown(results):
    """ "seconds | status | gap | nodes" of the results of one contestant."""
    last = results[-1]
    if last is None:
        return " | | | "
    status, gap, nodes = (
        (last["status"], last["gap"], last["nodes"])
        if isinstance(last, dict)
        else (last.status, last.gap, last.nodes)
    )
    return f"{median(map(seconds_of, results)):.2f} | {status} | {gap:.4f} | {nodes}"


def simulated_row(args, rival, X, y, ridge, k):
    """One line of `simulated_table`."""
    n = X.shape[0]
    began = time.perf_counter()
    path = l0path.fit(X, y, lambda2=ridge, max_k=k + 2)
    fitted = time.perf_counter() - began
    lambda0 = middle(path, k)
    penalized = l0path.fit(X, y, lambda2=ridge, lambda0=[lambda0], max_k=3 * k)
    model = penalized.model(index=0)
    largest = float(penalized.coef(index=0, standardized=True).drop("(Intercept)").abs().max())
    boxed = l0path.fit(
        X,
        y,
        lambda2=ridge,
        lambda0=[lambda0],
        max_k=3 * k,
        lower=-BOX * largest,
        upper=BOX * largest,
    )
    task = {
        "l0": n * lambda0,
        "l2": n * ridge,
        "m": BOX * largest,
        "gap": args.gap,
        "limit": args.limit,
        "support": [int(j) for j in model.support],
    }
    ours = {
        "size": (path, {"k": k}),
        "lambda0": (penalized, {"index": 0}),
        "in box": (boxed, {"index": 0}),
    }
    calls = {
        form: lambda one=one, which=which: one.certify(gap=args.gap, time_limit=args.ours, **which)
        for form, (one, which) in ours.items()
    }
    out = repeated({**calls, "l0bnb": lambda task=task: rival.solve(**task)}, args)
    mine, theirs = out["in box"], out["l0bnb"]
    ratio = (
        median(map(seconds_of, mine)) / median(map(seconds_of, theirs)) if theirs[-1] else math.nan
    )
    same = theirs[-1]["cost"] / n / mine[-1].incumbent - 1 if theirs[-1] else math.nan
    print(
        f"| {X.shape[1]} | {ridge:g} | {fitted:.2f} | {model.k} | "
        f"{' | '.join(map(shown, out.values()))} | {ratio:.2g} | {same:.1e} |",
        flush=True,
    )


def simulated_table(args, rival):
    """Ours by size and by lambda0 against l0bnb by lambda0."""
    n, sizes, ridges, k = (
        (100, (200,), (0.1,), 5)
        if args.smoke
        else (
            500,
            [int(p) for p in args.columns.split(",")],
            [float(ridge) for ridge in args.ridges.split(",")],
            10,
        )
    )
    print(
        f"# n = {n}, k = {k}, SNR 5, constant correlation 0.1; gap {args.gap:g}; limits: ours "
        f"{args.ours:g} s, l0bnb {args.limit:g} s; l0bnb: |b| <= {BOX} max |b| of our model, its "
        "warm start"
    )
    print(
        "# size: at most k columns; lambda0: one for k columns; in box: that lambda0 within the "
        "box of l0bnb, the problem that l0bnb solves"
    )
    print("# ratio: seconds in box / l0bnb; same: l0bnb's objective less ours, relative")
    forms = " | ".join(
        f"{form} s | status | gap | nodes" for form in ("size", "lambda0", "in box", "l0bnb")
    )
    print(f"| p | lambda2 | path s | k | {forms} | ratio | same |\n|" + "---|" * 22)
    for p in sizes:
        X, y = simulated(p, n, k)
        rival.give(X, y)
        for ridge in ridges:
            simulated_row(args, rival, X, y, ridge, k)


def sizes_table(name, path, sizes, limit):
    """Every size of a path, one after the other."""
    print("| data | lambda2 | k | s | status | gap | nodes | model changed |\n|" + "---|" * 8)
    for k in sizes:
        c = path.certify(k=k, time_limit=limit)
        model = path.model(k=k)
        changed = list(c.model.support) != list(model.support)
        print(
            f"| {name} | {model.details['lambda2']:g} | {k} | {c.seconds:.2f} | {c.status} | "
            f"{c.gap:.2g} | {c.nodes} | {'yes' if changed else 'no'} |",
            flush=True,
        )


def diabetes_table(args):
    """Ten columns and 64, without a ridge."""
    data, wide = load_diabetes(), load_diabetes(expansion=True)
    sizes = range(1, 3 if args.smoke else args.k + 1)
    sizes_table("diabetes 10", l0path.fit(data.X, data.y), [k for k in sizes if k <= 10], args.ours)
    sizes_table(
        "diabetes 64",
        l0path.fit(wide.X, wide.y, max_k=max(sizes)),
        sizes,
        5.0 if args.smoke else args.ours,
    )


def riboflavin_table(args):
    """71 rows, 4088 columns, a small ridge; left out without the file."""
    file = Path(args.data or ".") / "riboflavin" / "riboflavin.npz"
    if not args.data or not file.is_file():
        print(f"# riboflavin is left out: no file {file}; give --data FOLDER")
        return
    stored = np.load(file)
    path = l0path.fit(stored["X"].astype(float), stored["y"].astype(float), lambda2=0.05, max_k=10)
    sizes_table("riboflavin", path, range(1, 3 if args.smoke else 11), 5.0 if args.smoke else 60.0)


def main():
    rows = ("ridges", RIDGES), ("columns", COLUMNS)
    simulated_rows = {
        name: (",".join(map(str, values)), f"{name} of the simulated rows") for name, values in rows
    }
    args = arguments(
        "exact solving, against l0bnb and on real data",
        python=("", "interpreter of an environment with l0bnb"),
        only=("simulated,diabetes,riboflavin", "tables, comma between"),
        **simulated_rows,
        gap=(0.01, "relative gap, simulated rows"),
        limit=(120.0, "seconds of l0bnb"),
        l0bnb_threads=(1, "threads of l0bnb"),
        ours=(120.0, "seconds of each certify"),
        data=("", "folder with riboflavin/"),
        k=(15, "largest size of the diabetes rows"),
        repeats=(3, "timed repetitions, in turn"),
        slow=(10.0, "seconds beyond which a contestant is not repeated"),
    )
    if args.smoke:
        args.limit, args.ours = min(args.limit, 10.0), min(args.ours, 10.0)
    X, y = simulated(100, 60, 3)  # compiles what the searches need
    for path in (
        l0path.fit(X, y, lambda2=0.05, max_k=4),
        l0path.fit(X, y, lambda2=0.05, lambda0=[0.05]),
    ):
        path.certify(index=len(path) - 1)
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "simulated": lambda: simulated_table(
                args, Rival(args.python, folder, args.l0bnb_threads)
            ),
            "diabetes": lambda: diabetes_table(args),
            "riboflavin": lambda: riboflavin_table(args),
        }
        for name in args.only.split(","):
            if name not in tables:
                sys.exit(f"--only {args.only!r}: {name!r} is not one of {', '.join(tables)}")
            tables[name]()


if __name__ == "__main__":
    main()
