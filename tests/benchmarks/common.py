"""What the benchmarks share: instances by seed, real sparse data, the objective of a support
refitted by one rule, timing in turn, memory beyond X, the command line.
"""

import argparse
import ctypes
import gc
import json
import os
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

# every support is refitted with this much ridge on unit-variance columns, so that supports are
# compared, not shrinkage
RIDGE = 1e-6

INSTANCES = {
    "sq_ar9": {
        "seed": 11,
        "loss": "squared",
        "n": 500,
        "p": 1000,
        "k": 25,
        "correlation": "ar1",
        "rho": 0.9,
        "snr": 5.0,
    },
    "sq_iid": {
        "seed": 12,
        "loss": "squared",
        "n": 1000,
        "p": 10000,
        "k": 10,
        "correlation": "iid",
        "rho": 0.0,
        "snr": 5.0,
    },
    "sq_const": {
        "seed": 13,
        "loss": "squared",
        "n": 200,
        "p": 2000,
        "k": 20,
        "correlation": "constant",
        "rho": 0.5,
        "snr": 3.0,
    },
    "lg_ar9": {
        "seed": 14,
        "loss": "logistic",
        "n": 1000,
        "p": 1000,
        "k": 25,
        "correlation": "ar1",
        "rho": 0.9,
        "snr": 1.0,
    },
    "lg_iid": {
        "seed": 15,
        "loss": "logistic",
        "n": 1000,
        "p": 10000,
        "k": 5,
        "correlation": "iid",
        "rho": 0.0,
        "snr": 1.0,
    },
    "sh_ar5": {
        "seed": 16,
        "loss": "squared_hinge",
        "n": 500,
        "p": 1000,
        "k": 15,
        "correlation": "ar1",
        "rho": 0.5,
        "snr": 2.0,
    },
}


def instance(seed, loss, n, p, k, correlation="iid", rho=0.0, snr=5.0):
    """(X Fortran order, y): Gaussian columns, k equispaced unit coefficients; squared: Var(signal)
    / Var(noise) = snr; classes: P(y = 1) = 1 / (1 + exp(-snr x'beta)).
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if correlation == "ar1":
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    elif correlation == "constant":
        X = np.sqrt(1 - rho) * X + np.sqrt(rho) * rng.standard_normal((n, 1))
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = (
        signal + rng.standard_normal(n) * np.sqrt(signal.var() / snr)
        if loss == "squared"
        else np.where(rng.random(n) < 1 / (1 + np.exp(-snr * signal)), 1.0, -1.0)
    )
    return np.asfortranarray(X), y


def objective(X, y, support, loss):
    """Mean loss + RIDGE ||b||^2 of a support's optimum on unit-variance columns; computed here by
    Newton, not by the package.
    """
    Z = X[:, list(support)]
    Z = Z.toarray() if hasattr(Z, "toarray") else Z
    A = (
        np.column_stack([np.ones(len(y)), (Z - Z.mean(0)) / Z.std(0)])
        if len(support)
        else np.ones((len(y), 1))
    )
    D = np.r_[0.0, np.full(A.shape[1] - 1, RIDGE)]

    def value(b):
        m = y * (A @ b)
        each = (
            (y - A @ b) ** 2 / 2
            if loss == "squared"
            else np.logaddexp(0, -m)
            if loss == "logistic"
            else np.maximum(0, 1 - m) ** 2
        )
        return each.mean() + D @ (b * b)

    b = np.zeros(A.shape[1])
    for _ in range(200):
        eta = A @ b
        if loss == "squared":
            slope, curvature = eta - y, np.ones(len(y))
        elif loss == "logistic":
            q = 1 / (1 + np.exp(np.clip(y * eta, -700, 700)))
            slope, curvature = -y * q, q * (1 - q)
        else:
            gap = np.maximum(0, 1 - y * eta)
            slope, curvature = -2 * y * gap, 2.0 * (gap > 0)
        g = A.T @ slope / len(y) + 2 * D * b
        step = np.linalg.solve((A * curvature[:, None]).T @ A / len(y) + np.diag(2 * D + 1e-12), g)
        t, now = 1.0, value(b)
        while value(b - t * step) > now - 1e-4 * t * (g @ step) and t > 1e-10:
            t /= 2
        b = b - t * step
        if abs(g @ step) < 1e-14:
            break
    return float(value(b))


class Agreement(NamedTuple):
    """Our objectives against others', over the sizes that both have.

    cells: how many; not_worse, better: shares at 1e-6 relative; worst: largest relative excess;
        mean_log: mean log ratio; worse_at: sizes where we are worse.
    """

    cells: int
    not_worse: float
    better: float
    worst: float
    mean_log: float
    worse_at: list


def objectives(X, y, loss, supports):
    """{k: objective}, the least over the supports of each size, of {k: [support, ...]}."""
    return {
        k: min(objective(X, y, support, loss) for support in those) for k, those in supports.items()
    }


def agreement(ours, theirs):
    """Agreement of {k: objective} with {k: objective}; None without a common size."""
    r = {k: ours[k] / theirs[k] - 1 for k in sorted(ours) if k in theirs}
    if not r:
        return None
    v = np.array(list(r.values()))
    return Agreement(
        v.size,
        float((v <= 1e-6).mean()),
        float((v < -1e-6).mean()),
        float(v.max()),
        float(np.log1p(v).mean()),
        [k for k, x in r.items() if x > 1e-6],
    )


class Case(NamedTuple):
    """A row of a table: `make()` gives (X, y) when the row's turn comes; K the largest size."""

    make: Callable
    loss: str
    K: int


