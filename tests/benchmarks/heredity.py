"""Paths whose models keep the hierarchy of products, against paths that keep none: the same formula
of all two-way products, the same sizes, in turn.
"""

import numpy as np
import pandas as pd
from common import arguments, in_turn, ratio

import l0path

CASES = [  # loss, columns, rows, how many of the columns are factors
    ("squared", 6, 300, 0),
    ("squared", 8, 300, 0),
    ("squared", 10, 500, 0),
    ("squared", 12, 800, 0),
    ("logistic", 6, 300, 0),
    ("logistic", 8, 300, 0),
    ("logistic", 10, 500, 0),
    ("logistic", 12, 800, 0),
    ("squared", 8, 500, 3),
    ("logistic", 6, 300, 2),
    ("poisson", 6, 300, 0),
    ("poisson", 10, 500, 0),
    ("poisson", 6, 300, 2),
    ("cox", 6, 300, 0),
    ("cox", 8, 300, 0),
    ("cox", 6, 300, 2),
]


def simulated(loss, p, n, factors, seed=0):
    """(formula, table): normal columns, factors of three levels; y of all of them and of p / 2
    products, noise of the variance of the signal.
    """
    rng = np.random.default_rng([seed, p])
    names = [chr(97 + j) for j in range(p)]
    data = pd.DataFrame({name: rng.standard_normal(n) for name in names})
    for name in names[:factors]:
        data[name] = rng.choice(list("uvw"), n)
    X = np.column_stack([data[g] == "w" if g in names[:factors] else data[g] for g in names])
    X = X.astype(float)
    eta = X @ rng.standard_normal(p)
    for _ in range(p // 2):
        i, j = rng.choice(p, 2, replace=False)
        eta += rng.standard_normal() * X[:, i] * X[:, j]
    eta /= eta.std()
    y = eta + rng.standard_normal(n)
    if loss == "poisson":
        y = rng.poisson(np.exp(0.7 * eta))
    elif loss == "cox":
        y, data["event"] = rng.exponential(np.exp(-eta)), rng.random(n) < 0.7
    data["y"] = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    left = "Surv(y, event)" if loss == "cox" else "y"
    return f"{left} ~ ({' + '.join(names)}) ** 2", data


def main():
    """A row per case; the ratio is the median over the rounds."""
    args = arguments(__doc__, only=("", "substring of the loss"))
    print(
        "| loss | columns | factors | rows | sizes | with, s | without, s | ratio |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for loss, p, n, factors in CASES[:2] if args.smoke else CASES:
        if args.only not in loss:
            continue
        text, data = simulated(loss, p, n, factors)
        calls = {
            f"l0path {rule}": lambda rule=rule, text=text, data=data, loss=loss: l0path.fit(
                text, data, loss=loss, heredity=rule
            )
            for rule in ("auto", None)
        }
        own, plain = in_turn(calls, args).values()
        print(
            f"| {loss} | {p} | {factors} | {n} | {len(own.result)} | {own.median:.3f} "
            f"| {plain.median:.3f} | {ratio(own, plain):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
