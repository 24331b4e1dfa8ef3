"""Best subset, forward stepwise or lasso? The simulations of Hastie, Tibshirani & Tibshirani
(Statistical Science 35, 2020), with a generator of our own.

Settings (n, p, s), coefficients of types 1, 2, 3 and 5, correlations 0, 0.35 and 0.7 of neighboring
features, ten signal-to-noise ratios: 480 cells, each with a seed of its own. All methods see the
same rows and the same folds. Every method is tuned three times: by a validation set of n rows, by
the oracle (the least risk), and by 10-fold cross-validation. Needs Rscript with r-cran-glmnet
(Debian).

    python tests/benchmarks/lasso_question.py --minutes 60 --repetitions 10

adds cells to stored/lasso_question.csv (`--store FOLDER`: to that of another folder), spread over
settings, types and ratios, until all have so many repetitions or the time is over, and prints the
tables. What is stored is not computed again. `--page` writes the figure and the tables of the pages
docs/results.md and docs/measurements.md from all that is stored, `--figures FOLDER` draws a figure
of each setting, as in the paper; `--minutes 0` computes nothing.
"""

import itertools
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import stored
from common import arguments
from results import ASSETS, put
from scipy.linalg import toeplitz

import l0path

SCRIPT = Path(__file__).with_suffix(".R")
SETTINGS = {
    "low": (100, 10, 5),
    "medium": (500, 100, 5),
    "high-5": (50, 1000, 5),
    "high-10": (100, 1000, 10),
}
# further settings, of Chatterjee, Hastie & Tibshirani (Univariate-guided sparse regression, 2025)
GUIDED = {
    "guided: factor, wide": (300, 1000, 100),
    "guided: factor, tall": (300, 100, 10),
    "guided: home court, wide": (300, 1000, 100),
    "guided: home court, tall": (300, 100, 10),
    "guided: counter-example": (100, 20, 2),
}
TYPES = (1, 2, 3, 5)
CORRELATIONS = (0.0, 0.35, 0.7)
RATIOS = np.exp(np.linspace(np.log(0.05), np.log(6.0), 10))
MIXTURES = np.linspace(0.0, 1.0, 10)  # of the relaxed lasso: 1 is the lasso
KEYS = ["number", "tuning", "method"]  # of a line of the stored sums
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
    """A cell of the simulation; `number` is its place among all, the start of its seeds. The
    further settings have no `kind` of coefficients.
    """

    number: int
    setting: str
    kind: int
    correlation: float
    snr: float

    @property
    def name(self):
        """What it is called in tables."""
        told = f"type {self.kind}, correlation {self.correlation:g}, "
        return f"{self.setting}, {told if self.kind else ''}ratio {self.snr:.2g}"


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


def guided_cells():
    """The cells of the further settings; their numbers follow those of `cells`."""
    ratios = {name: (0.5, 1.0, 2.0) if "factor" in name else (2.0,) for name in GUIDED}
    pairs = [(name, ratio) for name in GUIDED for ratio in ratios[name]]
    return [Cell(len(cells()) + i, name, 0, 0.0, r) for i, (name, r) in enumerate(pairs)]


def in_order():
    """All cells in an order of which every part spreads over settings, types, correlations and
    ratios (of all such strides, 173 leaves the least unevenness); the further settings at the end.
    """
    every = cells()
    return [every[173 * i % len(every)] for i in range(len(every))] + guided_cells()


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


def neighbors(rho, n, p, rng):
    """Standard normal rows (n, p) in which features i and j have the correlation rho^|i - j|."""
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def guided(setting, rng):
    """(coefficients, covariance of the features, function of n and rng that draws rows) of a
    further setting, as its paper describes it.
    """
    _, p, s = GUIDED[setting]
    coef = np.zeros(p)
    if "factor" in setting:  # one factor of all features, with a sign of each
        signs = rng.choice((-1.0, 1.0), size=p)
        coef[:s] = rng.standard_normal(s)

        def rows(n, rng):
            return rng.standard_normal((n, p)) + rng.standard_normal((n, 1)) * signs

        return coef, np.eye(p) + np.outer(signs, signs), rows
    if "home court" in setting:  # every second one has a positive effect
        coef[: 2 * s : 2] = rng.uniform(0.5, 2.0, size=s)
        return coef, toeplitz(0.8 ** np.arange(p)), lambda n, rng: neighbors(0.8, n, p, rng)
    coef[:2] = 1.0, -0.5  # the second has no slope of its own: x2 = x1 + noise
    mixing = np.eye(p)
    mixing[0, 1] = 1.0
    return coef, mixing.T @ mixing, lambda n, rng: rng.standard_normal((n, p)) @ mixing


