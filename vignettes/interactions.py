# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Interactions: when are products of columns worth searching?
#
# A hundred columns have 5050 squares and products, a thousand have half a million. Among so many, some products will fit anything. So there are two questions, and a path answers only the first: *which products fit
# best?* Whether they *predict* better than the columns alone can be told only from rows that the search has not seen.
#
# This page asks both, three times: of spectra, where chemistry says that a straight line is wrong; of gene expression, where nobody knows; and of a table with categories, where products come in groups. The
# answer is once a clear yes, once no, and once that it hardly matters. All numbers are printed by the code.

# %%
import os
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from l0path.datasets import load_hitters, load_srbct, load_tecator
from l0path.designs import polynomial
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import l0path

SHORT = os.environ.get("L0PATH_SHORT") == "1"  # fewer folds, sizes and genes, the same cells
FOLDS, MAX_K = (5, 8) if SHORT else (10, 14)
pd.set_option("display.width", 160, "display.max_columns", 20, "display.precision", 3)
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6b6b6b"


def plain(ax, **labels):
    """Thin axes with labels."""
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)


def timed(call):
    """(what the call returns, seconds)."""
    began = time.perf_counter()
    return call(), time.perf_counter() - began


# %% [markdown]
# # Part 1: spectra
#
# The near infrared absorbance of 215 samples of minced meat in 100 channels from 850 to 1050 nm, and their percentage of fat, which is what the spectrum is to replace (Borggaard & Thodberg, Analytical Chemistry 64:545, 1992;
# recorded on a Tecator Infratec Food and Feed Analyzer). Spectra of samples differ by a shift and a slope that come from how light scatters; the usual remedy is to take the differences of neighbouring channels.

# %%
meat = load_tecator()
y, train, raw = meat.y, meat.train, meat.X.to_numpy()  # the last 43 samples, the test sample of the published study, are for the end of this part
nm = np.linspace(850, 1050, raw.shape[1])
wave = (nm[:-1] + nm[1:]) / 2
X = pd.DataFrame(np.diff(raw, axis=1), columns=[f"d{w:.0f}" for w in wave])
print(f"{train.sum()} rows to learn from, {(~train).sum()} to test on, {X.shape[1]} columns, {X.shape[1] * (X.shape[1] + 3) // 2} with squares and products")
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
shade = plt.colormaps["viridis"]((y - y.min()) / (y.max() - y.min()))
for i in np.argsort(y.to_numpy())[:: 4 if SHORT else 1]:
    axes[0].plot(nm, raw[i], color=shade[i], linewidth=0.6, alpha=0.7)
    axes[1].plot(wave, 100 * X.iloc[i], color=shade[i], linewidth=0.6, alpha=0.7)
plain(axes[0], xlabel="wavelength, nm", ylabel="absorbance")
plain(axes[1], xlabel="wavelength, nm", ylabel="difference of neighbouring channels, x 100")
scale = plt.cm.ScalarMappable(plt.Normalize(y.min(), y.max()), "viridis")
fig.colorbar(scale, ax=axes, label="fat, %", pad=0.01);

# %% [markdown]
# ## Columns alone, and with all products
#
# `polynomial(X)` is the design of all columns, their squares and products (x_j - mean_j)(x_k - mean_k). It stores none of them: sums over products are made while they are needed. A fit, a cross-validation or a prediction takes it as
# it takes a matrix, and the same folds serve both searches.

# %%
cvs, seconds = {}, {}
folds = list(KFold(FOLDS, shuffle=True, random_state=1).split(X[train]))
designs = {"columns alone": X[train], "with products": polynomial(X[train])}
for name, design in designs.items():
    cvs[name], seconds[name] = timed(lambda design=design: l0path.cv_fit(design, y[train], cv=folds, max_k=MAX_K, lambda2=0))
fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for (name, cv), color in zip(cvs.items(), (BLUE, ORANGE), strict=True):
    table = cv.scores
    ax.errorbar(table.k + (0.08 if color == ORANGE else -0.08), table.cv_mean, table.cv_se, color=color, marker="o", markersize=4, linewidth=1.4, elinewidth=0.9, capsize=2)
    best = cv.model("min")
    ax.annotate(f"{name}: {cv.p} features\nleast {table.cv_mean.min():.3g} at k = {best.k}", (table.k.iloc[-1], table.cv_mean.iloc[-1]), xytext=(8, 0), textcoords="offset points", color=color, va="center", annotation_clip=False)
plain(ax, xlabel="predictors in the model, k", ylabel="held-out mean squared error", yscale="log")
print("; ".join(f"{name}: {FOLDS} folds and a fit in {s:.1f} s" for name, s in seconds.items()))

# %% [markdown]
# The two curves use the same rows, the same folds, the same number of coefficients. The sizes are free to differ: what is compared is each curve's least value, and bars of one standard error say how sure one can be of it. Which products are
# they?

