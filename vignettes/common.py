"""What is not the subject of a vignette: the short form (`L0PATH_SHORT=1`), colors, the
style of figures and tables, and for each vignette its pictures, its made-up data and
the loops that repeat an experiment.
"""

import os
import textwrap
import threading
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from itertools import combinations

import l0path
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import psutil
from l0path.core import colors
from l0path.datasets import load_birth_weights, load_srbct
from matplotlib.colors import ListedColormap
from matplotlib.ticker import NullLocator
from scipy import sparse, stats
from scipy.signal import savgol_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer repetitions, the same cells
# of Okabe & Ito (2008), which readers with other eyes tell apart
BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
GREY = "#6b6b6b"
DOTS = {"marker": "o", "markersize": 4, "linewidth": 1.4}  # of a curve over sizes

pd.set_option("display.width", 160, "display.max_columns", 30, "display.max_rows", 200)
pd.set_option("display.precision", 4, "display.max_colwidth", 90)
plt.rcParams.update(
    {
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 10,
        "figure.constrained_layout.use": True,
        "figure.dpi": 80,
        "figure.figsize": (7.2, 3.4),
        "legend.fontsize": 9,
        "legend.frameon": False,
    }
)


def beside(ax, text, at, shift, **style):
    """A short text beside a point of a picture; `shift` is in points."""
    ax.annotate(text, at, xytext=shift, textcoords="offset points", **style)


def plain_ticks(axis, values):
    """Ticks at some values of a logarithmic axis, as plain numbers, and no others."""
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_minor_locator(NullLocator())


