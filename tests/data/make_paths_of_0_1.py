"""Makes the path files of version 0.1 in this folder: run it in a checkout of commit 97d4a49,
`python make_paths_of_0_1.py FOLDER`. They were made once; version 0.2 and later must read them.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import l0path


def data():
    """40 rows of small whole numbers, the same on every machine."""
    i = np.arange(40)
    frame = pd.DataFrame({"a": i * 7 % 11, "b": i * 5 % 13, "c": i * i % 17}).astype(float)
    frame["f"] = np.array(["u", "v", "w"])[i * 3 % 7 % 3]
    frame["y"] = frame["a"] - 0.5 * frame["c"] + (frame["f"] == "v") + i * 9 % 5 / 4
    return frame


def paths():
    """{name of the file: path}."""
    frame = data()
    X, y = frame[["a", "b", "c"]], frame["y"]
    labels = np.where(y > y.median(), "high", "low")
    return {
        "classes": l0path.fit(X, labels, loss="logistic", lambda2=[0.1, 0.01], max_k=2),
        "formula": l0path.fit("y ~ a * f + c", frame, max_k=3),
        "products": l0path.fit(l0path.designs.polynomial(X), y, max_k=2),
        "steps": l0path.fit(l0path.designs.additive(X, bins=4), y, max_k=2),
    }


if __name__ == "__main__":
    for name, path in paths().items():
        path.save(Path(sys.argv[1]) / f"path_0_1_{name}.npz")
        path.coef().to_csv(Path(sys.argv[1]) / f"path_0_1_{name}.csv")