def smaller(spec):
    """The specification of an instance with no more than 2000 rows and columns, for smoke runs."""
    return {**spec, "n": min(spec["n"], 2000), "p": min(spec["p"], 2000)}


def real_case(folder, name, loss, K, most=None):
    """A sparse set of `folder`: NAME/NAME_train.npz for scipy.sparse.load_npz, NAME_train.labels
    with one label a line; a part NAME_valid is appended. Constant zero columns are dropped.

    Classes are -1 and 1; of more than two labels the first is set against the rest. most: for smoke
    runs, only that many rows, evenly spaced, and the fullest columns.
    """
    import scipy.sparse as sp

    def make():
        parts = [
            part
            for part in ("train", "valid")
            if (Path(folder) / name / f"{name}_{part}.labels").exists()
        ]
        X = (
            sp.vstack([sp.load_npz(Path(folder) / name / f"{name}_{part}.npz") for part in parts])
            .tocsc()
            .astype(np.float64)
        )
        labels = np.concatenate(
            [np.loadtxt(Path(folder) / name / f"{name}_{part}.labels") for part in parts]
        )
        positive = labels == (labels.min() if np.unique(labels).size > 2 else labels.max())
        if most:
            rows = np.unique(np.linspace(0, len(labels) - 1, most).astype(int))
            X, positive = X[rows], positive[rows]
            X = X[:, np.sort(np.argsort(-np.diff(X.indptr), kind="stable")[:most])]
        return X[:, np.diff(X.indptr) > 0], np.where(positive, 1.0, -1.0)

    return Case(make, loss, K)


class Timing(NamedTuple):
    """A contestant's repetitions: seconds of each, the last result, the peak of resident memory
    beyond what was held before the call, in MB.
    """

    seconds: list
    result: object
    peak: float

    @property
    def median(self):
        return statistics.median(self.seconds)


def ratio(ours, theirs):
    """Median over the repetitions of ours / theirs, repetition by repetition, so that a slow spell
    of the machine hits both; ratio of the medians where one was repeated less often.
    """
    if len(ours.seconds) == len(theirs.seconds):
        return statistics.median(a / b for a, b in zip(ours.seconds, theirs.seconds, strict=True))
    return ours.median / theirs.median


def measured(call):
    """(seconds, result, peak MB beyond the start) of one call; freed memory goes back to the system
    first.
    """
    gc.collect()
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    before = peak_mb(reset=True)
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result, peak_mb() - before