def cells(ax, height, width):
    """White lines between the cells of an image of that many rows and columns."""
    ax.set_xticks(np.arange(width + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(height + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def written_in(ax, shown, text, dark):
    """Numbers in the cells of an image; `dark` says of a value whether its cell is."""
    for (i, j), value in np.ndenumerate(np.asarray(shown)):
        color = "white" if dark(value) else "black"
        ax.text(j, i, text(value), ha="center", va="center", fontsize=9, color=color)


def errors_by_size(ax, scores, color, shift=0.0, **style):
    """Held-out errors of a table of scores by size, with their standard errors."""
    style = DOTS | {"color": color, "capsize": 2, "elinewidth": 0.9} | style
    ax.errorbar(scores.k + shift, scores.cv_mean, scores.cv_se, **style)


def curves_by_ridge(ax, scores, what):
    """A score against the size, a curve for each lambda2, from dark to light."""
    ridges = sorted(scores.lambda2.unique())
    shades = plt.colormaps["viridis"](np.linspace(0, 0.85, len(ridges)))
    for ridge, color in zip(ridges, shades, strict=True):
        part = scores[np.isclose(scores.lambda2, ridge)]
        ax.plot(part.k, part[what], color=color, label=f"{ridge:.1g}", **DOTS)


def spectra_by_content(axes, waves, tables, content, every):
    """Every so many spectra of each table, colored by a content of the samples."""
    span = plt.Normalize(content.min(), content.max())
    for ax, wave, table in zip(axes, waves, tables, strict=True):
        for i in np.argsort(content.to_numpy())[::every]:
            color = plt.cm.viridis(span(content.iloc[i]))
            ax.plot(wave, np.asarray(table)[i], color=color, linewidth=0.7, alpha=0.8)
        ax.set(xlabel="wavelength, nm")
    scale = plt.cm.ScalarMappable(span, "viridis")
    axes[0].figure.colorbar(scale, ax=axes, label="fat, %", pad=0.01)


def legend_outside(fig, ax, ncols, place="upper"):
    """The legend of one panel, for all panels, above or below these."""
    drawn_there = ax.get_legend_handles_labels()
    fig.legend(*drawn_there, ncols=ncols, loc=f"outside {place} center")


# -------------------- after_selection


def p_values_of_noise(same, fresh):
    """p-values of chosen features, on the rows that chose and on fresh ones."""
    _, ax = plt.subplots()
    for name, values, style in (
        ("rows that chose", same, {"color": ORANGE}),
        ("fresh rows", fresh, {"color": BLUE, "histtype": "step", "linewidth": 2}),
    ):
        label = f"{name}: {np.mean(values < 0.05):.0%} below 0.05"
        ax.hist(values, np.linspace(0, 1, 21), label=label, **style)
    what = "p-value of a chosen feature; no feature has an effect"
    ax.set(xlabel=what, ylabel="count")
    ax.legend()


def splitting_intervals(table, X):
    """Intervals of `split_inference` for the features with the smallest p-values."""
    shown = table[np.isfinite(table.ci_low)].sort_values("p_value").iloc[:10][::-1]
    scale = X[shown.index].std()
    low, high = shown.ci_low * scale, shown.ci_high * scale
    _, ax = plt.subplots(figsize=(7.2, 0.5 + 0.4 * max(len(shown), 3)))
    color = np.where(shown.p_value < 0.05, BLUE, GREY)
    ax.hlines(shown.index, low, high, color=color, linewidth=3)
    ax.axvline(0, color=GREY, linewidth=0.8)
    for name, row in shown.iterrows():
        text = f"chosen in {row.selected:.0%} of the splits, p = {row.p_value:.2g}"
        style = {"va": "center", "fontsize": 8, "color": GREY}
        beside(ax, text, (high[name], name), (8, 0), **style)
    ax.margins(x=0.35)
    ax.set(xlabel="95 % interval per standard deviation (blue: adjusted p < 0.05)")


def noise_and_signals(n, p, signals, effect, seed):
    """(X, y, names of the columns with an effect of either sign)."""
    rng = np.random.default_rng(seed)
    X = l0path.simulate.linear(n, p, 0, rho=0.3, random_state=rng).X
    beta = np.zeros(p)
    chosen = rng.choice(p, signals, replace=False)
    beta[chosen] = rng.choice([-effect, effect], signals)
    return X, X @ beta + rng.standard_normal(n), {f"x{j}" for j in chosen}


def knockoff_rates(repeats, fdr):
    """Mean shares of false columns among the selected, and of true columns found."""
    shares = []
    for seed in range(repeats):
        X, y, true = noise_and_signals(150, 50, 15, 0.5, seed)
        result = l0path.knockoff_filter(X, y, fdr=fdr, random_state=seed, max_k=30)
        chosen = set(result.selected)
        shares.append(
            {
                "false among the selected": len(chosen - true) / max(1, len(chosen)),
                "found among the true": len(chosen & true) / len(true),
            }
        )
    shares = pd.DataFrame(shares)
    return shares.agg(["mean", "sem"]).round(3)


# -------------------- all_subsets


def residual(X, y, columns):
    """The sum of squares that least squares on some columns leaves."""
    A = np.column_stack([np.ones(len(y)), X.iloc[:, columns]])
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return left @ left


def forward(X, y):
    """The sums of squares of forward selection by size."""
    chosen, out = [], [residual(X, y, [])]
    while len(chosen) < X.shape[1]:
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        values = [residual(X, y, [*chosen, j]) for j in rest]
        chosen.append(rest[np.argmin(values)])
        out.append(min(values))
    return np.array(out)


def backward(X, y):
    """The sums of squares of backward elimination by size."""
    chosen = list(range(X.shape[1]))
    out = [residual(X, y, chosen)]
    while chosen:
        values = [residual(X, y, [i for i in chosen if i != j]) for j in chosen]
        chosen.pop(np.argmin(values))
        out.append(min(values))
    return np.array(out)[::-1]


def stepwise_excess(rss, forward, backward):
    """How far stepwise methods are above the least sums of squares, by size."""
    _, ax = plt.subplots()
    for name, values, color, shift in (
        ("forward selection", forward, BLUE, -0.2),
        ("backward elimination", backward, ORANGE, 0.2),
    ):
        at = np.arange(20) + shift
        ax.bar(at, 100 * (values / rss - 1), width=0.4, color=color, label=name)
    ax.set(xlabel="number of features", xticks=range(0, 20, 2))
    ax.set(ylabel="sum of squares above the best, %")
    ax.legend()


# -------------------- all_subsets_of_terms


def slopes_by_career(table):
    """Salaries against hits and runs, with a line for each stage of a career."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    stages = zip(table.Career.cat.categories, (BLUE, SKY, GREEN, ORANGE), strict=True)
    for stage, color in stages:
        part = table[table.Career == stage]
        for ax, name in zip(axes, ("Hits", "CRBI"), strict=True):
            ax.scatter(part[name], part.Salary, s=9, color=color, alpha=0.5)
            ends = np.array([part[name].min(), part[name].max()])
            fitted = np.polynomial.Polynomial.fit(part[name], part.Salary, 1)
            ax.plot(ends, fitted(ends), color=color, linewidth=2, label=stage)
    axes[0].set(xlabel="hits in the season", ylabel="salary, thousand dollars")
    axes[1].set(xlabel="runs batted in, whole career")
    axes[1].legend(title="years")


# -------------------- choosing_k


def prices(ax, path, rules, top, legend):
    """Gains of features (bars), what rules charge (lines), and what they choose."""
    scores, k = path.score_table(), path.details.k.to_numpy()
    gain = 2.0 * np.diff(scores.loglik)
    ax.bar(k[1:], gain, width=0.8, color="#d0d0d0", label="gain in 2 loglik")
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    heights = top * np.linspace(0.97, 0.69, len(rules))
    for (rule, color), lift in zip(rules.items(), heights, strict=True):
        price = np.diff(scores[rule]) + gain
        ax.plot(k[1:], price, color=color, linewidth=1.6, label=rule)
        at = path.details.k[path.select(rule)]
        ax.vlines(at, 0, lift, color=color, linewidth=1, linestyle=":")
        style = {"color": color, "fontsize": 8.5, "va": "center", "bbox": box}
        ax.text(at + 0.4, lift, f"{rule}: {at}", **style)
    ax.set(xlabel="k-th feature", ylim=(0, top))
    if legend:
        ax.set_ylabel("gain and price")


def choices(data, rules, repeats):
    """The sizes that rules and cross-validation choose, a row for each set of data."""
    rows = {}
    for name, (X, y) in data.items():
        cv = l0path.cv_fit(
            X, y, max_k=30, cv=10, n_repeats=repeats, random_state=1, lambda2=0
        )
        every = {rule: cv.model(rule).k for rule in rules}
        folds = {f'CV "{rule}"': cv.model(rule).k for rule in ("min", "1se")}
        rows[name] = every | folds
    return pd.DataFrame(rows).T


def fooled_by_screening(X, repeats, kept=60):
    """Sizes chosen for noise among the columns that look best."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(repeats):
        noise = rng.standard_normal(len(X))
        look = np.abs(np.corrcoef(X.to_numpy().T, noise)[-1, :-1])
        best = X.iloc[:, np.argsort(-look)[:kept]]
        path = l0path.fit(best, noise, max_k=20)
        row = {
            rule: path.select(rule) for rule in ("aicc", "bic", "ebic", "mbic", "gic")
        }
        for rule in ("ebic", "mbic", "gic"):
            row[f"{rule}, p_total={X.shape[1]}"] = path.select(rule, p_total=X.shape[1])
        for what, table in ((f"the {kept} screened", best), (f"all {X.shape[1]}", X)):
            cv = l0path.cv_fit(table, noise, max_k=10, cv=10, random_state=1, lambda2=0)
            row[f'CV "1se", on {what}'] = cv.model("1se").k
        rows.append(row)
    k = pd.DataFrame(rows)
    return pd.DataFrame({"mean k (truth: 0)": k.mean(), "k = 0": (k == 0).mean()})


def nested_errors(data, rules, **folds):
    """Inner and nested errors of rules, as shares of the variance of the response."""
    rows = []
    for name, (X, y) in data.items():
        for rule in rules:
            nested = l0path.nested_cv(
                X, y, rule=rule, max_k=15, lambda2=0, random_state=1, **folds
            )
            inner, k = nested.table.inner_mean.mean() / np.var(y), nested.table.k
            outer = nested.mean / np.var(y)
            rows.append(
                {
                    "data": name,
                    "rule": rule,
                    "inner": inner,
                    "nested": outer,
                    "too small by": 1 - inner / outer,
                    "k": f"{k.min()} to {k.max()}",
                }
            )
    return pd.DataFrame(rows).set_index(["data", "rule"])


def test_errors(data, rules, splits):
    """Test errors, and sizes, of what rules choose on two thirds of the rows."""
    rows = []
    for name, (X, y) in data.items():
        for seed in range(splits):
            train, test = train_test_split(
                np.arange(len(y)), test_size=1 / 3, random_state=seed
            )
            most = {"max_k": min(X.shape[1], len(train) // 2), "cv": 5}
            cv = l0path.cv_fit(
                X.iloc[train], y.iloc[train], random_state=seed, **most, lambda2=0
            )
            for rule in rules:
                last = rule == "largest k"
                m = cv.model(k=cv.table.k.max()) if last else cv.model(rule.split()[-1])
                left = y.iloc[test] - m.predict(X.iloc[test])
                error = np.mean(left**2) / np.var(y.iloc[test])
                rows.append({"data": name, "rule": rule, "k": m.k, "error": error})
    return pd.DataFrame(rows)


def cuts_and_choices(single, repeated):
    """Scores of many cuts into folds, and the sizes that they choose."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(3, 2))
    thin = {"color": BLUE, "linewidth": 0.6, "alpha": 0.35}
    for c in single[:40]:
        left.plot(c.scores.k, c.scores.cv_mean, **thin)
    left.plot([], [], color=BLUE, linewidth=0.8, label="one cut into ten folds")
    mean, many = repeated.scores.cv_mean, repeated.scores.n_folds.iloc[0] // 10
    what = f"mean of {many} repeats"
    left.plot(repeated.scores.k, mean, color=ORANGE, linewidth=2, label=what)
    left.set(xlabel="features, k", ylabel="held-out mean squared error")
    left.set(ylim=(mean.min() * 0.97, mean.min() * 1.22))
    for rule, color, shift in (("1se", GREEN, -0.2), ("min", BLUE, 0.2)):
        chosen = pd.Series([cv.model(rule).k for cv in single])
        share = chosen.value_counts(normalize=True)
        at = share.index + shift
        right.bar(at, share, width=0.4, color=color, label=f'"{rule}"')
    right.set(xlabel="k chosen", ylabel=f"share of {len(single)} cuts")
    right.xaxis.get_major_locator().set_params(integer=True)
    left.legend()
    right.legend()


def gains_and_prices(paths):
    """For each path what a column gains and what each rule charges for it."""
    shades = (BLUE, SKY, GREEN, ORANGE, PINK, GREY)
    rules = ("aic", "aicc", "bic", "ebic", "gic", "mbic")
    COLORS = dict(zip(rules, shades, strict=True))
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.8))
    for ax, (title, one), left in zip(
        axes, paths.items(), (True, False, False), strict=True
    ):
        prices(ax, one, COLORS, 22, left)
        ax.set_title(title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, ncols=7, loc="outside upper center")


def inner_and_nested(honest):
    """The score of the chosen model beside its nested score, one line for each rule."""
    _, ax = plt.subplots(figsize=(7.2, 0.9 + 0.3 * len(honest)))
    per = honest.index.get_level_values("rule").nunique()
    lines = [at + at // per * 0.8 for at in range(len(honest))]
    ax.hlines(lines, honest.inner, honest.nested, color=GREY, linewidth=1.5)
    dots = {"s": 42, "linewidth": 1.5, "zorder": 3}
    ax.scatter(
        honest.inner,
        lines,
        facecolor="white",
        edgecolor=BLUE,
        label="inner score of the chosen model",
        **dots,
    )
    ax.scatter(
        honest.nested,
        lines,
        color=ORANGE,
        label="on rows the choice has not seen",
        **dots,
    )
    ax.set_yticks(lines, [f"{name}, {rule}" for name, rule in honest.index])
    ax.invert_yaxis()
    ax.set(xlabel="mean squared error / variance of the response")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)


def errors_of_rules(results):
    """Test errors of what rules choose: the median and 80 % of the splits."""
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.4))
    every = results.groupby(["data", "rule"], sort=False)
    span, size = every.error.quantile([0.1, 0.5, 0.9]).unstack(), every.k.mean()
    for ax, name in zip(axes, results.data.unique(), strict=True):
        part, place = span.loc[name], np.arange(len(span.loc[name]))
        ax.hlines(place, part[0.1], part[0.9], color="#c4c4c4", linewidth=4)
        kinds = part.index.str.split().str[0]
        color = kinds.map(lambda kind: {"CV": ORANGE, "largest": GREY}.get(kind, BLUE))
        ax.scatter(part[0.5], place, s=36, color=color, zorder=3)
        style = {"xycoords": ("axes fraction", "data"), "fontsize": 8, "color": GREY}
        for at, k in enumerate(size.loc[name]):
            ax.annotate(f"k = {k:.1f}", (1.01, at), va="center", **style)
        ax.set_yticks(place, part.index)
        ax.invert_yaxis()
        ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
        ax.set(title=name, xlabel="test error / variance", xscale="log")
        low, high = 0.95 * part[0.1].min(), 1.05 * max(1.0, part[0.9].max())
        wide = (0.5, 1, 2, 4, 8, 16, 32, 64)
        ticks = wide if high > 4 * low else (0.4, 0.5, 0.6, 0.8, 1, 2)
        plain_ticks(ax.xaxis, [t for t in ticks if low < t < high])
        ax.set_xlim(low, high)
    what = "median and 10 to 90 % of the splits; dotted: no better than the mean"
    fig.suptitle(what, fontsize=9, color=GREY)


# -------------------- classification_many_genes


def two_classes_of_genes():
    """{name: (X, y)}: DataFrames of log expression, classes as texts."""
    made = l0path.simulate.logistic(
        70,
        2000,
        3,
        rho=0.8,
        correlation="block",
        block_size=20,
        scale=2,
        random_state=1,
    )
    X = pd.DataFrame(made.X, columns=[f"gene {j}" for j in range(made.X.shape[1])])
    tumours = load_srbct()
    return {
        "simulated": (X, np.where(made.y > 0, "ill", "healthy")),
        "childhood": (tumours.X, np.where(tumours.y == "EWS", "Ewing", "other")),
    }


def end(X, y):
    """(size at which the path without a ridge ends, errors of its last model)."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", l0path.errors.SeparationWarning
        )  # it is what we look for
        last = l0path.fit(X, y, loss="logistic", max_k=20).model(index=-1)
    return last.k, int((last.predict(X, type="class") != y).sum())


def ends_of_paths(data, repeats):
    """Where paths without a ridge end, also those of shuffled labels."""
    rng, rows = np.random.default_rng(1), []
    for name, (X, y) in data.items():
        k, wrong = end(X, y)
        shuffled = [end(X, rng.permutation(y)) for _ in range(repeats)]
        whole = [k for k, errors in shuffled if errors == 0]
        rows.append(
            {
                "data": name,
                "path ends at": k,
                "training errors": wrong,
                "shuffled labels: no errors in": f"{len(whole)} of {repeats}",
                "with genes": f"{min(whole)} to {max(whole)}" if whole else "",
            }
        )
    return pd.DataFrame(rows).set_index("data")


SCORES = {
    "misclassification": lambda t, p: np.mean((p > 0.5) != t),
    "AUC": roc_auc_score,
    "Brier": brier_score_loss,
    "deviance": lambda t, p: 2 * log_loss(t, np.clip(p, 1e-12, 1 - 1e-12)),
}


def held_out_scores(cv, y):
    """Scores of the held-out probabilities by lambda2 and k."""
    t = y == cv.classes[1]
    rows = [
        {"lambda2": row.lambda2, "k": row.k}
        | {name: score(t, cv.held_out(index=i)) for name, score in SCORES.items()}
        for i, row in cv.details.iterrows()
    ]
    return pd.DataFrame(rows)


CS = np.geomspace(0.04, 30, 8 if SHORT else 22)


def lasso_scores(X, y, splits, positive):
    """Scores by C of the lasso, and of its genes refitted with a ridge."""
    X, t = np.asarray(X), y == positive
    lasso, refit = np.zeros((2, len(CS), len(t)))
    times, sizes = np.zeros(len(t)), np.zeros(len(CS))
    how = {"l1_ratio": 1, "solver": "liblinear", "intercept_scaling": 10}
    how |= {"max_iter": 500, "random_state": 0}
    for train, test in splits:
        centre, scale = X[train].mean(axis=0), np.maximum(X[train].std(axis=0), 1e-12)
        Z, Z_new = (X[train] - centre) / scale, (X[test] - centre) / scale
        times[test] += 1
        ridge = LogisticRegression(C=1 / (2 * 0.1 * len(train)), max_iter=2000)
        for i, C in enumerate(CS):
            model = LogisticRegression(C=C / np.sqrt(len(train)), **how).fit(
                Z, t[train]
            )
            chosen = np.flatnonzero(model.coef_[0])
            sizes[i] += chosen.size / len(splits)
            lasso[i, test] += model.predict_proba(Z_new)[:, 1]
            if chosen.size:
                again = ridge.fit(Z[:, chosen], t[train])
                refit[i, test] += again.predict_proba(Z_new[:, chosen])[:, 1]
            else:
                refit[i, test] += t[train].mean()
    rows = [
        {"k": sizes[i], "kind": kind}
        | {name: score(t, p[i] / times) for name, score in SCORES.items()}
        for kind, p in (("lasso", lasso), ("lasso's genes, ridge 0.1", refit))
        for i in range(len(CS))
    ]
    return pd.DataFrame(rows)


def at_the_same_size(subset, lasso, sizes):
    """AUC and Brier score of subsets and of the lasso at some numbers of genes."""
    rows = []
    for name in subset:
        part = subset[name][np.isclose(subset[name].lambda2, 0.1)].set_index("k")
        for size in (k for k in sizes if k in part.index):
            row = {"data": name, "genes": size}
            for what in ("AUC", "Brier"):
                row[f"subset, {what}"] = part.loc[size, what]
                for kind, curve in lasso[name].sort_values("k").groupby("kind"):
                    row[f"{kind}, {what}"] = np.interp(size, curve.k, curve[what])
            rows.append(row)
    return pd.DataFrame(rows).set_index(["data", "genes"])


def scores_by_ridge(scores):
    """Four scores against the number of genes, a curve for each lambda2."""
    fig, axes = plt.subplots(2, 2, figsize=(7.2, 4.2), sharex=True)
    for ax, what in zip(axes.flat, SCORES, strict=True):
        curves_by_ridge(ax, scores, what)
        ax.set(title=what)
    last = axes[1, 1]
    last.set_yscale("log")
    low, high = last.get_ylim()
    ticks = (0.5, 0.6, 0.8, 1, 1.5, 2, 3, 4, 6)
    plain_ticks(last.yaxis, [t for t in ticks if low < t < high])
    axes[0, 1].legend(title=r"$\lambda_2$", ncols=2)
    fig.supxlabel("genes, k", fontsize=10)


def sorted_probabilities(cv, y, size):
    """Held-out probabilities in their order, a panel for each lambda2."""
    ridges = sorted(cv.details.lambda2.unique())
    _, axes = plt.subplots(1, len(ridges), figsize=(9, 2.6), sharey=True)
    t = y == cv.classes[1]
    for ax, ridge in zip(axes, ridges, strict=True):
        p = cv.held_out(k=size, lambda2=ridge)
        order = np.argsort(p)
        ax.scatter(
            np.arange(len(p)), p[order], s=22, c=np.where(t[order], ORANGE, BLUE)
        )
        ax.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
        ax.set(
            xlabel="samples, sorted",
            ylim=(-0.03, 1.03),
            title=rf"$\lambda_2$ = {ridge:g}",
        )
    axes[0].set_ylabel(f"held-out P({cv.classes[1]}), k = {size}")
    axes[0].scatter([], [], s=22, color=ORANGE, label=str(cv.classes[1]))
    axes[0].scatter([], [], s=22, color=BLUE, label=str(cv.classes[0]))
    axes[0].legend(loc="upper left")


def subsets_and_lasso(subset, lasso):
    """Scores of best subsets, of the lasso, and of the genes of the lasso."""
    grid = {"sharex": True, "squeeze": False, "figsize": (9, 2.6 * len(subset))}
    fig, axes = plt.subplots(len(subset), 3, **grid)
    for line, name in zip(axes, subset, strict=True):
        ours, theirs = subset[name], lasso[name]
        ours, theirs = ours[ours.k > 0], theirs[theirs.k >= 0.5]
        curves = [
            (
                ours[np.isclose(ours.lambda2, ridge)],
                f"best subset, ridge {ridge:g}",
                look,
            )
            for ridge, look in ((1e-3, (SKY, "-")), (1e-1, (ORANGE, "-")))
        ]
        curves += [
            (theirs[theirs.kind == kind], kind, (GREEN, style))
            for kind, style in (("lasso", "-"), ("lasso's genes, ridge 0.1", "--"))
        ]
        for ax, what in zip(line, ("misclassification", "AUC", "Brier"), strict=True):
            for part, label, (color, style) in curves:
                ax.plot(part.k, part[what], style, color=color, label=label, **DOTS)
            ax.set(title=f"{name}: {what}", xscale="log")
            plain_ticks(ax.xaxis, [1, 2, 5, 10, 20, 50])
    for ax in axes[-1]:
        ax.set_xlabel("genes (mean over the folds)")
    legend_outside(fig, axes[0, 0], 4)


def genes_of_folds(cvs, data, size):
    """How many of the folds choose each gene."""
    _, axes = plt.subplots(
        1, len(cvs), figsize=(4.3 * max(len(cvs), 2), 3), squeeze=False
    )
    for ax, (name, cv) in zip(axes[0], cvs.items(), strict=True):
        X, y = data[name]
        folds = [
            l0path.fit(
                X.iloc[train], y[train], loss="logistic", lambda2=0.1, max_k=size
            ).support(k=size)
            for train, _ in cv.splits
        ]
        chosen = pd.Series(np.concatenate(folds)).value_counts() / len(folds)
        ax.bar(range(1, 1 + len(chosen[:40])), chosen[:40], color=BLUE, width=0.8)
        ax.axvline(size + 0.5, color=GREY, linewidth=0.9, linestyle=":")
        ax.set(
            title=f"{name}: {len(chosen)} genes in {len(cv.splits)} folds, k = {size}",
            xlabel="genes, most frequent first",
            ylim=(0, 1.02),
        )
    axes[0, 0].set_ylabel("share of the folds")


# -------------------- coming_from


def walk_along_lambda0(path, walk):
    """The models of a path over sizes, and those that a walk along lambda0 meets."""
    table = path.details
    on, off = (
        table[rows] for rows in (table.lambda0_high > 0, table.lambda0_high.isna())
    )
    met = walk.details.groupby("n_features").loss.min()
    _, ax = plt.subplots(figsize=(7.2, 3.6))
    ax.plot(on.k, on.loss, color=GREY, linewidth=1, zorder=1)
    ring = {"s": 46, "edgecolor": BLUE, "zorder": 2}
    ax.scatter(on.k, on.loss, color=BLUE, label="best at some lambda0", **ring)
    what = "best of its size, at no lambda0"
    ax.scatter(off.k, off.loss, facecolor="white", label=what, **ring)
    what = "met on the walk along lambda0"
    ax.scatter(met.index, met, s=26, marker="x", color=ORANGE, zorder=3, label=what)
    low, high = table.loss.min(), table.loss.max()
    ax.set(
        xlabel="features, k",
        ylabel="loss (half the mean squared error)",
        ylim=(low - 0.03 * (high - low), low + 0.45 * (high - low)),
        xticks=range(0, 20, 2),
    )
    ax.legend()


def lasso_and_subsets(net, path):
    """Standardized coefficients of a lasso path beside those of best subsets."""
    lasso = net.coef(standardized=True).drop("(Intercept)")
    subset = path.coef("all", standardized=True).drop("(Intercept)")
    main = path.coef(k=6, standardized=True).drop("(Intercept)").abs().nlargest(6).index
    shades = dict(zip(main, (BLUE, ORANGE, GREEN, PINK, SKY, "#E69F00"), strict=True))
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for name in subset.index:
        style = {"color": shades.get(name, "#c8c8c8"), "zorder": 1 + (name in main)}
        if name in lasso.index:
            axes[0].plot(net.details.lambda1, lasso.loc[name], **style)
        style["label"] = name if name in main else None
        axes[1].plot(path.details.k, subset.loc[name], "o-", markersize=2.5, **style)
    axes[0].set_xscale("log")
    axes[0].invert_xaxis()
    plain_ticks(axes[0].xaxis, [200, 50, 10, 2, 0.5])
    axes[0].set(title="the lasso: lambda0 = 0", xlabel="lambda1")
    axes[0].set(ylabel="standardized coefficient")
    axes[1].set(title="best subsets: lambda1 = 0", xlabel="features, k")
    axes[1].legend(loc="upper left")


# -------------------- counts_and_shares


def counts_seen_and_expected(rand, poisson, negative):
    """Shares of counts that were seen, and those that two models expect."""
    counts, visits = np.arange(16), rand.mdvis.astype(int)
    theta, mean = negative.path.loss.theta, negative.predict(rand)
    share = theta / (theta + mean)
    of_poisson = [stats.poisson.pmf(c, poisson.predict(rand)).mean() for c in counts]
    of_negative = [stats.nbinom.pmf(c, theta, share).mean() for c in counts]
    _, ax = plt.subplots()
    ax.bar(
        counts, [(visits == c).mean() for c in counts], color="#d9d9d9", label="seen"
    )
    for name, expected, color in (
        ("Poisson", of_poisson, ORANGE),
        ("negative binomial", of_negative, BLUE),
    ):
        label = f"{name}, its best model by BIC"
        ax.plot(counts, expected, "o-", color=color, label=label)
    what = f"visits in a year (up to 15; the most seen is {visits.max()})"
    ax.set(xlabel=what, ylabel="share of persons")
    ax.legend()


def bic_and_districts(schools):
    """BIC of a path, and its error on districts that were held out."""
    bic, kept = schools.score_table()["bic"], schools.scores[schools.scores.k > 0]
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2))
    axes[0].semilogy(schools.scores.k, bic - bic.min() + 1, color=ORANGE, **DOTS)
    axes[0].set(
        ylabel="BIC above its minimum, plus 1", title="as if pupils were independent"
    )
    errors_by_size(axes[1], kept, BLUE)
    axes[1].axvline(schools.model("1se").k, color=GREY, linestyle=":")
    axes[1].set(ylabel="deviance per pupil", title="districts that were held out")
    for ax in axes:
        ax.set(xlabel="features", xticks=range(0, 21, 5))


def residuals_of_two_losses(squared, gamma, salary):
    """Held-out errors: differences of the squared loss, ratios of the gamma loss."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for ax, cv, name, color, level in (
        (axes[0], squared, "squared loss", ORANGE, 0),
        (axes[1], gamma, "gamma loss, log link", BLUE, 1),
    ):
        mean = cv.held_out("min")
        shown = salary / mean if level else salary - mean
        ax.scatter(mean, shown, s=14, color=color, alpha=0.6)
        ax.axhline(level, color=GREY, linewidth=0.8)
        ax.set(title=f"{name}, {cv.model('min').k} features")
        ax.set(xlabel="held-out prediction, thousand dollars")
    axes[0].set(ylabel="salary less prediction")
    axes[1].set(ylabel="salary / prediction", xscale="log", yscale="log")


def held_out_quantiles(held_out, salary):
    """Held-out quantiles in the order of the median, and what was observed."""
    order = held_out[0.5].sort_values().index
    place = np.arange(len(order))
    _, ax = plt.subplots(figsize=(9, 4))
    ax.fill_between(
        place,
        held_out[0.1][order],
        held_out[0.9][order],
        color=BLUE,
        alpha=0.2,
        linewidth=0,
        label="10 % to 90 %, held out",
    )
    ax.plot(place, held_out[0.5][order], color=BLUE, label="median, held out")
    ax.scatter(place, salary[order], s=10, color="#333333", label="salary")
    ax.set(
        xlabel="players in the order of their predicted median",
        ylabel="thousand dollars",
    )
    ax.legend(loc="upper left")


# -------------------- diabetes_and_tumours


def brief(name, width=44):
    """A gene name for tables and axes: clone number and the beginning of the title."""
    return textwrap.shorten(name, width, placeholder=" …")


def errors_and_sizes(result):
    """Test errors against those of the lasso, and the numbers of features."""
    order = result.sort_values("features", ascending=False)
    subset = order.index.str.startswith("subset")
    color = np.where(subset, BLUE, ORANGE).tolist()
    _, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.6), sharey=True, width_ratios=(3, 2)
    )
    at = np.arange(len(order))
    left.axvline(0, color=GREY, linewidth=0.9, linestyle="--")
    left.hlines(
        at,
        order.minus_lasso - order.se,
        order.minus_lasso + order.se,
        color=color,
        linewidth=1.6,
    )
    left.scatter(order.minus_lasso, at, color=color, s=45, zorder=3)
    left.set(
        yticks=at,
        yticklabels=order.index,
        xlabel="test error minus that of the lasso (± one se)",
    )
    right.barh(at, order.features, color=color, height=0.55)
    for y_at, count in zip(at, order.features, strict=True):
        beside(right, f"{count:.1f}", (count, y_at), (4, 0), va="center", fontsize=9)
    right.set(xlabel="mean number of features", xlim=(0, order.features.max() * 1.15))


def two_genes(last, G, t, G_test, t_test):
    """Two genes that separate the classes, and the line between these."""
    if last.k != 2:
        return
    a, b = last.features
    _, ax = plt.subplots(figsize=(7, 5))
    for kind, color, marker in (("EWS", ORANGE, "^"), ("rest", BLUE, "o")):
        look = {"marker": marker, "edgecolor": color, "linewidth": 1.3}
        part, fresh = G[t == kind], G_test[t_test == kind]
        ax.scatter(
            part[a], part[b], s=42, color=color, label=f"{kind}, training", **look
        )
        label = f"{kind}, test"
        ax.scatter(fresh[a], fresh[b], s=60, facecolor="none", label=label, **look)
    both = pd.concat([G, G_test])
    left, slope = both[a].min(), -last.coef[a] / last.coef[b]
    start = (left, slope * left - last.intercept / last.coef[b])
    ax.axline(start, slope=slope, color=GREY, linewidth=1, linestyle="--")
    ax.set(xlabel=brief(a, 60), ylabel=brief(b, 60))
    ax.set(ylim=(both[b].min() - 0.3, both[b].max() + 0.3))
    ax.legend()


def scores_of_ridges(scan):
    """Two held-out scores against the number of genes, a curve for each lambda2."""
    _, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, (score, one) in zip(axes, scan.items(), strict=True):
        curves_by_ridge(ax, one.scores, "cv_mean")
        ax.set(xlabel="genes in the model, k", ylabel=f"held-out {score}")
    axes[0].set_yscale("log")
    axes[1].legend(title=r"$\lambda_2$")


def log_odds_by_kind(rivals, few, table, tumours, expression, train):
    """Log odds of all tumours by kind, of a subset and of a lasso."""
    _, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True)
    name = "lasso, least deviance"
    ours = few.predict(expression, type="link").to_numpy()
    theirs = rivals[name].decision_function(expression)
    shown = {
        f"subset, {few.k} genes": (ours, few.path.classes[1]),
        f"lasso, {table[name]['genes']} genes": (theirs, rivals[name].classes_[1]),
    }
    kinds = ["EWS", "RMS", "NB", "BL"]
    place = tumours.y.map(kinds.index) + np.random.default_rng(0).uniform(
        -0.18, 0.18, len(tumours.y)
    )
    color = np.where(tumours.y == "EWS", ORANGE, BLUE)
    for ax, (title, (value, positive)) in zip(axes, shown.items(), strict=True):
        toward = -value if positive == "rest" else value
        for rows, size, label in ((train, 18, "training"), (~train, 44, "test")):
            style = {"s": size, "linewidth": 0.8, "label": label}
            style |= {"facecolor": "none", "edgecolor": color[rows]}
            if label == "test":
                style |= {"facecolor": color[rows], "edgecolor": "white"}
            ax.scatter(toward[rows], place[rows], **style)
        ax.axvline(0, color=GREY, linewidth=0.9, linestyle="--")
        ax.set(
            title=title, xlabel="log odds of EWS", yticks=range(4), yticklabels=kinds
        )
    axes[0].invert_yaxis()
    axes[1].legend(loc="lower right")


def genes_of_splits(top, RESPLITS, few):
    """How many of the splits choose each gene."""
    _, ax = plt.subplots(figsize=(8, 4))
    ax.barh(
        [brief(name) for name in top.index],
        top / RESPLITS,
        color=[ORANGE if name in few.features else BLUE for name in top.index],
        height=0.65,
    )
    ax.set(xlabel="share of the splits in which the gene was chosen", xlim=(0, 1))
    ax.set_title(
        "orange: in the model chosen above", loc="left", fontsize=10, color=GREY
    )


# -------------------- equations_of_motion


def lorenz(_, u):
    """The slope of the Lorenz system."""
    x, y, z = u
    return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z


def smoothed(path, step, width=61):
    """(coordinates, derivatives) from local polynomials, without the ends."""
    inside = slice(width, -width)
    values = savgol_filter(path, width, 4, axis=0)
    return values[inside], savgol_filter(path, width, 4, deriv=1, delta=step, axis=0)[
        inside
    ]


def thresholded(A, slopes, threshold):
    """Support of sequentially thresholded least squares, one row for each equation."""
    kept = np.ones((slopes.shape[1], A.shape[1]), dtype=bool)
    for t, row in enumerate(kept):
        while row.any():
            coef = np.zeros(A.shape[1])
            coef[row] = np.linalg.lstsq(A[:, row], slopes[:, t], rcond=None)[0]
            if (np.abs(coef[row]) > threshold).all():
                break
            row &= np.abs(coef) > threshold
    return kept


def trajectory_and_series(times, clean, noisy):
    """The measured trajectory in space, and its coordinates over time."""
    figure = plt.figure(figsize=(10, 3.8))
    ax = figure.add_subplot(1, 2, 1, projection="3d")
    ax.plot(*noisy.T, ".", color=ORANGE, markersize=1, alpha=0.5)
    ax.plot(*clean.T, color=BLUE, linewidth=0.8)
    ax.set(xlabel="x", ylabel="y", zlabel="z", title="measured (points), true (line)")
    ax = figure.add_subplot(1, 2, 2)
    for name, series, color in zip("xyz", noisy.T, (BLUE, ORANGE, GREEN), strict=True):
        ax.plot(times, series, color=color, linewidth=0.7)
        ax.text(8.1, series[-1], name, color=color, va="center")
    ax.set(xlabel="time", ylabel="coordinate", title="the same over time")


def shares_recovered(clean, step, library, truth, levels, draws):
    """How often best subsets and thresholds find all terms, by noise."""
    rows = []
    for level in levels:
        for seed in range(draws):
            noise = level * np.random.default_rng(seed).standard_normal(clean.shape)
            values, slopes = (part[::4] for part in smoothed(clean + noise, step))
            A = library.transform(values)
            best = l0path.L0Equations(k=[2, 3, 2], prove=False).fit(A, slopes).ind_
            tried = [thresholded(A, slopes, at) for at in (0.05, 0.1, 0.2, 0.5)]
            rows.append(
                {
                    "noise": level,
                    "best subset": (best == truth).all(),
                    "thresholds": any((one == truth).all() for one in tried),
                }
            )
    return pd.DataFrame(rows).groupby("noise").mean()


def share_not_explained(paths):
    """What the terms of each equation leave unexplained; full: proven the best."""
    _, axes = plt.subplots(1, 3, figsize=(9, 2.8))
    for ax, name, path in zip(axes, "xyz", paths, strict=True):
        left = (1 - path.details.deviance_ratio).set_axis(path.details.k)
        proven = (path.details.optimality == "global").to_numpy()
        ax.semilogy(left, color=GREY, linewidth=1)
        ax.semilogy(left[proven], "o", color=BLUE)
        ax.semilogy(left[~proven], "o", color=ORANGE, mfc="white")
        ax.set(xlabel="terms", title=f"{name}'")
    axes[0].set(ylabel="share not explained")


def true_and_fitted(times, clean, again):
    """The first coordinate of the system and of the fitted equations."""
    _, ax = plt.subplots(figsize=(9, 2.8))
    ax.plot(times, clean[:, 0], color=BLUE, label="true")
    ax.plot(times[::5], again[:, 0], "--", color=ORANGE, label="fitted equations")
    ax.set(xlabel="time", ylabel="x")
    ax.legend(ncols=2, loc="lower left")


def nearly_the_same(made, names):
    """Absolute correlations of all pairs of terms."""
    _, ax = plt.subplots(figsize=(6.2, 4.6))
    shown = np.abs(np.corrcoef(made[:, 1:].T))
    image = ax.imshow(shown, cmap="Blues", vmin=0, vmax=1)
    place = np.arange(0, len(shown), 3)
    ax.set_xticks(place, names[1:][place], rotation=90, fontsize=8)
    ax.set_yticks(place, names[1:][place], fontsize=8)
    ax.figure.colorbar(image, label="absolute correlation")


def recovery_by_noise(share):
    """How often all terms are found, by the level of the noise."""
    _, ax = plt.subplots(figsize=(6, 3))
    for name, color, mark in (
        ("best subset", BLUE, "o-"),
        ("thresholds", ORANGE, "s--"),
    ):
        ax.plot(share.index, share[name], mark, color=color, label=name)
    ax.set(
        xlabel="standard deviation of the noise",
        ylabel="share of draws",
        title="all seven terms found, and no other",
        ylim=(-0.05, 1.05),
    )
    ax.legend()


# -------------------- exact_or_heuristic


def picture(ax, c, title):
    """The best models of a certificate, a column each, and what they lose."""
    names = pd.Index(c.best[0].path.names)
    share = pd.Series([j for m in c.best for j in m.support]).value_counts()
    order = sorted(share.index, key=lambda j: (-share[j], j))
    inside = np.array([[j in set(m.support) for m in c.best] for j in order])
    ax.imshow(
        np.where(inside, 1.0, 0.0)
        * np.where(share[order] == len(c.best), 1.0, 0.55).reshape(-1, 1),
        cmap="Blues",
        vmin=0,
        vmax=1.15,
        aspect="auto",
    )
    loss = [m.objective / c.best[0].objective - 1 for m in c.best]
    ax.set(
        xticks=range(len(c.best)),
        xticklabels=[f"{v:+.3%}" if i else "best" for i, v in enumerate(loss)],
        yticks=range(len(order)),
        yticklabels=[str(names[j])[:22] for j in order],
    )
    ax.set_title(
        f"{title}: {c.status.replace('_', ' ')}, {c.nodes} nodes, {c.seconds:.1f} s",
        fontsize=10,
    )
    cells(ax, len(order), len(c.best))
    ax.tick_params(axis="x", rotation=60, labelsize=8)
    ax.tick_params(axis="y", labelsize=8.5)


def longer_and_longer(X, y, k, limits, **how):
    """Certificates of one size with more and more time, until one is a proof."""
    path, runs = l0path.fit(X, y, max_k=12, **how), []
    for limit in limits:
        runs.append(path.certify(k=k, time_limit=limit))
        if runs[-1].proven:
            break
    return runs


def bounds_over_time(runs, limits):
    """Objectives and lower bounds of searches with more and more time."""
    _, axes = plt.subplots(1, len(runs), figsize=(11, 3.6))
    for ax, (title, found) in zip(axes, runs.items(), strict=True):
        seconds, last = [c.seconds for c in found], found[-1]
        low, high = (
            [getattr(c, of) for c in found] for of in ("lower_bound", "incumbent")
        )
        ax.fill_between(seconds, low, high, color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(seconds, high, "o-", color=BLUE, markersize=5, label="best model")
        ax.plot(seconds, low, "o--", color=ORANGE, mfc="white", label="lower bound")
        ax.set_xscale("log")
        plain_ticks(ax.xaxis, limits)
        beside(
            ax,
            "proved" if last.proven else f"gap {last.gap:.1%}, {last.nodes} nodes",
            (seconds[-1], low[-1]),
            (-6, -18),
            ha="right",
            color=ORANGE,
        )
        ends = (
            min(0.9 * limits[0], 0.9 * seconds[0]),
            1.1 * max(seconds[-1], limits[-1]),
        )
        ax.set(title=title, xlabel="seconds of search", xlim=ends)
        ax.set_ylim(0, 1.06 * high[0])
    axes[0].set_ylabel("objective")
    axes[0].legend(loc="lower left")


def verdicts_of(board, paths, kept):
    """(what is known of each problem and size as a number, a text for each place)."""
    verdicts, texts = np.zeros((len(paths), len(kept))), {}
    for i, (name, path) in enumerate(paths.items()):
        for j, k in enumerate(kept):
            c, found = board[name, k], path.model(k=k).objective
            better = c.incumbent < found * (1 - 1e-9)
            verdicts[i, j] = (1 if better else 0) if c.proven else (3 if better else 2)
            open_gap = f"{c.gap:.1%}" if c.gap >= 1e-3 else f"{c.gap:.2%}"
            excess = f"+{found / c.incumbent - 1:.2%}"
            texts[i, j] = excess if better else "" if c.proven else open_gap
    return verdicts, texts


def excess_of(algorithm, problems, board, kept):
    """(excess over the proven optima, NaN where a size is missing; seconds)."""
    excess, seconds = [], 0.0
    for name, (X, y, how) in problems.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps that nobody tuned: results count
            began = time.perf_counter()
            how = how | {"algorithm": algorithm, "random_state": 1, "max_k": 12}
            path = l0path.fit(X, y, certify=False, **how)
            seconds += time.perf_counter() - began
        found = path.details.groupby("k").objective.min()
        proofs = {k: board[name, k] for k in kept if board[name, k].proven}
        excess += [found.get(k, np.nan) / c.incumbent - 1 for k, c in proofs.items()]
    return np.array(excess), seconds


def seconds_to_proofs(costs, LIMIT, sizes):
    """Seconds until proofs, and gaps where the time was over, by size."""
    _, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    least = min(c.seconds for done in costs.values() for c in done.values())
    for ax, name in zip(axes, ("growth", "diabetes, 64 columns"), strict=True):
        ridges = [ridge for data, ridge in costs if data == name]
        looks = ((BLUE, 9), (ORANGE, -14), (GREEN, -24))
        for ridge, (color, lift) in zip(ridges, looks, strict=True):
            done = costs[name, ridge]
            took = [min(c.seconds, LIMIT) for c in done.values()]
            label = f"lambda2 = {ridge:g}"
            ax.plot(list(done), took, color=color, linewidth=1.2, label=label)
            for (k, c), seconds in zip(done.items(), took, strict=True):
                fill = color if c.proven else "white"
                ax.plot(k, seconds, "o", markersize=6, color=color, mfc=fill)
                if not c.proven:
                    look = {"ha": "center", "fontsize": 8, "color": color}
                    beside(ax, f"{c.gap:.1%}", (k, seconds), (0, lift), **look)
        ax.axhline(LIMIT, color=GREY, linewidth=0.8, linestyle=":")
        ax.set(title=name, xlabel="number of features, k", xticks=sizes)
        ax.set(yscale="log", ylim=(least / 1.3, LIMIT * 1.6))
        plain_ticks(ax.yaxis, [0.001, 0.01, 0.1, 1, 5])
    axes[0].set_ylabel("seconds to the proof")
    axes[1].legend(loc="lower right")


def verdict_board(verdicts, texts, kept, problems):
    """What is known of the models of each problem and size."""
    _, ax = plt.subplots(figsize=(10.5, 3.8))
    known = {
        "path proved optimal": BLUE,
        "path not optimal: excess": ORANGE,
        "open: gap left": "#d9d9d9",
        "open, and a better model was met": PINK,
    }
    shades = ListedColormap(list(known.values()))
    ax.imshow(verdicts, cmap=shades, vmin=-0.5, vmax=3.5, aspect="auto")
    for (i, j), text in texts.items():
        color = "white" if verdicts[i, j] in (0, 1) else "black"
        ax.text(j, i, text, ha="center", va="center", fontsize=8.5, color=color)
    ax.set(xticks=range(len(kept)), xticklabels=kept, xlabel="number of features, k")
    ax.set(yticks=range(len(problems)), yticklabels=list(problems))
    cells(ax, len(problems), len(kept))
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in known.values()]
    where = {"loc": "upper center", "bbox_to_anchor": (0.45, 1.14)}
    ax.legend(handles, list(known), ncols=4, **where)


def ten_best(ten):
    """The ten best models of certificates, and what each loses against the best."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 4.6))
    for ax, (title, c) in zip(axes, ten.items(), strict=True):
        picture(ax, c, title)
    fig.supxlabel("the ten best, and what each loses against the best", fontsize=9)


# -------------------- how_good_is_my_model


def all_subsets_of(X, y):
    """The loss of least squares on every subset of a few columns."""
    A, r = X.to_numpy() - X.to_numpy().mean(axis=0), (y - y.mean()).to_numpy()
    rows = []
    for k in range(A.shape[1] + 1):
        for S in combinations(range(A.shape[1]), k):
            left = r - A[:, list(S)] @ np.linalg.lstsq(A[:, list(S)], r, rcond=None)[0]
            rows.append((k, S, 0.5 * (left**2).mean()))
    return pd.DataFrame(rows, columns=["k", "support", "loss"])


def all_losses(every, path):
    """The losses of all models of a small problem, the path, and its bounds."""
    _, ax = plt.subplots(figsize=(8, 4.6))
    at = every.k + np.random.default_rng(0).uniform(-0.22, 0.22, len(every))
    dust = {"s": 5, "color": GREY, "alpha": 0.45, "linewidth": 0}
    ax.scatter(at, every.loss, label="each of the 1024 models", **dust)
    k, low, high = (path.details[name] for name in ("k", "lower_bound", "objective"))
    box = {"width": 0.6, "color": BLUE, "alpha": 0.18, "linewidth": 0}
    ax.bar(k, high - low, bottom=low, label="gap", **box)
    dash = {"s": 150, "marker": "_", "linewidth": 2}
    ax.scatter(k, high, color=BLUE, label="objective of the path", **dash)
    ax.scatter(k, low, color=ORANGE, label="lower bound", **dash)
    what = "the empty model and those with a loss beyond 2100 are not shown"
    ax.set_title(what, fontsize=9, color=GREY)
    ax.set(xlabel="number of features", ylabel="half the mean squared error")
    ax.set(xticks=range(11), xlim=(0.4, 10.6), ylim=(1400, 2100))
    ax.legend()


def gaps_and_ridges(paths, K):
    """Gaps, and R2, of paths with several ridges."""
    _, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2))
    shades = ["#000000", "#0072B2", "#009E73", "#E69F00", "#D55E00"]
    for (value, one), color in zip(paths.items(), shades, strict=True):
        shown = one.details[(one.details.k > 0) & (one.details.k <= K)]
        for ax, what in (
            (left, shown.gap.clip(lower=1e-6)),
            (right, shown.deviance_ratio),
        ):
            ax.plot(shown.k, what, color=color, label=f"{value:g}", **DOTS)
    left.set(yscale="log", title="what is left open")
    left.set(ylabel="gap (below 1e-6 drawn at 1e-6)")
    right.set(ylabel="R² on the rows of the fit", title="what the ridge costs")
    for ax in (left, right):
        ax.set(xlabel="number of features", xticks=range(0, K + 1, 5))
    right.legend(title="lambda2")


