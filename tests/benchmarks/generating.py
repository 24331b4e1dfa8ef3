"""The feature generating machine: time, blocks, the relaxation's gap and the mean gap of the sizes,
for single columns, groups and additive features; sums of nested groups against plain ones.
"""

from itertools import pairwise

import numpy as np
from common import arguments, in_turn, ratio

import l0path
from l0path.relaxation.group_tree import tree_of


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
TREES = {
    "binary, 10^5 columns": (100_000, 2, 2),
    "tenfold, 9 x 10^4 columns": (90_000, 10, 1),
    "100 columns less a level, 2 x 10^4": (20_000, 0, 100),
    "one level, 10^5 columns": (100_000, 50_000, 2),
}


def nested(p, branches, least):
    """(columns, start) of nested groups: intervals of a random order, cut into `branches` until
    they have `least` columns; branches 0: each has `least` columns less than the one above.
    """
    order, stack, bounds = np.random.default_rng(0).permutation(p), [(0, p)], []
    while stack:
        left, right = stack.pop()
        bounds.append((left, right))
        if right - left > least:
            cuts = (
                np.unique(np.linspace(left, right, branches + 1).astype(int))
                if branches
                else np.array([left + least, right])
            )
            stack += pairwise(cuts)
    return np.concatenate([np.sort(order[left:right]) for left, right in bounds]), np.concatenate(
        [[0], np.cumsum([right - left for left, right in bounds])]
    )


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
            f"{100 * run.result.table.gap[1:].mean():.1f} |",
            flush=True,
        )


def trees(args):
    """A row per hierarchy."""
    print(
        f"\n| {'nested groups':34s} | groups | entries | plain sums ms | from the leaves ms | "
        "ratio |\n|---|---|---|---|---|---|"
    )
    for name, (p, branches, least) in TREES.items():
        p = p // 100 if args.smoke else p
        columns, start = nested(p, min(branches, p // 2), least)
        count, h, tree = (
            start.size - 1,
            np.random.default_rng(1).exponential(size=p),
            tree_of(columns, start, p),
        )
        owner = np.repeat(np.arange(count), np.diff(start))
        timed = in_turn(
            {
                "l0path": lambda tree=tree, h=h: tree.sums(h),
                "plain": lambda h=h, columns=columns, owner=owner, count=count: np.bincount(
                    owner, h[columns], minlength=count
                ),
            },
            args,
        )
        np.testing.assert_allclose(timed["l0path"].result, timed["plain"].result, rtol=1e-10)
        print(
            f"| {name:34s} | {count} | {columns.size} | {1e3 * timed['plain'].median:.3f} | "
            f"{1e3 * timed['l0path'].median:.3f} | {ratio(timed['l0path'], timed['plain']):.3f} |",
            flush=True,
        )


def main():
    """Both tables."""
    args = arguments(
        __doc__, only=("", "substrings of cases, separated by |; `trees` for the sums alone")
    )
    if args.only != "trees":
        paths(args)
    if args.only in ("", "trees"):
        trees(args)


if __name__ == "__main__":
    main()
