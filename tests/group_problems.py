"""Problems with groups, and their optima by enumeration."""

import itertools

import numpy as np
import oracles


def problem(loss="squared", n=70, sizes=(2, 3, 1, 2, 3, 2), seed=0, shuffle=True):
    """X (n, p), y, labels (p,) of groups of these sizes, columns shuffled; groups b and e carry the
    signal.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat([chr(97 + g) for g in range(len(sizes))], sizes)
    if shuffle:
        labels = labels[rng.permutation(labels.size)]
    X = rng.standard_normal((n, labels.size)) + 0.6 * rng.standard_normal((n, 1))
    eta = X @ np.where(labels == "b", 0.6, np.where(labels == "e", -0.5, 0.0))
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.5 * eta)).astype(float), labels
    y = eta + rng.standard_normal(n)
    return X, (np.where(y > 0, 1.0, -1.0) if loss in oracles.CLASSES else y), labels


def enumerated(X, y, groups, k, forced=(), **same):
    """(least objective of k groups beside the forced ones, their labels); groups {label:
    columns}.
    """
    best = np.inf, ()
    for chosen in itertools.combinations([g for g in groups if g not in forced], k):
        support = np.unique(
            np.concatenate([np.empty(0, int), *(groups[g] for g in (*forced, *chosen))])
        )
        value = oracles.restricted(X, y, support.astype(int), **same)[0]
        best = min(best, (value, tuple(sorted((*forced, *chosen)))))
    return best


def by_label(labels):
    return {str(g): np.flatnonzero(labels == g) for g in np.unique(labels)}