def bounds_and_ridges(curves):
    """Objective and lower bound of one size against lambda2."""
    _, ax = plt.subplots(figsize=(8, 4.2))
    low, high, at = curves.lower_bound, curves.objective, curves.lambda2
    ax.fill_between(at, low, high, color=BLUE, alpha=0.18, linewidth=0)
    best = "objective of the best model found, k = 3"
    ax.plot(at, high, "o-", color=BLUE, markersize=4, label=best)
    dashes = {"color": ORANGE, "markersize": 4, "markerfacecolor": "white"}
    ax.plot(at, low, "o--", label="lower bound, k = 3", **dashes)
    every = "objective with all 64 features"
    ax.plot(at, curves["all columns"], "s:", color=GREY, markersize=3, label=every)
    ax.set(xlabel="lambda2", ylabel="objective: loss + ridge", xscale="log")
    ax.legend()


def gap_maps(open_gap, out, G, sizes, ridges):
    """Gaps, and shares of genes proved to be in no best model, by lambda2."""
    _, axes = plt.subplots(1, 2, figsize=(10.5, 4.0))
    title = "share of the 2308 genes proved to be in no best model"
    for ax, frame, look in (
        (axes[0], open_gap, {"cmap": "cividis_r", "vmax": open_gap.to_numpy().max()}),
        (axes[1], out / G.shape[1], {"cmap": "cividis", "vmax": 1}),
    ):
        image = ax.imshow(frame, aspect="auto", vmin=0, **look)
        written_in(
            ax,
            frame,
            lambda v: "0" if v < 1e-6 else "<0.1%" if v < 1e-3 else f"{v:.1%}",
            lambda v, image=image: np.mean(image.to_rgba(v)[:3]) < 0.5,
        )
        ax.set_xticks(range(len(sizes)), sizes)
        ax.set_yticks(range(len(ridges)), [f"{value:g}" for value in ridges])
        ax.set(xlabel="number of genes", ylabel="lambda2")
        ax.set(title="gap" if ax is axes[0] else title)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)


