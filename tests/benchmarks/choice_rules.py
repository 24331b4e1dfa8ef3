"""What a choice by cross-validation loses, and rules that might lose less, on cells of
lasso_question.py: the same rows, folds and candidates (those of `cv_fit` by default), other rules.

"more shrinkage" keeps the size of another rule's choice, and takes of the candidates of that size
the one with the largest ridge (then the largest share of the shrunken model) whose score is within
one paired standard error of that choice.

    python tests/benchmarks/choice_rules.py --minutes 60 --repetitions 10

adds cells to stored/choice_rules.csv (`--store FOLDER`: to that of another folder) and prints test
errors over that of the rule "min", with the mean logarithm over the cells and its standard error,
and over that of the relaxed lasso in the cells that lasso_question.csv has. `--real 30` adds data
sets of real_data.py for so many minutes to stored/choice_rules_real.csv. `--page` writes both
tables of docs/measurements.md.
"""

import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import real_data
import stored
from common import arguments
from lasso_question import REFERENCE, SETTINGS, cells, geometric, in_order, sample, subsets
from results import put

import l0path

KEYS = ["number", "rule"]  # of a line of the stored sums; of real data the number is a name
MIN = "min"
MOST_ROWS, MOST_FEATURES = 1000, 50  # of a real data set, and of its models


def differences(errors, at):
    """Standard errors (m,) of the differences of scores from those of a candidate, paired by fold;
    errors (m, folds).
    """
    return (errors - errors[at]).std(axis=1, ddof=1) / np.sqrt(errors.shape[1])


def fewest_within(errors, table, share):
    """The candidate of fewest coefficients within a share of a paired standard error of the best,
    ties by the score.
    """
    mean = errors.mean(axis=1)
    best = best_of(errors, table)
    near = np.flatnonzero(mean <= mean[best] + share * differences(errors, best))
    return int(near[np.lexsort((mean[near], table["nonzeros"].to_numpy()[near]))[0]])


def best_of(errors, table):
    """The best score; ties by fewest coefficients, then by more shrinkage."""
    mean = errors.mean(axis=1)
    tied = np.flatnonzero(mean <= mean.min() * (1 + 1e-12))
    own = table.iloc[tied]
    order = np.lexsort((-own["lambda2"] * own["relax"], own["nonzeros"]))
    return int(tied[order[0]])


def more_shrinkage(errors, table, at):
    """Of the candidates of the size of `at` within one paired standard error of it, the one of most
    shrinkage.
    """
    mean = errors.mean(axis=1)
    same = (table["k"] == table["k"].iloc[at]).to_numpy()
    near = np.flatnonzero(same & (mean <= mean[at] + differences(errors, at)))
    own = table.iloc[near]
    return int(near[np.lexsort((mean[near], -own["relax"], -own["lambda2"]))[0]])


def choices(errors, table):
    """{rule: the number of its candidate}."""
    out = {MIN: best_of(errors, table), "sparse": fewest_within(errors, table, 0.5)}
    out["fewest within 1"] = fewest_within(errors, table, 1.0)
    more = {f"{rule}, more shrinkage": more_shrinkage(errors, table, i) for rule, i in out.items()}
    return out | more


class RealData(NamedTuple):
    """A real data set: its name, also where cells have a number, X (n, p), y (n,), whether y has
    classes.
    """

    number: str
    name: str
    X: np.ndarray
    y: np.ndarray
    classes: bool


def rows_of(number, table, truth, found):
    """The rows of a repetition: the candidates, their test errors (m,), {rule: its candidate}."""
    base = np.log(truth[found[MIN]])
    rows = [
        {"number": number, "rule": rule, "error": truth[i], "nonzeros": table["nonzeros"].iloc[i]}
        | {"gap": np.log(truth[i]) - base, "gap2": (np.log(truth[i]) - base) ** 2}
        for rule, i in found.items()
    ]
    return pd.DataFrame(rows)


def run(cell, repetitions):
    """The rows of so many repetitions (a range) of a cell."""
    out = []
    for repetition in repetitions:
        data = sample(cell, repetition)
        candidates, table = subsets(data)
        gap = candidates.coef - data.coef[:, None]
        truth = 1 + (gap * (data.covariance @ gap)).sum(axis=0) / data.variance
        X, y = data.validation
        losses = ((y[:, None] - X @ candidates.coef) ** 2).mean(axis=0)
        table = table.assign(nonzeros=(candidates.coef != 0).sum(axis=0))
        found = choices(candidates.errors, table)
        found |= {"validation set": losses.argmin(), "oracle": truth.argmin()}
        out.append(rows_of(cell.number, table, truth, found))
    return pd.concat(out)


def real_sets():
    """The real data sets, the smallest first; those that are not installed are left out."""
    out = []
    for name in [*real_data.NUMBERS, *real_data.CLASSES]:
        try:
            X, y = real_data.load(name, MOST_ROWS)
        except Exception as error:  # whatever a package of data sets raises
            print(f"# {name} is left out: {error}")
            continue
        out.append(RealData(name, name, X, y, name in real_data.CLASSES))
    return sorted(out, key=lambda data: data.X.size)


