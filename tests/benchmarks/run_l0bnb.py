"""One problem solved by l0bnb, in the environment of that package: run_l0bnb.py X.npy y.npy '{"l0":
..., "l2": ..., "m": ..., "gap": ..., "limit": ..., "support": [...]}' prints a line of JSON.

    minimize over |b_j| <= m:  1/2 ||y - X b||^2 + l0 ||b||_0 + l2 ||b||^2

X has centered columns, y is centered; support is that of the warm start. l0bnb is called once on a
small problem before, so that its kernels are compiled. Nothing of l0path is imported.
"""

import json
import sys
import time

import numpy as np
from l0bnb import BNBTree


def solve(X, y, task):
    """What l0bnb returns, with the seconds that it took and the number of its nodes."""
    start = np.zeros(X.shape[1])
    start[task["support"]] = 1.0
    began = time.perf_counter()
    tree = BNBTree(X, y)
    found = tree.solve(
        task["l0"],
        task["l2"],
        task["m"],
        gap_tol=task["gap"],
        warm_start=start,
        time_limit=task["limit"],
    )
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "gap": float(found.gap),
        "cost": float(found.cost),
        "nodes": tree.number_of_nodes,
        "support": np.flatnonzero(found.beta).tolist(),
    }


def main():
    X, y, task = np.load(sys.argv[1]), np.load(sys.argv[2]), json.loads(sys.argv[3])
    few = (
        np.ascontiguousarray(X[:, :200]) if X.flags.c_contiguous else np.asfortranarray(X[:, :200])
    )
    solve(few, y, {**task, "limit": 5.0, "support": [0, 1]})
    print(json.dumps(solve(X, y, task)))


if __name__ == "__main__":
    main()
