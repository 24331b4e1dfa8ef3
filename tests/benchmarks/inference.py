"""What the procedures after a selection promise, against simulations: FDR and power of knockoffs,
false choices of stability selection against its bounds, family-wise error and coverage of
split_inference.
"""

import numpy as np
from common import arguments
from joblib import Parallel, delayed

import l0path

# n, p, true columns, correlation of neighbors, size of the coefficients in units of sigma /
# sqrt(n), loss
KNOCKOFFS = {
    "fixed, rho 0": (150, 50, 15, 0.0, 5.0, "squared", {"kind": "fixed"}),
    "fixed, rho 0.5": (150, 50, 15, 0.5, 6.0, "squared", {"kind": "fixed"}),
    "fixed, rho 0.5, equi": (150, 50, 15, 0.5, 6.0, "squared", {"kind": "fixed", "s": "equi"}),
    "fixed, rho 0.5, sdp": (150, 50, 15, 0.5, 6.0, "squared", {"kind": "fixed", "s": "sdp"}),
    "fixed, rho 0.5, entry": (
        150,
        50,
        15,
        0.5,
        6.0,
        "squared",
        {"kind": "fixed", "statistic": "entry"},
    ),
    "model, rho 0.5": (150, 50, 15, 0.5, 6.0, "squared", {"kind": "model"}),
    "model, rho 0.5, equi": (150, 50, 15, 0.5, 6.0, "squared", {"kind": "model", "s": "equi"}),
    "model, n < p": (120, 150, 12, 0.3, 7.0, "squared", {"kind": "model"}),
    "model, n < p, true covariance": (
        120,
        150,
        12,
        0.3,
        7.0,
        "squared",
        {"kind": "model", "known": True},
    ),
    "model, logistic": (400, 50, 12, 0.3, 12.0, "logistic", {"kind": "model", "lambda2": 1e-3}),
}


def sample(seed, n, p, k, rho, size, loss="squared"):
    """(X, y, beta): AR(1) normal columns, k random ones with coefficients +- size / sqrt(n), noise
    of variance 1 (or P(y = 1) logistic).
    """
    rng = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = size / np.sqrt(n) * rng.choice([-1.0, 1.0], k)
    X = l0path.simulate.linear(n, p, 0, rho=rho, random_state=rng).X
    eta = X @ beta
    return (
        X,
        eta + rng.standard_normal(n)
        if loss == "squared"
        else np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), 1, 0),
        beta,
    )


def knockoffs(seed, n, p, k, rho, size, loss, options):
    """[(false discovery proportion, power)] at levels 0.1 and 0.2; the sets at both levels come
    from one statistic.
    """
    from l0path.inference.knockoffs import threshold_of

    X, y, beta = sample(seed, n, p, k, rho, size, loss)
    options = dict(options)
    if options.pop("known", False):
        options["covariance"] = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    W = l0path.knockoff_filter(
        X, y, loss=loss, random_state=seed, max_k=2 * k, n_jobs=1, **options
    ).statistic.to_numpy()
    out = []
    for fdr in (0.1, 0.2):
        chosen = threshold_of(W, fdr) <= W
        out.append(
            ((chosen & (beta == 0)).sum() / max(1, chosen.sum()), (chosen & (beta != 0)).sum() / k)
        )
    return out


def stability(seed, n, p, k, rho, size, threshold):
    """(false choices, the bounds, true choices) of one data set."""
    X, y, beta = sample(seed, n, p, k, rho, size)
    result = l0path.stability_selection(X, y, threshold=threshold, random_state=seed, n_jobs=1)
    chosen = np.isin(result.frequency.index, result.selected)
    return [(chosen & (beta == 0)).sum(), *result.bounds, (chosen & (beta != 0)).sum(), result.k]


def splitting(seed, n, p, k, rho, size, n_splits):
    """(any false rejection at 0.05, true rejections, coverage of the finite intervals of true
    columns, their share, coverage of those of noise columns).
    """
    X, y, beta = sample(seed, n, p, k, rho, size)
    table = l0path.split_inference(
        X, y, n_splits=n_splits, rule="ebic", random_state=seed, n_jobs=1
    )
    small, true = (table.p_value <= 0.05).to_numpy(), beta != 0
    covered = ((table.ci_low <= beta) & (beta <= table.ci_high)).to_numpy()
    return [
        (small & ~true).any(),
        small[true].sum(),
        covered[true].mean(),
        np.isfinite(table.ci_low)[true].mean(),
        covered[~true].mean(),
    ]


def main():
    """Tables of means over simulated sets, with standard errors."""
    args = arguments(
        __doc__, seeds=(200, "simulated sets"), only=("", "knockoffs, stability or splitting")
    )
    seeds = range(4 if args.smoke else args.seeds)

    def over(call, *case):
        values = np.array(
            Parallel(n_jobs=-1)(delayed(call)(seed, *case) for seed in seeds), dtype=float
        )
        return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))

    if args.only in ("", "knockoffs"):
        print(
            f"| {'knockoffs':30s} | FDR at 0.1 | power | FDR at 0.2 | power "
            "|\n|---|---|---|---|---|"
        )
        for name, case in KNOCKOFFS.items():
            mean, se = over(knockoffs, *case)
            cells = " | ".join(
                f"{mean[i, 0]:.3f} ({se[i, 0]:.3f}) | {mean[i, 1]:.2f}" for i in (0, 1)
            )
            print(f"| {name:30s} | {cells} |", flush=True)
    if args.only in ("", "stability"):
        print(
            f"\n| {'stability selection':30s} | k | false choices | worst case | unimodal | "
            "r-concave | true choices |\n|---|---|---|---|---|---|---|"
        )
        for rho, threshold in ((0.0, 0.6), (0.0, 0.9), (0.5, 0.6)):
            mean, se = over(stability, 150, 100, 8, rho, 5.0, threshold)
            print(
                f"| {f'rho {rho}, threshold {threshold}':30s} | {mean[5]:.0f} | {mean[0]:.3f} "
                f"({se[0]:.3f}) | {mean[1]:.2f} | {mean[2]:.2f} | {mean[3]:.2f} | {mean[4]:.1f} of "
                "8 |",
                flush=True,
            )
    if args.only in ("", "splitting"):
        print(
            f"\n| {'split_inference':30s} | family-wise error at 0.05 | true rejections | "
            "coverage, true columns | of them finite | coverage, noise "
            "|\n|---|---|---|---|---|---|"
        )
        for n_splits, size in ((1, 6.0), (20, 6.0), (1, 12.0), (20, 12.0)):
            mean, se = over(splitting, 150, 40, 5, 0.3, size, n_splits)
            print(
                f"| {f'{n_splits} splits, signal {size}':30s} | {mean[0]:.3f} ({se[0]:.3f}) | "
                f"{mean[1]:.1f} of 5 | {mean[2]:.3f} | {mean[3]:.2f} | {mean[4]:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
