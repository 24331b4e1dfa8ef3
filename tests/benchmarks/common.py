"""What the benchmarks share: instances by seed, the objective of a support refitted by one rule, timing in turn, memory beyond X."""
import argparse
import gc
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np

RIDGE = 1e-6  # every support is refitted with this much ridge on unit-variance columns, so that supports are compared, not shrinkage

INSTANCES = {
    "sq_ar9": {"seed": 11, "loss": "squared", "n": 500, "p": 1000, "k": 25, "correlation": "ar1", "rho": 0.9, "snr": 5.0},
    "sq_iid": {"seed": 12, "loss": "squared", "n": 1000, "p": 10000, "k": 10, "correlation": "iid", "rho": 0.0, "snr": 5.0},
    "sq_const": {"seed": 13, "loss": "squared", "n": 200, "p": 2000, "k": 20, "correlation": "constant", "rho": 0.5, "snr": 3.0},
    "lg_ar9": {"seed": 14, "loss": "logistic", "n": 1000, "p": 1000, "k": 25, "correlation": "ar1", "rho": 0.9, "snr": 1.0},
    "lg_iid": {"seed": 15, "loss": "logistic", "n": 1000, "p": 10000, "k": 5, "correlation": "iid", "rho": 0.0, "snr": 1.0},
    "sh_ar5": {"seed": 16, "loss": "squared_hinge", "n": 500, "p": 1000, "k": 15, "correlation": "ar1", "rho": 0.5, "snr": 2.0},
}


def instance(seed, loss, n, p, k, correlation="iid", rho=0.0, snr=5.0):
    """(X Fortran order, y): Gaussian columns, k equispaced unit coefficients; squared: Var(signal) / Var(noise) = snr; classes: P(y = 1) = 1 / (1 + exp(-snr x'beta))."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if correlation == "ar1":
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    elif correlation == "constant":
        X = np.sqrt(1 - rho) * X + np.sqrt(rho) * rng.standard_normal((n, 1))
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = signal + rng.standard_normal(n) * np.sqrt(signal.var() / snr) if loss == "squared" else np.where(rng.random(n) < 1 / (1 + np.exp(-snr * signal)), 1.0, -1.0)
    return np.asfortranarray(X), y


def objective(X, y, support, loss):
    """Mean loss + RIDGE ||b||^2 of a support's optimum on unit-variance columns; computed here by Newton, not by the package."""
    Z = X[:, list(support)]
    A = np.column_stack([np.ones(len(y)), (Z - Z.mean(0)) / Z.std(0)]) if len(support) else np.ones((len(y), 1))
    D = np.r_[0.0, np.full(A.shape[1] - 1, RIDGE)]

    def value(b):
        m = y * (A @ b)
        each = (y - A @ b) ** 2 / 2 if loss == "squared" else np.logaddexp(0, -m) if loss == "logistic" else np.maximum(0, 1 - m) ** 2
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


def in_turn(calls, repeats):
    """Run {name: call} in turn `repeats` times after one warm-up each: {name: (median seconds, last result)}."""
    results = {name: call() for name, call in calls.items()}
    seconds = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            gc.collect()
            started = time.perf_counter()
            results[name] = call()
            seconds[name].append(time.perf_counter() - started)
    return {name: (statistics.median(seconds[name]), results[name]) for name in calls}


def peak_mb(reset=False):
    """Largest resident memory of this process in MB; since the last reset, where Linux allows one."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def reference(folder):
    """{instance: {peer: {k: objective}}} from a folder of NAME.json files, {} where there is none."""
    out = {}
    for file in sorted(Path(folder).glob("*.json")) if folder else []:
        stored = json.loads(file.read_text())
        out[file.stem] = {peer: {int(k): v for k, v in entry["objective"].items()} for peer, entry in stored.items() if isinstance(entry, dict) and isinstance(entry.get("objective"), dict)}
    return out


def arguments(description, **options):
    """Parsed command line with --threads (set before NumPy's BLAS starts would be best: export OMP_NUM_THREADS) and --repeats."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repeats", type=int, default=5)
    for name, (default, text) in options.items():
        parser.add_argument(f"--{name}", default=default, type=type(default) if default is not None else str, help=text)
    args = parser.parse_args()
    print(f"# {description}\n# threads: OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}, python {sys.version.split()[0]}, numpy {np.__version__}")
    return args
