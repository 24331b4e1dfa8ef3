"""Every size of random small problems of every response against enumeration, at effort "high".

    python tests/enumerated_families.py                   # 100 instances of each, some minutes
    python tests/enumerated_families.py --count 20 cox    # fewer, of some losses

prints for each loss the sizes compared, how many are the enumerated optimum up to 1e-8 of it, and
by how much of it the lowest one is below. Weights, offsets, forced and degenerate columns are among
the instances. `tests/test_enumerated_families.py` checks the counts.
"""

import argparse
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
import oracles
import survival
from asked import loss_with
from class_samples import negative_log

import l0path
from l0path.errors import SeparationWarning
from l0path.solvers import LocalSearch

SUMS = tuple(oracles.EVERY)
LOSSES = (*SUMS, "several", "multinomial", "ordinal", "cox")
GIVEN = {"negative_binomial": 1.345, "tweedie": 1.6, "quantile": 0.3}
LARGEST_PREDICTOR = 25.0  # beyond it classes are separated, and nothing has a minimum


class Instance(NamedTuple):
    """X, y and the arguments of `fit`; value(support, path): the least value on a support, None
    where there is none; the forced columns.
    """

    X: np.ndarray
    y: object
    given: dict
    value: Callable
    forced: list


class Count(NamedTuple):
    """Instances and sizes that were compared, sizes above the enumerated optimum by more than 1e-8
    of it, and by how much of it the lowest one is below.
    """

    instances: int
    sizes: int
    above: int
    below: float


def degenerate(X, rng):
    """Make the last column of X a copy, the opposite, a multiple, a constant or a combination."""
    a, b = X[:, 0].copy(), X[:, 1].copy()
    kinds = (a, -a, 3.0 * a, np.full(len(X), 2.0), a + b, 1.0 - b)
    X[:, -1] = kinds[rng.integers(len(kinds))]


def of_sum(loss, i, rng):
    """An instance of a loss that is a sum over rows, by the oracles."""
    d = oracles.instance(loss, rng, (4, 6))
    d["delta"] = GIVEN.get(loss, d["delta"])
    if i % 3 == 1:
        degenerate(d["X"], rng)
    if loss in ("negative_binomial", "tweedie", "poisson") and not d["lambda1"] and i % 2:
        d["lambda2"] = max(d["lambda2"], 1e-3)
    same, given = oracles.restricted_keywords(d), oracles.fit_keywords(d)

    def value(support, path):
        width = {"gamma": path._loss_record().width} if loss == "quantile" else {}
        try:
            return oracles.restricted(d["X"], d["y"], support, **(same | width))[0]
        except RuntimeError:  # it found no minimum
            return None

    return Instance(d["X"], d["y"], given, value, d["forced"])


def least(smooth, size):
    """The least value of smooth(x) -> (value, gradient, largest predictor), convex, by Newton steps
    with differences of gradients; None where the predictors grow without end.
    """
    x, h = np.zeros(size), 1e-5
    value, g, _ = smooth(x)
    for _ in range(200):
        steps = h * np.eye(size)
        H = np.array([(smooth(x + e)[1] - smooth(x - e)[1]) / (2 * h) for e in steps])
        curvature, V = np.linalg.eigh((H + H.T) / 2)
        kept = curvature > 1e-8 * max(curvature.max(initial=0.0), 1e-300)
        step = V[:, kept] @ ((V.T @ g)[kept] / curvature[kept])
        size_of_step = 1.0
        while size_of_step > 1e-9:
            new, slope, top = smooth(x - size_of_step * step)
            if new <= value + 1e-16 * abs(value):
                break
            size_of_step /= 2
        else:
            return value
        if top > LARGEST_PREDICTOR:
            return None
        gain, x, value, g = value - new, x - size_of_step * step, new, slope
        if gain <= 1e-16 * abs(value) and np.abs(g).max(initial=0.0) < 1e-9:
            return value
    return value


