"""What a type checker knows of a program that uses the package: `bash .ci/types` reads it, nothing
runs it. A wrong call must be an error: mypy says so where an expected one is missing.
"""

from typing import assert_type

from matplotlib.axes import Axes

import l0path
from l0path import CVPath, Model, NestedCV, Path

data = l0path.datasets.load_hitters()
assert_type(data, l0path.datasets.Dataset)

path = l0path.fit(data.X, data.y, max_k=5)
assert_type(path, Path)
assert_type(path.model(k=3), Model)
assert_type(path.model("bic"), Model)
assert_type(path.model(k=3).features, list[str])
assert_type(path.certify(k=3), l0path.Certificate)
assert_type(path.plot("coef"), Axes)
assert_type(l0path.load("path.npz"), Path | CVPath | NestedCV | Model)

cv = l0path.cv_fit(data.X, data.y, cv=5, random_state=1)
assert_type(cv, CVPath)
assert_type(cv.model("1se"), Model)
assert_type(cv.plot(), Axes)

assert_type(l0path.L0Regressor().fit(data.X, data.y), l0path.L0Regressor)

l0path.fit(data.X, data.y, max_K=5)  # type: ignore[call-arg]
path.best()  # type: ignore[attr-defined]
