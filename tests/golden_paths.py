"""Sixty fits whose supports and objectives are kept, so that a change of structure cannot change
results without notice.

    python tests/golden_paths.py            compare the package at hand with golden_paths.json
    python tests/golden_paths.py --write    store what the package at hand finds

The stored values were found by commit 97d4a49. Write them anew only where a change of results is
meant, and say in the commit what changed and why it is better.
"""

import argparse
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

STORED = Path(__file__).with_suffix(".json")
LOSSES = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber", "poisson")
CLASSES = ("logistic", "squared_hinge", "smoothed_hinge")
SMOOTH = ("squared", "logistic", "squared_hinge", "smoothed_hinge", "huber")


@cache
def data(loss, n=120, p=40):
    """AR(0.7) columns with a few zeros, five effects, and a response of the loss's kind."""
    rng = np.random.default_rng(LOSSES.index(loss))
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.49) * X[:, j]
    X[rng.random((n, p)) < 0.15] = 0.0
    eta = X[:, [3, 11, 12, 25, 33]] @ np.array([1.0, -0.8, 0.6, 0.9, -1.1])
    if loss in CLASSES:
        y = np.where(eta + rng.logistic(size=n) > 0, 1, -1)
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(0.4 * eta, -3, 3)))
    else:
        y = eta + rng.standard_normal(n) * (1 + 4 * (rng.random(n) < 0.05))
    return X, y


@cache
def weights(n=120):
    return np.random.default_rng(9).integers(0, 3, n).astype(float)


def groups(p=40):
    """Ten groups of four neighboring columns."""
    return [list(range(j, j + 4)) for j in range(0, p, 4)]


def ridge(loss):
    """A ridge for classes, which a few columns may separate; none for the others."""
    return 0.01 if loss in CLASSES else 0.0


def cases():
    """{name: (loss, storage, arguments of fit)}."""
    out = {}
    for loss in LOSSES:
        plain = {"lambda2": ridge(loss), "max_k": 10}
        if loss == "huber":
            plain["delta"] = 1.5
        grid = plain | {"values_of_lambda0": 20}
        out[f"{loss} support"] = loss, "C", plain
        out[f"{loss} support, sparse"] = loss, "csc", plain
        out[f"{loss} support, float32"] = loss, "float32", plain
        out[f"{loss} lambda0"] = loss, "F", grid
        out[f"{loss} lambda0, cd"] = loss, "F", grid | {"algorithm": "cd"}
        out[f"{loss} support, groups"] = loss, "C", plain | {"groups": groups(), "max_k": 5}
        out[f"{loss} support, box, weights"] = (
            loss,
            "F",
            plain | {"lower": -0.5, "upper": 0.5, "sample_weight": weights(), "max_k": 8},
        )
        out[f"{loss} support, L1, forced"] = (
            loss,
            "F",
            plain | {"lambda1": 0.02, "always_include": [3], "exclude": [11], "max_k": 8},
        )
    ridged = {"lambda2": 0.05, "max_k": 6}
    huber = {"delta": 1.5}
    for name in ("dual_iht", "primal_dual", "feature_generating"):
        for loss in ("squared", "logistic"):
            out[f"{loss} {name}"] = loss, "F", ridged | {"algorithm": name}
    out["huber apg+"] = "huber", "F", ridged | huber | {"algorithm": "apg+"}
    out["poisson pg_ll"] = "poisson", "F", {"max_k": 6, "algorithm": "pg_ll"}
    out["squared htp"] = "squared", "F", {"max_k": 6, "algorithm": "htp"}
    out["squared CDPSI"] = "squared", "F", {"algorithm": "CDPSI", "lambda0": "grid", "max_k": 8}
    out["squared certify"] = "squared", "F", ridged | {"certify": True}
    out["logistic certify"] = "logistic", "F", ridged | {"certify": True}
    return out


def stored_as(X, storage):
    return {
        "C": X,
        "F": np.asfortranarray(X),
        "csc": sp.csc_array(X),
        "float32": X.astype(np.float32),
    }[storage]


def result(name):
    """[[k, support, objective, lower bound or None], ...] of a case; lambda0 rows in path order."""
    import l0path

    loss, storage, arguments = cases()[name]
    X, y = data(loss)
    arguments = {"loss": loss, **arguments}
    if count := arguments.pop("values_of_lambda0", None):
        arguments["lambda0"] = l0path.grid(n=count)
    if "delta" in arguments:
        arguments["loss"] = l0path.losses.Huber(arguments.pop("delta"))
    path = l0path.fit(stored_as(X, storage), y, **arguments)
    rows = []
    for index in path.details.index:
        model = path.model(index=index)
        bound = float(model.lower_bound)
        rows.append(
            [
                int(model.k),
                np.asarray(model.support).tolist(),
                float(model.objective),
                bound if np.isfinite(bound) else None,
            ]
        )
    return rows


def differences(name, found, kept):
    """Sentences on how the rows found differ from those kept; an empty list where they agree."""
    if len(found) != len(kept):
        return [f"{name}: {len(found)} rows instead of {len(kept)}"]
    out = []
    for i, (new, old) in enumerate(zip(found, kept, strict=True)):
        if new[:2] != old[:2]:
            out.append(
                f"{name}, row {i}: support {new[1]} ({new[2]:.10g}) instead of {old[1]} "
                f"({old[2]:.10g})"
            )
        elif abs(new[2] - old[2]) > 1e-7 * max(abs(old[2]), 1e-3):
            out.append(f"{name}, row {i}: objective {new[2]!r} instead of {old[2]!r}")
        elif old[3] is not None and (new[3] is None or new[3] < old[3] - 1e-6 * abs(old[3])):
            out.append(f"{name}, row {i}: lower bound {new[3]!r} below {old[3]!r}")
    return out


def kept():
    return json.loads(STORED.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="store what is found")
    write = parser.parse_args().write
    found = {name: result(name) for name in cases()}
    if write:
        rows = [f" {json.dumps(name)}: {json.dumps(found[name])}" for name in found]
        STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
        return 0
    wrong = [line for name, rows in kept().items() for line in differences(name, found[name], rows)]
    print("\n".join(wrong) or f"{len(found)} paths agree")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