def gaps_of_boxes(factors, gaps):
    """Gaps under the assumption of a box, against the width of the box."""
    _, ax = plt.subplots(figsize=(7.6, 3.4))
    for (k, own), color, mark in zip(
        gaps.items(), (BLUE, ORANGE, GREEN), "os^", strict=True
    ):
        ax.plot(factors, own, color=color, marker=mark, markersize=5)
        beside(ax, f"k = {k}", (factors[-1], own[-1]), (6, 0), va="center", color=color)
    ax.set_xscale("log", base=2)
    ax.set(xlabel="box, as a multiple of the largest |b|", ylabel="gap, if it holds")
    plain_ticks(ax.xaxis, factors)
    ax.set_ylim(0, None)


# -------------------- interactions


def timed(call, *args, **options):
    """(what the call returns, seconds)."""
    began = time.perf_counter()
    return call(*args, **options), time.perf_counter() - began


def lasso_and_pls(X, y, train, folds):
    """Errors of partial least squares, and of the lasso with products."""
    A, r, B, s = X[train], y[train], X[~train], y[~train]
    errors = {}
    for count in range(1, min(X.shape[1], 12 if SHORT else 20) + 1):
        guess = cross_val_predict(PLSRegression(count), A, r, cv=folds).ravel()
        errors[count] = np.mean((guess - r) ** 2)
    count = min(errors, key=errors.get)
    pls = PLSRegression(count).fit(A, r)
    how = {"cv": folds[:2] if SHORT else folds, "alphas": 10 if SHORT else 30}
    lasso = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(include_bias=False),
        StandardScaler(),
        LassoCV(max_iter=20000, tol=1e-2, **how),
    ).fit(A, r)
    coef = lasso[-1].coef_
    return {
        "partial least squares": {
            "candidates": X.shape[1],
            "coefficients": X.shape[1],
            "cv_mse": errors[count],
            "test_mse": np.mean((pls.predict(B).ravel() - s) ** 2),
        },
        "lasso with products": {
            "candidates": coef.size,
            "coefficients": np.count_nonzero(coef),
            "cv_mse": lasso[-1].mse_path_.mean(axis=1).min(),
            "test_mse": np.mean((lasso.predict(B) - s) ** 2),
        },
    }


