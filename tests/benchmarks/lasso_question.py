"""Best subset, forward stepwise or lasso? The simulations of Hastie, Tibshirani & Tibshirani
(Statistical Science 35, 2020), with a generator of our own.

Settings (n, p, s), coefficients of types 1, 2, 3 and 5, correlations 0, 0.35 and 0.7 of neighboring
features, ten signal-to-noise ratios: 480 cells, each with a seed of its own. All methods see the
same rows and the same folds. Every method is tuned three times: by a validation set of n rows, by
the oracle (the least risk), and by 10-fold cross-validation. Needs Rscript with r-cran-glmnet
(Debian).

    python tests/benchmarks/lasso_question.py --store FOLDER

computes the cells whose file is not yet in FOLDER (`--every 6`: every sixth cell), so that a run
can be interrupted and continued, then prints the tables and draws a figure a setting into FOLDER.
`--page` writes the table of docs/results.md.
"""

import itertools
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from common import arguments
from results import put
from scipy.linalg import toeplitz

import l0path

SCRIPT = Path(__file__).with_suffix(".R")
SETTINGS = {
    "low": (100, 10, 5),
    "medium": (500, 100, 5),
    "high-5": (50, 1000, 5),
    "high-10": (100, 1000, 10),
}
TYPES = (1, 2, 3, 5)
CORRELATIONS = (0.0, 0.35, 0.7)
RATIOS = np.exp(np.linspace(np.log(0.05), np.log(6.0), 10))
MIXTURES = np.linspace(0.0, 1.0, 10)  # of the relaxed lasso: 1 is the lasso
SIZES = 50
FOLDS = 10
REFERENCE = "relaxed lasso"
AGAIN = "relaxed lasso, other validation set"
PLAIN, AUTO, FEWER = "l0path, plain", "l0path, default", "l0path, fewer features"
COLORS = {
    "lasso": "#7f7f7f",
    REFERENCE: "#1f77b4",
    "forward stepwise": "#bcbd22",
    PLAIN: "#ff7f0e",
    AUTO: "#d62728",
    FEWER: "#9467bd",
}


class Cell(NamedTuple):
    """A cell of the simulation; `number` is its place among all, the start of its seeds."""

    number: int
    setting: str
    kind: int
    correlation: float
    snr: float

    @property
    def name(self):
        """The name of its file."""
        return f"{self.number:03d}_{self.setting}_type{self.kind}_rho{self.correlation:g}"


class Sample(NamedTuple):
    """One repetition: rows X (n, p), y, two validation sets, the covariance matrix of the features,
    the true coefficients, the variance of the noise, the number of the fold (n,) of each row.
    """

    X: np.ndarray
    y: np.ndarray
    validation: tuple
    other: tuple
    covariance: np.ndarray
    coef: np.ndarray
    variance: float
    folds: np.ndarray


class Candidates(NamedTuple):
    """Models of one method: coefficients (p, m), and the mean squared error (m, folds) of each in
    each fold.
    """

    coef: np.ndarray
    errors: np.ndarray


def cells():
    """All cells, in the order of their numbers."""
    product = itertools.product(SETTINGS, TYPES, CORRELATIONS, RATIOS)
    return [Cell(i, *values) for i, values in enumerate(product)]


def true_coefficients(kind, p, s):
    """The coefficients (p,) of a type, as numbered in the paper."""
    out = np.zeros(p)
    if kind == 1:
        out[np.linspace(0, p - 1, s).round().astype(int)] = 1.0
    elif kind == 2:
        out[:s] = 1.0
    elif kind == 3:
        out[:s] = np.linspace(10.0, 0.5, s)
    else:
        out[:s] = 1.0
        out[s:] = 0.5 ** np.arange(1, p - s + 1)
    return out


def sample(cell, repetition):
    """The `Sample` of a repetition of a cell."""
    n, p, s = SETTINGS[cell.setting]
    rng = np.random.default_rng([cell.number, repetition])
    coef = true_coefficients(cell.kind, p, s)
    covariance = toeplitz(cell.correlation ** np.arange(p))
    variance = coef @ covariance @ coef / cell.snr

    def rows():
        X = rng.standard_normal((n, p))
        for j in range(1, p):
            fresh = np.sqrt(1 - cell.correlation**2)
            X[:, j] = cell.correlation * X[:, j - 1] + fresh * X[:, j]
        return np.asfortranarray(X), X @ coef + np.sqrt(variance) * rng.standard_normal(n)

    (X, y), validation, other = rows(), rows(), rows()
    folds = rng.permutation(np.arange(n) % FOLDS)
    return Sample(X, y, validation, other, covariance, coef, variance, folds)


