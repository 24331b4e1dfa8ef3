"""Responses and numbers that belong to another loss than the one that was asked for are refused,
and the message names the remedy.
"""

import numpy as np
import pandas as pd
import pytest

import l0path

RNG = np.random.default_rng(8)
N = 24
X = pd.DataFrame(RNG.standard_normal((N, 3)), columns=list("abc"))
TIME, EVENT = RNG.exponential(size=N), np.arange(N) % 3 > 0
TABLE = X.assign(time=TIME, event=EVENT.astype(int), h=np.arange(N) % 2)
TIMES = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", bool), ("time", float)])
FITS = [l0path.fit, l0path.cv_fit, l0path.nested_cv, l0path.stability_selection]


@pytest.mark.parametrize("of", FITS)
@pytest.mark.parametrize("given", [{}, {"loss": "binomial"}])
def test_survival_times_need_their_loss(of, given):
    with pytest.raises(ValueError, match=r"Surv\(time, event\) is .*; pass loss='cox'"):
        of("Surv(time, event) ~ a + b", TABLE, **given)
    with pytest.raises(ValueError, match=r"y is a structured array .*; pass loss='cox'"):
        of(X, TIMES, **given)


@pytest.mark.parametrize("of", FITS)
@pytest.mark.parametrize(
    ("given", "owner"),
    [
        ({"quantile": 0.3}, "quantile"),
        ({"loss": "gamma", "power": 1.2}, "tweedie"),
        ({"loss": "tweedie", "theta": 1.2}, "negative_binomial"),
        ({"loss": "huber", "gamma": 1}, "smoothed_hinge"),
        ({"loss": "poisson", "delta": 1.0}, "huber"),
        ({"ties": "breslow"}, "cox"),
        ({"strata": np.zeros(N)}, "cox"),
    ],
)
def test_numbers_of_another_loss_are_refused(of, given, owner):
    name = next(iter(given.keys() - {"loss"}))
    words = rf"{name}=.* is for loss='{owner}', not loss=.*pass loss='{owner}'"
    with pytest.raises(ValueError, match=words) as raised:
        of(X, np.abs(TIME), **given)
    assert len(str(raised.value)) < 120  # no arrays


def test_defaults_that_are_written_out_pass():
    written = {"gamma": 0.25, "delta": None, "theta": None, "power": 1.5, "quantile": 0.5}
    assert len(l0path.fit(X, TIME, max_k=1, **written)) == 2


REFUSED = {
    "two columns of counts": (
        lambda: l0path.fit(X, np.ones((N, 2)), loss="poisson"),
        "loss='squared' alone takes several responses",
    ),
    "two columns of a table": (
        lambda: l0path.fit(X, X[["a", "b"]], loss="huber"),
        "loss='squared' alone takes several responses",
    ),
    "times in a regressor": (lambda: l0path.L0Regressor().fit(X, TIMES), "l0path.L0Survival"),
    "cox in a regressor": (
        lambda: l0path.L0RegressorCV(loss="cox").fit(X, TIMES),
        "l0path.L0Survival",
    ),
    "cox in a classifier": (
        lambda: l0path.L0Classifier(loss="cox").fit(X, EVENT),
        "l0path.L0Survival",
    ),
    "counts in a regressor": (
        lambda: l0path.L0Regressor(loss="binomial").fit(X, np.ones((N, 2))),
        "pass the shares",
    ),
    "cbind": (
        lambda: l0path.fit("cbind(event, h) ~ a", TABLE, loss="binomial"),
        r"a \+ b ~ x.*loss='binomial'",
    ),
    "strata in a formula": (
        lambda: l0path.fit("Surv(time, event) ~ a + strata(h)", TABLE, loss="cox"),
        "by the argument strata=",
    ),
    "a name of strata": (
        lambda: l0path.fit(X, TIMES, loss="cox", strata="h"),
        "strata='h' names 0 columns of X; pass the name of one, or one label per row",
    ),
    "a class of weight 0": (
        lambda: l0path.fit(
            X,
            np.array(["u", "v", "w"])[np.arange(N) % 3],
            loss="multinomial",
            sample_weight=(np.arange(N) % 3 != 1) * 1.0,
        ),
        "no row of positive weight in the class 'v'",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_messages_name_the_remedy(what):
    call, words = REFUSED[what]
    with pytest.raises(ValueError, match=words):
        call()


def test_predictions_that_survival_times_lack_name_those_they_have():
    path = l0path.fit(X, TIMES, loss="cox", max_k=1, certify=False)
    for kind in ("response", "survival"):
        with pytest.raises(ValueError, match=r"'risk'.*path\.survival\(X"):
            path.predict(X, k=1, type=kind)