def expression(count):
    """(genes of largest variance beside the first, its expression, its name)."""
    genes = load_srbct().X
    order = genes.columns[np.argsort(-genes.var().to_numpy(), kind="stable")]
    copies = order.str.contains("IGF|insulin-like")
    return genes[order[1:][~copies[1:]][:count]], genes[order[0]].to_numpy(), order[0]


def shuffled_fits(designs, y, max_k, repeats):
    """Deviance ratios by size of fits to shuffled responses."""
    rng, out = np.random.default_rng(0), {name: [] for name in designs}
    for _ in range(repeats):
        shuffled = rng.permutation(y)
        for name, design in designs.items():
            ratio = l0path.fit(design, shuffled, max_k=max_k).table.deviance_ratio
            out[name].append(ratio.to_numpy()[: max_k + 1])
    return out


def bend(y, guess):
    """The share of the variance of the errors that a parabola in the guess explains."""
    error = np.asarray(y) - np.asarray(guess)
    curve = np.polynomial.Polynomial.fit(guess, error, 2)(np.asarray(guess))
    return 1 - np.sum((error - curve) ** 2) / np.sum((error - error.mean()) ** 2)


def spectra(y, nm, raw, wave, X):
    """Spectra and their differences, colored by the share of fat."""
    _, axes = plt.subplots(1, 2, figsize=(11, 3.8))
    tables = (raw, 100 * X)
    spectra_by_content(axes, (nm, wave), tables, y, 4 if SHORT else 1)
    axes[0].set(ylabel="absorbance")
    axes[1].set(ylabel="difference of neighbouring channels, x 100")


def errors_with_products(cvs):
    """Held-out errors with and without products, by size."""
    _, ax = plt.subplots(figsize=(8, 4.2))
    for (name, cv), color in zip(cvs.items(), (BLUE, ORANGE), strict=True):
        table = cv.scores
        errors_by_size(ax, table, color, 0.08 if color == ORANGE else -0.08)
        best = cv.model("min")
        beside(
            ax,
            f"{name}: {cv.p} features\nleast {table.cv_mean.min():.3g} at k = {best.k}",
            (table.k.iloc[-1], table.cv_mean.iloc[-1]),
            (8, 0),
            color=color,
            va="center",
            annotation_clip=False,
        )
    ax.set(
        xlabel="predictors in the model, k",
        ylabel="held-out mean squared error",
        yscale="log",
    )


def map_of_products(at, near, cvs, model):
    """The chosen products, and those that could stand in, by wavelengths."""
    _, ax = plt.subplots(figsize=(6.6, 6))

    def places(names):
        """The two wavelengths of each feature; a channel by itself is below."""
        parts = [name.removesuffix("^2").split(":") for name in names]
        product = [":" in name or name.endswith("^2") for name in names]
        first = [at[part[0]] for part in parts]
        second = zip(parts, product, strict=True)
        return first, [at[part[-1]] if both else 843.0 for part, both in second]

    what = "could stand in (objective within 25 %)"
    stand_ins = places(near[near.relative < 0.25].added)
    ax.scatter(*stand_ins, s=5, color=GREY, alpha=0.5, label=what, zorder=2)
    ring = {"s": 26, "facecolor": "none", "edgecolor": BLUE, "alpha": 0.6, "zorder": 3}
    for other in cvs["with products"]:
        if other.k and other.details.name != model.details.name:
            label = "in a model of another size" if other.k == 1 else None
            ax.scatter(*places(other.features), linewidth=0.8, label=label, **ring)
    size = model.path.coef(index=model.details.name, standardized=True).iloc[1:].abs()
    ax.scatter(
        *places(model.features),
        s=40 + 160 * size / size.max(),
        color=ORANGE,
        edgecolor="white",
        zorder=4,
        label=f"in the model chosen, k = {model.k}",
    )
    ax.plot([850, 1050], [850, 1050], color=GREY, linewidth=0.6, zorder=1)
    ax.axhspan(838, 848, color="#eeeeee", zorder=0)
    what = {"ha": "right", "va": "bottom", "fontsize": 9, "color": GREY}
    ax.text(1049, 850, "below: channels by themselves", **what)
    ax.set(
        xlabel="wavelength of the first factor, nm",
        ylabel="wavelength of the second factor, nm",
        xlim=(846, 1054),
        ylim=(836, 1054),
    )
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.12))


def predicted_and_measured(cvs, X, train, y):
    """Predictions of the test sample against what was measured."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 4.5), sharex=True, sharey=True)
    for ax, name, color in zip(
        axes, ("columns alone", "with products"), (BLUE, ORANGE), strict=True
    ):
        chosen = cvs[name].model("min")
        guess = chosen.predict(X[~train])
        ax.plot([y.min(), y.max()], [y.min(), y.max()], color=GREY, linewidth=0.8)
        ax.scatter(
            guess, y[~train], s=26, color=color, edgecolor="white", linewidth=0.6
        )
        ax.set(
            xlabel="predicted fat, %",
            title=(
                f"{name}, k = {chosen.k}: root mean squared error "
                f"{np.sqrt(np.mean((guess - y[~train]) ** 2)):.2f}"
            ),
        )
    axes[0].set_ylabel("measured fat, %")


def shuffled_responses(genes_cv, pairs_cv, noise):
    """What genes and products explain, beside the same of shuffled responses."""
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    null = genes_cv.scores.cv_mean[0]
    for name, cv, color, shift in (
        ("genes alone", genes_cv, BLUE, -0.06),
        ("with products", pairs_cv, ORANGE, 0.06),
    ):
        sizes, label = cv.details.k, f"{name}, responses shuffled"
        left.plot(sizes, cv.details.deviance_ratio, color=color, label=name, **DOTS)
        left.plot(sizes, np.mean(noise[name], axis=0), "--", color=color, label=label)
        mean, se = 1 - cv.scores.cv_mean / null, cv.scores.cv_se / null
        share = pd.DataFrame({"k": sizes, "cv_mean": mean, "cv_se": se})
        errors_by_size(right, share, color, shift, label=name)
    right.axhline(0, color=GREY, linewidth=0.6)
    left.set(ylabel="share of variance explained, rows of the fit", ylim=(0, 1))
    right.set(ylabel="the same on held-out rows")
    for ax in (left, right):
        ax.set(xlabel="predictors in the model, k")
        ax.legend()


def salaries_by_years(table, terms):
    """Predicted salaries against the years in the league."""
    _, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    player = table[["Hits", "Walks", "PutOuts"]].median().to_dict()
    player |= {"League": "American", "Division": "East"}
    years = np.arange(1, 19)
    for ax, (name, cv) in zip(axes, terms.items(), strict=True):
        for runs, color in ((20, BLUE), (40, GREEN), (80, ORANGE)):
            rows = pd.DataFrame({"Years": years, "CRBI": runs * years, **player})
            curve = np.exp(cv.predict(rows))
            ax.plot(years, curve, color=color, linewidth=1.8)
            at, text = (years[-1], curve.iloc[-1]), f"{runs} runs a year"
            beside(ax, text, at, (5, 0), color=color, va="center")
        ax.set(title=f"{name}, k = {cv.model('min').k}", yscale="log")
        ax.set(xlabel="years in the league, with as many runs batted in each year")
        ax.set_xticks([1, 5, 10, 15])
        ax.minorticks_off()
    axes[0].set_ylabel("salary, 1000 dollars (other features at their medians)")
    plain_ticks(axes[0].yaxis, [50, 100, 200, 400, 800, 1600])


# -------------------- larger_than_memory


def write_rows(raw, real, p):
    """A file of p columns: those of `real`, then copies with shuffled entries."""
    rng, (n, width) = np.random.default_rng(0), real.shape
    rows = np.lib.format.open_memmap(raw, mode="w+", dtype=np.float32, shape=(n, p))
    for left in range(0, p, 32 * width):
        stack = np.tile(real, 32)[:, : p - left]
        mixed = rng.permuted(stack if left else stack[:, width:], axis=0)
        rows[:, left : left + 32 * width] = mixed if left else np.hstack([real, mixed])
    rows.flush()


def warm_up(folder, limit):
    """Fit a small file, so that nothing is compiled while memory is watched."""
    rng = np.random.default_rng(0)
    small = np.asfortranarray(rng.standard_normal((60, 5000)), dtype=np.float32)
    np.save(folder / "small.npy", small)
    X = l0path.designs.blocks(folder / "small.npy", limit)
    l0path.cv_fit(X, small[:, 0] + rng.standard_normal(60), max_k=3, cv=3, lambda2=0)


class MemoryWatch:
    """A thread that notes the memory of the process, and stages of work."""

    def __init__(self):
        self.samples, self.stages, self.stopped = [], [], threading.Event()
        self.process = psutil.Process()
        self.before = self.process.memory_info().rss
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stopped.wait(0.02):
            used = (self.process.memory_info().rss - self.before) / 1e6
            self.samples.append((time.perf_counter(), used))

    @contextmanager
    def stage(self, name):
        """Note when a part begins and ends, and the most that it took."""
        started = time.perf_counter()
        yield
        time.sleep(0.05)
        ended = time.perf_counter()
        most = max(used for at, used in self.samples if started <= at <= ended)
        self.stages.append((name, started, ended, most))

    def table(self, megabytes):
        """Seconds and memory of each stage."""
        rows = [
            (name, ended - begun, most, most / megabytes)
            for name, begun, ended, most in self.stages
        ]
        columns = ["stage", "seconds", "MB at most", "share of the file"]
        return pd.DataFrame(rows, columns=columns).set_index("stage").round(2)

    def stop(self):
        """End the thread."""
        self.stopped.set()
        self.thread.join()


def promises_and_true_columns(path, cv, width):
    """Errors of the fit and of held-out rows, and how many features are real."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
    errors_by_size(left, cv.scores, BLUE, label="held-out patients")
    sizes, loss = path.details.k.to_numpy(), 2 * path.details.loss
    left.plot(sizes, loss, color=GREY, label="patients of the fit", **DOTS)
    left.axvline(cv.model("min").k, color=GREY, linewidth=0.8, linestyle=":")
    left.set(ylabel="mean squared error", ylim=(0, None))
    left.set(title="what the models promise, and what they keep")
    true = np.array([(path.support(k=k) < width).sum() for k in path.table.k])
    right.bar(sizes, true, color=GREEN, label="real")
    right.bar(sizes, sizes - true, bottom=true, color=ORANGE, label="shuffled")
    right.set(ylabel="features in the model", title="who is in them")
    for ax in (left, right):
        ax.set(xlabel="number of features", xticks=range(0, 11, 2))
        ax.legend()