# %%
model = cvs["with products"].model("min")
model.summary().table[["coef", "standardized", "increase_if_dropped", "best_exchange", "exchange_change"]]

# %% [markdown]
# `best_exchange` deserves a look before anyone explains the coefficients: neighbouring channels are nearly copies of each other, so almost every feature has a stand-in that does nearly as well. `alternatives` counts them.

# %%
near = model.alternatives(n=200)
for limit in (0.02, 0.1, 0.25):
    count = (near.relative < limit).sum()
    print(f"{'at least ' if count == len(near) else ''}{count} models with one feature exchanged come within {limit:.0%} of the objective")

# %% [markdown]
# So the map below shows *regions*, not points: every product of every size of the path, at its two wavelengths, with the stand-ins of the chosen model as small dots. Channels by themselves stand on the diagonal's edge strips.

# %%
at = dict(zip(X.columns, wave, strict=True))
fig, ax = plt.subplots(figsize=(6.6, 6), layout="constrained")


def place(name):
    """The two wavelengths of a feature; one below the map for a channel by itself."""
    parts = name.removesuffix("^2").split(":")
    return (at[parts[0]], at[parts[-1]]) if ":" in name or name.endswith("^2") else (at[parts[0]], 843.0)


stand_ins = near[near.relative < 0.25]
ax.scatter(*zip(*map(place, stand_ins.added), strict=True), s=5, color=GREY, alpha=0.5, label="could stand in (objective within 25 %)", zorder=2)
for other in cvs["with products"]:
    if other.k and other.details.name != model.details.name:
        ax.scatter(*zip(*map(place, other.features), strict=True), s=26, facecolor="none", edgecolor=BLUE, linewidth=0.8, alpha=0.6, zorder=3, label="in a model of another size" if other.k == 1 else None)
size = model.path.coef(index=model.details.name, standardized=True).iloc[1:].abs()
ax.scatter(*zip(*map(place, model.features), strict=True), s=40 + 160 * size / size.max(), color=ORANGE, edgecolor="white", linewidth=0.8, zorder=4, label=f"in the model chosen, k = {model.k}")
ax.plot([850, 1050], [850, 1050], color=GREY, linewidth=0.6, zorder=1)
ax.axhspan(838, 848, color="#eeeeee", zorder=0)
ax.text(1049, 850, "below: channels by themselves", ha="right", va="bottom", fontsize=9, color=GREY)
plain(ax, xlabel="wavelength of the first factor, nm", ylabel="wavelength of the second factor, nm", xlim=(846, 1054), ylim=(836, 1054))
ax.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.12));

# %% [markdown]
# ## Fewer candidates: heredity
#
# A common rule lets a product in only if one (weak heredity) or both (strong) of its columns are in the model of columns alone. It leaves few candidates, so there is less to be misled by, and it cannot find two columns that matter only
# together. With columns chosen by the same responses, a cross-validation of the second fit would be too kind; the test rows are not.
#
# ## The test rows, looked at once
#
# Two rivals are added: partial least squares on the columns, what a chemist would use, and the lasso on all squares and products, both with their tuning by the same folds.

# %%
parents = cvs["columns alone"].model("min").support
for kind in ("weak", "strong"):
    design = polynomial(X[train], heredity=kind, parents=parents)
    cvs[f"{kind} heredity"] = l0path.cv_fit(design, y[train], cv=folds, max_k=MAX_K, lambda2=0)
rows = {}
for name, cv in cvs.items():
    for which in ("min", "1se"):
        chosen = cv.model(which)
        rows[f"{name}, {which}"] = {"candidates": cv.p, "coefficients": chosen.details['n_features'], "cv_mse": cv.scores.cv_mean[chosen.details.name], "test_mse": chosen.score(X[~train], y[~train]).mse}
scores = {}
for count in range(1, min(X.shape[1], 12 if SHORT else 20) + 1):
    scores[count] = np.mean((cross_val_predict(PLSRegression(count), X[train], y[train], cv=folds).ravel() - y[train]) ** 2)
