"""A design of the user's own that has the documented verbs and nothing else."""

import numpy as np
import pytest

import l0path
from l0path.designs import Dense


class VerbsAlone:
    """A user's design: the verbs that are asked of every design, and nothing else."""

    def __init__(self, X):
        self.n, self.p = X.shape
        self._held = Dense(X)

    def correlate(self, R, start=0, stop=None):
        return self._held.correlate(R, start, stop)

    def columns(self, J):
        return self._held.columns(J)

    def dot(self, J, b):
        return self._held.dot(J, b)

    def moments(self, weights, center):
        return self._held.moments(weights, center)

    def nonfinite(self):
        return self._held.nonfinite()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "logistic"},
        {"algorithm": "cd"},
        {"algorithm": "dual_iht", "lambda2": 0.1},
        {"groups": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]},
    ],
    ids=["squared", "logistic", "descent", "dual", "groups"],
)
def test_a_design_with_the_documented_verbs_alone_is_enough(options):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 10)) + 5.0
    X[:, 9] = X[:, 1]  # a copy
    y = X[:, 1] - X[:, 4] + 2.0 * rng.normal(size=60)
    y = np.where(y > 0, 1.0, -1.0) if options.get("loss") == "logistic" else y
    wanted, got = (l0path.fit(A, y, max_k=3, **options) for A in (X, VerbsAlone(X)))
    assert len(wanted._solutions) > 2
    assert [s.support.tolist() for s in got._solutions] == [
        s.support.tolist() for s in wanted._solutions
    ]
    np.testing.assert_allclose(got.predict(X), wanted.predict(X), rtol=1e-8)


def test_folds_and_certificates_of_a_design_with_the_documented_verbs_alone():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 8))
    y = X[:, 1] - X[:, 4] + 2.0 * rng.normal(size=60)
    how = {"max_k": 3, "cv": 3, "lambda2": 0, "random_state": 0}
    wanted, got = (l0path.cv_fit(A, y, **how) for A in (X, VerbsAlone(X)))
    np.testing.assert_allclose(got.scores.cv_mean, wanted.scores.cv_mean, rtol=1e-8)
    assert got.certify(k=3).proven and wanted.certify(k=3).proven
