"""Whole paths against peers, in turn in one run: medians, ratios, reads of X. Peers that are not installed are left out (see peers.txt)."""
import importlib.util
import warnings

import numpy as np
from common import arguments, in_turn, instance

import l0path

CASES = {
    "n=500 p=1000 AR(0.9)": ({"seed": 1, "loss": "squared", "n": 500, "p": 1000, "k": 25, "correlation": "ar1", "rho": 0.9}, 50),
    "n=1000 p=10^4 iid": ({"seed": 2, "loss": "squared", "n": 1000, "p": 10_000, "k": 10}, 50),
    "n=1000 p=10^5 iid": ({"seed": 3, "loss": "squared", "n": 1000, "p": 100_000, "k": 10}, 50),
    "n=10^5 p=1000 iid": ({"seed": 4, "loss": "squared", "n": 100_000, "p": 1000, "k": 10}, 50),
    "logistic n=1000 p=1000 AR(0.9)": ({"seed": 5, "loss": "logistic", "n": 1000, "p": 1000, "k": 25, "correlation": "ar1", "rho": 0.9, "snr": 1.0}, 50),
    "logistic n=1000 p=10^4 iid": ({"seed": 6, "loss": "logistic", "n": 1000, "p": 10_000, "k": 5, "snr": 1.0}, 50),
}


def have(name):
    """Whether a peer can be imported."""
    return importlib.util.find_spec(name) is not None


def competitors(X, y, loss, K):
    """{name: call} of whole paths of comparable length."""
    calls = {"l0path": lambda: l0path.fit(X, y, loss=loss, max_k=K, lambda2=1e-6)}
    if have("abess"):
        import abess

        model = abess.LinearRegression if loss == "squared" else abess.LogisticRegression
        target = y if loss == "squared" else (y > 0).astype(int)
        calls["abess"] = lambda: model(support_size=range(K + 1), thread=1).fit(X, target)
    if have("adelie") and loss == "squared":
        import adelie

        calls["adelie lasso"] = lambda: adelie.grpnet(X, adelie.glm.gaussian(y), progress_bar=False, n_threads=2)
    if have("celer") and loss == "squared":
        from celer import celer_path

        top = np.abs(X.T @ (y - y.mean())).max() / len(y)
        calls["celer lasso"] = lambda: celer_path(X, y - y.mean(), pb="lasso", alphas=top * np.geomspace(1, 1e-2, 100))
    return calls


def main():
    """A row per case and peer."""
    args = arguments("speed of whole paths", only=("", "substrings of cases, separated by |"))
    warnings.simplefilter("ignore")
    for name, (spec, K) in CASES.items():
        if args.only and not any(part in name for part in args.only.split("|")):
            continue
        X, y = instance(**spec)
        results = in_turn(competitors(X, y, spec["loss"], K), args.repeats)
        ours, path = results["l0path"]
        verified = (path.table.optimality != "unverified").mean()
        print(f"{name:34s} K={K} l0path {ours:8.3f} s, {int(path.rounds['reads'].max())} reads, {int(path.rounds['working'].max())} working columns, {verified:.0%} verified")
        for peer, (seconds, _) in results.items():
            if peer != "l0path":
                print(f"{'':34s}      {peer:12s} {seconds:8.3f} s, l0path / {peer} = {ours / seconds:.2f}")


if __name__ == "__main__":
    main()
