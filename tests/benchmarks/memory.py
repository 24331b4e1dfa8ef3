"""Peak resident memory beyond X: each case and contestant in a process of its own, X made there,
memory of X and of the imports subtracted.
"""

import gc
import json
import subprocess
import sys

import numpy as np
from common import arguments, fix_threads, measured
from peers import PEERS, chosen, contestants, profile


def dense(n, p, order="F", dtype=np.float64):
    """Maker of a dense Gaussian design; drawn in its final order and precision, so that making it
    needs no second copy.
    """
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((p, n), dtype=dtype).T
        if order == "F"
        else rng.standard_normal((n, p), dtype=dtype)
    )


def sparse(n, p, density):
    """CSC with uniform entries at random places."""
    import scipy.sparse as sp

    return sp.random(n, p, density, format="csc", random_state=1)


CASES = {
    "dense F float64, 1000 x 20000": ("squared", lambda cut: dense(1000, 20_000 // cut)),
    "dense C float64, 1000 x 20000": ("squared", lambda cut: dense(1000, 20_000 // cut, "C")),
    "dense C float32, 1000 x 20000": (
        "squared",
        lambda cut: dense(1000, 20_000 // cut, "C", np.float32),
    ),
    "dense F float64, 1000 x 100000": ("squared", lambda cut: dense(1000, 100_000 // cut)),
    "dense F float64, 100000 x 1000": ("squared", lambda cut: dense(100_000 // cut, 1000)),
    "CSC, 20000 x 50000, density 0.002": (
        "squared",
        lambda cut: sparse(20_000 // cut, 50_000 // cut, 0.002 * cut),
    ),
    "dense F float64, 1000 x 20000, logistic": ("logistic", lambda cut: dense(1000, 20_000 // cut)),
    "dense C float32, 1000 x 20000, logistic": (
        "logistic",
        lambda cut: dense(1000, 20_000 // cut, "C", np.float32),
    ),
    "dense F float64, 100000 x 1000, logistic": (
        "logistic",
        lambda cut: dense(100_000 // cut, 1000),
    ),
    "CSC, 15935 x 62061, density 0.0013, logistic": (
        "logistic",
        lambda cut: sparse(15_935 // cut, 62_061 // cut, 0.0013 * cut),
    ),
}


def response(X, loss):
    """Signal in the first 10 dense or 200 sparse columns, with noise or as the odds of the
    class 1.
    """
    rng = np.random.default_rng(1)
    signal = np.asarray(
        X[:, : 200 if hasattr(X, "indptr") else 10].sum(axis=1), dtype=float
    ).ravel()
    signal = (signal - signal.mean()) / signal.std()
    return (
        signal + 0.4 * rng.standard_normal(len(signal))
        if loss == "squared"
        else np.where(rng.random(len(signal)) < 1 / (1 + np.exp(-2 * signal)), 1.0, -1.0)
    )


def child(case, contestant, K, cut, threads):
    """In a process of its own: compile on a small problem of the same kind, make X, and print what
    one path needs.
    """
    names = [] if contestant == "l0path" else [contestant]
    loss, make = CASES[case]
    X = make(cut)
    small = (
        X[:100, :300]
        if hasattr(X, "indptr")
        else np.array(X[:60, :20], order="C" if X.flags.c_contiguous else "F")
    )
    target = (
        np.arange(small.shape[0]) % 2 * 2.0
        - 1
        + (0.1 * np.arange(small.shape[0]) if loss == "squared" else 0)
    )
    contestants(small, target, loss, 3, names, threads)[contestant]()
    y = response(X, loss)
    call = contestants(X, y, loss, K, names, threads)[contestant]
    del small
    gc.collect()
    seconds, result, peak = measured(call)
    out = {
        "size": (
            (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
            if hasattr(X, "indptr")
            else X.nbytes
        )
        / 2**20,
        "peak": peak,
        "seconds": seconds,
    }
    if contestant == "l0path":
        out["reads"], held, _ = profile(result)
        out["held"], out["status"], out["sizes"] = float(held), result.status, len(result)
    print(json.dumps(out))


def main():
    """Print X's size, peak memory beyond it, the ratio, and the reads of X."""
    if sys.argv[1:2] == ["--child"]:
        case, contestant, K, cut, threads = json.loads(sys.argv[2])
        child(case, contestant, K, cut, fix_threads(threads))
        return
    args = arguments(
        "memory beyond X",
        k=(50, "largest size"),
        only=("", "parts of names of cases, separated by |"),
        peers=("all", "all, none, or names separated by commas"),
    )
    names, K, cut = chosen(args.peers), 5 if args.smoke else args.k, 10 if args.smoke else 1
    if args.smoke:
        print("# smoke: the larger sizes divided by 10")
    print(
        f"{'case':45s} {'contestant':13s} {'X MB':>8s} {'beyond MB':>10s} {'ratio':>7s} "
        f"{'seconds':>8s} {'reads':>6s} {'columns held':>13s}"
    )
    for case, (loss, _) in CASES.items():
        if args.only and not any(part in case for part in args.only.split("|")):
            continue
        for contestant in ["l0path", *names]:
            if contestant != "l0path" and (
                loss not in PEERS[contestant].losses
                or ("CSC" in case and not PEERS[contestant].sparse)
            ):
                continue
            done = subprocess.run(
                [
                    sys.executable,
                    __file__,
                    "--child",
                    json.dumps([case, contestant, K, cut, args.threads]),
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                print(
                    f"{case:45s} {contestant:13s} failed: "
                    f"{(done.stderr.strip().splitlines() or ['no message'])[-1][:150]}",
                    flush=True,
                )
                continue
            out = json.loads(done.stdout.splitlines()[-1])
            held = (
                f"{out['reads']:6d} {out['held']:13.0f}   {out['sizes']} sizes, {out['status']}"
                if contestant == "l0path"
                else ""
            )
            print(
                f"{case:45s} {contestant:13s} {out['size']:8.0f} {out['peak']:10.0f} "
                f"{out['peak'] / out['size']:7.2f} {out['seconds']:8.2f} {held}",
                flush=True,
            )


if __name__ == "__main__":
    main()
