"""Several classes, ordered classes and several responses, drawn for tests, and their least values
by other solvers.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize

import l0path
from l0path.problem.problem import pose
from l0path.working_set.model import make_model

LABELS = ["ash", "elm", "oak"]


def ordered_drawn(seed, n=60, p=5, K=4):
    """Correlated columns, a copy or a constant among them by turns, and K ordered classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    if seed % 3 == 1:
        X[:, 2] = -2.0 * X[:, 0]
    if seed % 3 == 2:
        X[:, -1] = 2.0
    eta = X[:, 0] - X[:, 1] + rng.logistic(size=n)
    codes = np.digitize(eta, np.quantile(eta, np.arange(1, K) / K))
    return X, codes, rng


def negative_log(codes, eta, t, w):
    """(the mean of -log P(class) with thresholds t, its gradients in eta and t)."""
    rows = np.arange(len(eta))
    below = 1.0 / (1.0 + np.exp(np.clip(eta[:, None] - t, -700, 700)))
    edges = np.column_stack([np.zeros(len(eta)), below, np.ones(len(eta))])
    P = np.maximum(np.diff(edges, axis=1)[rows, codes], 1e-300)
    slope = edges * (1.0 - edges)
    by_edge = np.zeros(edges.shape)
    by_edge[rows, codes + 1] -= w * slope[rows, codes + 1] / P
    by_edge[rows, codes] += w * slope[rows, codes] / P
    return -w @ np.log(P), -by_edge.sum(axis=1), by_edge[:, 1:-1].sum(axis=0)


def ordered_optimum(
    X, codes, support, *, lambda1=0.0, lambda2=0.0, weights=None, offset=0.0, low=-np.inf
):
    """The least penalized loss on a support, from coefficients of either sign and thresholds."""
    w = np.ones(len(X)) if weights is None else weights
    w, m, k = w / w.sum(), int(codes.max()), len(support)
    Z = X - w @ X
    s = np.sqrt(w @ Z**2)
    Z = (Z / np.where(s > 1e-12, s, 1.0))[:, support]

    def value(v):
        b = v[:k] - v[k : 2 * k]
        gaps = np.exp(v[2 * k + 1 :])
        t = v[2 * k] + np.concatenate([[0.0], np.cumsum(gaps)])
        loss, by_eta, by_t = negative_log(codes, offset + Z @ b, t, w)
        by_b = Z.T @ by_eta + 2.0 * lambda2 * b
        after = np.cumsum(by_t[::-1])[::-1]
        gradient = np.concatenate([by_b + lambda1, lambda1 - by_b, after[:1], gaps * after[1:]])
        return loss + lambda1 * v[: 2 * k].sum() + lambda2 * b @ b, gradient

    bounds = [(0, None)] * k + [(0, -low * s[j] if np.isfinite(low) else None) for j in support]
    start = np.concatenate([np.zeros(2 * k), [-1.0], np.zeros(m - 1)])
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxfun": 100_000, "maxiter": 5000}
    bounds += [(None, None)] * m
    return minimize(value, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).fun


def classes_drawn(seed, n=50, p=5):
    """Correlated columns, a copy or a constant among them by turns, and three classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    if seed % 3 == 1:
        X[:, 3] = X[:, 0]
    if seed % 3 == 2:
        X[:, 4] = 2.0
    eta = 1.5 * X[:, :2] @ rng.standard_normal((2, 3))
    y = np.array([rng.choice(LABELS, p=np.exp(e) / np.exp(e).sum()) for e in eta])
    y[:3] = LABELS
    return X, y, rng


def classes_optimum(X, y, support, lambda2, weights=None, offset=0.0):
    """The least penalized loss on a support, from all 3 (k + 1) coefficients by BFGS."""
    w = np.ones(len(X)) if weights is None else weights
    w = w / w.sum()
    Z = X - w @ X
    s = np.sqrt(w @ Z**2)
    Z = (Z / np.where(s > 1e-12, s, 1.0))[:, support]
    Y = (y[:, None] == np.array(LABELS)).astype(float)

    def value(v):
        B = v.reshape(-1, 3)
        eta = offset + Z @ B[:-1] + B[-1]
        top = eta.max(axis=1, keepdims=True)
        E = np.exp(eta - top)
        g = w[:, None] * (E / E.sum(axis=1, keepdims=True) - Y)
        rows = (top + np.log(E.sum(axis=1, keepdims=True)))[:, 0] - (Y * eta).sum(axis=1)
        gradient = np.vstack([Z.T @ g + 2 * lambda2 * B[:-1], g.sum(axis=0)])
        return w @ rows + lambda2 * (B[:-1] ** 2).sum(), gradient.ravel()

    start = np.zeros(3 * (len(support) + 1))
    return minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def best_of_size(X, Y, k, *, weights=None, offset=0.0, v=None, forced=(), lambda2=0.0):
    """(objective, support) of the best k columns beside the forced ones, by least squares of each
    response on every subset.
    """
    w = np.ones(len(X)) if weights is None else weights
    w, v = w / w.sum(), np.ones(Y.shape[1]) if v is None else np.asarray(v)
    R, Z = Y - offset, X - w @ X
    R = R - w @ R
    s = np.sqrt(w @ Z**2)
    Z = Z / np.where(s > 1e-12, s, 1.0) * (s > 1e-12)
    free = [j for j in range(X.shape[1]) if j not in forced and s[j] > 1e-12]
    found = []
    for chosen in combinations(free, k):
        S = sorted({*chosen, *(j for j in forced if s[j] > 1e-12)})
        A = np.vstack([np.sqrt(w)[:, None] * Z[:, S], np.sqrt(2 * lambda2) * np.eye(len(S))])
        total = 0.0
        for r in range(Y.shape[1]):
            y = np.append(np.sqrt(w) * R[:, r], np.zeros(len(S)))
            b = np.linalg.lstsq(A, y, rcond=1e-12)[0] if S else np.empty(0)
            total += v[r] * 0.5 * ((y - A @ b) ** 2).sum()
        found.append((total, S))
    return min(found)


def responses_drawn(seed, n=30, p=6, r=3):
    """Correlated columns, with a copy, a constant and a combination among them by turns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    if seed % 4 == 1:
        X[:, 3] = X[:, 0]
    if seed % 4 == 2:
        X[:, 2], X[:, 4] = 5.0, X[:, 0] - 2 * X[:, 1]
    Y = X[:, :3] @ rng.standard_normal((3, r)) + rng.standard_normal((n, r)) + 10.0
    if seed % 4 == 3:
        Y = np.column_stack([Y, Y[:, 0] - Y[:, 1]])
    return X, Y, rng


def class_model(Z, codes, weights, offset, intercept):
    """The working columns, all of them, of a multinomial problem with the columns Z (w, n); class
    numbers, weights (n,) and offsets (n, r).
    """
    path = l0path.fit(
        Z.T,
        codes,
        loss="multinomial",
        max_k=0,
        fit_intercept=intercept,
        sample_weight=weights,
        offset=offset,
        standardize=False,
        certify=False,
    )
    model = make_model(pose(path._source.data))
    model.grow(np.arange(len(Z)))
    return model