count = min(scores, key=scores.get)
pls = PLSRegression(count).fit(X[train], y[train])
rows["partial least squares"] = {"candidates": X.shape[1], "coefficients": X.shape[1], "cv_mse": scores[count], "test_mse": np.mean((pls.predict(X[~train]).ravel() - y[~train]) ** 2)}
lasso = make_pipeline(StandardScaler(), PolynomialFeatures(include_bias=False), StandardScaler(), LassoCV(cv=folds[:2] if SHORT else folds, alphas=10 if SHORT else 30, max_iter=20000, tol=1e-2))
lasso.fit(X[train], y[train])
inside = lasso[-1]
rows["lasso with products"] = {"candidates": inside.coef_.size, "coefficients": np.count_nonzero(inside.coef_), "cv_mse": inside.mse_path_.mean(axis=1).min(), "test_mse": np.mean((lasso.predict(X[~train]) - y[~train]) ** 2)}
table = pd.DataFrame(rows).T.astype({"candidates": int, "coefficients": int})
table

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained", sharex=True, sharey=True)
for ax, name, color in zip(axes, ("columns alone", "with products"), (BLUE, ORANGE), strict=True):
    chosen = cvs[name].model("min")
    guess = chosen.predict(X[~train])
    ax.plot([y.min(), y.max()], [y.min(), y.max()], color=GREY, linewidth=0.8)
    ax.scatter(guess, y[~train], s=26, color=color, edgecolor="white", linewidth=0.6)
    plain(ax, xlabel="predicted fat, %", title=f"{name}, k = {chosen.k}: root mean squared error {np.sqrt(np.mean((guess - y[~train]) ** 2)):.2f}")
axes[0].set_ylabel("measured fat, %")
gain = 1 - table.test_mse["with products, min"] / table.test_mse["columns alone, min"]
low, high = cvs["with products"].scores.cv_mean.min(), cvs["columns alone"].scores.cv_mean.min()
print(f"products take {1 - low / high:.0%} off the cross-validated and {gain:.0%} off the test error of the best model of columns")
for name in ("columns alone", "with products"):
    guess = cvs[name].predict(X[~train]).to_numpy()
    error = y[~train].to_numpy() - guess
    bend = np.polynomial.Polynomial.fit(guess, error, 2)(guess)
    print(f"{name}: a parabola in the prediction explains {1 - np.sum((error - bend) ** 2) / np.sum((error - error.mean()) ** 2):.0%} of the variance of the test error")

# %% [markdown]
# Both scores say the same, the one that chose the size and the one that had no part in it, and with the heredity rules as much is found among far fewer candidates. How much of the error of columns alone is a plain *bend* in the prediction, which a
# curved scale could mend without products, is the last number printed; the rest needs products of different channels.
#
# # Part 2: genes
#
# 83 tumours of childhood and the expression of 2308 genes (Khan and others, Nature Medicine 7:673, 2001). Can the expression of one gene, the one that varies most, be told from the others', and do these act in pairs? It is that of
# insulin-like growth factor 2. Columns of the same family are left out, and of the others those that vary most are kept, without a look at the response.


# %%
def expression(count):
    """(X the genes of largest variance beside the first, its expression, its name)."""
    genes = load_srbct().X
    order = genes.columns[np.argsort(-genes.var().to_numpy(), kind="stable")]
    others = [name for name in order[1:] if "IGF" not in name and "insulin-like" not in name]
    return genes[others[:count]], genes[order[0]].to_numpy(), order[0]


G, rate, name = expression(250 if SHORT else 600)
K = 5 if SHORT else 8
pairs = polynomial(G)
print(f"{name}: {len(rate)} rows, {G.shape[1]} genes, {pairs.p} features with products")
folds = list(KFold(FOLDS, shuffle=True, random_state=1).split(G))
genes_cv, seconds_genes = timed(lambda: l0path.cv_fit(G, rate, cv=folds, max_k=K, lambda2=0))
pairs_cv, seconds_pairs = timed(lambda: l0path.cv_fit(pairs, rate, cv=folds, max_k=K, lambda2=0))
print(f"{FOLDS} folds and a fit: {seconds_genes:.1f} s for the genes, {seconds_pairs:.1f} s with products")

# %% [markdown]
# What would noise look like? The same two searches with the responses in random order, where there is nothing to be found at all:

# %%
rng = np.random.default_rng(0)
noise = {"genes alone": [], "with products": []}
for _ in range(2 if SHORT else 5):
    shuffled = rng.permutation(rate)
    for name, design in (("genes alone", G), ("with products", pairs)):
        noise[name].append(l0path.fit(design, shuffled, max_k=K).details.deviance_ratio.to_numpy()[: K + 1])
fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
null = genes_cv.scores.cv_mean[0]
for (name, cv), color in zip({"genes alone": genes_cv, "with products": pairs_cv}.items(), (BLUE, ORANGE), strict=True):
    sizes = cv.details.k
    axes[0].plot(sizes, cv.details.deviance_ratio, color=color, marker="o", markersize=4, label=name)
    axes[0].plot(sizes, np.mean(noise[name], axis=0), color=color, linestyle="--", linewidth=1, label=f"{name}, responses shuffled")
    axes[1].errorbar(sizes + (0.06 if color == ORANGE else -0.06), 1 - cv.scores.cv_mean / null, cv.scores.cv_se / null, color=color, marker="o", markersize=4, elinewidth=0.9, capsize=2, label=name)
