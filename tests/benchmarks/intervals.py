"""Coverage and mean width of `CVPath.predict_interval` at level 0.9 on 1000 new rows of each of
many simulated sets, where its guarantee holds and where it has none.
"""

import numpy as np
from common import arguments
from joblib import Parallel, delayed
from sklearn.model_selection import TimeSeriesSplit

import l0path

N, NEW, LEVEL = 100, 1000, 0.9
# name: columns, how rows depend on each other, options of cv_fit, the choice, the method
CASES = {
    "size 4, fixed": (30, "", {}, {"k": 4}, "cv+"),
    "size 4, fixed, minmax": (30, "", {}, {"k": 4}, "minmax"),
    "size of the best score": (30, "", {}, {"rule": "min"}, "cv+"),
    "size by one standard error": (30, "", {}, {"rule": "1se"}, "cv+"),
    "size of the best score, p = 300": (300, "", {}, {"rule": "min"}, "cv+"),
    "5 folds, best score": (30, "", {"cv": 5}, {"rule": "min"}, "cv+"),
    "3 repeats, best score": (30, "", {"n_repeats": 3}, {"rule": "min"}, "cv+"),
    "weights of 0.2 to 2": (30, "weights", {}, {"rule": "min"}, "cv+"),
    "new groups, folds of groups": (30, "groups", {}, {"rule": "min"}, "cv+"),
    "new groups, folds of rows": (30, "groups ignored", {}, {"rule": "min"}, "cv+"),
    "later rows, ordered folds": (30, "drift", {"cv": TimeSeriesSplit(5)}, {"rule": "min"}, "cv+"),
}


def drawn(rng, n, p):
    """X, y without the effects of groups or of time."""
    X = rng.normal(size=(n, p))
    return X, X[:, :4] @ np.array([2.0, -1.5, 1.0, 0.7]) + rng.standard_t(4, size=n)


def one(seed, p, how, options, choice, method):
    """(share of new rows covered, mean width) of a simulated set."""
    rng = np.random.default_rng(seed)
    X, y = drawn(rng, N, p)
    new, truth = drawn(rng, NEW, p)
    more = dict(options)
    if how == "weights":
        more["sample_weight"] = rng.uniform(0.2, 2.0, N)
    if how.startswith("groups"):
        group = np.arange(N) // 5
        y += 1.5 * rng.normal(size=N // 5)[group]
        truth += 1.5 * rng.normal(size=NEW)
        more |= {"groups_cv": group} if how == "groups" else {}
    if how == "drift":
        walk = 0.15 * np.cumsum(rng.normal(size=N + 20))
        y += walk[:N]
        new, truth = new[:20], truth[:20] + walk[N:]
    cv = l0path.cv_fit(X, y, max_k=10, random_state=seed, n_jobs=1, **more)
    found = cv.predict_interval(new, level=LEVEL, method=method, **choice)
    covered = (found["low"] <= truth) & (truth <= found["high"])
    return covered.mean(), (found["high"] - found["low"]).mean()


def main():
    """A row for each case, with the standard error of the coverage."""
    args = arguments(__doc__, seeds=(300, "simulated sets"), only=("", "part of a case's name"))
    seeds = range(4 if args.smoke else args.seeds)
    print(f"| {f'n = {N}, level {LEVEL}':34s} | coverage | mean width |\n|---|---|---|")
    for name, case in CASES.items():
        if args.only not in name:
            continue
        out = np.array(Parallel(n_jobs=-1)(delayed(one)(seed, *case) for seed in seeds))
        se = out[:, 0].std(ddof=1) / np.sqrt(len(out))
        print(f"| {name:34s} | {out[:, 0].mean():.3f} ({se:.3f}) | {out[:, 1].mean():.2f} |")


if __name__ == "__main__":
    main()
