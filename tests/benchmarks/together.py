"""Several responses of one loss with one set of features, against a path of each response: time,
and the share of the true features that the model of the true size has.
"""

import numpy as np
from common import arguments, in_turn, ratio

import l0path

CASES = {  # n, p, responses, true features, largest size
    "1000 x 200, 4 responses": (1000, 200, 4, 10, 20),
    "300 x 1000, 8 responses": (300, 1000, 8, 10, 20),
}
LOSSES = ("squared", "logistic", "poisson")


def drawn(loss, seed, n, p, r, k):
    """(X, Y (n, r), the true features): autoregressive columns; each response has its own
    coefficients on the same features.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    true = np.sort(rng.choice(p, k, replace=False))
    signal = 0.5 * X[:, true] @ rng.standard_normal((k, r))
    if loss == "squared":
        return X, signal + 2.0 * rng.standard_normal((n, r)), true
    if loss == "logistic":
        return X, (signal + rng.logistic(size=(n, r)) > 0).astype(float), true
    return X, rng.poisson(np.exp(np.clip(0.5 * signal, -3.0, 3.0))).astype(float), true


def row(loss, case, args):
    """(seconds of all together, ratio to those of each alone, shares of true features found by
    both): medians, and means, over the seeds.
    """
    n, p, r, k, K = (120, 20, 2, 3, 5) if args.smoke else CASES[case]
    seconds, ratios, shares = [], [], []
    for seed in range(1 if args.smoke else args.seeds):
        X, Y, true = drawn(loss, seed, n, p, r, k)
        how = {"loss": loss, "max_k": K, "lambda2": 1e-3, "certify": False, "n_jobs": 1}
        calls = {
            "together": lambda X=X, Y=Y, how=how: l0path.fit(X, Y, **how),
            "alone": lambda X=X, Y=Y, how=how: [l0path.fit(X, y, **how) for y in Y.T],
        }
        found = in_turn(calls, args)
        seconds.append(found["together"].median)
        ratios.append(ratio(found["together"], found["alone"]))
        paths = [found["together"].result, *found["alone"].result]
        each = [np.isin(true, path.support(k=k)).mean() for path in paths]
        shares.append((each[0], np.mean(each[1:])))
    return np.median(seconds), np.median(ratios), *np.mean(shares, axis=0)


def main():
    """A row for each loss and case."""
    args = arguments(__doc__, seeds=(5, "seeds of each case"))
    print(
        "| data | seconds | to each alone | true features found | by each alone |\n"
        + "|---" * 5
        + "|"
    )
    for loss in LOSSES:
        for case in CASES:
            seconds, times, together, alone = row(loss, case, args)
            cells = f"{seconds:.2f} | {times:.2f} | {together:.0%} | {alone:.0%}"
            print(f"| {loss}, {case} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
