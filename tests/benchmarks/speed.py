"""Whole paths against peers, in turn in one run: medians, ratios, memory beyond X, reads of X,
objectives. Peers that are not installed are left out (see README.md).
"""

import re

from common import (
    Case,
    agreement,
    arguments,
    in_turn,
    instance,
    objectives,
    ratio,
    real_case,
    smaller,
)
from peer_table import STORE, keep
from peers import chosen, contestants, fingerprint, ours, profile, supports

K = 50
SYNTHETIC = {
    "n=500 p=1000 AR(0.9)": {
        "seed": 1,
        "loss": "squared",
        "n": 500,
        "p": 1000,
        "k": 25,
        "correlation": "ar1",
        "rho": 0.9,
    },
    "n=1000 p=10^4 iid": {"seed": 2, "loss": "squared", "n": 1000, "p": 10_000, "k": 10},
    "n=1000 p=10^5 iid": {"seed": 3, "loss": "squared", "n": 1000, "p": 100_000, "k": 10},
    "n=10^5 p=1000 iid": {"seed": 4, "loss": "squared", "n": 100_000, "p": 1000, "k": 10},
    "logistic n=1000 p=1000 AR(0.9)": {
        "seed": 5,
        "loss": "logistic",
        "n": 1000,
        "p": 1000,
        "k": 25,
        "correlation": "ar1",
        "rho": 0.9,
        "snr": 1.0,
    },
    "logistic n=1000 p=10^4 iid": {
        "seed": 6,
        "loss": "logistic",
        "n": 1000,
        "p": 10_000,
        "k": 5,
        "snr": 1.0,
    },
}
REAL = [
    ("news20", "logistic"),
    ("dorothea", "logistic"),
    ("dorothea", "squared_hinge"),
    ("dexter", "logistic"),
    ("dexter", "squared_hinge"),
]
TARGETS = {
    ("n=500 p=1000 AR(0.9)", "abess"): 0.5,
    ("n=1000 p=10^4 iid", "abess"): 0.3,
    ("n=1000 p=10^4 iid", "adelie lasso"): 0.3,
    ("n=1000 p=10^5 iid", "abess"): 0.15,
    ("n=10^5 p=1000 iid", "abess"): 0.05,
    ("logistic n=1000 p=1000 AR(0.9)", "abess"): 0.5,
    ("logistic n=1000 p=10^4 iid", "abess"): 0.3,
    ("news20 logistic", "abess"): 0.05,
}


def cases(args):
    """{name: Case} of the rows asked for: synthetic sizes, and the sparse sets of --data."""
    size = min(args.k, 5) if args.smoke else args.k
    rows = {
        name: Case(
            lambda spec=smaller(spec) if args.smoke else spec: instance(**spec), spec["loss"], size
        )
        for name, spec in SYNTHETIC.items()
    }
    if args.data:
        rows = {
            **rows,
            **{
                f"{name} {loss}": real_case(
                    args.data, name, loss, size, most=1000 if args.smoke else None
                )
                for name, loss in REAL
            },
        }
    return {
        name: case
        for name, case in rows.items()
        if not args.only or any(part in name for part in args.only.split("|"))
    }


def print_peer(peer, timing, r, target, a):
    """The line of another contestant: r is our time over its, `a` the agreement of objectives."""
    verdict = "" if target is None else f"{target:.2f} {'met' if r <= target else 'missed'}"
    print(
        f"{'':32s} {peer:13s} {timing.median:9.3f} {timing.peak:8.0f} {r:7.2f} {verdict:>11s} "
        f"{len(timing.seconds):4d}",
        end="   ",
        flush=True,
    )
    print(
        f"log ratio {a.mean_log:+.5f} over {a.cells} sizes, {a.not_worse:.0%} not worse, "
        f"{a.better:.0%} better"
        if a
        else "",
        flush=True,
    )


def row(name, case, peers, args):
    """Run one case and print a line per contestant."""
    X, y = case.make()
    calls = contestants(X, y, case.loss, case.K, peers, args.threads)
    if not hasattr(X, "flags"):
        calls["l0path cd"] = ours(X, y, case.loss, case.K, algorithm="cd")
    before = fingerprint(X)
    timings = in_turn(calls, args)
    if fingerprint(X) != before:
        print("# X was changed by a contestant: the rows of this case are not comparable")
    if "l0path" not in timings:
        return
    mine = timings["l0path"]
    reads, held, verified = profile(mine.result)
    last = mine.result.details.iloc[-1]
    print(
        f"{name:32s} {'l0path':13s} {mine.median:9.3f} {mine.peak:8.0f} {'':7s} {'':>11s} "
        f"{len(mine.seconds):4d}   "
        f"reads {reads}, |W| {held:.0f}, verified {verified:.0%}, objective at k={last.k} "
        f"{last.objective:.7g}",
        flush=True,
    )
    compared = [
        peer for peer in timings if peer != "l0path" and (args.objective or peer == "l0path cd")
    ]
    sizes = (
        [k for k in map(int, args.sizes.split(",")) if k <= case.K]
        if args.sizes
        else range(1, case.K + 1)
    )
    values = (
        objectives(X, y, case.loss, supports("l0path", mine.result, X, y, case.loss, sizes))
        if compared
        else {}
    )
    for peer, timing in timings.items():
        if peer == "l0path":
            continue
        a = (
            agreement(
                values,
                objectives(X, y, case.loss, supports(peer, timing.result, X, y, case.loss, sizes)),
            )
            if peer in compared
            else None
        )
        target = None if args.smoke else TARGETS.get((name, peer))
        print_peer(peer, timing, ratio(mine, timing), target, a)
        if not args.smoke and peer != "l0path cd":
            design = re.sub(r"n=(\S+) p=(\S+)", r"\1 x \2,", name.removeprefix(f"{case.loss} "))
            design = re.sub(r"10\^(\d)", lambda found: str(10 ** int(found[1])), design)
            data = f"{case.loss}, {design}"
            found = {"ratios": [ratio(mine, timing)], "seconds": mine.median}
            found |= {"sizes": a.cells, "not_worse": a.not_worse, "better": a.better} if a else {}
            keep(args.store, __file__, peer=peer, data=data, **found)


def main():
    """Print the table."""
    args = arguments(
        "speed of whole paths",
        only=("", "parts of names of cases, separated by |"),
        k=(K, "largest size"),
        peers=("all", "all, none, or names separated by commas"),
        data=("", "folder with news20/, dorothea/, dexter/ for the sparse rows"),
        objective=(
            False,
            "compare objectives with the peers' too (abess is fitted again at each size)",
        ),
        sizes=("", "sizes at which objectives are compared, separated by commas; all if empty"),
        store=STORE,
    )
    peers = chosen(args.peers)
    print(
        "# ratio = l0path / contestant; MB = peak beyond X; log ratio of objectives < 0: ours are "
        "better"
    )
    print(
        f"{'case':32s} {'contestant':13s} {'median s':>9s} {'MB':>8s} {'ratio':>7s} "
        f"{'target':>11s} {'runs':>4s}"
    )
    for name, case in cases(args).items():
        row(name, case, peers, args)


if __name__ == "__main__":
    main()
