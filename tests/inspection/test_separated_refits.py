"""Refits name the coefficients that have no finite estimate."""

import numpy as np
import pandas as pd
import pytest
import survival

import l0path


def rows(seed=0, n=80):
    """A factor whose third level separates, and two numbers that do not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    frame["kind"] = rng.choice(["x", "y", "z"], n)
    last = (frame["kind"] == "z").to_numpy()
    eta = frame["a"].to_numpy()
    frame["sick"] = np.where(last | (eta + rng.logistic(size=n) > 0), "yes", "no")
    frame["count"] = np.where(last, 0, rng.poisson(np.exp(0.5 * eta)))
    frame["grade"] = np.where(last, 3, 1 + (eta + rng.logistic(size=n) > -1) + (
        eta + rng.logistic(size=n) > 1))  # fmt: skip
    frame["class"] = np.where(last, "w", rng.choice(["u", "v", "w"], n))
    times = survival.draw(rng, n, eta=0.5 * eta)
    frame["time"], frame["died"] = times.stop, np.where(last, 0.0, times.event)
    return frame


CASES = {
    "logistic": ("sick", "separate the classes"),
    "poisson": ("count", "send the rates of some rows to zero"),
    "negative_binomial": ("count", "send the rates of some rows to zero"),
    "ordinal": ("grade", "separate the classes"),
    "cox": ("Surv(time, died)", "make the partial likelihood monotone"),
}


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("robust", [False, True])
def test_infinite_coefficients_are_named(loss, robust):
    left, does = CASES[loss]
    path = l0path.fit(
        f"{left} ~ a + kind", rows(), loss=loss, k=[2], lambda2=1e-3, always_include=["a", "kind"]
    )
    options = {"cov_type": "robust" if loss == "cox" else "HC0"} if robust else {}
    with pytest.warns(l0path.errors.SeparationWarning) as caught:
        results = path.model(index=len(path) - 1).refit(**options)
    said = [str(w.message) for w in caught]
    assert len(said) == 1 and f"the features {does}, so the coefficient of kind[T.z] is" in said[0]
    assert "coefficient of kind[T.z] is infinite" in results.selection
    assert "infinite" in str(results.summary()).replace("\n", " ")


def test_coefficients_that_are_finite_are_not_named():
    frame = rows()
    frame = frame[frame["kind"] != "z"]
    for loss, (left, _) in CASES.items():
        path = l0path.fit(f"{left} ~ a + b + kind", frame, loss=loss, max_k=3)
        assert "infinite" not in path.model(k=3).refit().selection  # and no warning


def test_classes_that_separate_are_named():
    path = l0path.fit("`class` ~ a + kind", rows(), loss="multinomial", lambda2=1e-3, max_k=2)
    path = l0path.fit(
        "`class` ~ a + kind",
        rows(),
        loss="multinomial",
        lambda2=1e-3,
        always_include=["a", "kind"],
    )
    with pytest.raises(ValueError, match=r"did not converge.*coefficients? of .*kind\[T.z\]"):
        path.model(index=len(path) - 1).refit()