def memory_over_time(watch, megabytes, limit):
    """Memory of the process during each stage."""
    (at, used), stages = np.array(watch.samples).T, watch.stages
    _, ax = plt.subplots(figsize=(9, 3.4))
    origin, end = stages[0][1], stages[-1][2]
    for i, (name, begun, ended, _) in enumerate(stages):
        shade = {"color": BLUE, "alpha": (0.10, 0.04)[i % 2], "linewidth": 0}
        ax.axvspan(begun - origin, ended - origin, **shade)
        if ended - begun > 0.04 * (end - origin):
            middle = ((begun + ended) / 2 - origin, 1)
            style = {"xycoords": ("data", "axes fraction"), "annotation_clip": False}
            beside(ax, name, middle, (0, 4), ha="center", color=GREY, **style)
    ax.plot(at - origin, used, color=BLUE, linewidth=1.3)
    for level, text, color, style in (
        (megabytes, "the file", ORANGE, "-"),
        (limit, "memory_limit", GREY, "--"),
    ):
        ax.axhline(level, color=color, linewidth=1, linestyle=style)
        beside(ax, text, (0, level), (4, 3), fontsize=9, color=color)
    ax.set(xlabel="seconds", xlim=(0, end - origin), ylim=(min(0, used.min()), None))
    ax.set(ylabel="MB above the start")


# -------------------- many_good_models


def importance_ranges(importance):
    """The range of the importance of each feature over all good models."""
    shown = 100 * importance.loc[::-1, ["low", "high"]]
    _, ax = plt.subplots(figsize=(7.2, 3.8))
    ax.hlines(shown.index, shown.low, shown.high, color=BLUE, linewidth=5, alpha=0.6)
    for end in (shown.low, shown.high):
        ax.scatter(end, shown.index, color=BLUE, s=26, zorder=3)
    what = "increase of the sum of squares without the feature, % of the best one"
    ax.set(xlabel=what, xlim=(-2, None))
    ax.grid(axis="x", alpha=0.3)


def averaged_coefficients(coef, scale):
    """Averaged coefficients of features of unit variance, and their spread."""
    shown = coef[["mean", "spread"]].mul(scale[coef.index], axis=0).sort_values("mean")
    _, ax = plt.subplots(figsize=(7.2, 4.8))
    style = {"fmt": "o", "color": BLUE, "ecolor": GREY, "markersize": 4}
    ax.errorbar(
        shown["mean"], shown.index, xerr=2 * shown.spread, elinewidth=2, **style
    )
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.tick_params(axis="y", labelsize=8)
    ax.set(xlabel="averaged coefficient per standard deviation, ± 2 spreads")


def predictions_of_good_models(predicted, y):
    """Averaged predictions, and how far the models differ about each row."""
    _, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    axes[0].scatter(predicted["mean"], y, s=16, color=BLUE)
    axes[0].set(xlabel="averaged prediction", ylabel="growth")
    axes[0].set(title="the good models explain growth")
    axes[1].hist(predicted.spread / np.std(y), bins=20, color=ORANGE)
    axes[1].set(xlabel="spread between models / sd of growth", ylabel="countries")
    axes[1].set(title="and agree about most countries")


# -------------------- replay_alcantara_lee


def residuals_over_time(names, COLOR, traces, NAME):
    """Residuals of the methods against time, a panel for each set and loss."""
    _, axes = plt.subplots(
        2, len(names), figsize=(3.1 * len(names), 5.6), sharey=True, squeeze=False
    )
    for i, loss in enumerate(("logistic", "squared")):
        for ax, name in zip(axes[i], names, strict=True):
            for variant, color in COLOR.items():
                seconds, residual = traces[name, loss, 0.05, variant].T
                ax.loglog(
                    seconds * 1e3,
                    np.minimum.accumulate(np.maximum(residual, 1e-12)),
                    color=color,
                    linewidth=1.8,
                    label=NAME[variant],
                )
                ax.plot(
                    seconds[-1] * 1e3,
                    max(residual.min(), 1e-12),
                    "o",
                    color=color,
                    markersize=4.5,
                )
            ax.axhline(1e-6, color="#bbbbbb", linewidth=0.9, linestyle="--")
            ax.set(ylim=(1e-8, 3))
            ax.set_title(f"{name}, {loss}", fontsize=9.5, loc="left")
    for ax in axes[1]:
        ax.set_xlabel("milliseconds")
    for ax in axes[:, 0]:
        ax.set_ylabel("least residual so far")
    axes[0, -1].legend()


def times_by_size(small, COLOR, levels, transition, NAME):
    """Times of the methods against s / n; open: ended by the limit."""
    grid = {"sharex": True, "sharey": True, "squeeze": False}
    fig, axes = plt.subplots(2, len(small), figsize=(3.6 * len(small), 5.4), **grid)
    for i, loss in enumerate(("logistic", "squared")):
        for ax, name in zip(axes[i], small, strict=True):
            for variant, color in COLOR.items():
                value = [transition[name, loss, level, variant] for level in levels]
                took = [1e3 * seconds for seconds, *_ in value]
                label = NAME[variant]
                ax.semilogy(levels, took, color=color, linewidth=1.6, label=label)
                fill = [color if v[1] else "white" for v in value]
                ax.scatter(levels, took, s=26, color=fill, edgecolor=color, zorder=3)
            ax.axvline(1, color="#bbbbbb", linewidth=0.9, linestyle="--")
            ax.set_title(f"{name}, {loss}", fontsize=10, loc="left")
    for ax in axes[1]:
        ax.set_xlabel("s / n")
    for ax in axes[:, 0]:
        ax.set_ylabel("milliseconds")
    axes[0, 0].legend(ncols=2)
    what = "open circles: ended by the limit on the number of maps"
    fig.suptitle(what, x=0.01, ha="left", fontsize=9, color=GREY)


def excess_of_ends(ends, COLOR, NAME):
    """The excess of each method over the best known sum of squares."""
    _, ax = plt.subplots(figsize=(11, 4.4))
    problems = ends[["data", "s"]].drop_duplicates().apply(tuple, axis=1).tolist()
    palette = {
        **{NAME[variant]: color for variant, color in COLOR.items()},
        "PG, our steps": "#009E73",
    }
    for shift, (method, color) in enumerate(palette.items()):
        part = ends[ends.method == method].set_index(["data", "s"])
        at = np.arange(len(problems)) + 0.14 * (shift - 2)
        before, after = (
            100 * np.array([part.loc[key, column] for key in problems])
            for column in ("at the end", "after swaps")
        )
        ax.vlines(at, after, before, color=color, linewidth=1.4)
        ax.scatter(at, before, s=28, color=color, label=method, zorder=3)
        ax.scatter(at, after, s=26, color="white", edgecolor=color, zorder=3)
    ax.set(xticks=range(len(problems)), ylabel="excess over the best known RSS, %")
    ax.set_xticklabels(
        [f"{name.replace(' ', chr(10), 1)}\ns = {s}" for name, s in problems],
        fontsize=8,
    )
    ax.set_title(
        "full: where the method ends; open: after swaps",
        loc="left",
        fontsize=9.5,
        color=GREY,
    )
    ax.legend(ncols=5, loc="lower left", bbox_to_anchor=(0, 1.06))


# -------------------- replay_dedieu


def recovery_panels(colors, means):
    """F1, support size and AUC against the number of rows."""
    fig, axes = plt.subplots(2, 3, figsize=(12, 6.2), sharex=True)
    for line, rho in zip(axes, (0.9, 0.5), strict=True):
        for ax, what in zip(line, ("F1", "support size", "AUC"), strict=True):
            for name, color in colors.items():
                curve = means.loc[rho].xs(name, level="method")[what]
                ax.plot(
                    curve.index,
                    curve,
                    color=color,
                    linewidth=1.6,
                    linestyle=":" if name == "the truth" else "-",
                    marker="" if name == "the truth" else "o",
                    markersize=4,
                    label=name,
                )
            ax.set(title=f"correlation {rho:g}^|i-j|: {what}")
        line[1].set_yscale("log")
        plain_ticks(line[1].yaxis, [10, 20, 50, 100, 200])
    for ax in axes[-1]:
        ax.set_xlabel("rows, n")
    legend_outside(fig, axes[0, 0], 6)


def true_positives(SETTINGS, TIMES, curves, theirs):
    """True positives against the support size, with the table of the paper."""
    places = {
        ("1", "L0L2, Algorithm 2"): (-70, 8),
        ("1", "MCP"): (6, -13),
        ("1", "NHTP"): (-20, 8),
        ("1", "GraSP"): (4, -13),
        ("2", "L0L2, Algorithm 2"): (4, -14),
    }
    _, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for ax, (setting, how) in zip(axes, SETTINGS.items(), strict=True):
        for repeat in range(TIMES):
            own = curves[setting, repeat]
            label = "this package, every size" if repeat == 0 else None
            style = {"color": ORANGE, "linewidth": 0.9, "alpha": 0.6, "label": label}
            ax.plot(own.k, own.true_positives, **style)
        sizes = np.arange(1, 1001)
        truth = np.minimum(sizes, how["k"])
        ax.plot(sizes, truth, ":", color=GREY, label="nothing but the truth")
        if not SHORT:
            spots = theirs.loc[setting].drop(index="L0L1, Algorithm 2")
            style = {"s": 40, "color": BLUE, "zorder": 3, "label": "the paper's table"}
            ax.scatter(spots["size"], spots.TP, **style)
            for name, row in spots.iterrows():
                shift = places.get((setting, name), (6, 5))
                at = (row["size"], row.TP)
                beside(ax, name, at, shift, fontsize=8.5, color=BLUE)
        ax.set(title=f"setting {setting}: {how['p']} features, {how['k']} true")
        ax.set(xlabel="support size", xscale="log", xlim=(1, 1000))
        ax.set(ylim=(-0.5, 1.12 * how["k"]))
        plain_ticks(ax.xaxis, [1, 3, 10, 30, 100, 300, 1000])
    axes[0].set_ylabel("true positives")
    axes[0].legend(loc="center right")


# -------------------- replay_dual_iht


def recovery_of_dual_methods(SETTINGS, recovery, METHODS):
    """Errors and recovered supports against the number of rows."""
    _, axes = plt.subplots(
        2,
        2 * len(SETTINGS),
        figsize=(4.1 * len(SETTINGS) * (2 if SHORT else 1.7), 5.4),
        sharex="col",
        sharey="row",
        squeeze=False,
    )
    for column, ((d, kbar, _), kind) in enumerate(
        (s, kind) for s in SETTINGS for kind in ("as they are", "centred")
    ):
        part = recovery[(recovery.d == d) & (recovery["columns"] == kind)]
        for name, (color, _) in METHODS.items():
            mean = part[part.method == name].groupby("n")[["error", "recovered"]].mean()
            for ax, value in zip(axes[:, column], ("error", "recovered"), strict=True):
                ax.plot(
                    mean.index,
                    mean[value],
                    color=color,
                    label=name,
                    linestyle="--"
                    if name in ("IHT, long steps", "DIHT, printed")
                    else "-",
                    **DOTS,
                )
        axes[0, column].set_title(
            f"{d} features {kind}, {kbar} nonzero", fontsize=10, loc="left"
        )
        axes[1, column].set_xlabel("rows n")
    axes[0, 0].set_ylabel("relative error")
    axes[1, 0].set_ylabel("share of whole supports")
    axes[0, -1].legend()