def run_real(data, splits):
    """The rows of so many splits (a range) of a real data set: the errors are those of the test
    rows, mean squares or deviances.
    """
    out = []
    for seed in splits:
        train, test = real_data.splits_of(data.y, data.classes, seed + 1)[seed]
        X, y = data.X[train], data.y[train]
        use = X.std(axis=0) > 1e-10
        cv = l0path.cv_fit(
            X[:, use],
            y,
            loss="logistic" if data.classes else "squared",
            cv=real_data.folds_of(y, data.classes, seed),
            max_k=min(MOST_FEATURES, use.sum(), len(y) // 2),
            certify=False,
            progress=False,
        )
        eta = np.column_stack(
            [cv.predict(data.X[test][:, use], index=i, type="link") for i in range(len(cv))]
        )
        y = data.y[test, None]
        losses = 2 * np.logaddexp(0, (1 - 2 * y) * eta) if data.classes else (y - eta) ** 2
        keep = ~cv._endless  # separated models are no choice
        table = cv.scores[["k", "lambda2", "relax"]].assign(nonzeros=cv.scores["n_features"])
        found = choices(cv.folds.to_numpy()[keep], table[keep])
        out.append(rows_of(data.name, table[keep], losses.mean(axis=0)[keep], found))
    return pd.concat(out)


def real_summary(results):
    """A row for each rule, of numbers and of classes: the mean logarithm of test errors over that
    of "min" over the data sets, its standard error, the data sets with a smaller and a larger one.
    """
    mean = (results["gap"] / results["count"]).rename("mean")
    table = results[["number", "rule"]].join(mean)
    classes = table["number"].isin(real_data.CLASSES)
    out = {}
    for name, part in (("numbers", table[~classes]), ("classes", table[classes])):
        wide = part.pivot(index="number", columns="rule", values="mean")
        if len(wide) > 1:
            out[f"{name}: log"] = wide.mean()
            out[f"{name}: its error"] = wide.std(ddof=1) / np.sqrt(len(wide))
            signs = zip((wide < -1e-9).sum(), (wide > 1e-9).sum(), strict=True)
            out[f"{name}: better, worse"] = [f"{a}, {b}" for a, b in signs]
    shown = pd.DataFrame(out).rename_axis("rule").reset_index()
    return shown.sort_values(next(iter(out)))


def real_told(results):
    """The sentence below the table of real data."""
    parts = []
    classes = results["number"].isin(real_data.CLASSES)
    for name, part in (("numbers", results[~classes]), ("classes", results[classes])):
        if len(part):
            parts.append(f"Data sets of {name}: {stored.repeated(part, 'number', 'splits')}.")
    return " ".join([*parts, stored.commits(results)])


def summary(results, question=None):
    """A row for each rule: test error over that of "min" in each setting (geometric means over
    cells), the mean logarithm over the cells with its standard error, all features over those of
    "min"; and over the relaxed lasso in the cells that `question` has with as many repetitions.
    """
    table = results.join(pd.DataFrame(cells()).set_index("number")["setting"], on="number")
    wide = {c: table.pivot(index="number", columns="rule", values=c) for c in ("error", "nonzeros")}
    setting = table.groupby("number")["setting"].first()
    lasso = None
    if question is not None:
        own = question[(question["method"] == REFERENCE) & (question["tuning"] == "cv")]
        own = own.set_index("number")[["count", "error"]]
        same = own["count"].reindex(setting.index) == table.groupby("number")["count"].first()
        lasso = own["error"].reindex(setting.index).where(same)
    rows = []
    for rule in wide["error"]:
        ratio = wide["error"][rule] / wide["error"][MIN]
        logs = np.log(ratio)
        by = ratio.groupby(setting).apply(geometric)
        row = {"rule": rule} | {name: by.get(name, np.nan) for name in SETTINGS}
        row |= {"log": logs.mean(), "its error": logs.std(ddof=1) / np.sqrt(len(logs))}
        row["features"] = wide["nonzeros"][rule].sum() / wide["nonzeros"][MIN].sum()
        if lasso is not None and lasso.notna().any():
            over = (wide["error"][rule] / lasso).dropna()
            row["over relaxed lasso"] = geometric(over.groupby(setting).apply(geometric))
        rows.append(row)
    return pd.DataFrame(rows).sort_values("log")


def main():
    """Compute cells that are missing and print the table of all."""
    args = arguments(
        __doc__.splitlines()[0],
        store=(str(stored.FOLDER), "folder of choice_rules.csv"),
        minutes=(0.0, "compute for so long, to the end of a cell"),
        repetitions=(10, "repetitions of each cell"),
        only=("", "only settings whose name contains this"),
        real=(0.0, "compute real data for so long, to the end of a data set"),
        splits=(4, "random splits of each real data set"),
        page=(False, "write the tables of docs/measurements.md"),
    )
    file = Path(args.store) / "choice_rules.csv"
    asked = [c for c in in_order() if c.setting in SETTINGS and args.only in c.setting]
    if args.smoke:
        asked, args.repetitions = [cells()[i] for i in (5, 8)], 2
        args.minutes, file = np.inf, Path(tempfile.mkdtemp()) / file.name
    stored.go_on(file, KEYS, asked, run, args)
    results = stored.load(file)
    shown = summary(results, stored.load(stored.FOLDER / "lasso_question.csv"))
    print(shown.to_string(index=False, float_format=lambda v: f"{v:.4f}"))
    note = f"Cells: {stored.told(results, 'number', 'repetitions')}"
    print(note)
    real = file.with_name("choice_rules_real.csv")
    if args.real:
        warnings.simplefilter("ignore")  # of folds that separate classes
        args.minutes, args.repetitions = args.real, args.splits
        stored.go_on(real, KEYS, real_sets(), run_real, args)
    on_real = stored.load(real)
    if on_real is not None:
        print(real_summary(on_real).to_string(index=False, float_format=lambda v: f"{v:.4f}"))
        print(real_told(on_real))
    if args.page and on_real is not None:
        put("choice-real", f"{stored.markdown(real_summary(on_real))}\n\n{real_told(on_real)}")
    if args.page:
        put("choice-rules", f"{stored.markdown(shown)}\n\n{note}")


if __name__ == "__main__":
    main()
