"""Cross-validation against the single path: 10 folds in one process (all threads) and in two (one
thread each), with products shared between folds and without.
"""

from functools import partial

from common import arguments, in_turn, instance, ratio

import l0path
from l0path.cross_validation import run

CASES = {
    "squared n=1000 p=10^4 iid": (
        {"seed": 2, "loss": "squared", "n": 1000, "p": 10_000, "k": 10},
        50,
    ),
    "squared n=500 p=1000 AR(0.9)": (
        {
            "seed": 1,
            "loss": "squared",
            "n": 500,
            "p": 1000,
            "k": 25,
            "correlation": "ar1",
            "rho": 0.9,
        },
        50,
    ),
    "squared n=10^4 p=2000 iid": (
        {"seed": 6, "loss": "squared", "n": 10_000, "p": 2000, "k": 10},
        30,
    ),
    "logistic n=1000 p=1000 AR(0.9)": (
        {
            "seed": 5,
            "loss": "logistic",
            "n": 1000,
            "p": 1000,
            "k": 25,
            "correlation": "ar1",
            "rho": 0.9,
            "snr": 1.0,
        },
        20,
    ),
}


def calls_of(X, y, **fit):
    """{what: call}: the single path, and cv_fit by (processes, shared)."""

    def validated(jobs, share):
        before, run.SHARED_PRODUCTS = run.SHARED_PRODUCTS, share
        try:
            return l0path.cv_fit(X, y, cv=10, n_jobs=jobs, random_state=0, **fit)
        finally:
            run.SHARED_PRODUCTS = before

    return {"path": lambda: l0path.fit(X, y, **fit)} | {
        (jobs, share): partial(validated, jobs, share)
        for jobs in (None, 2)
        for share in (True, False)
    }


def main():
    """A row per case: seconds, and in brackets the ratio to the single path."""
    args = arguments(
        "ten-fold cross-validation, the full fit included",
        only=("", "substrings of cases, separated by |"),
    )
    print(
        f"| {'case':32s} | single path | one process | not shared | two processes | not shared | "
        "largest difference of a score |\n|---|---|---|---|---|---|---|"
    )
    for name, (spec, K) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        X, y = instance(**(spec | ({"n": 200, "p": 300} if args.smoke else {})))
        calls = calls_of(
            X,
            y,
            loss=spec["loss"],
            max_k=4 if args.smoke else K,
            lambda2=1e-3 if spec["loss"] == "logistic" else None,
        )
        timings = in_turn({f"l0path {what}": call for what, call in calls.items()}, args)
        single = timings.pop("l0path path")
        cells = [
            f"{timing.median:6.2f} s ({ratio(timing, single):4.1f})" for timing in timings.values()
        ]
        folds = [timing.result.folds.to_numpy() for timing in timings.values()]
        print(
            f"| {name:32s} | {single.median:6.3f} s | {' | '.join(cells)} | "
            f"{max(abs(other / folds[0] - 1).max() for other in folds[1:]):.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
