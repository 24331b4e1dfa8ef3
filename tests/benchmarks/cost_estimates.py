"""The seconds that `fit_cost` tells beside the processor time of fits on one thread."""

import itertools
import statistics
import time

import numpy as np
from common import arguments

import l0path

SIZES = [(60, 10), (120, 40), (190, 25), (500, 30)]


def processor_seconds(call):
    """Of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def main():
    """A line per problem: two classes, with a weak and a clear signal."""
    args = arguments("what fits were told to take", threads=(1, "threads of all pools"))
    print("# processor seconds of a fit, median, and the interval that fit_cost tells")
    for (n, p), signal in itertools.product(SIZES[:1] if args.smoke else SIZES, (0.3, 1.0)):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        y = signal * (X[:, 0] - X[:, 1]) + rng.logistic(size=n) > 0
        given = {"loss": "logistic", "lambda2": 1e-3, "n_jobs": 1}

        def fit(X=X, y=y, given=given):
            l0path.fit(X, y, **given)

        fit()  # kernels are compiled
        took = statistics.median(processor_seconds(fit) for _ in range(args.repeats))
        low, high = l0path.fit_cost(X, y, **given).seconds
        verdict = "within" if low <= took <= high else "outside"
        told = f"told {low:.4f} to {high:.4f}, {verdict}"
        print(f"n={n:4d} p={p:3d} signal {signal}: {took:.4f}, {told}")


if __name__ == "__main__":
    main()
