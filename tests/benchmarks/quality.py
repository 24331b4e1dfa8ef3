"""Supports against peers: for every instance and size, the objective of our support and the best that peers reach, all refitted by the same rule."""
import time

import numpy as np
from common import INSTANCES, arguments, instance, objective, reference

import l0path


def supports_of(X, y, loss, algorithm, grid):
    """{k: support} of a path with lambda2 = 1e-6 up to k = 50, and the seconds."""
    started = time.perf_counter()
    path = l0path.fit(X, y, loss=loss, lambda2=1e-6, max_k=50, algorithm=algorithm, grid=grid, n_lambda0=400 if grid == "lambda0" else 100)
    seconds = time.perf_counter() - started
    out = {}
    for s in path.solutions:
        if s.k and (s.k not in out or s.loss + s.shrinkage < out[s.k][0]):
            out[s.k] = (s.loss + s.shrinkage, s.support)
    return {k: support for k, (_, support) in out.items()}, seconds


def main():
    """Print a row per instance: cells, share not worse and strictly better than the best peer, worst cell, mean log ratio."""
    args = arguments("quality of supports", reference=("../shared/reference", "folder of NAME.json with peers' objectives"), algorithm=("swap", "swap, cd, CDPSI, fast or high"),
                     grid=("support", "support or lambda0"), only=("", "instances, separated by commas"), peer=("", "compare with this peer only, e.g. L0Learn_CD"))
    algorithm = l0path.solvers.LocalSearch(effort=args.algorithm) if args.algorithm in ("fast", "high") else args.algorithm
    peers_of, total = reference(args.reference), []
    print(f"{'instance':10s} {'seconds':>8s} {'cells':>6s} {'not worse':>10s} {'better':>8s} {'worst':>10s} {'mean log ratio':>15s}")
    for name in (args.only.split(",") if args.only else INSTANCES):
        X, y = instance(**INSTANCES[name])
        supports, seconds = supports_of(X, y, INSTANCES[name]["loss"], algorithm, args.grid)
        peers = {peer: v for peer, v in peers_of.get(name, {}).items() if not args.peer or peer == args.peer}
        best = {k: min(v[k] for v in peers.values() if k in v) for k in range(1, 51) if any(k in v for v in peers.values())}
        ratios = {k: objective(X, y, supports[k], INSTANCES[name]["loss"]) / best[k] for k in supports if k in best}
        r = np.array(list(ratios.values())) - 1
        total += r.tolist()
        if r.size:
            worse = [k for k, v in ratios.items() if v - 1 > 1e-6]
            print(f"{name:10s} {seconds:8.2f} {r.size:6d} {(r <= 1e-6).mean():10.1%} {(r < -1e-6).mean():8.1%} {r.max():+10.1e} {np.log1p(r).mean():+15.5f}   worse at k = {worse}")
        else:
            print(f"{name:10s} {seconds:8.2f}   no peer figures in {args.reference}")
    total = np.array(total)
    if total.size:
        print(f"{'all':10s} {'':8s} {total.size:6d} {(total <= 1e-6).mean():10.1%} {(total < -1e-6).mean():8.1%} {total.max():+10.1e} {np.log1p(total).mean():+15.5f}")


if __name__ == "__main__":
    main()
