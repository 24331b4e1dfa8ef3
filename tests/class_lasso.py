"""The least penalized loss of several classes by a slow twin: proximal gradients of the r
coefficients of every column, none of which is tied to the others.
"""

import numpy as np

STEPS = 40_000  # at most
SMALL = 1e-10  # a violation of the conditions of optimality, at which it ends


def standardized(X, w, scaled=True, intercept=True):
    """The columns about their weighted means and over their lengths."""
    Z = X - w @ X if intercept else X
    s = np.sqrt(w @ Z**2)
    return Z / np.where(s > 1e-12, s, 1.0) if scaled else Z


def slopes(Z, Y, w, offset, B, level, lambda2):
    """(loss and ridge, its slopes in B (k, r), in the levels (r,)) for indicators Y (n, r)."""
    eta = offset + Z @ B + level
    top = eta.max(axis=1, keepdims=True)
    E = np.exp(eta - top)
    total = E.sum(axis=1, keepdims=True)
    rows = (top + np.log(total))[:, 0] - (Y * eta).sum(axis=1)
    g = w[:, None] * (E / total - Y)
    return w @ rows + lambda2 * (B**2).sum(), Z.T @ g + 2.0 * lambda2 * B, g.sum(axis=0)


def violation(G, B, lambda1):
    """The largest distance of slopes G of a loss from what subgradients of lambda1 ||B||_1 take."""
    away = np.where(
        B != 0.0, np.abs(G + lambda1 * np.sign(B)), np.maximum(np.abs(G) - lambda1, 0.0)
    )
    return float(away.max(initial=0.0))


def least(Z, Y, w, lambda1, lambda2=0.0, offset=0.0, intercept=True):
    """(the least value, B (k, r), level (r,)) on all of the columns Z (n, k), which are taken as
    they are.
    """
    k, r = Z.shape[1], Y.shape[1]
    # the curvature in the predictors of a row is 1/2 at most
    A = np.hstack([Z, np.ones((len(Z), int(intercept)))])
    step = 1.0 / (0.5 * np.linalg.norm((A.T * w) @ A, 2) + 2.0 * lambda2 + 1e-12)
    x, before, t = np.zeros((k + 1, r)), np.zeros((k + 1, r)), 1.0
    ahead, value = x, np.inf
    for number in range(STEPS):
        _, G, g = slopes(Z, Y, w, offset, ahead[:k], ahead[k], lambda2)
        x = ahead - step * np.vstack([G, g * intercept])
        x[:k] = np.sign(x[:k]) * np.maximum(np.abs(x[:k]) - step * lambda1, 0.0)
        if ((ahead - x) * (x - before)).sum() > 0.0:  # it would go back: momentum starts anew
            t = 1.0
        now = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        ahead, before, t = x + (t - 1.0) / now * (x - before), x, now
        if number % 50 == 0:
            value, G, g = slopes(Z, Y, w, offset, x[:k], x[k], lambda2)
            if max(violation(G, x[:k], lambda1), np.abs(g * intercept).max()) <= SMALL:
                break
    return value + lambda1 * np.abs(x[:k]).sum(), x[:k], x[k]
