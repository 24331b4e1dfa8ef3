"""Supports against peers: for every instance and size, the objective of our support and the best
that peers reach, all refitted by the same rule; and our efforts at equal time.
"""

import numpy as np
from common import (
    INSTANCES,
    agreement,
    arguments,
    in_turn,
    instance,
    objectives,
    reference,
    smaller,
)
from peer_table import STORE, keep
from peers import SHRINKAGE, chosen, contestants, our_supports, ours, profile, supports

EFFORTS = ["fast", "default", "high"]
SHARES = ("not_worse", "better")


def instances(args):
    """[(label, specification, stored peers)]: the reference's seeds first, then the same designs
    with `--seeds` further seeds each, for which nothing is stored.
    """
    names, stored = (
        args.only.split(",") if args.only else list(INSTANCES),
        {} if args.smoke else reference(args.reference),
    )
    rows = [(name, INSTANCES[name], stored.get(name, {})) for name in names]
    rows += [
        (f"{name}+{s}", {**INSTANCES[name], "seed": INSTANCES[name]["seed"] + 100 * s}, {})
        for s in range(1, args.seeds + 1)
        for name in names
    ]
    return [
        (
            label,
            smaller({**spec, "n": 200, "p": min(spec["p"], 300)}) if args.smoke else spec,
            peers,
        )
        for label, spec, peers in rows
    ]


def peers_objectives(X, y, loss, stored, names, args):
    """{peer: {k: objective}}: what is stored; else installed peers, fitted now; else, where none
    takes the loss, our own coordinate descent.
    """
    if stored:
        return {peer: v for peer, v in stored.items() if not args.peer or peer == args.peer}
    calls = contestants(X, y, loss, args.k, names, args.threads)
    del calls["l0path"]
    calls = calls or {"l0path cd": ours(X, y, loss, args.k, algorithm="cd")}
    return {
        peer: objectives(X, y, loss, supports(peer, call(), X, y, loss, range(1, args.k + 1)))
        for peer, call in calls.items()
    }


def least(several, K):
    """{k: least objective} over several {k: objective}."""
    several = list(several)
    return {
        k: min(v[k] for v in several if k in v)
        for k in range(1, K + 1)
        if any(k in v for v in several)
    }


def line(label, algorithm, timing, a, against):
    """One row of the quality table."""
    reads, held, verified = profile(timing.result)
    start = (
        f"{label:11s} {algorithm:8s} {timing.median:8.2f} {timing.peak:6.0f} {reads:6d} "
        f"{held:6.0f} {verified:9.0%}"
    )
    if a is None:
        print(
            f"{start}   nothing to compare with: no stored figures and no peer installed",
            flush=True,
        )
    else:
        worse = f"; worse at k = {a.worse_at}" if a.worse_at else ""
        print(
            f"{start} {a.cells:6d} {a.not_worse:10.1%} {a.better:8.1%} {a.worst:+10.1e} "
            f"{a.mean_log:+15.5f}   {', '.join(against)}{worse}",
            flush=True,
        )


def total(rows):
    """Rows over all instances: {algorithm: [Agreement]} weighted by cells."""
    for algorithm, those in rows.items():
        if those:
            n = [a.cells for a in those]
            print(
                f"{'all':11s} {algorithm:8s} {'':8s} {'':6s} {'':6s} {'':6s} {'':9s} {sum(n):6d} "
                f"{np.average([a.not_worse for a in those], weights=n):10.1%} "
                f"{np.average([a.better for a in those], weights=n):8.1%} "
                f"{max(a.worst for a in those):+10.1e} "
                f"{np.average([a.mean_log for a in those], weights=n):+15.5f}"
            )


def agreed(those):
    """The sizes of several `Agreement`s and their shares over all of them."""
    n = [a.cells for a in those]
    shares = {name: np.average([getattr(a, name) for a in those], weights=n) for name in SHARES}
    return {"sizes": sum(n)} | shares