def seconds_to_objective(texts, times, CONTESTANTS):
    """Seconds until each method reaches the objective of IHT."""
    grid = {"sharex": True, "sharey": "row", "squeeze": False}
    fig, axes = plt.subplots(len(texts), 4, figsize=(12, 3.0 * len(texts)), **grid)
    panels = [
        (w, lam) for w in ("smoothed hinge", "near hinge") for lam in (2e-3, 2e-4)
    ]
    for line, name in zip(axes, texts, strict=True):
        for ax, (what, lam) in zip(line, panels, strict=True):
            rows = (times.data == name) & (times.loss == what)
            part = times[rows & (times["lambda"] == lam)]
            for method, (color, _) in CONTESTANTS.items():
                curve = part[part.method == method].set_index("k")
                ends = curve.seconds.fillna(curve["all"])
                ax.semilogy(ends, color=color, linewidth=1.5, label=method)
                reached = curve.seconds.notna()
                ax.plot(ends[reached], "o", color=color, markersize=4.7)
                ax.plot(ends[~reached], "x", color=color, markersize=6)
            ax.set_title(f"{name}, {what}, {lam:g}", fontsize=8.5, loc="left")
        line[0].set_ylabel("seconds to IHT's objective")
    for ax in axes[-1]:
        ax.set_xlabel("k")
    legend_outside(fig, axes[0, 0], 5, "lower")
    head = "number in the titles: lambda; crosses: not reached, drawn at the end"
    fig.suptitle(head, x=0.01, ha="left", fontsize=9, color=GREY)


