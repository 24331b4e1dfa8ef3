"""Paths of a design on a Dask cluster of this machine against the same work in one process, in
turn, the same number of threads in all; bytes that traveled.
"""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from common import arguments, in_turn, instance, ratio

CASES = [
    ("squared", 1000, 100_000, 30),
    ("squared", 1000, 400_000, 30),
    ("logistic", 1000, 50_000, 15),
    ("logistic", 1000, 300_000, 15),
]  # loss, n, p, K; the larger X has 3.2 and 2.4 GB
TARGET = 1.5


def main():
    """Print two lines for each case."""
    args = arguments(
        "paths on a Dask cluster of this machine against one process",
        only=("", "squared or logistic"),
        workers=(2, "worker processes of one thread each"),
    )
    import distributed

    import l0path

    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=args.workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for loss, n, p, K in CASES:
            if args.only and args.only != loss:
                continue
            X, y = instance(5, loss, n, p // 20 if args.smoke else p, 20)
            file = Path(folder) / "X.npy"
            np.save(file, X)
            design, options = (
                l0path.designs.blocks(file, client=client),
                {"loss": loss, "max_k": K, "lambda2": 1e-3},
            )
            calls = {
                "l0path on the cluster": partial(l0path.fit, design, y, **options),
                "l0path in one process": partial(l0path.fit, X, y, **options),
            }
            timing = in_turn(calls, args)
            a, b = (timing[name] for name in calls)
            sent, received, passes = design.sent, design.received, design.passes
            l0path.fit(design, y, **options)
            same = all(
                np.array_equal(s.support, t.support)
                for s, t in zip(a.result._solutions, b.result._solutions, strict=True)
            )
            apart = float(np.abs(a.result.details.objective / b.result.details.objective - 1).max())
            print(
                f"{loss}: n = {n}, p = {X.shape[1]}, K = {K}: {a.median:.2f} s on {args.workers} "
                f"workers, {b.median:.2f} s in one process, "
                f"ratio {ratio(a, b):.2f} (target at most {TARGET})"
            )
            print(
                f"  same supports: {same}, largest relative difference of an objective "
                f"{apart:.1e}; a path: {design.passes - passes:.1f} passes, "
                f"{(design.sent - sent) / 1e6:.1f} MB sent, "
                f"{(design.received - received) / 1e6:.1f} MB received; X has {X.nbytes / 1e6:.0f} "
                f"MB, 8 p bytes are {8e-6 * X.shape[1]:.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
