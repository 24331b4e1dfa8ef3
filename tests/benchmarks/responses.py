"""Paths without a ridge, sizes 0..K, of several classes, ordered classes, several responses and
amounts against abess: time, and the share of sizes at which our loss is not worse than the least
loss on abess's columns, and lower by more than 1e-6 of it.

Abess's columns are refitted by l0path, so that it loses nothing by where its own steps ended. A
size at which columns separate the classes has the least possible loss, 0. For amounts abess has the
inverse link, another model, so that only times compare.
"""

import numpy as np
from common import arguments, in_turn, ratio
from peer_table import STORE, keep

import l0path

CASES = {  # n, p, correlation of neighbors, true columns, largest size
    "n=500, p=1000, 0.7": (500, 1000, 0.7, 10, 30),
    "n=500, p=8000, 0.1": (500, 8000, 0.1, 10, 30),
    "n=500, p=8000, 0.7": (500, 8000, 0.7, 10, 30),
}
# our loss, the class of abess, whether the losses compare
KINDS = {
    "ordinal": ("ordinal", "OrdinalRegression", True),
    "multinomial": ("multinomial", "MultinomialRegression", True),
    "several responses": ("squared", "MultiTaskRegression", True),
    "gamma": ("gamma", "GammaRegression", False),
}


def drawn(kind, seed, n, p, rho, k):
    """(X Fortran order, y): autoregressive columns, normal coefficients of k of them; three
    classes or responses, four ordered classes.
    """
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((p, n)).T)
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    signal = X[:, rng.choice(p, k, replace=False)] @ rng.standard_normal((k, 3))
    if kind == "multinomial":
        return X, np.argmax(signal + rng.gumbel(size=signal.shape), axis=1)
    if kind == "several responses":
        return X, signal + 2.0 * rng.standard_normal(signal.shape)
    if kind == "gamma":
        return X, rng.gamma(2.0, np.exp(0.5 * signal[:, 0]) / 2.0)
    return X, np.digitize(signal[:, 0] + rng.logistic(size=n), [-1.5, 0.0, 1.5])


def ours(kind, X, y, K):
    """Our path, without proofs, in one thread as abess."""
    return l0path.fit(X, y, loss=KINDS[kind][0], max_k=K, certify=False, n_jobs=1)


def theirs(kind, X, y, sizes):
    """abess over the sizes."""
    import abess

    model = getattr(abess, KINDS[kind][1])(support_size=sizes, thread=1)
    return model.fit(X, np.eye(3)[y] if kind == "multinomial" else y)


def of(solution):
    """The loss of one of our solutions, 0 where it is separated."""
    return 0.0 if solution.separated else solution.loss


def losses(path, K):
    """The losses (K + 1,) of our path, 0 from a separated size on."""
    out = np.zeros(K + 1)
    for s in path._solutions:
        out[s.k] = of(s)
    return out


def losses_of_abess(kind, X, y, K):
    """The least losses (K + 1,) on abess's columns of each size: its path keeps one model, so that
    each is a fit of its own.
    """
    out = np.empty(K + 1)
    for k in range(K + 1):
        coef = theirs(kind, X, y, [k]).coef_.reshape(X.shape[1], -1)
        S = np.flatnonzero(np.abs(coef).max(axis=1))
        Z = X[:, S] if S.size else X[:, :1]
        fitted = l0path.fit(Z, y, loss=KINDS[kind][0], max_k=0, always_include=[*range(S.size)])
        out[k] = of(fitted._solutions[0])
    return out


def row(kind, case, args):
    """(sizes compared, shares, our seconds, ratio of times): medians of ratios over the rounds of
    each seed, then over the seeds.
    """
    n, p, rho, k, K = (120, 40, 0.5, 5, 5) if args.smoke else CASES[case]
    known, ratios, seconds = [], [], []
    for seed in range(1 if args.smoke else args.seeds):
        X, y = drawn(kind, seed, n, p, rho, k)
        calls = {"l0path": lambda X=X, y=y: ours(kind, X, y, K)}
        if args.peers == "all":
            calls["abess"] = lambda X=X, y=y: theirs(kind, X, y, range(K + 1))
        timings = in_turn(calls, args)
        seconds.append(timings["l0path"].median)
        if "abess" not in timings:
            continue
        ratios.append(ratio(timings["l0path"], timings["abess"]))
        if KINDS[kind][2]:
            mine = losses(timings["l0path"].result, K)
            known += zip(mine[1:], losses_of_abess(kind, X, y, K)[1:], strict=True)
    return known, seconds, ratios


def main():
    """A row for each kind and case."""
    args = arguments(
        __doc__,
        seeds=(5, "seeds of each case"),
        only=("", "substrings of rows, separated by |"),
        peers=("all", "all or none"),
        store=STORE,
    )
    print(
        f"| {'data':37s} | sizes | not worse | better | l0path s | to abess |\n" + "|---" * 6 + "|"
    )
    for name, kind, case in [(f"{kind}, {case}", kind, case) for kind in KINDS for case in CASES]:
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        known, seconds, ratios = row(kind, case, args)
        shares = f"{'':9s} | {'':6s}"
        if known:
            mine, other = np.array(known).T
            worse, better = mine > other * (1 + 1e-9), mine < other * (1 - 1e-6)
            shares = f"{1 - worse.mean():9.1%} | {better.mean():6.1%}"
        against = f"{np.median(ratios):8.2f}" if ratios else f"{'':8s}"
        print(
            f"| {name:37s} | {len(known):5d} | {shares} | {np.median(seconds):8.2f} | {against} |",
            flush=True,
        )
        if ratios and not args.smoke:
            found = {"known": known, "ratios": ratios, "seconds": np.median(seconds)}
            n, p, rho = CASES[case][:3]
            data = f"{kind}, {n} x {p}, AR({rho})"
            keep(args.store, __file__, peer="abess", data=data, **found)


if __name__ == "__main__":
    main()