def sample(cell, repetition):
    """The `Sample` of a repetition of a cell."""
    n, p, s = (SETTINGS | GUIDED)[cell.setting]
    rng = np.random.default_rng([cell.number, repetition])
    if cell.setting in GUIDED:
        coef, covariance, features = guided(cell.setting, rng)
    else:
        coef = true_coefficients(cell.kind, p, s)
        covariance = toeplitz(cell.correlation ** np.arange(p))
        features = lambda n, rng: neighbors(cell.correlation, n, p, rng)  # noqa: E731
    variance = coef @ covariance @ coef / cell.snr

    def rows():
        X = features(n, rng)
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
    """(`Candidates` of the default cross-validation, their table with k, lambda2, relax)."""
    splits = [
        (np.flatnonzero(data.folds != f), np.flatnonzero(data.folds == f)) for f in range(FOLDS)
    ]
    sizes = min(SIZES, data.X.shape[1], len(data.y) - 1)
    cv = l0path.cv_fit(
        data.X, data.y, cv=splits, max_k=sizes, fit_intercept=False, certify=False, progress=False
    )
    coef = cv.coef("all", full=True).to_numpy()[1:]  # without the intercept
    return Candidates(coef, cv.folds.to_numpy()), cv.details[["k", "lambda2", "relax"]]


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
    """Test error over the variance of the noise, exact from the covariance matrix (the relative
    risk and the explained proportion of the paper follow from it: (error - 1) / snr and
    1 - error / (1 + snr)), the number of nonzero coefficients, F1 against the s strong features.
    """
    gap = coef - data.coef
    chosen, strong = set(np.flatnonzero(coef)), set(np.flatnonzero(data.coef)[:s])
    return {
        "error": 1 + gap @ data.covariance @ gap / data.variance,
        "nonzeros": len(chosen),
        "f1": 2 * len(chosen & strong) / (len(chosen) + len(strong)),
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
    """(rows of the table, processor seconds by method) of one repetition."""
    found, seconds = {}, {}
    began = time.process_time()
    parts = [(data.X, data.y)]
    parts += [(data.X[data.folds != f], data.y[data.folds != f]) for f in range(FOLDS)]
    found["lasso"] = Candidates(lasso[0], fold_errors(data, lasso[1:]))
    mixed = [relaxed(X, y, b) for (X, y), b in zip(parts, lasso, strict=True)]
    found[REFERENCE] = Candidates(mixed[0], fold_errors(data, mixed[1:]))
    seconds[REFERENCE], began = time.process_time() - began, time.process_time()
    found["forward stepwise"] = by_rows(data, stepwise)
    seconds["forward stepwise"], began = time.process_time() - began, time.process_time()
    every, table = subsets(data)
    plain = (table["lambda2"] == 0).to_numpy()
    seconds[AUTO] = time.process_time() - began
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
    """The rows of so many repetitions (a range) of a cell: one for each, tuning and method. `gap`
    and `gap2` are the difference of the error from that of the relaxed lasso, and its square.
    """
    samples = [sample(cell, r) for r in repetitions]
    lasso, times = lasso_coefficients(samples)
    tables = []
    for data, coef, by_r in zip(samples, lasso, times, strict=True):
        rows, seconds = repetition_rows(data, coef, (SETTINGS | GUIDED)[cell.setting][2])
        seconds |= {"lasso": by_r, REFERENCE: seconds[REFERENCE] + by_r}
        table = pd.DataFrame(rows)
        base = table[table["method"] == REFERENCE].set_index("tuning")["error"]
        gap = table["error"] - table["tuning"].map(base)
        seconds = table["method"].map(seconds).fillna(0.0)
        tables.append(table.assign(number=cell.number, gap=gap, gap2=gap**2, seconds=seconds))
    return pd.concat(tables)


def compared(results):
    """The stored sums as means, with the ratio of the test error to that of the relaxed lasso,
    whether it is worse or better, and whether there are fewer features.
    """
    every = pd.DataFrame(in_order()).set_index("number")
    out = results.join(every, on="number")
    count, keys = out["count"], ["number", "tuning"]
    base = out[out["method"] == REFERENCE].set_index(keys)[["error", "nonzeros"]]
    base = out[keys].join(base, on=keys)
    gap, error = out["gap"] / count, stored.standard_error(count, out["gap"], out["gap2"])
    out["ratio"] = out["error"] / base["error"]
    out["worse"] = (gap > 2 * error) & (out["ratio"] > 1.01)
    out["better"] = gap < -2 * error
    out["fewer"] = out["nonzeros"] < base["nonzeros"]
    for name in ("error", "nonzeros", "f1", "seconds"):
        out[name] /= count
    return out


def geometric(ratios):
    """Their geometric mean; nan of none."""
    return np.exp(np.log(ratios).mean())


def summary(table):
    """The table of the page: by tuning and method, in each setting and over all. Settings weigh
    equally, however many of their cells are there.
    """
    rows = []
    for (tuning, method), part in table.groupby(["tuning", "method"], sort=False):
        if method == REFERENCE:
            continue
        by = part.groupby("setting")
        ratios = by["ratio"].apply(geometric)
        row = {"tuned by": tuning, "method": method, "ratio": geometric(ratios)}
        row |= {setting: ratios.get(setting, np.nan) for setting in SETTINGS}
        shares = 100 * by[["worse", "better", "fewer"]].mean().mean()
        rows.append(row | {f"{name} %": share for name, share in shares.items()})
    order = {"validation": 0, "cv": 1, "oracle": 2}
    return pd.DataFrame(rows).sort_values("tuned by", key=lambda by: by.map(order), kind="stable")


def in_short(table):
    """The short table: a row for each method, tuned by cross-validation, with the ratio by a
    validation set beside it.
    """
    whole = summary(table)
    by = {name: part.set_index("method") for name, part in whole.groupby("tuned by")}
    out = by["cv"].drop(columns="tuned by").rename(columns={"ratio": "all settings"})
    out["tuned by a validation set"] = by["validation"]["ratio"]
    return out.sort_values("all settings", kind="stable").reset_index()


BANDS = {"below 0.3": (0.0, 0.3), "0.3 to 1.2": (0.3, 1.2), "above 1.2": (1.2, np.inf)}


def by_signal(table):
    """Ratios of test errors by the ratio of signal to noise; settings weigh equally."""
    rows = []
    for (tuning, method), part in table.groupby(["tuning", "method"], sort=False):
        if tuning == "oracle" or method in (REFERENCE, AGAIN):
            continue
        row = {"tuned by": tuning, "method": method}
        for band, (low, high) in BANDS.items():
            own = part[part["snr"].between(low, high)]
            row[band] = geometric(own.groupby("setting")["ratio"].apply(geometric))
        rows.append(row)
    return pd.DataFrame(rows).sort_values("tuned by", ascending=False, kind="stable")


def times(table):
    """Mean processor seconds of a repetition: the fits of all rows and of ten folds."""
    own = table[table["method"].isin(["lasso", REFERENCE, "forward stepwise", AUTO])]
    out = own.groupby(["setting", "method"])["seconds"].mean().unstack()
    return out.reindex([*SETTINGS, *GUIDED]).dropna().rename_axis(columns=None).reset_index()


def lost(table):
    """The cells in which the default or its rule for fewer features are worse."""
    names = {"setting": "setting", "tuning": "tuned by", "method": "method", "kind": "type"}
    names |= {"correlation": "correlation", "snr": "signal to noise", "ratio": "ratio"}
    worse = table[table["worse"] & table["method"].isin([AUTO, FEWER])]
    return worse.sort_values("ratio", ascending=False)[list(names)].rename(columns=names)


def of_guided(table):
    """Ratios of the further settings, a row for each tuning and cell, with what is significant."""
    rows = []
    for (tuning, _), part in table.groupby(["tuning", "number"]):
        part = part.set_index("method")
        row = {"tuned by": tuning, "setting": part["setting"].iloc[0].removeprefix("guided: ")}
        row["signal to noise"] = part["snr"].iloc[0]
        for method in COLORS:
            if method in part.index and method != REFERENCE:
                one = part.loc[method]
                mark = " (worse)" if one["worse"] else " (better)" if one["better"] else ""
                row[method] = f"{one['ratio']:.3f}{mark}"
        if tuning != "oracle":
            rows.append(row | {"nonzeros": nonzeros(part)})
    return pd.DataFrame(rows)


def nonzeros(part):
    """Mean numbers of nonzero coefficients of the relaxed lasso, the default and its rule."""
    return ", ".join(f"{part['nonzeros'][method]:.0f}" for method in (REFERENCE, AUTO, FEWER))


def parts_of(table):
    """(the cells of the four settings, those of the further ones)."""
    return tuple(table[table["setting"].isin(names)] for names in (SETTINGS, GUIDED))


def tables(table):
    """The tables of all that a store has, whatever it has."""
    own, further = parts_of(table)
    out = [summary(own), by_signal(own), lost(own)] if len(own) else []
    return out + ([of_guided(further)] if len(further) else []) + [times(table)]


def page(table):
    """Write the tables and the figure of the page."""
    own, further = parts_of(table)
    by_setting = own.groupby("setting")["number"].nunique().items()
    count = f"{own['number'].nunique()} of the {len(cells())} cells ("
    count += ", ".join(f"{name} {number}" for name, number in by_setting) + "): "
    count += stored.told(own, "number", "repetitions")
    put("lasso", f"{stored.markdown(in_short(own))}\n\n{count}")
    put("lasso-all", stored.markdown(summary(own)))
    put("lasso-signal", stored.markdown(by_signal(own)))
    put("lasso-lost", stored.markdown(lost(own)))
    put("lasso-seconds", stored.markdown(times(own)))
    if len(further):
        note = f"Cells: {stored.told(further, 'number', 'repetitions')}"
        put("lasso-guided", f"{stored.markdown(of_guided(further))}\n\n{note}")
    overview(own, ASSETS / "lasso_question.png")


def overview(table, file):
    """The figure of all settings: test error over that of the relaxed lasso, tuned by
    cross-validation, against the ratio of signal to noise; geometric means over types and
    correlations.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SETTINGS), figsize=(9.4, 3.3), sharex=True)
    own = table[table["tuning"] == "cv"]
    for ax, (setting, (n, p, s)) in zip(axes, SETTINGS.items(), strict=True):
        part = own[own["setting"] == setting]
        for method, color in COLORS.items():
            line = part[part["method"] == method].groupby("snr")["ratio"].apply(geometric)
            ax.plot(line.index, line, color=color, marker="o", markersize=3, lw=1.3, label=method)
        ax.set_xscale("log")
        count = part["number"].nunique()
        ax.set_title(f"{setting} ({count} cells)\nn = {n}, p = {p}, s = {s}", fontsize=9.5)
        ax.tick_params(labelsize=9)
    axes[0].set_ylabel("test error / relaxed lasso's")
    figure.supxlabel("signal-to-noise ratio", fontsize=10)
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="upper center", ncols=6, frameon=False, fontsize=9, columnspacing=1)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(file, dpi=110)
    plt.close(figure)


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
    """Compute cells that are missing and print what all of them say."""
    args = arguments(
        __doc__.splitlines()[0],
        store=(str(stored.FOLDER), "folder of lasso_question.csv"),
        minutes=(0.0, "compute for so long, to the end of a cell"),
        repetitions=(10, "repetitions of each cell"),
        only=("", "only settings whose name contains this, such as guided"),
        page=(False, "write the tables and the figure of the pages"),
        figures=("", "folder for a figure of each setting, as in the paper"),
    )
    file = Path(args.store) / "lasso_question.csv"
    asked = [c for c in in_order() if args.only in c.setting]
    if args.smoke:
        asked, args.repetitions = [cells()[i] for i in (5, 125)], 2
        args.minutes, file = np.inf, Path(tempfile.mkdtemp()) / file.name
    stored.go_on(file, KEYS, asked, run, args)
    table = compared(stored.load(file))
    for made in tables(table):
        print(made.to_string(index=False, float_format=lambda v: f"{v:.3f}"))
    print(stored.told(table, "number", "repetitions"))
    if args.page:
        page(table)
    for setting in SETTINGS if args.figures else ():
        draw(table, setting, Path(args.figures) / f"lasso_{setting}.png")


if __name__ == "__main__":
    main()