axes[1].axhline(0, color=GREY, linewidth=0.6)
plain(axes[0], xlabel="predictors in the model, k", ylabel="share of variance explained, rows of the fit", ylim=(0, 1))
plain(axes[1], xlabel="predictors in the model, k", ylabel="the same on held-out rows")
axes[0].legend(frameon=False, fontsize=9)
axes[1].legend(frameon=False, fontsize=9)
for name, cv in (("genes alone", genes_cv), ("with products", pairs_cv)):
    i = cv.select("min")
    print(f"{name}: least held-out error {cv.scores.cv_mean[i]:.3f} (se {cv.scores.cv_se[i]:.3f}) at k = {cv.scores.k[i]}: {', '.join(cv.model('min').features)}")
apart = pairs_cv.folds.loc[pairs_cv.select("min")].to_numpy() - genes_cv.folds.loc[genes_cv.select("min")].to_numpy()
print(f"products less genes, by fold: {apart.mean():+.3f}, standard error {apart.std(ddof=1) / np.sqrt(len(apart)):.3f}; better in {(apart < 0).sum()} of {len(apart)} folds")

# %% [markdown]
# Left and right tell opposite stories. On the rows of the fit products are always better: they must be, because every model of genes is also a model with products. The dashed lines show how little that means, since among so many products a few
# fit even responses in random order. On held-out rows the products do not pay. With 83 rows this is no proof that genes do not interact; it says that *these rows cannot tell* which of so many pairs do, and that a table of "the best interactions"
# would be a table of accidents.
#
# # Part 3: terms of a table
#
# Where columns are few and some are categories, one writes the products down. The salaries of 263 baseball players, by a formula: a spline of the years played (four columns), counts, two factors, and all products of two of them. A term of
# several columns is one group, so a size is a number of *terms*.

# %%
table = load_hitters().X.assign(Salary=load_hitters().y).rename(columns={"League_N": "League", "Division_W": "Division"})
table["League"], table["Division"] = table.League.map({0: "American", 1: "National"}), table.Division.map({0: "East", 1: "West"})
alone, both = "bs(Years, df=4) + Hits + Walks + CRBI + PutOuts + League + Division", "(bs(Years, df=4) + Hits + Walks + CRBI + PutOuts + League + Division)**2"
terms = {name: l0path.cv_fit(f"np.log(Salary) ~ {right}", table, cv=FOLDS, random_state=1, max_k=10, heredity=None, lambda2=0) for name, right in (("terms alone", alone), ("with products", both))}
for name, cv in terms.items():
    i = cv.select("min")
    print(f"{name}: {cv.p} columns; least held-out error {cv.scores.cv_mean[i]:.4f} (se {cv.scores.cv_se[i]:.4f}) at k = {cv.scores.k[i]}")
terms["with products"].model("min").summary().table[["columns", "norm", "increase_if_dropped", "best_exchange", "exchange_change"]]

# %%
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained", sharey=True)
player = table[["Hits", "Walks", "PutOuts"]].median().to_dict() | {"League": "American", "Division": "East"}
years = np.arange(1, 19)
for ax, (name, cv) in zip(axes, terms.items(), strict=True):
    for runs, color in ((20, BLUE), (40, GREEN), (80, ORANGE)):
        curve = cv.predict(pd.DataFrame({"Years": years, "CRBI": runs * years, **player}))
        ax.plot(years, np.exp(curve), color=color, linewidth=1.8)
        ax.annotate(f"{runs} runs a year", (years[-1], np.exp(curve.iloc[-1])), xytext=(5, 0), textcoords="offset points", color=color, va="center")
    plain(ax, xlabel="years in the league, with as many runs batted in each year", title=f"{name}: {', '.join(cv.model('min').groups) if cv.model('min').k < 4 else str(cv.model('min').k) + ' terms'}", yscale="log")
axes[0].set_ylabel("salary, 1000 dollars (other columns at their medians)")
axes[0].set_yticks([50, 100, 200, 400, 800, 1600], ["50", "100", "200", "400", "800", "1600"], minor=False)
for ax in axes:
    ax.set_xticks([1, 5, 10, 15])
    ax.minorticks_off()

# %% [markdown]
# The two lists of terms have nearly the same error and are far apart in words: the sum of all seven terms, or one product, a career's runs weighed by its length. With 28 terms there is little to be misled by, and little to be gained here.
#
# A product of two terms may enter here without its parents (`heredity=None`), and its coefficients then depend on where zero lies. Where they are to be read, let the search keep the hierarchy, `heredity="strong"`: then it is compared with models of this kind alone.
#
# What to take home:
#
# * A search among products always improves the fit. Ask held-out rows, with the same folds for both searches, and look at the fold-wise difference rather than at two numbers.
# * It pays where effects are curved and there are enough rows to see it (part 1), and costs where features are many and rows few (part 2). Shuffled responses show what the search alone can do.
# * Neighbours stand in for each other. Read regions and `alternatives`, not names.