def fold_errors(data, coefs):
    """Mean squared errors (m, folds) of the coefficients (p, m) fitted without each fold."""
    out = []
    for f, coef in enumerate(coefs):
        test = data.folds == f
        out.append(((data.y[test, None] - data.X[test] @ coef) ** 2).mean(axis=0))
    return np.column_stack(out)


def by_rows(data, fit):
    """`Candidates` of fit(X, y, part) -> coefficients (p, m), where part 0 is all rows and part f
    those outside of fold f - 1.
    """
    whole = fit(data.X, data.y, 0)
    parts = [fit(data.X[data.folds != f], data.y[data.folds != f], f + 1) for f in range(FOLDS)]
    return Candidates(whole, fold_errors(data, parts))


def lasso_coefficients(samples):
    """(coefficients (parts, p, lambdas) of each sample, seconds) by glmnet."""
    n, p = samples[0].X.shape
    count = 50 if p <= 10 else 100
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / f"{i:04d}" for i in range(len(samples))]
        for place, data in zip(places, samples, strict=True):
            place.mkdir()
            data.X.ravel(order="F").tofile(place / "x.bin")
            data.y.tofile(place / "y.bin")
            (data.folds + 1).astype(np.int32).tofile(place / "folds.bin")
        asked = ["Rscript", SCRIPT, folder, n, p, FOLDS, count]
        subprocess.run([str(a) for a in asked], check=True)
        shape = FOLDS + 1, count, p
        found = [np.fromfile(place / "coef.bin").reshape(shape) for place in places]
        seconds = [float((place / "seconds.txt").read_text()) for place in places]
    return [part.transpose(0, 2, 1) for part in found], seconds


def relaxed(X, y, coef):
    """Mixtures (p, lambdas x mixtures) of the lasso's coefficients (p, lambdas) and of least
    squares on their features; of the least norm where there are more features than rows.
    """
    out, solved = [], {}
    for b in coef.T:
        active = np.flatnonzero(b)
        if active.tobytes() not in solved:
            full = np.zeros_like(b)
            if 0 < active.size < len(y):
                Q, R = np.linalg.qr(X[:, active])
                full[active] = np.linalg.solve(R, Q.T @ y)
            elif active.size:
                full[active] = np.linalg.lstsq(X[:, active], y, rcond=None)[0]
            solved[active.tobytes()] = full
        out.append(MIXTURES * b[:, None] + (1 - MIXTURES) * solved[active.tobytes()][:, None])
    return np.column_stack(out)


def stepwise(X, y, part=0):
    """Forward stepwise selection: the coefficients (p, sizes + 1) of all its models."""
    n, p = X.shape
    left, residual, chosen = X.copy(), y.copy(), []
    out = [np.zeros(p)]
    for _ in range(min(SIZES, p, n - 1)):
        norms = (left * left).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.where(norms > 1e-10 * n, (residual @ left) ** 2 / norms, -1.0)
        gains[chosen] = -1.0
        best = int(gains.argmax())
        chosen.append(best)
        direction = left[:, best] / np.sqrt(norms[best])
        residual = residual - direction * (direction @ residual)
        left = left - np.outer(direction, direction @ left)
        Q, R = np.linalg.qr(X[:, chosen])
        b = np.zeros(p)
        b[chosen] = np.linalg.solve(R, Q.T @ y)
        out.append(b)
    out += [out[-1]] * (SIZES + 1 - len(out))
    return np.column_stack(out)


def subsets(data):
    """(`Candidates` of the default cross-validation, which of them are plain) of l0path."""
    splits = [
        (np.flatnonzero(data.folds != f), np.flatnonzero(data.folds == f)) for f in range(FOLDS)
    ]
    sizes = min(SIZES, data.X.shape[1], len(data.y) - 1)
    cv = l0path.cv_fit(
        data.X, data.y, cv=splits, max_k=sizes, fit_intercept=False, certify=False, progress=False
    )
    coef = cv.coef("all", full=True).to_numpy()[1:]  # without the intercept
    return Candidates(coef, cv.folds.to_numpy()), (cv.details["lambda2"] == 0).to_numpy()


def fewest(losses, counts):
    """The candidate with fewest features of those whose mean loss is within half a standard error
    of the paired difference from the least; losses (m, units).
    """
    mean = losses.mean(axis=1)
    best = int(mean.argmin())
    error = (losses - losses[best]).std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    near = np.flatnonzero(mean <= mean[best] + 0.5 * error)
    return int(min(near, key=lambda i: (counts[i], mean[i])))


