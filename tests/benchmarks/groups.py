"""Paths over the number of groups: exact recovery of the true groups at their number over seeds,
and time against the path of single columns (as many sizes, same X) and abess's groups.
"""

import numpy as np
from common import arguments, in_turn, ratio

import l0path

CASES = {  # n, groups, columns in each, true groups, largest size, correlation within groups
    "p=10^5, 10^4 groups of 10": (1000, 10_000, 10, 20, 25, 0.0),
    "the same, correlation 0.7 within": (1000, 10_000, 10, 20, 25, 0.7),
    "p=3000, 600 groups of 5": (500, 600, 5, 15, 25, 0.0),
}


def grouped(seed, n, count, d, true, rho, snr=5.0):
    """(X Fortran order, y, labels, true groups): Gaussian columns, correlated by rho within groups;
    normal coefficients in the true groups; Var(signal) / Var(noise) = snr.
    """
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((count * d, n)).T)
    if rho:
        for g in range(count):
            X[:, g * d : (g + 1) * d] = np.sqrt(1 - rho) * X[:, g * d : (g + 1) * d] + np.sqrt(
                rho
            ) * rng.standard_normal((n, 1))
    chosen, labels = np.sort(rng.choice(count, true, replace=False)), np.repeat(np.arange(count), d)
    signal = X[:, np.isin(labels, chosen)] @ rng.standard_normal(true * d)
    return X, signal + rng.standard_normal(n) * np.sqrt(signal.var() / snr), labels, chosen


def abess_calls(X, y, labels, K, true):
    """{name: call} of abess: its path over group numbers, and the model of the true number; nothing
    where it is not installed.
    """
    try:
        import abess
    except ImportError:
        print("# abess is not installed and left out")
        return {}
    return {
        "abess path": lambda: abess.LinearRegression(
            support_size=range(K + 1), group=labels, thread=1
        ).fit(X, y),
        "abess": lambda: abess.LinearRegression(support_size=[true], group=labels, thread=1).fit(
            X, y
        ),
    }


def loss_of(X, y, labels, chosen):
    """Mean loss of least squares on some groups."""
    Z = np.column_stack([np.ones(len(y)), X[:, np.isin(labels, chosen)]])
    return np.mean((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2) / 2


def main():
    """A row per case; ratios are medians over the rounds of the first seed."""
    args = arguments(
        __doc__,
        seeds=(10, "seeds of each case"),
        only=("", "substrings of cases, separated by |"),
        peers=("all", "all or none"),
    )
    print(
        f"| {'case':34s} | seeds | l0path exact | fits as the truth or better | abess exact | "
        "seconds | to columns | to abess path |\n|---|---|---|---|---|---|---|---|"
    )
    for name, (n, count, d, true, K, rho) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        if args.smoke:
            n, count, true, K = 200, 60, 3, 4
        hits, fitted, theirs, timings, seeds = 0, 0, 0, {}, 2 if args.smoke else args.seeds
        for seed in range(seeds):
            X, y, labels, chosen = grouped(seed, n, count, d, true, rho)
            calls = abess_calls(X, y, labels, K, true) if args.peers == "all" else {}
            calls = {
                "l0path groups": lambda X=X, y=y, labels=labels, K=K: l0path.fit(
                    X, y, groups=labels, max_k=K
                ),
                "l0path columns": lambda X=X, y=y, K=K: l0path.fit(X, y, max_k=K),
            } | calls
            if seed == 0:
                timings = in_turn(calls, args)
            path = timings["l0path groups"].result if seed == 0 else calls["l0path groups"]()
            hits += path.model(k=true).groups == chosen.tolist()
            fitted += path.details.objective[true] <= loss_of(X, y, labels, chosen) * (1 + 1e-9)
            if "abess" in timings:
                theirs += np.array_equal(np.unique(labels[calls["abess"]().coef_ != 0]), chosen)
        ours = timings["l0path groups"]
        against = (
            f"{ratio(ours, timings['abess path']):8.2f}" if "abess path" in timings else "        "
        )
        print(
            f"| {name:34s} | {seeds} | {hits} | {fitted} | {theirs if 'abess' in timings else ''} "
            f"| {ours.median:7.2f} | {ratio(ours, timings['l0path columns']):8.2f} | {against} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
