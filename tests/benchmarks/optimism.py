"""How optimistic the best score of a cross-validation is, and nested cross-validation is not.

On simulated rows (nine cells of lasso_question.py: coefficients of type 2, correlation 0.35) the
expected squared error of a model is known. Two scores are compared with that of the model that
`cv_fit` chooses by "min": the least `cv_mean`, by which it was chosen, and the mean of `nested_cv`;
five folds everywhere. The plain path chooses among sizes, the default among sizes, ridges and
mixtures.

    python tests/benchmarks/optimism.py --minutes 30 --repetitions 10

adds to stored/optimism.csv; `--page` writes the table of docs/measurements.md.
"""

from pathlib import Path

import pandas as pd
import stored
from common import arguments
from lasso_question import AUTO, PLAIN, SIZES, cells, sample
from results import put

import l0path

KEYS = ["number", "method"]  # of a line of the stored sums
SHOWN = {"best": "least cv_mean, %", "nested": "nested_cv, %", "both": "nested_cv above it, %"}
METHODS = {PLAIN: {"lambda2": 0.0}, AUTO: {}}


def asked():
    """The cells: three ratios of signal to noise of the first settings, the settings in turn."""
    some = [c for c in cells() if c.kind == 2 and c.correlation == 0.35]
    return [some[10 * i + place] for place in (3, 6, 9) for i in range(3)]


def run(cell, repetitions):
    """The rows of so many repetitions (a range) of a cell: one for each and method."""
    rows = []
    for r in repetitions:
        data = sample(cell, r)
        for method, options in METHODS.items():
            sizes = min(SIZES, data.X.shape[1], len(data.y) // 2)
            options = options | {"max_k": sizes, "fit_intercept": False, "certify": False}
            options |= {"cv": 5, "random_state": r, "progress": False}
            cv = l0path.cv_fit(data.X, data.y, **options)
            nested = l0path.nested_cv(data.X, data.y, outer=5, **options).mean
            gap = cv.coef("min", full=True).to_numpy()[1:].ravel() - data.coef
            truth = data.variance + gap @ data.covariance @ gap
            best = cv.scores["cv_mean"].min()
            values = {"best": best / truth, "nested": nested / truth, "both": nested / best}
            squares = {f"{name}2": value**2 for name, value in values.items()}
            number = {"number": cell.number, "method": method, "candidates": len(cv.scores)}
            rows.append(number | values | squares)
    return pd.DataFrame(rows)


def summary(results):
    """Both scores above the error of the chosen model, and the second above the first, in percent
    with standard errors.
    """
    count = results["count"]
    every = pd.DataFrame(cells()).set_index("number")
    out = results.join(every, on="number")[["setting", "snr", "method", "candidates"]]
    out = out.rename(columns={"snr": "signal to noise"})
    out["candidates"] = (out["candidates"] / count).round().astype(int)
    for name, told in SHOWN.items():
        mean = 100 * (results[name] / count - 1)
        error = 100 * stored.standard_error(count, results[name], results[f"{name}2"])
        out[told] = [f"{m:+.1f} ± {e:.1f}" for m, e in zip(mean, error, strict=True)]
    return out


def overall(results):
    """The sentence on the means over the cells."""
    told = []
    for method, part in results.groupby("method", sort=False):
        mean = {c: 100 * ((part[c] / part["count"]).mean() - 1) for c in SHOWN}
        told.append(f"{method}: " + ", ".join(f"{SHOWN[c]} {mean[c]:+.1f}" for c in SHOWN))
    return f"Means over the cells: {'; '.join(told)}."


def main():
    """Compute what is missing and print the table."""
    args = arguments(
        __doc__.splitlines()[0],
        store=(str(stored.FOLDER), "folder of optimism.csv"),
        minutes=(0.0, "compute for so long, to the end of a cell"),
        repetitions=(10, "repetitions of each cell"),
        page=(False, "write the table of docs/measurements.md"),
    )
    file = Path(args.store) / "optimism.csv"
    stored.go_on(file, KEYS, asked(), run, args)
    results = stored.load(file)
    note = f"{overall(results)} Cells: {stored.told(results, 'number', 'repetitions')}"
    print(f"{summary(results).to_string(index=False)}\n{note}")
    if args.page:
        put("optimism", f"{stored.markdown(summary(results))}\n\n{note}")


if __name__ == "__main__":
    main()
