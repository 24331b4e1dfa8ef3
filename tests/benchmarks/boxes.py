"""Proofs within a box, beside a weak ridge, and of a large instance with more rows than columns:
python tests/benchmarks/boxes.py [--python el0ps/bin/python] [--only box,weak,tall] (see README.md)
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments
from peer_table import STORE, keep
from scipy.fft import dct

import l0path

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 300.0  # seconds beyond its limit, for compiling, after which El0ps is ended


def ar1(rng, n, p, rho):
    """(n, p) normal columns of correlation rho^|i - j|."""
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho * rho) * X[:, j]
    return X


def boxed(kind, seed, n=500, p=1000, k=5, snr=10.0):
    """(X, y, M, lambda0): unit columns, rows of a DCT or AR(0.9), k effects of size 1 or more; M
    is 1.5 times the largest coefficient of least squares on the true columns S, lambda0 (of the
    sum of losses) half of what the weakest of them and the best one beside them are worth.
    """
    rng = np.random.default_rng(seed)
    if kind == "dct":
        X = dct(np.eye(p), norm="ortho", axis=0)[rng.permutation(p)[:n]]
    else:
        X = ar1(rng, n, p, 0.9)
    X /= np.linalg.norm(X, axis=0)
    S, effects = rng.permutation(p)[:k], rng.standard_normal(k)
    signal = X[:, S] @ (np.sign(effects) * (1.0 + np.abs(effects)))
    noise = rng.standard_normal(n)
    y = signal + noise * np.linalg.norm(signal) / np.linalg.norm(noise) / np.sqrt(snr)

    def value(columns):
        b = np.linalg.lstsq(X[:, columns], y, rcond=None)[0]
        return 0.5 * float(((y - X[:, columns] @ b) ** 2).sum()), b

    full, b = value(S)
    weakest = min(value(np.delete(S, i))[0] for i in range(k)) - full
    rest = X - X[:, S] @ np.linalg.lstsq(X[:, S], X, rcond=None)[0]
    length = np.linalg.norm(rest, axis=0)
    gains = (rest.T @ (y - X[:, S] @ b)) / np.where(length > 1e-8, length, np.inf)
    return X, y, 1.5 * float(np.abs(b).max()), 0.5 * (weakest + 0.5 * float((gains**2).max()))


def proved(path, args, **which):
    """(processor seconds of certify, certificate)."""
    began = time.process_time()
    found = path.certify(gap=args.gap, time_limit=args.limit, **which)
    return time.process_time() - began, found


def shown(seconds, found):
    return f"{seconds:.2f} | {found.status} | {found.gap:.2g} | {found.nodes}"


def rival(args, folder, X, y, **task):
    """The answer of El0ps, None without it."""
    if not args.python:
        return None
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    script = str(Path(__file__).with_name("run_el0ps.py"))
    call = [args.python, script, str(folder / "X.npy"), str(folder / "y.npy"), json.dumps(task)]
    env = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
    limit = task["limit"] + PATIENCE
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, check=True, timeout=limit, env=env
        )
    except subprocess.TimeoutExpired:
        return {"seconds": np.inf, "objective": np.nan, "status": "ended", "nodes": -1}
    return json.loads(done.stdout.strip().splitlines()[-1])


def box_table(args, folder):
    """By size, and by lambda0 against El0ps."""
    n, p = (60, 90) if args.smoke else (500, 1000)
    print(
        "| design | seed | size s | status | gap | nodes | lambda0 s | status | gap | nodes |",
        end="",
    )
    print(" El0ps s | status | nodes | ratio | its objective / ours - 1 |\n|" + "---|" * 15)
    for kind in ("dct", "ar"):
        ratios, seconds = [], []
        for seed in range(args.seeds):
            X, y, M, lambda0 = boxed(kind, seed, n, p)
            same = {"lower": -M, "upper": M, "fit_intercept": False, "standardize": False}
            sizes = l0path.fit(X, y, max_k=7, certify=False, **same)
            one = l0path.fit(X, y, max_k=30, lambda0=[lambda0 / n], certify=False, **same)
            size, ours = proved(sizes, args, k=5), proved(one, args, index=0)
            task = {"box": M, "lambda0": lambda0, "gap": args.gap, "limit": args.limit}
            theirs = rival(args, folder, X, y, **task)
            text = " | | | | "
            if theirs is not None:
                more = theirs["objective"] / n / ours[1].incumbent - 1.0
                ratios.append(ours[0] / theirs["seconds"])
                seconds.append(ours[0])
                text = (
                    f"{theirs['seconds']:.2f} | {theirs['status']} | {theirs['nodes']} | "
                    f"{ours[0] / theirs['seconds']:.2f} | {more:.1e}"
                )
            print(f"| {kind} | {seed} | {shown(*size)} | {shown(*ours)} | {text} |", flush=True)
        if ratios and not args.smoke:
            found = {"task": "proof", "ratios": ratios, "seconds": np.median(seconds)}
            data = f"squared, {n} x {p}, {'AR(0.9)' if kind == 'ar' else 'cosine'}, in a box"
            keep(args.store, __file__, peer="El0ps", data=data, **found)


def weak_table(args, folder):
    """100 x 200, AR(0.9), ten ones, SNR 5, unit columns, without a box."""
    n, p, k = (20, 30, 3) if args.smoke else (100, 200, 10)
    print("| seed | s | status | gap | nodes |\n|" + "---|" * 5)
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        X = ar1(rng, n, p, 0.9)
        signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
        y = signal + rng.standard_normal(n) * signal.std() / np.sqrt(5.0)
        X = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0)
        path = l0path.fit(X, y, max_k=k, lambda2=args.ridge, standardize=False, certify=False)
        print(f"| {seed} | {shown(*proved(path, args, k=k))} |", flush=True)


def tall_table(args, folder):
    """OKRidge's instance: AR(0.5), ten ones, SNR 5, ridge 0.1 on the sum, gap 1e-4; twice."""
    n, p = (200, 60) if args.smoke else (6000, 3000)
    rng = np.random.default_rng(0)
    X = ar1(rng, n, p, 0.5)
    signal = X[:, np.arange(10) * (p // 10)].sum(axis=1)
    y = signal + rng.standard_normal(n) * np.linalg.norm(signal) / np.sqrt(5.0 * n)
    path = l0path.fit(X, y, max_k=10, lambda2=0.1 / n, fit_intercept=False, certify=False)
    args.gap = 1e-4
    print("| turn | wall s | processor s | status | gap | nodes |\n|" + "---|" * 6)
    for turn in range(2):
        began = time.perf_counter()
        seconds, found = proved(path, args, k=10)
        wall = time.perf_counter() - began
        print(f"| {turn} | {wall:.2f} | {shown(seconds, found)} |", flush=True)


def main():
    args = arguments(
        "proofs within a box, beside a weak ridge, of many rows",
        python=("", "interpreter of an environment with El0ps (needs an MPI library)"),
        only=("box,weak,tall", "tables, comma between"),
        seeds=(5, "instances of each kind"),
        ridge=(5e-4, "lambda2 of the table weak, for unit columns"),
        gap=(1e-6, "relative gap"),
        limit=(60.0, "seconds of each proof"),
        store=STORE,
    )
    tables = {"box": box_table, "weak": weak_table, "tall": tall_table}
    args.seeds, args.limit = (1, 5.0) if args.smoke else (args.seeds, args.limit)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only.split(","):
            if name not in tables:
                sys.exit(f"--only {args.only!r}: {name!r} is not one of {', '.join(tables)}")
            tables[name](args, Path(folder))


if __name__ == "__main__":
    main()