def measures(data, coef, s):
    """What the paper reports of one model, exact from the covariance matrix."""
    gap = coef - data.coef
    risk, null = gap @ data.covariance @ gap, data.coef @ data.covariance @ data.coef
    chosen, strong = set(np.flatnonzero(coef)), set(np.flatnonzero(data.coef)[:s])
    hits = len(chosen & strong)
    return {
        "risk": risk / null,
        "error": (risk + data.variance) / data.variance,
        "explained": 1 - (risk + data.variance) / (null + data.variance),
        "nonzeros": len(chosen),
        "f1": 2 * hits / (len(chosen) + len(strong)),
    }


def tuned(data, candidates, fewer=False):
    """{tuning: the number of the chosen candidate}; `fewer` by the rule for fewer features."""
    coef, (X, y) = candidates.coef, data.validation
    losses, counts = (y[:, None] - X @ coef).T ** 2, (coef != 0).sum(axis=0)
    if fewer:
        return {
            "validation": fewest(losses, counts),
            "cv": fewest(candidates.errors, counts),
        }
    gap = coef - data.coef[:, None]
    return {
        "validation": int(losses.mean(axis=1).argmin()),
        "oracle": int((gap * (data.covariance @ gap)).sum(axis=0).argmin()),
        "cv": int(candidates.errors.mean(axis=1).argmin()),
    }


def repetition_rows(data, lasso, s):
    """(rows of the table, seconds by method) of one repetition."""
    found, seconds = {}, {}
    began = time.perf_counter()
    parts = [(data.X, data.y)]
    parts += [(data.X[data.folds != f], data.y[data.folds != f]) for f in range(FOLDS)]
    found["lasso"] = Candidates(lasso[0], fold_errors(data, lasso[1:]))
    mixed = [relaxed(X, y, b) for (X, y), b in zip(parts, lasso, strict=True)]
    found[REFERENCE] = Candidates(mixed[0], fold_errors(data, mixed[1:]))
    seconds[REFERENCE], began = time.perf_counter() - began, time.perf_counter()
    found["forward stepwise"] = by_rows(data, stepwise)
    seconds["forward stepwise"], began = time.perf_counter() - began, time.perf_counter()
    every, plain = subsets(data)
    seconds[AUTO] = time.perf_counter() - began
    found[PLAIN] = Candidates(every.coef[:, plain], every.errors[plain])
    found[AUTO] = found[FEWER] = every
    rows = []
    for method, candidates in found.items():
        for tuning, i in tuned(data, candidates, method == FEWER).items():
            rows.append(
                {"method": method, "tuning": tuning} | measures(data, candidates.coef[:, i], s)
            )
    again = tuned(data._replace(validation=data.other), found[REFERENCE])["validation"]
    more = measures(data, found[REFERENCE].coef[:, again], s)
    rows.append({"method": AGAIN, "tuning": "validation"} | more)
    return rows, seconds


def run(cell, repetitions):
    """The table of one cell: a row for each repetition, method and tuning."""
    samples = [sample(cell, r) for r in range(repetitions)]
    lasso, times = lasso_coefficients(samples)
    tables = []
    for r, (data, coef, by_r) in enumerate(zip(samples, lasso, times, strict=True)):
        rows, seconds = repetition_rows(data, coef, SETTINGS[cell.setting][2])
        seconds |= {"lasso": by_r, REFERENCE: seconds[REFERENCE] + by_r}
        table = pd.DataFrame(rows).assign(repetition=r)
        tables.append(table.assign(seconds=table["method"].map(seconds)))
    return pd.concat(tables).assign(**cell._asdict())


def compared(results):
    """A row for each cell, tuning and method: its test error against that of the relaxed lasso."""
    keys = ["number", "setting", "tuning", "method"]
    results = results.set_index("repetition")
    base = {
        key: part["error"] for key, part in results[results.method == REFERENCE].groupby(keys[:3])
    }
    nonzeros = {
        key: part["nonzeros"]
        for key, part in results[results.method == REFERENCE].groupby(keys[:3])
    }
    out = []
    for key, part in results.groupby(keys):
        theirs = base[key[:3]]
        gap = (part["error"] - theirs).to_numpy()
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        ratio = part["error"].mean() / theirs.mean()
        out.append(
            dict(zip(keys, key, strict=True))
            | {
                "ratio": ratio,
                "worse": gap.mean() > 2 * error and ratio > 1.01,
                "better": gap.mean() < -2 * error,
                "fewer": part["nonzeros"].mean() < nonzeros[key[:3]].mean(),
            }
        )
    return pd.DataFrame(out)


