"""Paths of loss="cox" against abess: time of a whole path, and the partial likelihood of the
supports of every size, refitted by statsmodels.
"""

import sys
import warnings

import numpy as np
from common import arguments, in_turn, ratio
from peer_table import STORE, keep

import l0path

CASES = {  # n, p, true columns, largest size, correlation of neighbors
    "n=500, p=1000, AR 0.7": (500, 1000, 10, 30, 0.7),
    "n=500, p=8000, AR 0.1": (500, 8000, 10, 30, 0.1),
    "n=500, p=8000, AR 0.7": (500, 8000, 10, 30, 0.7),
}
NEAR = 1e-8  # of the deviance, by which an objective is better


def times(seed, n, p, k, rho):
    """(X Fortran order, y): Gaussian columns, k of them with coefficients -0.7 or 0.7, exponential
    times, some 40 % of them censored.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    chosen = rng.choice(p, k, replace=False)
    life = rng.exponential(size=n) * np.exp(-X[:, chosen] @ rng.choice([-0.7, 0.7], k))
    censored = rng.exponential(np.quantile(life, 0.7), n)
    return np.asfortranarray(X), np.column_stack([np.minimum(life, censored), life <= censored])


def deviance(X, y, support):
    """Twice the negative log partial likelihood of a support at its optimum, for each event."""
    from statsmodels.duration.hazard_regression import PHReg

    if not len(support):
        return -2 * PHReg(y[:, 0], X[:, :1], status=y[:, 1]).loglike(np.zeros(1)) / y[:, 1].sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = PHReg(y[:, 0], X[:, list(support)], status=y[:, 1], ties="breslow").fit(disp=0)
    return -2 * fit.llf / y[:, 1].sum()


def theirs(X, y, sizes):
    """A call of abess for a path over these sizes; None where it is not installed."""
    try:
        from abess.linear import CoxPHSurvivalAnalysis
    except ImportError:
        print("# abess is not installed and left out")
        return None
    return lambda: CoxPHSurvivalAnalysis(support_size=sizes, thread=1).fit(X, y)


def main():
    """A row per case; ratios are medians over the seeds."""
    args = arguments(
        __doc__,
        seeds=(5, "seeds of each case"),
        only=("", "substrings of cases, separated by |"),
        store=STORE,
    )
    print(
        f"| {'case':24s} | seeds | seconds | to abess | sizes | not worse | better |\n"
        "|---|---|---|---|---|---|---|"
    )
    for name, (n, p, k, K, rho) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        if args.smoke:
            n, p, k, K = 200, 100, 3, 5
        ratios, seconds, changes = [], [], []
        for seed in range(1 if args.smoke else args.seeds):
            X, y = times(seed, n, p, k, rho)

            def ours(X=X, y=y, K=K):
                return l0path.fit(X, y, loss=l0path.losses.Cox(ties="breslow"), max_k=K)

            peer = theirs(X, y, range(K + 1))
            timed = in_turn({"l0path": ours} | ({"abess": peer} if peer else {}), args)
            seconds.append(timed["l0path"].median)
            if "abess" not in timed:
                continue
            ratios.append(ratio(timed["l0path"], timed["abess"]))
            path = timed["l0path"].result
            for size in range(1, K + 1):  # a path of abess keeps one model: a fit for each size
                other = np.flatnonzero(theirs(X, y, [size])().coef_)
                a, b = deviance(X, y, path.support(k=size)), deviance(X, y, other)
                changes.append((a - b) / b)
            print(f"# {name}, seed {seed}: ratio {ratios[-1]:.2f}", file=sys.stderr, flush=True)
        found = np.array(changes)
        against = f"{np.median(ratios):8.2f} | {found.size} " if found.size else "         | "
        shares = (
            f"| {np.mean(found <= NEAR):6.1%} | {np.mean(found < -NEAR):6.1%} |"
            if found.size
            else "| | |"
        )
        print(
            f"| {name:24s} | {args.seeds} | {np.median(seconds):6.2f} | {against}{shares}",
            flush=True,
        )
        if ratios and not args.smoke:
            shares = {"not_worse": np.mean(found <= NEAR), "better": np.mean(found < -NEAR)}
            shares |= {"sizes": found.size, "ratios": ratios, "seconds": np.median(seconds)}
            data = f"Cox, {n} x {p}, AR({rho})"
            keep(args.store, __file__, peer="abess", data=data, **shares)


if __name__ == "__main__":
    main()