def in_turn(calls, args, compiled=("l0path", "skglm")):
    """Run {name: call} in turn: a warm-up each, then args.repeats rounds of timed calls, then a
    call for the memory: {name: Timing}.

    A call that takes longer than args.slow seconds is timed args.repeats_slow times only, and its
    warm-up counts unless it may have compiled (names that begin with one of `compiled`). A call
    that raises is left out, with a line.
    """
    seconds, last, peaks, allowed = {}, {}, {}, {}
    for name, call in calls.items():
        try:
            first, last[name], peaks[name] = measured(call)
        except Exception as error:
            print(
                f"# {name} failed and is left out: {type(error).__name__}: "
                f"{str(error).strip().splitlines()[0][:150] if str(error).strip() else ''}"
            )
            continue
        if first > args.slow:
            print(f"# {name}: {first:.0f} s the first time", file=sys.stderr, flush=True)
        counts = first > args.slow and not name.startswith(compiled)
        seconds[name], allowed[name] = (
            ([first] if counts else []),
            (args.repeats_slow if counts else args.repeats),
        )
    for _ in range(args.repeats):
        for name in seconds:
            if len(seconds[name]) >= allowed[name]:
                continue
            gc.collect()
            before, started = peak_mb(reset=True), time.perf_counter()
            last[name] = calls[name]()
            seconds[name].append(time.perf_counter() - started)
            peaks[name] = peak_mb() - before
            if seconds[name][-1] > args.slow:
                allowed[name] = args.repeats_slow
    for name in seconds:
        if statistics.median(seconds[name]) <= args.slow:
            _, last[name], peaks[name] = measured(calls[name])
    return {name: Timing(seconds[name], last[name], peaks[name]) for name in seconds}


def peak_mb(reset=False):
    """Largest resident memory of this process in MB; since the last reset, where Linux allows
    one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            2**20 if sys.platform == "darwin" else 1024
        )
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return (
        next(
            int(line.split()[1])
            for line in status.read_text().splitlines()
            if line.startswith("VmHWM")
        )
        / 1024
    )


def reference(folder):
    """{instance: {peer: {k: objective}}} from a folder of NAME.json files, {} where there is
    none.
    """
    out = {}
    for file in sorted(Path(folder).glob("*.json")) if folder else []:
        stored = json.loads(file.read_text())
        out[file.stem] = {
            peer: {int(k): v for k, v in entry["objective"].items()}
            for peer, entry in stored.items()
            if isinstance(entry, dict) and isinstance(entry.get("objective"), dict)
        }
    return out


def fix_threads(threads):
    """Start this script again with all thread pools set to `threads` (0: OMP_NUM_THREADS, else all
    cores): they are read when NumPy is imported, so setting them later has no effect.
    """
    threads = threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count()
    pools = {
        name: str(threads)
        for name in (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "NUMBA_NUM_THREADS",
        )
    }
    if any(os.environ.get(name) != value for name, value in pools.items()):
        os.environ.update(pools)
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return threads


def arguments(description, **options):
    """Parsed command line: the options (default, help) given, and those of every table; `--smoke`
    asks for the smallest run that still goes through everything.
    """
    parser = argparse.ArgumentParser(description=description)
    common = {
        "repeats": (5, "timed repetitions, in turn"),
        "slow": (30.0, "seconds beyond which a contestant is slow"),
        "repeats_slow": (1, "repetitions of slow contestants"),
        "threads": (0, "threads of all pools; 0: OMP_NUM_THREADS, else all cores"),
        "smoke": (False, "small sizes, one repetition: does everything run?"),
    }
    for name, (default, text) in {**common, **options}.items():
        kind = (
            {"action": "store_true"}
            if default is False
            else {
                "default": default,
                "type": type(default),
                "help": f"{text} (default {default!r})",
            }
        )
        parser.add_argument(f"--{name.replace('_', '-')}", **kind)
    args = parser.parse_args()
    args.threads = fix_threads(args.threads)
    args.repeats = 1 if args.smoke else args.repeats
    warnings.simplefilter("ignore")
    import l0path

    print(
        f"# {description}\n# {args.threads} threads, {args.repeats} repetitions in turn, python "
        f"{sys.version.split()[0]}, numpy {np.__version__}, "
        f"l0path {l0path.__version__} of {Path(l0path.__file__).parent}"
    )
    return args