def softmax_loss(Z, Y, w, offset, lambda2):
    """x (classes times columns and intercept) -> value, gradient, largest predictor."""
    A = np.column_stack([Z, np.ones(len(Z))])
    shrunk = np.append(np.ones(Z.shape[1]), 0.0)[:, None] * lambda2

    def smooth(x):
        B = x.reshape(A.shape[1], -1)
        eta = offset + A @ B
        top = eta.max(axis=1, keepdims=True)
        E = np.exp(eta - top)
        total = E.sum(axis=1, keepdims=True)
        value = w @ (np.log(total) + top - (Y * eta).sum(axis=1, keepdims=True))[:, 0]
        gradient = A.T @ (w[:, None] * (E / total - Y)) + 2 * shrunk * B
        return value + (shrunk * B**2).sum(), gradient.ravel(), np.abs(eta - offset).max()

    return smooth, A.shape[1] * Y.shape[1]


def ordered_loss(Z, codes, w, offset, lambda2):
    """x (coefficients, first threshold, logarithms of the gaps) -> value, gradient, largest
    predictor. The gaps are exponentials, so the function is not convex in them.
    """
    k, m = Z.shape[1], int(codes.max())

    def smooth(x):
        b, gaps = x[:k], np.exp(np.clip(x[k + 1 :], -40, 40))
        t = x[k] + np.concatenate([[0.0], np.cumsum(gaps)])
        eta = offset + Z @ b
        value, by_eta, by_t = negative_log(codes, eta, t, w)
        by_b = Z.T @ by_eta + 2 * lambda2 * b
        after = np.cumsum(by_t[::-1])[::-1]
        gradient = np.concatenate([by_b, after[:1], gaps * after[1:]])
        return value + lambda2 * b @ b, gradient, np.abs(eta - offset).max()

    return smooth, k + m


def columns_and_options(i, rng, shape):
    """(X, weights or None, offset or None, forced columns, lambda2) of n rows, offsets of a
    shape.
    """
    n, p = shape[0], int(rng.integers(4, 7))
    X = (rng.standard_normal((n, p)) + 0.6 * rng.standard_normal((n, 1))) * rng.uniform(0.5, 2, p)
    if i % 3 == 1:
        degenerate(X, rng)
    weights = (None, rng.uniform(0.3, 2.0, n), rng.integers(1, 4, n).astype(float))[i % 3]
    offset = 0.4 * rng.standard_normal(shape) if rng.random() < 0.4 else None
    forced = [int(rng.integers(p))] if rng.random() < 0.3 else []
    return X, weights, offset, forced, float(rng.choice([0.0, 0.01, 0.1]))


def words(weights, offset, forced, lambda2):
    """Arguments of `fit`."""
    given = {"sample_weight": weights, "offset": offset, "always_include": forced or None}
    return {name: v for name, v in given.items() if v is not None} | {"lambda2": lambda2}