def gaps_over_time(texts, gaps, KS, CONTESTANTS):
    """Relative gaps of the dual methods against time."""
    fig, axes = plt.subplots(
        1,
        2 * len(texts),
        figsize=(4.4 * len(texts) * (2 if len(texts) == 1 else 1.5), 3.4),
        sharey=True,
        squeeze=False,
    )
    for ax, (name, what) in zip(
        axes[0],
        ((name, what) for name in texts for what in ("smoothed hinge", "near hinge")),
        strict=True,
    ):
        for lam, style in ((2e-3, "-"), (2e-4, "--")):
            for method in ("DIHT", "SDIHT"):
                run = gaps[name, what, lam, KS[len(KS) // 2], method]
                known = np.isfinite(run[:, 1]) & np.isfinite(run[:, 2])
                gap = np.full(len(run), np.nan)
                gap[known] = (run[known, 1] - run[known, 2]) / np.abs(run[known, 1])
                ax.loglog(
                    run[known, 0],
                    np.maximum(gap[known], 1e-8),
                    style,
                    color=CONTESTANTS[method][0],
                    linewidth=1.5,
                    label=f"{method}, lambda {lam:g}",
                )
        ax.set_title(
            f"{name}, {what}, k = {KS[len(KS) // 2]}", fontsize=9.5, loc="left"
        )
        ax.set_xlabel("seconds")
    axes[0, 0].set_ylabel("relative gap")
    legend_outside(fig, axes[0, 0], 4)


# -------------------- several_classes

TUMOURS = {"BL": BLUE, "EWS": ORANGE, "NB": GREEN, "RMS": PINK}


def errors_of_classes(scores):
    """Deviance and misclassification against the number of genes."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True)
    for ax, name, title in zip(
        axes,
        ("deviance", "misclassification"),
        ("deviance (twice the log loss)", "share of wrong classes"),
        strict=True,
    ):
        own = scores.rename(columns={name: "cv_mean", f"{name}_se": "cv_se"})
        errors_by_size(ax, own, GREY)
        ax.axvline(6, color=ORANGE, linestyle=":", linewidth=1)
        ax.set(xlabel="genes", title=title, ylim=(0, None))


def genes_and_classes(X, y, genes):
    """The expression of each gene by class, and its coefficients."""
    rng, shape = np.random.default_rng(0), (len(genes), 2)
    size = {"figsize": (9, 0.72 * len(genes)), "width_ratios": (3, 1)}
    _, axes = plt.subplots(*shape, squeeze=False, **size)
    for (left, right), gene in zip(axes, genes.index, strict=True):
        for place, (label, color) in enumerate(TUMOURS.items()):
            values = X.loc[(y == label).to_numpy(), gene]
            at = place + rng.uniform(-0.25, 0.25, len(values))
            left.plot(values, at, "o", markersize=3.5, color=color, alpha=0.8)
        left.set_yticks(range(4), list(TUMOURS))
        where = {"rotation": 0, "ha": "right", "va": "center", "labelpad": 32}
        left.set_ylabel(str(gene), fontsize=8, **where)
        scaled = genes.loc[gene, list(TUMOURS)] * X[gene].std()
        right.barh(range(4), scaled, color=list(TUMOURS.values()), height=0.7)
        right.axvline(0, color=GREY, linewidth=0.7)
        right.set_yticks([])
        left.invert_yaxis()
        right.invert_yaxis()
    axes[0, 0].set_title("expression of a tumour", fontsize=10)
    axes[0, 1].set_title("coefficient per sd", fontsize=10)


def probabilities_of_tumours(y, held_out):
    """The probabilities of the tumours that were set aside."""
    order = np.lexsort((held_out.max(axis=1), y))
    _, ax = plt.subplots(figsize=(9, 2.8))
    bottom = np.zeros(len(y))
    for label in TUMOURS:
        share = held_out[label].to_numpy()[order]
        ax.bar(
            range(share.size),
            share,
            bottom=bottom,
            color=TUMOURS[label],
            label=label,
            width=0.85,
        )
        bottom += share
    ax.set_xticks(range(len(order)), y.to_numpy()[order], rotation=90, fontsize=8)
    ax.set(ylabel="probability", xlabel="true class of a tumour that was set aside")
    ax.legend(bbox_to_anchor=(1, 1))


# -------------------- several_responses


def drawn(n, seed, p=60, k=6, r=12):
    """Features X (n, p), responses Y (n, r), and the true coefficients (p, r)."""
    rng = np.random.default_rng(seed)
    X, B = rng.standard_normal((n, p)), np.zeros((p, r))
    B[rng.choice(p, k, replace=False)] = rng.normal(scale=0.5, size=(k, r))
    return X, X @ B + rng.normal(scale=1.5, size=(n, r)), B


def one_by_one(X, Y, k):
    """Coefficients (p, r) of k features for each response by itself."""
    paths = [l0path.fit(X, y, max_k=k, certify=False) for y in Y.T]
    return np.column_stack([path.coef(k=k, full=True).iloc[1:] for path in paths])


def shares_found(sizes, repeats):
    """Shares of true features among six, chosen jointly and one by one, by rows."""
    share = {"one set for all": [], "each by itself": []}
    for n in sizes:
        joint, separate = [], []
        for seed in range(repeats):
            X, Y, B = drawn(n, seed)
            true = B.any(axis=1)
            together = l0path.fit(X, Y, max_k=6, certify=False).support(k=6)
            joint.append(true[together].mean())
            alone = one_by_one(X, Y[:, :4], 6)
            separate.append(np.mean([true[one != 0].mean() for one in alone.T]))
        share["one set for all"].append(np.mean(joint))
        share["each by itself"].append(np.mean(separate))
    return share


def coefficient_maps(tables):
    """The coefficients of a joint fit, of separate fits, and the truth."""
    B = tables["truth"]
    largest = np.abs(B).max()
    fig, axes = plt.subplots(3, 1, figsize=(9, 4.2), sharex=True)
    for ax, (title, table) in zip(axes, tables.items(), strict=True):
        image = ax.imshow(
            table.T,
            cmap=colors.signs(),
            vmin=-largest,
            vmax=largest,
            aspect="auto",
            interpolation="nearest",
        )
        ax.set(
            title=f"{title}: {int(table.any(axis=1).sum())} features",
            ylabel="response",
            yticks=[0, 5, 11],
        )
        for j in np.flatnonzero(B.any(axis=1)):
            ax.plot(j, -0.9, "v", color="black", markersize=5, clip_on=False)
    axes[-1].set_xlabel("feature (triangles: the true ones)")
    fig.colorbar(image, ax=axes, label="coefficient", shrink=0.6)


def joint_and_separate(sizes, share):
    """The share of true features among the chosen ones, by the number of rows."""
    _, ax = plt.subplots(figsize=(6, 3.2))
    for (name, values), color in zip(share.items(), (BLUE, ORANGE), strict=True):
        ax.plot(sizes, values, "o-", color=color, markersize=4, label=name)
    ax.set(xlabel="rows", ylabel="true among the chosen", ylim=(0, 1.03), xscale="log")
    plain_ticks(ax.xaxis, sizes)
    ax.legend()


def spectra_and_slopes(data, slopes):
    """Spectra and their slopes, colored by the share of fat."""
    wavelength = np.array([float(name[2:]) for name in slopes.columns])
    _, axes = plt.subplots(1, 2, figsize=(8, 2.6))
    tables, every = (data.X.iloc[:, 1:], slopes), 10 if SHORT else 3
    spectra_by_content(axes, (wavelength, wavelength), tables, data.y["fat"], every)
    for ax, title in zip(axes, ("absorbance", "slope"), strict=True):
        ax.set(title=title)


def errors_of_contents(X, Y, joint, separate, sizes):
    """Test errors of each content against the number of slopes that are measured."""

    def error(name, one, k):
        predicted = one.predict(X, k=k)
        left = Y[name] - (predicted if predicted.ndim == 1 else predicted[name])
        return np.sqrt(np.mean(left**2))

    chosen = {
        s: set().union(*(one.model(k=s).features for one in separate.values()))
        for s in sizes
    }
    measured = {s: len(own) for s, own in chosen.items()}
    few = [s for s in sizes if measured[s] <= 10]
    _, axes = plt.subplots(1, 3, figsize=(10, 3), sharex=True)
    for ax, name in zip(axes, Y.columns, strict=True):
        ax.plot(
            sizes,
            [error(name, joint, s) for s in sizes],
            "o-",
            color=BLUE,
            markersize=4,
            label="one set for all three",
        )
        ax.plot(
            [measured[s] for s in few],
            [error(name, separate[name], s) for s in few],
            "s--",
            color=ORANGE,
            markersize=4,
            label="a set for each",
        )
        ax.set(title=name, xlabel="slopes that are measured", ylim=(0, None))
    axes[0].set_ylabel("error on the test sample (%)")
    axes[0].legend()


def slopes_by_size(path, k, coef):
    """Coefficients of a model, and the wavelengths of the models of all sizes."""
    fig, (top, low) = plt.subplots(2, 1, figsize=(9, 4.4), height_ratios=(2, 1.2))
    shown = coef.sort_index(key=lambda index: index.str[2:].astype(float))
    limit = np.abs(shown.to_numpy()).max()
    image = top.imshow(
        shown.T, cmap=colors.signs(), vmin=-limit, vmax=limit, aspect="auto"
    )
    top.set_xticks(range(k), [f"{name[2:]} nm" for name in shown.index])
    top.set_yticks(range(3), shown.columns)
    written_in(top, shown.T, "{:.1f}".format, lambda value: abs(value) > 0.6 * limit)
    fig.colorbar(image, ax=top, label="per sd of both")
    for s in range(1, len(path)):
        low.plot(
            [float(name[2:]) for name in path.model(k=s).features],
            [s] * s,
            "s",
            color=BLUE,
            markersize=4,
        )
    low.set(
        xlabel="wavelength (nm)", ylabel="k", xlim=(848, 1052), yticks=[2, 4, 6, 8, 10]
    )


# -------------------- several_rows_of_one_person


def persons(rng, count=40, times=10, traits=30):
    """(X, y, person): traits of a person without effect, and `dose`, which has one."""
    person = np.repeat(np.arange(count), times)
    own = rng.normal(size=(count, traits))[person]
    X = pd.DataFrame(own, columns=[f"trait {j + 1}" for j in range(traits)])
    X["dose"] = rng.normal(size=count * times)
    level = rng.normal(size=count)
    return X, level[person] + 0.8 * X.dose + rng.normal(size=count * times), person


def wages_by_year(wages):
    """Log wages of some men over the years, and the mean of all men."""
    _, ax = plt.subplots(figsize=(7.2, 3))
    table = wages.reset_index().pivot(index="year", columns="person", values="log_wage")
    ax.plot(table.iloc[:, ::14], color=BLUE, linewidth=0.7, alpha=0.5)
    ax.plot(table.mean(axis=1), color=ORANGE, linewidth=2.5, label="mean of all men")
    ax.set(xlabel="year", ylabel="log wage", ylim=table.stack().quantile([0.002, 1]))
    ax.legend(loc="lower right")


def p_values_of_traits(repeats):
    """p-values of traits without effect, tested in three ways, a row a repetition."""
    out = []
    for seed in range(repeats):
        X, y, person = persons(np.random.default_rng(100 + seed), traits=10)
        clusters = {"cov_type": "cluster", "cov_kwds": {"groups": person}}
        best = l0path.fit(X, y, always_include=["dose"], max_k=1).model(k=1)
        fixed = l0path.fit(X[["trait 1", "dose"]], y, k=[2]).model(k=2)
        chosen = next(name for name in best.features if name != "dose")
        out.append(
            {
                "fixed, by rows": fixed.refit().pvalues["trait 1"],
                "fixed, by persons": fixed.refit(**clusters).pvalues["trait 1"],
                "best of ten, by persons": best.refit(**clusters).pvalues[chosen],
            }
        )
    return pd.DataFrame(out)


def split_by_persons(X, y, person, n_splits):
    """p-values for all columns: half of the persons choose, the others test, by
    clusters; twice the median over splits (Meinshausen, Meier and Buhlmann 2009).
    """
    rng, everyone, tested = np.random.default_rng(1), np.unique(person), []
    for _ in range(n_splits):
        half = rng.choice(everyone, len(everyone) // 2, replace=False)
        choosing = np.isin(person, half)
        model = l0path.fit(X[choosing], y[choosing]).model("bic")
        clusters = {"groups": person[~choosing]}
        rest = {"X": X[~choosing], "y": y[~choosing]}
        test = model.refit(**rest, cov_type="cluster", cov_kwds=clusters)
        corrected = (test.pvalues.drop("(Intercept)") * model.k).clip(upper=1)
        tested.append(corrected.reindex(X.columns, fill_value=1.0))
    return (2 * pd.DataFrame(tested).median()).clip(upper=1)


def two_kinds_of_folds(by_rows, by_persons):
    """Held-out errors by folds of rows and by folds of persons."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for ax, name, cv in (
        (axes[0], "folds of rows", by_rows),
        (axes[1], "folds of persons", by_persons),
    ):
        cv.plot(ax=ax, log=True).set(xlabel=f"features in the model, {name}")
    seen = pd.concat([by_rows.scores.cv_mean, by_persons.scores.cv_mean])
    axes[1].set(ylabel="", ylim=(0.8 * seen.min(), 1.5 * seen.max()))


def distribution_of_p_values(p_values):
    """The distribution of p-values of traits without an effect."""
    _, ax = plt.subplots(figsize=(7.5, 3.4))
    levels = np.linspace(0, 1, 101)
    for (name, own), color in zip(p_values.items(), (ORANGE, BLUE, GREEN), strict=True):
        ax.plot(levels, [(own <= at).mean() for at in levels], color=color, label=name)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    ax.set(xlabel="p-value", ylabel="share of p-values up to it")
    ax.legend(loc="lower right")


def ratios_of_errors(ratio):
    """Standard errors by men over those by rows."""
    _, ax = plt.subplots(figsize=(7.5, 0.6 + 0.17 * len(ratio)))
    place = np.arange(len(ratio))[::-1]
    ax.barh(place, ratio, color=np.where(ratio > 1, BLUE, GREY))
    ax.axvline(1, color="#333333", linewidth=0.8)
    ax.set_yticks(place, ratio.index, fontsize=8)
    ax.set(
        xlabel="standard error by men / standard error by rows", ylim=(-1, len(ratio))
    )


# -------------------- sparse_text


def documents(frequencies, n, length, rng):
    """Counts (n, p) csr, uint8: documents of about `length` words."""
    sizes = rng.poisson(length, n)
    drawn = rng.choice(len(frequencies), sizes.sum(), p=frequencies / frequencies.sum())
    table = sparse.csr_matrix(
        (np.ones(drawn.size), (np.repeat(np.arange(n), sizes), drawn)),
        shape=(n, len(frequencies)),
    )
    return table.astype(np.uint8)


def reviews():
    """(X, stars, names): counts (n, p) csr, stars 1 to 5, the name of each column."""
    rng, p = np.random.default_rng(0), 2640
    X = documents(1.0 / np.arange(5, p + 5), 6000, 60, rng)
    kinds, beta = np.array(["word"] * p, dtype=object), np.zeros(p)
    for kind, count, first, last, effect in (
        ("praise", 12, 20, 120, 0.25),
        ("complaint", 30, 60, 600, -1.0),
        ("hint", 600, 0, p, None),
    ):
        chosen = rng.choice(
            np.flatnonzero(kinds[first:last] == "word") + first, count, replace=False
        )
        kinds[chosen] = kind
        beta[chosen] = (
            0.2 * rng.standard_normal(count)
            if effect is None
            else effect * rng.uniform(0.5, 1.5, count)
        )
    score = X @ beta
    stars = np.clip(
        np.round(
            4.2 + score - np.median(score) + 0.6 * rng.standard_normal(X.shape[0])
        ),
        1,
        5,
    ).astype(int)
    return X, stars, [f"{kind} {j}" for j, kind in enumerate(kinds)]


def articles():
    """(X, topic): counts (n, p) csr, and which articles use 40 words more often."""
    rng, p = np.random.default_rng(1), 60000
    frequencies, n = 1.0 / np.arange(5, p + 5), 3000 if SHORT else 15000
    own = frequencies.copy()
    own[rng.choice(np.arange(100, 3000), 40, replace=False)] *= 8.0
    topic = np.sort(rng.random(n) < 0.05)
    return sparse.vstack(
        [
            documents(frequencies, int((~topic).sum()), 80, rng),
            documents(own, int(topic.sum()), 80, rng),
        ]
    ).tocsr(), topic


def lasso_by_size(X, stars, train, test):
    """R2 of the lasso on the test rows by the number of words, columns standardized."""
    moments = (X[train].astype(float).power(power).mean(axis=0) for power in (2, 1))
    square, mean = (np.asarray(one).ravel() for one in moments)
    scale = np.sqrt(square - mean**2)
    unit = sparse.diags_array(1.0 / np.where(scale > 0, scale, 1.0))
    Z = X.astype(float) @ unit
    rows, lasso = [], Lasso(max_iter=3000, warm_start=True)
    for alpha in np.geomspace(0.15, 0.012, 10 if SHORT else 30):
        lasso.set_params(alpha=alpha).fit(Z[train].tocsc(), stars[train].astype(float))
        r2 = lasso.score(Z[test], stars[test])
        rows.append({"k": np.count_nonzero(lasso.coef_), "r2": r2})
    return pd.DataFrame(rows)


def class_scores(path, X, positive, sizes):
    """Errors and AUC of models of some sizes on new rows, where they are that large."""
    rows = []
    for k in sizes:
        if k <= path.details.k.max():
            score = path.predict(X, k=k, type="link")
            wrong = np.mean((score > 0) != positive)
            rows.append(
                {"words": k, "wrong": wrong, "AUC": roc_auc_score(positive, score)}
            )
    return pd.DataFrame(rows)


def megabytes(X):
    """(MB of a sparse matrix, MB if it were dense and of doubles)."""
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return stored / 2**20, 8 * np.prod(X.shape) / 2**20


def watched(call, *args, **options):
    """(what the call returns, MB that it takes at its worst)."""
    tracemalloc.start()
    out = call(*args, **options)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return out, peak


def effects_of_words(model, X, words):
    """The stars that each word adds or takes, and how often it occurs."""
    effect = model.coef.drop("(Intercept)").sort_values()
    often = pd.Series(np.asarray((X > 0).sum(axis=0)).ravel(), index=words)
    _, ax = plt.subplots(figsize=(8, 4.8))
    place = range(len(effect))
    ax.barh(place, effect, color=np.where(effect < 0, ORANGE, BLUE), height=0.7)
    ax.set_yticks(place, effect.index, fontsize=8)
    for at, (name, value) in enumerate(effect.items()):
        side = {"ha": "left" if value > 0 else "right", "va": "center"}
        shift = (4 if value > 0 else -4, 0)
        beside(ax, often[name], (value, at), shift, fontsize=7, color=GREY, **side)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(
        xlabel="stars for each mention; small numbers: in how many training reviews",
        xlim=(1.15 * effect.min(), max(1.15 * effect.max(), 0.3 * -effect.min())),
        ylim=(-1, len(effect)),
    )


def words_and_lasso(ours, ridged, rival, cv):
    """R2 on reviews kept aside, of best subsets and of the lasso."""
    _, ax = plt.subplots(figsize=(7.2, 3.8))
    ax.plot(ours.k[1:], ours.cv_mean[1:], color=ORANGE, label="best subsets")
    what = "best subsets, lambda2 = 0.3"
    ax.plot(ridged.k[1:], ridged.cv_mean[1:], "--", color=ORANGE, label=what)
    ax.plot(rival.k, rival.r2, "o-", color=GREEN, markersize=3.5, label="lasso")
    for which, height in (("1se", 0.1), ("min", 0.2)):
        k = cv.model(which).k
        ax.axvline(k, color=GREY, linewidth=0.8, linestyle=":")
        at = height * ours.cv_mean.max()
        ax.text(k, at, f' "{which}": {k} ', fontsize=9, color=GREY, ha="right")
    ax.set(xlabel="words in the model", ylabel="R2 on reviews kept aside")
    ax.set(xscale="log", ylim=(0, None))
    plain_ticks(ax.xaxis, [1, 3, 10, 30, 100, 300])
    ax.legend(loc="upper left")


# -------------------- survival


def survival_curves(curves):
    """Survival curves of imagined cases."""
    _, ax = plt.subplots(figsize=(6.8, 3.6))
    for color, (name, curve) in zip(
        (ORANGE, GREEN, BLUE), curves.iterrows(), strict=True
    ):
        at, share = np.append(0, curve.index), np.append(1, curve)
        ax.step(at, share, where="post", color=color, label=name)
    ax.set(
        xlabel="months since the end of the trial",
        ylabel="probability of being unpublished",
        ylim=(0, 1.02),
        xlim=(0, 85),
    )
    ax.legend()


# -------------------- weights_at_birth


def births_with_factors():
    """Weights at birth with cigarettes, school and birth order as factors."""
    data = load_birth_weights()
    births = data.X.assign(weight=data.y)
    births["smoking"] = pd.cut(
        births.cigarettes, [-1, 0, 10, 100], labels=["none", "1 to 10", "more"]
    )
    levels = ["under 12", "12", "13 to 15", "16 or more"]
    school = pd.cut(births.mother_education, [-1, 11, 12, 15, 30], labels=levels)
    first = ["12", "under 12", "13 to 15", "16 or more"]
    births["school"] = school.cat.reorder_categories(first)
    order = births.parity.clip(upper=3).map({1: "first", 2: "second", 3: "later"})
    births["birth"] = pd.Categorical(order, ["first", "second", "later"])
    births["sex"] = births.male.map({0: "girl", 1: "boy"})
    births["ethnicity"] = births.white.map({0: "other", 1: "white"})
    births["log_income"] = np.log2(births.income)
    return births


def weights_by_factor(births):
    """Mean weights by smoking and another factor."""
    _, axes = plt.subplots(1, 3, figsize=(9, 3.1), sharey=True)
    levels = births.smoking.cat.categories
    for ax, factor in zip(axes, ("sex", "ethnicity", "school"), strict=True):
        groups = births.groupby([factor, "smoking"], observed=True).weight
        means, errors = (getattr(groups, of)().unstack() for of in ("mean", "sem"))
        colors = zip(means.index, (BLUE, ORANGE, GREEN, GREY), strict=False)
        for shift, (level, color) in enumerate(colors):
            at, style = np.arange(3) + 0.07 * shift, {"capsize": 3, "label": level}
            ax.errorbar(at, means.loc[level], errors.loc[level], color=color, **style)
        ax.set(xlabel="cigarettes per day", title=factor)
        ax.set(xticks=range(3), xticklabels=levels)
        ax.legend()
    axes[0].set_ylabel("mean weight, ounces (± one se)")


def products_beside_terms(cv):
    """Criteria and held-out errors of models with products."""
    change, criteria = cv.folds - cv.folds.iloc[0], cv.score_table()
    error = change.std(axis=1, ddof=1) / np.sqrt(change.shape[1])
    _, axes = plt.subplots(1, 2, figsize=(11, 3.2))
    for name, color in (("bic", ORANGE), ("aic", BLUE)):
        value = criteria[name] - criteria[name].iloc[0]
        axes[0].plot(cv.scores.k, value, "o-", color=color, label=name.upper())
    axes[0].legend()
    axes[0].set(ylabel="difference from none")
    axes[1].errorbar(
        cv.scores.k, change.mean(axis=1), error, fmt="o-", color=BLUE, capsize=3
    )
    axes[1].set(ylabel="held-out error, difference from none")
    for ax in axes:
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.set(xlabel="products beside the six terms")


def intervals_both_ways(results, split):
    """Intervals of the rows that chose, and of splits."""
    names = results.params.index.drop("(Intercept)")
    naive, order = results.conf_int().loc[names], np.arange(len(names))[::-1]
    _, ax = plt.subplots(figsize=(7.2, 3.4))
    for shift, low, high, color, label in (
        (0.14, naive.lower, naive.upper, ORANGE, "on the rows that chose"),
        (-0.14, split.ci_low[names], split.ci_high[names], BLUE, "by splitting"),
    ):
        ax.hlines(order + shift, low, high, color=color, linewidth=3, label=label)
    ax.plot(results.params[names], order + 0.14, "o", color=ORANGE)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set(yticks=order, yticklabels=names, xlabel="ounces, with intervals of 95 %")
    ax.legend(loc="lower left")
