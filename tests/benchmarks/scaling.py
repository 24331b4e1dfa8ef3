"""Time of a squared support path against n, p, K and, for sparse X, density: each doubled in turn."""
import itertools

import scipy.sparse as sp
from common import arguments, in_turn, instance

import l0path


def main():
    """Seconds and growth factor for each doubling."""
    args = arguments("scaling", n=(1000, "rows"), p=(10_000, "columns"), k=(25, "largest size"))
    for what, values in {"n": [args.n, 2 * args.n, 4 * args.n], "p": [args.p, 2 * args.p, 4 * args.p], "K": [args.k, 2 * args.k, 4 * args.k]}.items():
        times = []
        for value in values:
            size = {"n": args.n, "p": args.p, "K": args.k, what: value}
            X, y = instance(seed=1, loss="squared", n=size["n"], p=size["p"], k=10)
            times.append(in_turn({"path": lambda X=X, y=y, K=size["K"]: l0path.fit(X, y, max_k=K)}, args.repeats)["path"][0])
        print(f"{what:8s} {values}: " + "  ".join(f"{t:.3f} s" for t in times) + "   growth " + " ".join(f"{b / a:.2f}" for a, b in itertools.pairwise(times)))
    times, densities = [], [0.001, 0.002, 0.004]
    for density in densities:
        X = sp.random(10 * args.n, 2 * args.p, density, format="csc", random_state=1)
        y = X[:, :10].sum(axis=1)
        y = y + y.std() * instance(seed=2, loss="squared", n=10 * args.n, p=1, k=1)[0][:, 0]
        times.append(in_turn({"path": lambda X=X, y=y: l0path.fit(X, y, max_k=args.k)}, args.repeats)["path"][0])
    print(f"density  {densities} (CSC, {10 * args.n} x {2 * args.p}): " + "  ".join(f"{t:.3f} s" for t in times))


if __name__ == "__main__":
    main()
