"""Cross-validated deviance of best subsets against glmnet (Cox, and multinomial with the grouped
lasso) on real data: the same folds, and the same formula for both.

The survival data are those of the R package survival; `pbc, pairs` has all products of two of its
columns too. Classes: Khan's tumours (data/srbct.npz), and the wines of scikit-learn. Needs Rscript
with r-cran-glmnet and r-cran-survival (Debian). `--markdown FILE` writes the table of the docs.
"""

import subprocess
import tempfile
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from common import arguments

import l0path

SCRIPT = Path(__file__).with_suffix(".R")
RIDGES = (0.0, 1e-3, 1e-2, 1e-1, 0.3, 1.0)
FOLDS = 10
LARGEST = 20


class Chosen(NamedTuple):
    """A model: its columns, and the mean and standard error of its held-out deviance."""

    columns: int
    mean: float
    error: float


def with_pairs(X):
    """The columns and all products of two of them, standardized before."""
    Z = (X - X.mean()) / X.std(ddof=0)
    more = {f"{a}:{b}": Z[a] * Z[b] for a, b in combinations(Z.columns, 2)}
    out = pd.concat([Z, pd.DataFrame(more)], axis=1)
    return out.loc[:, out.std() > 1e-8]


def survival_data(folder):
    """{name: (X, y with the columns time and event)}."""
    subprocess.run(["Rscript", SCRIPT, "data", folder], check=True)
    out = {}
    for name in ("pbc", "lung", "rotterdam"):
        frame = pd.read_csv(Path(folder) / f"{name}.csv")
        X, y = frame.drop(columns=["time", "event"]), frame[["time", "event"]]
        out[name] = X.loc[:, X.std() > 0].astype(float), y
    out["pbc, pairs"] = with_pairs(out["pbc"][0]), out["pbc"][1]
    return out


def class_data():
    """{name: (X, class numbers)}."""
    from sklearn.datasets import load_wine

    tumours = l0path.datasets.load_srbct()
    wine = load_wine(as_frame=True)
    return {
        "srbct": (pd.DataFrame(tumours.X), pd.Categorical(tumours.y).codes.astype(float)),
        "wine": (wine.data, wine.target.to_numpy(dtype=float)),
    }


def folds_of(labels, seed):
    """The number of the fold (n,) of each row, stratified by labels."""
    from sklearn.model_selection import StratifiedKFold

    count = int(min(FOLDS, np.bincount(labels.astype(int)).min()))
    out = np.empty(len(labels), dtype=int)
    pairs = StratifiedKFold(count, shuffle=True, random_state=seed).split(labels, labels)
    for f, (_, test) in enumerate(pairs):
        out[test] = f
    return out


def partial_likelihood(time, event, eta):
    """The log partial likelihoods (m,) of predictors eta (n, m), ties by Breslow."""
    order = np.argsort(-time, kind="stable")
    time, event, eta = time[order], event[order], eta[order]
    top = eta.max(axis=0)
    at_risk = np.log(np.cumsum(np.exp(eta - top), axis=0)) + top
    last = np.searchsorted(-time, -time, side="right") - 1  # rows of the same time are at risk
    return event @ (eta - at_risk[last])


def deviances(family, y, link, test):
    """(the held-out deviance of each model (m,), what the fold counts): for each event what the
    held-out rows add to the partial likelihood, or twice the mean log loss.
    """
    if family == "cox":
        time, event, train = y.time.to_numpy(), y.event.to_numpy(), ~test
        whole = partial_likelihood(time, event, link)
        part = partial_likelihood(time[train], event[train], link[train])
        return -2.0 * (whole - part) / event[test].sum(), event[test].sum()
    eta, own = link[test], y[test].astype(int)
    top = eta.max(axis=1, keepdims=True)
    total = (top + np.log(np.exp(eta - top).sum(axis=1, keepdims=True)))[:, 0]
    right = np.take_along_axis(eta, own[:, None, None], axis=1)[:, 0]
    return 2.0 * (total - right).mean(axis=0), float(test.sum())


def scores(family, y, links, folds):
    """(means (m,), standard errors (m,)) over the folds, weighted as glmnet weights them."""
    found = [deviances(family, y, link, folds == f) for f, link in enumerate(links)]
    rows = np.array([d for d, _ in found])
    w = np.array([count for _, count in found])
    w = w / w.sum()
    mean = w @ rows
    return mean, np.sqrt(w @ (rows - mean) ** 2 / (len(rows) - 1))


