"""Paths of the multinomial loss without a ridge, sizes 0..K, against abess: the share of sizes at
which our log loss is not worse than that of abess's own coefficients, and better by more than 1e-6
of it, and time. A size at which columns separate the classes has the least possible log loss, 0.
"""

import numpy as np
from common import arguments, in_turn, ratio

import l0path

CASES = {  # n, p, correlation of neighbours, true columns, largest size, classes
    "n=500, p=1000, 0.7": (500, 1000, 0.7, 10, 30, 3),
    "n=500, p=8000, 0.1": (500, 8000, 0.1, 10, 30, 3),
    "n=500, p=8000, 0.7": (500, 8000, 0.7, 10, 30, 3),
}


def drawn(seed, n, p, rho, k, r):
    """(X Fortran order, class numbers y): autoregressive columns, normal coefficients of k columns
    for each class.
    """
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((p, n)).T)
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    eta = X[:, rng.choice(p, k, replace=False)] @ rng.standard_normal((k, r))
    return X, np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)


def log_loss(eta, y):
    """The mean of -log P(y)."""
    top = eta.max(axis=1)
    own = eta[np.arange(len(y)), y]
    return np.mean(top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - own)


def ours(X, y, K):
    """Our path, without proofs, in one thread as abess."""
    return l0path.fit(X, y, loss="multinomial", max_k=K, certify=False, n_jobs=1)


def theirs(X, y, K):
    """abess's path over the sizes."""
    from abess import MultinomialRegression

    return MultinomialRegression(support_size=range(K + 1), thread=1).fit(X, y)


def losses(path, X, y, K):
    """The log losses (K + 1,) of our path, 0 from a separated size on."""
    out = np.zeros(K + 1)
    for s in path.solutions:
        out[s.k] = 0.0 if s.separated else s.loss
    return out


def losses_of_abess(X, y, K):
    """Those of abess's coefficients, fitted size by size."""
    from abess import MultinomialRegression

    out = np.empty(K + 1)
    for k in range(K + 1):
        fitted = MultinomialRegression(support_size=k, thread=1).fit(X, y)
        out[k] = log_loss(X @ fitted.coef_ + fitted.intercept_, y)
    return out


def main():
    """A row per case; ratios are medians over the rounds of the first seed."""
    args = arguments(
        __doc__,
        seeds=(5, "seeds of each case"),
        only=("", "substrings of cases, separated by |"),
        peers=("all", "all or none"),
    )
    print(
        f"| {'case':20s} | sizes | not worse | better | l0path s | to abess |\n" + "|---" * 6 + "|"
    )
    for name, (n, p, rho, k, K, r) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        if args.smoke:
            n, p, K = 120, 40, 5
        known, timings = [], {}
        for seed in range(2 if args.smoke else args.seeds):
            X, y = drawn(seed, n, p, rho, k, r)
            calls = {"l0path": lambda X=X, y=y, K=K: ours(X, y, K)}
            if args.peers == "all":
                calls["abess"] = lambda X=X, y=y, K=K: theirs(X, y, K)
            if seed == 0:
                timings = in_turn(calls, args)
            path = timings["l0path"].result if seed == 0 else calls["l0path"]()
            if "abess" in timings:
                known += zip(losses(path, X, y, K)[1:], losses_of_abess(X, y, K)[1:], strict=True)
        us = timings["l0path"]
        if known:
            mine, other = np.array(known).T
            worse, better = mine > other * (1 + 1e-9), mine < other * (1 - 1e-6)
            shares = f"{1 - worse.mean():9.3f} | {better.mean():6.3f}"
            against = f"{ratio(us, timings['abess']):8.2f}"
        else:
            shares, against = f"{'':9s} | {'':6s}", f"{'':8s}"
        print(
            f"| {name:20s} | {len(known):5d} | {shares} | {us.median:8.2f} | {against} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
