"""Knockoff columns: how far each may be from its original (s), and the two constructions, for a
fixed X and for rows drawn from a normal distribution.

Sigma (p, p) is a correlation matrix, D = diag(s) with 0 <= s and 2 Sigma - D positive semidefinite;
the joint second moments of (X, X~) are then

    [ Sigma      Sigma - D ]
    [ Sigma - D  Sigma     ]

for the Gram matrix of a fixed X (Barber & Candes, Annals of Statistics 43, 2015, equation (1.3)),
or for the distribution of a row (Candes, Fan, Janson & Lv, JRSS B 80, 2018, equation (3.2)).
"""

import numpy as np
from scipy import linalg

from ..errors import refuse_masked

METHODS = ("mvr", "sdp", "equi")
MOST_SWEEPS = 100  # of the coordinate descents, at most
LAST_WEIGHT = 2e-4  # weight of the barrier at which "sdp" stops
INTERIOR = 1e-9  # relative distance that is kept from the boundary of 2 Sigma >= D


def distances(sigma, method="mvr"):
    """s (p,) for a correlation matrix sigma (p, p).

    "equi": s_j = min(1, 2 lambda_min(Sigma)) for all j (Barber & Candes 2015, section 2.1).
    "sdp": maximize sum s_j, s <= 1 (the same), by coordinate ascent on sum s_j + mu log det(2 Sigma
    - D), mu falling to nothing (Askari, Rebjock, d'Aspremont & El Ghaoui, FANOK, 2021). "mvr":
    minimize the trace of the inverse of the joint matrix, tr D^-1 + tr (2 Sigma - D)^-1 up to a
    factor (Spector & Janson, Annals of Statistics 50, 2022): columns that are hard to tell
        from their knockoffs given all others are what costs power.
    """
    p = len(sigma)
    least = float(linalg.eigvalsh(sigma, subset_by_index=[0, 0])[0])
    if least <= 1e-10:
        raise ValueError(
            "the covariance of X is singular (least eigenvalue of the correlation matrix "
            f"{least:.2g}), so some features have no knockoff that differs; drop features that "
            "others determine"
        )
    equal = np.full(p, min(1.0, 2.0 * least) * (1.0 - INTERIOR))
    if method == "equi" or p == 1:
        return equal
    s = 0.5 * equal
    mu, falling = (
        1.0,
        method == "sdp",
        # a smaller weight at the start drives single columns to the boundary, beyond what rounding
        # bears
    )
    for _ in range(MOST_SWEEPS):
        before = s.copy()
        M = np.asfortranarray(linalg.inv(2.0 * sigma - np.diag(s)))
        for j in range(p):
            column, d = M[:, j].copy(), M[j, j]
            size = np.sqrt(column @ column)
            step = (
                min(max(s[j] + 1.0 / d - mu, 0.0), 1.0) - s[j]
                if falling
                else (1.0 - size * s[j]) / (size + d)
            )  # where the derivative along s_j is zero
            s[j] += step
            M = linalg.blas.dger(
                step / (1.0 - step * d), column, column, a=M, overwrite_a=1
            )  # Sherman & Morrison
        done = np.abs(s - before).max() < 1e-3 * s.max()
        if done and (not falling or mu < LAST_WEIGHT):
            break
        mu = max(0.8 * mu, 0.5 * LAST_WEIGHT)
    top = float(
        linalg.eigvalsh(np.diag(s), 2.0 * sigma, subset_by_index=[p - 1, p - 1])[0]
    )  # rounding must not leave the cone
    # the weight at which "sdp" stops lets all of s fall to 0 beside nearly dependent columns
    s *= min(1.0, (1.0 - INTERIOR) / max(top, INTERIOR))
    return s if s.any() else equal


def correlation(covariance):
    """(standard deviations (p,), correlation matrix) of a covariance matrix."""
    scale = np.sqrt(np.diag(covariance))
    return scale, covariance / np.outer(scale, scale)


def root(matrix):
    """C with C'C = matrix, for a positive semidefinite matrix up to rounding."""
    values, vectors = linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


def fixed_knockoffs(X, weights, intercept, method, rng):
    """(X~ (n, p), s, correlation matrix): knockoffs of a fixed X, n >= 2 p + intercept: with Z the
    columns of X less their weighted means, of weighted norm 1, and inner products weighted,

        Z~ = Z (I - Sigma^-1 D) + U C,   U'Z = 0, U'1 = 0, U'U = I,
        C'C = 2 D - D Sigma^-1 D                      Barber & Candes (2015), equation (2.1)

    so that Z~'Z~ = Z'Z = Sigma and Z'Z~ = Sigma - D. U is the orthogonal complement turned at
    random by rng. weights (n,) > 0 are precisions of the rows.
    """
    n, p = X.shape
    half = np.sqrt(weights / weights.sum())
    center = weights @ X / weights.sum() if intercept else np.zeros(p)
    Z = (X - center) * half[:, None]
    size = np.linalg.norm(Z, axis=0)
    Z /= size
    sigma = Z.T @ Z
    s = distances(sigma, method) if isinstance(method, str) else checked(method, sigma)
    G = rng.standard_normal((n, p))
    held = np.column_stack([half, Z]) if intercept else Z
    basis = linalg.qr(held, mode="economic")[0]
    for _ in range(2):  # twice is enough for orthogonality to rounding
        G -= basis @ (basis.T @ G)
    U = linalg.qr(G, mode="economic")[0]
    inverse_D = linalg.solve(sigma, np.diag(s), assume_a="pos")
    knockoff = Z - Z @ inverse_D + U @ root(2.0 * np.diag(s) - s[:, None] * inverse_D)
    return knockoff / half[:, None] * size + center, s, sigma


def model_knockoffs(X, mean, covariance, method, rng):
    """(X~ (n, p), s, correlation matrix): for rows x ~ N(mean, covariance), with D and Sigma in
    units of the covariance,

        x~ given x ~ N(x - D Sigma^-1 (x - mean), 2 D - D Sigma^-1 D)

    Candes et al. (2018), section 3.1.1, equation (3.2).

    For other distributions these are second-order knockoffs: means and covariances alone are
    exchangeable.
    """
    scale, sigma = correlation(covariance)
    s = distances(sigma, method) if isinstance(method, str) else checked(method, sigma)
    Z = (X - mean) / scale
    inverse_D = linalg.solve(sigma, np.diag(s), assume_a="pos")
    noise = rng.standard_normal(Z.shape) @ root(2.0 * np.diag(s) - s[:, None] * inverse_D)
    return (Z - Z @ inverse_D + noise) * scale + mean, s, sigma


def checked(s, sigma):
    """s as the user gave it, in [0, 2 Sigma]."""
    refuse_masked(s, "s")
    s = np.asarray(s, dtype=np.float64).ravel()
    if s.size == 1:
        s = np.full(len(sigma), s[0])
    if s.shape != (len(sigma),) or not np.isfinite(s).all() or (s < 0).any():
        raise ValueError(
            f"s has shape {s.shape}: give one number >= 0, one for each of the {len(sigma)} "
            f"features that compete, or one of {', '.join(METHODS)}"
        )
    least = float(linalg.eigvalsh(2.0 * sigma - np.diag(s), subset_by_index=[0, 0])[0])
    if least < -1e-8:
        raise ValueError(
            f"s is too large: 2 Sigma - diag(s) has the eigenvalue {least:.2g}; it must be "
            "positive semidefinite (Sigma is the correlation matrix); choose smaller values, or "
            "s='mvr'"
        )
    return s
