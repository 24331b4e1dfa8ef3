"""The feature generating machine: time, blocks, the relaxation's gap and the mean gap of the sizes,
for single columns, groups and additive features; sums of nested groups against plain ones.
"""

import numpy as np
from common import arguments, in_turn

import l0path


def disjoint(n, G, width, overlap=0):
    """(X, signal, arguments): G groups of `width` columns with a common factor, `overlap` more
    columns of the next group in each.
    """
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.normal(size=(n, G * width)) + 0.5 * rng.normal(size=(n, 1)))
    signal = sum(
        X[:, g * width : (g + 1) * width] @ rng.normal(size=width)
        for g in range(0, G, max(G // 8, 1))
    )
    return (
        X,
        signal,
        {
            "groups": [
                list(range(width * g, min(width * (g + 1) + overlap, G * width))) for g in range(G)
            ],
            "lambda2": 0.01,
        },
    )


def single(n, p, _):
    """(X, signal, arguments): single columns with a common factor."""
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1)))
    return (
        X,
        X[:, :: p // 10] @ rng.choice([-1.0, 1.0], X[:, :: p // 10].shape[1]),
        {"lambda2": 0.05},
    )


def additive(n, p, bins):
    """(design, signal, arguments): piecewise-linear features of p columns, a group a column; bins
    0: knots at all values.
    """
    X = np.random.default_rng(3).uniform(size=(n, p))
    design = l0path.designs.additive(X, bins=bins or None)
    return (
        design,
        np.sin(6 * X[:, 0]) + 2 * np.abs(X[:, 5] - 0.5) + X[:, 10] ** 2,
        {"groups": design.groups, "lambda2": 0.01, "standardize": False},
    )


CASES = {  # makes, n, columns or groups, width or bins, largest size, loss
    "200 groups of 8": (disjoint, (500, 200, 8), 10, "squared"),
    "200 groups of 8, logistic": (disjoint, (500, 200, 8), 10, "logistic"),
    "200 overlapping groups of 12": (disjoint, (500, 200, 8, 4), 10, "squared"),
    "300 groups of 30": (disjoint, (300, 300, 30), 10, "squared"),
    "p=10^4": (single, (400, 10_000, 0), 10, "squared"),
    "p=10^4, logistic": (single, (400, 10_000, 0), 10, "logistic"),
    "additive, 20 columns, 16 bins": (additive, (300, 20, 16), 8, "squared"),
    "additive, 20 columns, all values": (additive, (300, 20, 0), 8, "squared"),
}


def paths(args):
    """A row per case."""
    print(
        f"| {'case':34s} | seconds | reads | blocks | relaxation gap % | mean gap % "
        "|\n|---|---|---|---|---|---|"
    )
    for name, (make, sizes, K, loss) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        if args.smoke:
            sizes, K = (60, *(min(s, 40) for s in sizes[1:])), 2
        X, signal, given = make(*sizes)
        y = signal + 0.5 * signal.std() * np.random.default_rng(0).normal(size=signal.size)
        y = np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else y
        run = in_turn(
            {
                "l0path": lambda X=X, y=y, K=K, loss=loss, given=given: l0path.fit(
                    X, y, loss=loss, max_k=K, algorithm="feature_generating", **given
                )
            },
            args,
        )["l0path"]
        rounds = run.result.rounds
        print(
            f"| {name:34s} | {run.median:7.2f} | {rounds.reads.iloc[-1]} | "
            f"{rounds.blocks.dropna().iloc[-1]:.0f} | "
            f"{100 * rounds.relaxation_gap.dropna().iloc[-1]:.2f} | "
            f"{100 * run.result.details.gap[1:].mean():.1f} |",
            flush=True,
        )


def main():
    """The table."""
    paths(arguments(__doc__, only=("", "substrings of cases, separated by |")))


if __name__ == "__main__":
    main()