def equal_time(label, X, y, loss, best, timings, args):
    """Every effort stopped at the median time that each effort needs, printed as the mean log
    excess over the best known objective.

    Returns {(budget, effort): (sum of the log excess, sizes reached, sizes missed)}.
    """
    full = {
        effort: objectives(X, y, loss, our_supports(timings[effort].result)) for effort in EFFORTS
    }
    known, out = least([best, *full.values()], args.k), {}
    for budget in EFFORTS:
        limit, cells = timings[budget].median, []
        for effort in EFFORTS:
            path = ours(X, y, loss, args.k, algorithm=effort, time_limit=limit)()
            a, missed = (
                agreement(objectives(X, y, loss, our_supports(path)), known),
                len(set(known) - {s.k for s in path._solutions}),
            )
            out[budget, effort] = (a.mean_log * a.cells if a else 0.0, a.cells if a else 0, missed)
            cells.append(
                f"{effort} "
                f"{a.mean_log if a else float('nan'):+.6f}"
                f"{f' ({missed} sizes missed)' if missed else ''}"
            )
        print(
            f"{label:11s} {f'in {limit:.2f} s, the time of {budget}':34s} " + "   ".join(cells),
            flush=True,
        )
    return out


def totals_at_equal_time(stops):
    """Print the sums over the instances of what each effort reaches in the time of another."""
    for budget in EFFORTS if stops else []:
        sums = {
            effort: [sum(s[budget, effort][i] for s in stops) for i in range(3)]
            for effort in EFFORTS
        }
        print(
            f"{'all':11s} {f'in the time of {budget}':34s} "
            + "   ".join(
                f"{effort} {v[0] / max(v[1], 1):+.6f} ({v[2]} sizes missed)"
                for effort, v in sums.items()
            )
        )


def main():
    """Print a row per instance and algorithm, a total per algorithm, and with --equal-time the
    efforts stopped at each other's times.
    """
    args = arguments(
        "quality of supports",
        reference=("../shared/reference", "folder of NAME.json with peers' objectives"),
        algorithm=("swap", "swap, cd, CDPSI, fast, default, high, several of them, or all efforts"),
        grid=("support", "support or lambda0"),
        only=("", "instances, separated by commas"),
        peer=("", "of the stored peers, compare with this one only, e.g. L0Learn_CD"),
        k=(50, "largest size"),
        seeds=(0, "further seeds of each design, compared with installed peers fitted now"),
        peers=("abess", "peers fitted where nothing is stored"),
        equal_time=(False, "efforts at equal time too"),
        store=STORE,
    )
    args.k = 5 if args.smoke else args.k
    algorithms = (
        EFFORTS if args.algorithm == "all" or args.equal_time else args.algorithm.split(",")
    )
    names, rows, stops = chosen(args.peers), {algorithm: [] for algorithm in algorithms}, []
    grid = {"grid": args.grid, "n_lambda0": 400} if args.grid == "lambda0" else {}
    print(
        f"# supports of paths with lambda2 = {SHRINKAGE}; cells: sizes compared; not worse, "
        "better: shares at 1e-6 relative; mean log ratio < 0: ours are better"
    )
    print(
        f"{'instance':11s} {'ours':8s} {'median s':>8s} {'MB':>6s} {'reads':>6s} {'|W|':>6s} "
        f"{'verified':>9s} {'cells':>6s} {'not worse':>10s} {'better':>8s} {'worst':>10s} "
        f"{'mean log ratio':>15s}"
    )
    for label, spec, stored in instances(args):
        X, y = instance(**spec)
        for algorithm in algorithms:  # load or compile the kernels on a few rows and columns
            ours(X[:, :50], y, spec["loss"], 3, algorithm, **grid)()
        timings = in_turn(
            {
                algorithm: ours(X, y, spec["loss"], args.k, algorithm, **grid)
                for algorithm in algorithms
            },
            args,
            compiled=(),
        )
        others = peers_objectives(X, y, spec["loss"], stored, names, args)
        best = least(others.values(), args.k)
        for algorithm, timing in timings.items():
            a = agreement(objectives(X, y, spec["loss"], our_supports(timing.result)), best)
            line(label, algorithm, timing, a, others)
            rows[algorithm] += [a] if a else []
        if args.equal_time:
            stops.append(equal_time(label, X, y, spec["loss"], best, timings, args))
    total(rows)
    totals_at_equal_time(stops)
    if args.peer and rows.get("swap") and not args.smoke:
        found = agreed(rows["swap"])
        keep(args.store, __file__, peer=args.peer, data=f"{len(rows['swap'])} designs", **found)


if __name__ == "__main__":
    main()