def by_glmnet(family, X, y, folds):
    """(columns of each lambda, links of each fold) by the script."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        X.to_csv(place / "X.csv", index=False)
        pd.DataFrame(y).to_csv(place / "y.csv", index=False)
        pd.DataFrame(folds).to_csv(place / "folds.csv", index=False)
        subprocess.run(["Rscript", SCRIPT, "fit", folder, family], check=True)
        columns = pd.read_csv(place / "df.csv").iloc[:, 0].to_numpy()
        flat = np.fromfile(place / "link.bin")
    shape = (len(X), len(columns)) if family == "cox" else (len(X), int(y.max()) + 1, len(columns))
    return columns, [part.reshape(shape, order="F") for part in np.split(flat, folds.max() + 1)]


def by_subsets(family, X, y, folds, ridge):
    """(sizes, links of each fold) of our paths with a ridge; a size that a fold does not reach has
    the model of its largest one.
    """
    more, links = {"ties": "breslow"} if family == "cox" else {}, []
    for f in range(folds.max() + 1):
        keep = folds != f
        path = l0path.fit(
            X[keep], y[keep], loss=family, lambda2=ridge, max_k=LARGEST, certify=False, **more
        )
        every = np.asarray(path.predict(X.to_numpy(), type="link"))
        links.append(every if family == "cox" else every.transpose(0, 2, 1))
    most = max(link.shape[-1] for link in links)
    return np.arange(most), [
        np.concatenate([link, *[link[..., -1:]] * (most - link.shape[-1])], axis=-1)
        for link in links
    ]


def choices(columns, mean, error):
    """The models of the least mean deviance, and the smallest within its standard error."""
    best = int(np.argmin(mean))
    near = np.flatnonzero(mean <= mean[best] + error[best])
    least = near[np.argmin(columns[near])]
    return [Chosen(int(columns[i]), float(mean[i]), float(error[i])) for i in (best, least)]


def compared(family, X, y, seed):
    """(glmnet's two choices, ours) on the folds of a seed; ours over all ridges."""
    folds = folds_of(y.event if family == "cox" else y, seed)
    columns, links = by_glmnet(family, X, y, folds)
    theirs = choices(columns, *scores(family, y, links, folds))
    found = []
    for ridge in RIDGES if family == "cox" else RIDGES[1:]:
        sizes, links = by_subsets(family, X, y, folds, ridge)
        found.append((sizes, *scores(family, y, links, folds)))
    return theirs, choices(*(np.concatenate(part) for part in zip(*found, strict=True)))


def main():
    """A row for each data set and rule: medians over the seeds of the folds."""
    args = arguments(
        __doc__,
        seeds=(5, "partitions into folds"),
        only=("", "names of data sets, separated by |"),
        markdown=("", "a file for the table"),
    )
    with tempfile.TemporaryDirectory() as folder:
        data = {("cox", name): pair for name, pair in survival_data(folder).items()}
    data |= {("multinomial", name): pair for name, pair in class_data().items()}
    lines = [
        "| data | rows, features | rule | glmnet: features | deviance | its error "
        "| l0path: features |"
        " deviance | within, with fewer features |",
        "|---" * 9 + "|",
    ]
    print("\n".join(lines), flush=True)
    for (family, name), (X, y) in data.items():
        if args.only and name not in args.only.split("|"):
            continue
        found = [compared(family, X, y, seed) for seed in range(1 if args.smoke else args.seeds)]
        for rule, words in enumerate(("least", "one standard error")):
            pairs = [(theirs[rule], ours[rule], theirs[0]) for theirs, ours in found]
            met = sum(
                us.mean <= best.mean + best.error and us.columns < them.columns
                for them, us, best in pairs
            )
            them, us = (np.median([pair[i] for pair in pairs], axis=0) for i in (0, 1))
            lines.append(
                f"| {family}: {name} | {X.shape[0]}, {X.shape[1]} | {words} | {them[0]:g} | "
                f"{them[1]:.4g} | {them[2]:.2g} | {us[0]:g} | {us[1]:.4g} | {met} of {len(pairs)} |"
            )
            print(lines[-1], flush=True)
    if args.markdown:
        Path(args.markdown).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
