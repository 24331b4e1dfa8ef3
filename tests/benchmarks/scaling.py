"""Time of a whole path against n, p, K and, for sparse X, density: each doubled twice, the three
sizes in turn, growth factors against a target.
"""

import itertools
import statistics

import numpy as np
from common import arguments, in_turn, instance, ratio
from peers import chosen, contestants

# the most that time may grow when n, p or the density is doubled; K has none, because the work per
# size grows with the size
TARGET = 2.2


def sparse_instance(n, p, density, loss):
    """(X CSC, y): uniform entries at random places, the first 200 columns carry the signal."""
    import scipy.sparse as sp

    X, rng = sp.random(n, p, density, format="csc", random_state=1), np.random.default_rng(2)
    signal = np.asarray(X[:, :200].sum(axis=1)).ravel()
    signal = (signal - signal.mean()) / signal.std()
    return X, signal + rng.standard_normal(n) if loss == "squared" else np.where(
        rng.random(n) < 1 / (1 + np.exp(-2 * signal)), 1.0, -1.0
    )


def rows(args):
    """[(label, what varies, values, maker of (X, y, K))] of the table."""
    cut = 25 if args.smoke else 1
    large, few, small, K = (
        [args.large // 4 // cut, args.large // 2 // cut, args.large // cut],
        1000 if not args.smoke else 200,
        args.large // 10 // cut,
        args.k if not args.smoke else 4,
    )
    table = []
    for loss in ("squared", "logistic"):

        def dense(n, p, loss=loss):
            return instance(
                seed=1,
                loss=loss,
                n=n,
                p=p,
                k=10 if loss == "squared" else 5,
                snr=5.0 if loss == "squared" else 1.0,
            )

        table += [
            (f"{loss} p, n={few}, K={K}", "p", large, lambda v, dense=dense: (*dense(few, v), K)),
            (f"{loss} n, p={few}, K={K}", "n", large, lambda v, dense=dense: (*dense(v, few), K)),
            (
                f"{loss} K, n={few}, p={small}",
                "K",
                [K // 2, K, 2 * K],
                lambda v, dense=dense: (*dense(few, small), v),
            ),
            (
                f"{loss} density, {small} x {2 * small}, K={K // 2}",
                "density",
                [0.001, 0.002, 0.004],
                lambda v, loss=loss: (*sparse_instance(small, 2 * small, v, loss), K // 2),
            ),
        ]
    return [
        row
        for row in table
        if not args.only or any(part in row[0] for part in args.only.split("|"))
    ]


def main():
    """A line per row and contestant: median seconds and peak memory at each value, growth
    factors.
    """
    args = arguments(
        "scaling of whole paths",
        large=(100_000, "largest n and p"),
        k=(50, "middle size K"),
        only=("", "parts of names of rows, separated by |"),
        peers=("abess", "all, none, or names separated by commas"),
    )
    names = chosen(args.peers)
    print(
        "# growth = median of (time at a value / time at the value before), repetition by "
        f"repetition; target for n, p and density: at most {TARGET} per doubling; MB = peak beyond "
        "X"
    )
    for label, what, values, make in rows(args):
        calls, loss = {}, label.split()[0]
        for value in values:
            X, y, K = make(value)
            calls.update(
                {
                    (name, value): call
                    for name, call in contestants(X, y, loss, K, names, args.threads).items()
                }
            )
        timings = in_turn(
            {f"{name} at {value}": call for (name, value), call in calls.items()}, args
        )
        for name in dict.fromkeys(name for name, _ in calls):
            got = [timings.get(f"{name} at {value}") for value in values]
            if None in got:
                continue
            growth = [ratio(b, a) for a, b in itertools.pairwise(got)]
            verdict = f"worst {max(growth):.2f}, typical {statistics.geometric_mean(growth):.2f}"
            verdict += (
                ""
                if what == "K" or name != "l0path" or args.smoke
                else f", target {TARGET} {'met' if max(growth) <= TARGET else 'missed'}"
            )
            reads = (
                f"   reads {[int(t.result.rounds['reads'].max()) for t in got]}"
                if name == "l0path"
                else ""
            )
            print(
                f"{label:42s} {f'{what} = {values}':34s} {name:13s} "
                + "  ".join(f"{t.median:8.3f} s {t.peak:5.0f} MB" for t in got)
                + "   growth "
                + " ".join(f"{g:.2f}" for g in growth)
                + f" ({verdict})"
                + reads,
                flush=True,
            )


if __name__ == "__main__":
    main()
