"""Degree-2 features that are never stored, against the explicit expansion and PolynomialFeatures
with the lasso path of scikit-learn: time and peak memory, a process for each.
"""

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import arguments, peak_mb, real_case

K, ALPHAS = 6, 20  # largest size; points of the lasso path
TRUE = ["x3", "x10:x20", "x50:x51", "x70^2"]
CASES = {300: ("design", "expansion", "lasso"), 1500: ("design",), 5000: ("design",)}


def simulated(n, p):
    """Normal X (n, p), and y of one column, two products and a square with equal effects, noise of
    variance 1.
    """
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    return X, X[:, 3] + X[:, 10] * X[:, 20] + X[:, 50] * X[:, 51] + (X[:, 70] ** 2 - 1) / np.sqrt(
        2
    ) + rng.standard_normal(n)


def run_design(X, y, loss, min_rows=1):
    """A support path of the design."""
    import l0path

    started = time.perf_counter()
    path = l0path.fit(l0path.designs.polynomial(X, min_rows=min_rows), y, max_k=K, loss=loss)
    return {
        "seconds": time.perf_counter() - started,
        "features": path.p,
        "supports": [model.features for model in path],
        "verified": int((path.details.optimality != "unverified").sum()),
    }


def run_expansion(X, y, loss):
    """The same path of an array that holds the features: x_j, then products of centered columns."""
    import l0path

    started = time.perf_counter()
    p, Z = X.shape[1], X - X.mean(axis=0)
    F = np.empty((len(y), p + p * (p + 1) // 2), order="F")
    F[:, :p], at, names = X, p, [f"x{j}" for j in range(p)]
    for j in range(p):
        F[:, at : at + p - j] = Z[:, j:] * Z[:, j : j + 1]
        names += [f"x{j}^2", *(f"x{j}:x{k}" for k in range(j + 1, p))]
        at += p - j
    path = l0path.fit(F, y, max_k=K, loss=loss, feature_names=names)
    return {
        "seconds": time.perf_counter() - started,
        "features": path.p,
        "supports": [model.features for model in path],
        "verified": int((path.details.optimality != "unverified").sum()),
    }


def run_lasso(X, y, loss):
    """PolynomialFeatures, StandardScaler and a lasso path of ALPHAS values down to a tenth of the
    first.
    """
    from sklearn.linear_model import lasso_path
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    started = time.perf_counter()
    features = PolynomialFeatures(2, include_bias=False, order="F")
    F = StandardScaler(copy=False).fit_transform(features.fit_transform(X))
    _, coefficients, _ = lasso_path(np.asfortranarray(F), y - y.mean(), eps=0.1, alphas=ALPHAS)
    names = np.array(
        [
            name.replace(" ", ":")
            for name in features.get_feature_names_out([f"x{j}" for j in range(X.shape[1])])
        ]
    )
    return {
        "seconds": time.perf_counter() - started,
        "features": F.shape[1],
        "supports": [names[np.flatnonzero(c)].tolist() for c in coefficients.T],
        "verified": 0,
    }


def child(what, n, p, folder, min_rows):
    """One contestant in this process, after a small path that compiles; a JSON line."""
    if what != "lasso":
        small, response = simulated(60, 75)
        {"design": run_design, "expansion": run_expansion}[what](
            sp.csc_array(small) if folder else small, response, "squared"
        )
    if folder:
        X, y = real_case(folder, "news20", "logistic", K).make()
        X.data = np.log1p(X.data)
        call = partial(run_design, X, y, "squared", min_rows)
    else:
        X, y = simulated(n, p)
        run = {"design": run_design, "expansion": run_expansion, "lasso": run_lasso}[what]
        call = partial(run, X, y, "squared")
    before = peak_mb()
    print(
        json.dumps(
            {
                **call(),
                "rows": X.shape[0],
                "columns": X.shape[1],
                "before": before,
                "peak": peak_mb(),
            }
        )
    )


def row(what, n, p, folder, min_rows, threads):
    """Run a contestant and print its line; returns what it found."""
    done = subprocess.run(
        [
            sys.executable,
            __file__,
            "--child",
            json.dumps([what, n, p, folder, min_rows]),
            "--threads",
            str(threads),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    got = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{what:>10}: n = {got['rows']}, {got['columns']} columns, {got['features']} features: "
        f"{got['seconds']:.1f} s, peak {got['peak']:.0f} MB ({got['before']:.0f} MB with X "
        "before), "
        f"{got['verified']} sizes verified"
    )
    return got


def main():
    args = arguments(
        __doc__,
        child=("", "used by the script itself"),
        news=("", "folder of news20/news20_train.npz; empty: left out"),
        min_rows=(10, "rows in which both columns of a news20 product are nonzero"),
    )
    if args.child:
        child(*json.loads(args.child))
        return
    for p, contestants in [(100, CASES[300])] if args.smoke else CASES.items():
        n = 400 if args.smoke else 2000
        got = {what: row(what, n, p, "", 1, args.threads) for what in contestants}
        right = set(TRUE)
        print(
            "            the four true features at k = 4: "
            f"{set(got['design']['supports'][4]) == right}"
        )
        if "expansion" in got:
            print(
                "            supports of the expansion, all sizes: "
                f"{got['design']['supports'] == got['expansion']['supports']}"
            )
        if "lasso" in got:
            sizes = [len(support) for support in got["lasso"]["supports"] if right <= set(support)]
            print(
                f"            lasso: the true features are all in from {min(sizes)} features on"
                if sizes
                else "            lasso: no point of the path has all true features"
            )
    if args.news:
        row("design", 0, 0, str(Path(args.news)), args.min_rows, args.threads)


if __name__ == "__main__":
    main()
