"""Proofs of a size at n = p up to 16,000: rows with correlations 0.9^|i - j|, ten coefficients of 1
at equal distances, coefficients between -2 and 2, a ridge, ten features.

The description is that of arXiv 2605.22188, of which only a summary is known (linear: 16.6, 15.1
and 30.6 seconds at 4000, 8000 and 16,000; logistic: 100.8 seconds at 16,000 and 4348 at 500; on a
graphics processor, within three hours). How its ridge of 1 is meant is not known, so three readings
are run: beside the sum of squares (of log losses), beside half the sum, and beside half the mean
(the mean). The ratio of signal to noise is 5, ours; for classes the logit is the signal.

    python tests/benchmarks/large_proofs.py --sizes 4000,8000 --seeds 5 --limit 600

puts a row for each draw and reading into stored/large_proofs.csv (`--store FOLDER`: into that of
another folder) and prints the table of all that is stored; draws that are stored with the same
limit, or proven, are not run again. `--page` writes the table of docs/results.md. `gap` is
(upper - lower) / upper. Seconds of other machines stand for orientation only.
"""

import tempfile
import time
from pathlib import Path

import pandas as pd
import stored
from common import arguments
from results import put

import l0path

K = 10
KEYS = ["loss", "n", "beside", "seed"]
SHOWN = {"sum": "the sum", "half the mean": "the mean", "mean": "the mean"}
THEIRS = {  # seconds on a graphics processor, from the summary of arXiv 2605.22188
    ("squared", 4000): 16.6,
    ("squared", 8000): 15.1,
    ("squared", 16000): 30.6,
    ("logistic", 500): 4348.0,
    ("logistic", 16000): 100.8,
}
# the weight of the ridge beside l0path's mean loss, for the three readings of a ridge of 1; the
# squared loss of l0path is half the mean of squares
READINGS = {
    "squared": {
        "sum": lambda n: 0.5 / n,
        "half the sum": lambda n: 1.0 / n,
        "half the mean": lambda n: 1.0,
    },
    "logistic": {
        "sum": lambda n: 1.0 / n,
        "half the sum": lambda n: 2.0 / n,
        "mean": lambda n: 1.0,
    },
}


def data(loss, n, seed):
    """(X, y) of n rows and n columns."""
    if loss == "squared":
        drawn = l0path.simulate.linear(n, n, K, rho=0.9, snr=5.0, random_state=seed)
    else:
        drawn = l0path.simulate.logistic(n, n, K, rho=0.9, random_state=seed)
    return drawn.X, drawn.y


def proof(X, y, loss, ridge, limit):
    """(seconds of the path, seconds of the proof, gap, nodes)."""
    began = time.perf_counter()
    path = l0path.fit(
        X, y, loss=loss, max_k=K, lambda2=ridge, lower=-2.0, upper=2.0, standardize=False,
        certify=False, progress=False,
    )  # fmt: skip
    middle = time.perf_counter()
    found = path.certify(k=K, time_limit=limit, progress=False)
    gap = (found.incumbent - found.lower_bound) / found.incumbent
    return middle - began, time.perf_counter() - middle, max(gap, 0.0), found.proven


def done(results, limit, **row):
    """Whether a row is stored that was proven, or not within as long a limit."""
    if results is None:
        return False
    own = results[(results[list(row)] == list(row.values())).all(axis=1)]
    return bool(((own["proven"] == 1) | (own["limit"] >= limit)).any())


def summary(results):
    """The table of the page: median seconds of the proofs by each reading of the ridge; where some
    ended without, how many did not, and the largest gap.
    """
    rows = []
    for (loss, n), own in results.groupby(KEYS[:2]):
        row = {"loss": loss, "n = p": n}
        for beside in READINGS[loss]:
            part = own[own["beside"] == beside]
            told = f"{part['proof'].median():.3g} s" if len(part) else ""
            open_ = int((part["proven"] == 0).sum())
            if open_:
                told += f"; {open_} of {len(part)} not proven, gap {100 * part['gap'].max():.2g} %"
            row[f"ridge beside {SHOWN.get(beside, beside)}"] = told
        row["draws"] = int(own.groupby("beside").size().max())
        theirs = THEIRS.get((loss, n))
        rows.append(row | {"of the same description": "" if theirs is None else f"{theirs:g} s"})
    return pd.DataFrame(rows)


def told(results):
    """Limits, threads and commits of the rows."""
    limits = ", ".join(f"{v:g}" for v in sorted(results["limit"].unique()))
    threads = ", ".join(str(v) for v in sorted(results["threads"].unique()))
    return f"Limit of a proof: {limits} seconds; threads: {threads}. {stored.commits(results)}"


def main():
    """Run what is missing and print the table."""
    args = arguments(
        __doc__.splitlines()[0],
        store=(str(stored.FOLDER), "folder of large_proofs.csv"),
        sizes=("", "rows and columns, comma between, such as 4000,8000,16000; empty: none"),
        losses=("squared,logistic", "losses"),
        seeds=(5, "draws of each row"),
        limit=(600.0, "seconds of a proof"),
        page=(False, "write the table of docs/results.md"),
    )
    file = Path(args.store) / "large_proofs.csv"
    sizes = [int(n) for n in args.sizes.split(",") if n]
    if args.smoke:
        sizes, args.seeds, args.limit = [200], 1, 5.0
        file = Path(tempfile.mkdtemp()) / file.name
    for loss in args.losses.split(",") if sizes else ():
        warm, response = data(loss, 100, 0)
        proof(warm, response, loss, 0.1, 5.0)  # kernels
        for n in sizes:
            for seed in range(args.seeds):
                asked = [
                    {"loss": loss, "n": n, "beside": beside, "seed": seed}
                    for beside in READINGS[loss]
                ]
                known = stored.load(file)
                asked = [row for row in asked if not done(known, args.limit, **row)]
                X, y = data(loss, n, seed) if asked else (None, None)
                for row in asked:
                    ridge = READINGS[loss][row["beside"]](n)
                    fit, certify, gap, proven = proof(X, y, loss, ridge, args.limit)
                    row |= {"path": fit, "proof": certify, "gap": gap, "proven": int(proven)}
                    row |= {"limit": args.limit, "threads": args.threads}
                    row["l0path"] = stored.version()
                    stored.replace(file, KEYS, pd.DataFrame([row]))
                    print("#", *row.values(), flush=True)
    results = stored.load(file)
    if results is None:
        return
    print(f"{summary(results).to_string(index=False)}\n{told(results)}")
    if args.page:
        put("large-proofs", f"{stored.markdown(summary(results))}\n\n{told(results)}")


if __name__ == "__main__":
    main()