def of_several(i, rng):
    """Three responses, by least squares of each."""
    X, weights, offset, forced, lambda2 = columns_and_options(i, rng, (35, 3))
    Y = X[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((35, 3))
    v = rng.uniform(0.5, 2.0, 3)
    w = np.ones(35) if weights is None else weights
    Z, root = survival.standardized(X, w)[0], np.sqrt(w / w.sum())
    R = Y - (0.0 if offset is None else offset)
    R = root[:, None] * (R - w @ R / w.sum())

    def value(support, path):
        k = len(support)
        A = np.vstack([root[:, None] * Z[:, support], np.sqrt(2 * lambda2) * np.eye(k)])
        targets = np.vstack([R, np.zeros((k, 3))])
        b = np.linalg.lstsq(A, targets, rcond=1e-11)[0]
        return float(v @ ((targets - A @ b) ** 2).sum(axis=0) / 2)

    given = words(weights, offset, forced, lambda2)
    given["loss"] = loss_with("squared", response_weights=v)
    return Instance(X, Y, given, value, forced)


def of_classes(ordered, i, rng):
    """Three classes, without an order or with one, by Newton steps."""
    shape = (50,) if ordered else (50, 3)
    X, weights, offset, forced, lambda2 = columns_and_options(i, rng, shape)
    if ordered:
        codes = np.digitize(X[:, 0] - X[:, 1] + 1.5 * rng.logistic(size=50), [-1.0, 1.0])
    else:
        eta = 0.8 * X[:, :2] @ rng.standard_normal((2, 3))
        codes = (eta + rng.gumbel(size=(50, 3))).argmax(axis=1)
    codes[:3] = [0, 1, 2]
    w = np.ones(50) if weights is None else weights
    Z, shift = survival.standardized(X, w)[0], 0.0 if offset is None else offset
    w = w / w.sum()

    def value(support, path):
        part = Z[:, support]
        if ordered:
            return least(*ordered_loss(part, codes, w, shift, lambda2))
        Y = (codes[:, None] == np.arange(3)).astype(float)
        return least(*softmax_loss(part, Y, w, shift, lambda2))

    loss = {"loss": "ordinal" if ordered else "multinomial"}
    return Instance(X, codes, words(weights, offset, forced, lambda2) | loss, value, forced)


def of_survival(i, rng):
    """Survival times with late entry or strata by turns, by a general solver."""
    X, weights, offset, forced, lambda2 = columns_and_options(i, rng, (36,))
    times = survival.draw(rng, 36, eta=X[:, 0] - X[:, 1], entry=i % 4 == 1, strata=1 + (i % 5 == 2))
    if weights is not None:
        times = times._replace(weights=weights)
    Z, shift = (
        survival.standardized(X, times.weights)[0],
        np.zeros(36) if offset is None else offset,
    )
    efron = i % 2 == 0

    def value(support, path):
        problem = survival.Problem(Z[:, support], times, shift, efron=efron, lambda2=lambda2)
        value, b = survival.minimum(problem)
        return None if np.abs(problem.Z @ b).max() > LARGEST_PREDICTOR else value

    start = [times.start] if np.isfinite(times.start).any() else []
    given = words(weights, offset, forced, lambda2)
    given["loss"] = loss_with("cox", ties="efron" if efron else "breslow")
    given |= {"strata": times.stratum} if times.stratum.max() else {}
    return Instance(X, np.column_stack([*start, times.stop, times.event]), given, value, forced)


def instance(loss, i, rng):
    """The i-th instance of a loss."""
    if loss in SUMS:
        return of_sum(loss, i, rng)
    if loss == "several":
        return of_several(i, rng)
    return of_survival(i, rng) if loss == "cox" else of_classes(loss == "ordinal", i, rng)


def best_of_sizes(one, path):
    """[least value of k columns beside the forced ones] for k = 0, 1, ..., as long as every support
    of the size has a minimum.
    """
    free, out = [j for j in range(one.X.shape[1]) if j not in one.forced], []
    for k in range(len(free) + 1):
        found = [
            one.value(sorted({*chosen, *one.forced}), path) for chosen in combinations(free, k)
        ]
        if any(value is None for value in found):
            break
        out.append(min(found))
    return out


def compared(one):
    """[(objective less the enumerated optimum) / optimum] of every size of an instance that has
    one. A size that the path does not reach has the objective of the last one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        path = l0path.fit(
            one.X, one.y, max_k=99, algorithm=LocalSearch(effort="high"), certify=False, **one.given
        )
    kept = [s for s in path._solutions if not s.separated]
    sizes = {s.k: s.objective for s in kept}
    if path.loss.name == "quantile":  # the support is the best one of the smoothed loss
        sizes = {s.k: one.value(s.support, path) for s in kept}
    ends = any(s.separated for s in path._solutions)
    out = []
    for k, best in enumerate(best_of_sizes(one, path)):
        if k not in sizes and ends:
            break
        found = sizes.get(k, sizes[max(sizes)])
        out.append((found - best) / max(abs(best), 1e-3))
    return out


def run(loss, count, seed=7):
    """The `Count` of so many instances of a loss."""
    rng, instances, ahead = np.random.default_rng([seed, LOSSES.index(loss)]), 0, []
    for i in range(3 * count):
        found = compared(instance(loss, i, rng))
        if len(found) > 1:
            instances, ahead = instances + 1, [*ahead, *found]
        if instances == count:
            break
    ahead = np.array(ahead)
    return Count(instances, ahead.size, int((ahead > 1e-8).sum()), max(-float(ahead.min()), 0.0))


def main():
    """Print a row for each loss."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("losses", nargs="*", default=list(LOSSES), help="losses (default: all)")
    parser.add_argument("--count", type=int, default=100, help="instances of each (default 100)")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print("| loss | instances | sizes | equal to 1e-8 | lowest below the optimum by |")
    print("|---|---|---|---|---|", flush=True)
    for loss in options.losses:
        found = run(loss, options.count, options.seed)
        share = 1.0 - found.above / found.sizes
        print(
            f"| {loss} | {found.instances} | {found.sizes} | {100 * share:.2f} % | "
            f"{found.below:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