def summary(results):
    """The table of the page: by tuning and method, over all cells and by setting."""
    table = compared(results)
    rows = []
    for (tuning, method), part in table.groupby(["tuning", "method"], sort=False):
        if method == REFERENCE:
            continue
        row = {
            "tuned by": tuning,
            "method": method,
            "cells": len(part),
            "ratio": np.exp(np.log(part["ratio"]).mean()),
        }
        for setting in SETTINGS:
            own = part[part["setting"] == setting]["ratio"]
            row[setting] = np.exp(np.log(own).mean()) if len(own) else np.nan
        for name in ("worse", "better", "fewer"):
            row[f"{name} %"] = 100 * part[name].mean()
        rows.append(row)
    order = {"validation": 0, "cv": 1, "oracle": 2}
    return pd.DataFrame(rows).sort_values("tuned by", key=lambda by: by.map(order), kind="stable")


def markdown(table, count, repetitions):
    """The table of `summary` for the page, with what was run."""
    names = ["tuned by", "method", "ratio", *SETTINGS, "worse %", "better %", "fewer %"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in table.to_dict("records"):
        numbers = [f"{row[name]:.3f}" for name in names[2:-3]]
        shares = [f"{row[name]:.0f}" for name in names[-3:]]
        lines.append(f"| {row['tuned by']} | {row['method']} | {' | '.join(numbers + shares)} |")
    lines += ["", f"{count} of the {len(cells())} cells, {repetitions} repetitions each."]
    return "\n".join(lines)


def draw(results, setting, file):
    """The figure of a setting: relative test error, tuned by validation, against the ratio of
    signal to noise, a panel for each type of coefficients and correlation.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    own = results[(results["setting"] == setting) & (results["tuning"] == "validation")]
    figure, axes = plt.subplots(
        len(TYPES), len(CORRELATIONS), figsize=(10, 11), sharex=True, sharey="row", squeeze=False
    )
    for (i, kind), (j, rho) in itertools.product(enumerate(TYPES), enumerate(CORRELATIONS)):
        ax = axes[i, j]
        part = own[(own["kind"] == kind) & (own["correlation"] == rho)]
        for method, color in COLORS.items():
            line = part[part["method"] == method].groupby("snr")["error"].mean()
            ax.plot(line.index, line, color=color, marker="o", markersize=3, lw=1.3, label=method)
        ax.set_xscale("log")
        ax.set_title(f"coefficients of type {kind}, correlation {rho:g}", fontsize=9)
    figure.supxlabel("signal-to-noise ratio")
    figure.supylabel("test error / variance of the noise")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="upper center", ncols=3, frameon=False
    )
    n, p, s = SETTINGS[setting]
    figure.suptitle(f"n = {n}, p = {p}, s = {s}", y=0.935, fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main():
    """Compute the missing cells and print what all of them say."""
    args = arguments(
        __doc__.splitlines()[0],
        store=("lasso-question", "folder of the results, a file for each cell"),
        every=(1, "compute every so many-th cell"),
        repetitions=(50, "repetitions of each cell"),
        only=("", "only settings whose name contains this"),
        page=(False, "write the table of docs/results.md"),
    )
    store = Path(args.store)
    store.mkdir(parents=True, exist_ok=True)
    asked = [c for c in cells()[:: args.every] if args.only in c.setting]
    if args.smoke:
        asked, args.repetitions = [cells()[i] for i in (5, 125)], 2
    for cell in asked:
        file = store / f"{cell.name}_{args.repetitions}.csv.gz"
        if not file.exists():
            began = time.perf_counter()
            run(cell, args.repetitions).to_csv(file, index=False)
            print(f"# {cell.name}: {time.perf_counter() - began:.0f} s", flush=True)
    files = [store / f"{cell.name}_{args.repetitions}.csv.gz" for cell in asked]
    results = pd.concat([pd.read_csv(file) for file in files], ignore_index=True)
    table = summary(results)
    table.to_csv(store / "summary.csv", index=False)
    print(table.to_string(index=False, float_format=lambda v: f"{v:.3f}"))
    print(results.groupby(["setting", "method"])["seconds"].mean().unstack().round(2).to_string())
    if args.page:
        put("lasso", markdown(table, len(asked), args.repetitions))
    for setting in results["setting"].unique():
        draw(results, setting, store / f"{setting}.png")


if __name__ == "__main__":
    main()
