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
def test_strata_with_another_loss_are_refused(of):
    words = r"strata=.* is for loss='cox', not loss=.*pass loss='cox'"
    with pytest.raises(ValueError, match=words) as raised:
        of(X, np.abs(TIME), strata=np.zeros(N))
    assert len(str(raised.value)) < 120  # no arrays


@pytest.mark.parametrize("of", FITS)
@pytest.mark.parametrize("name", ["quantile", "power", "theta", "gamma", "delta", "ties"])
def test_numbers_of_losses_are_asked_for_in_their_record(of, name):
    with pytest.raises(TypeError, match=rf"'{name}'; write loss=l0path\.losses\."):
        of(X, np.abs(TIME), **{name: 1.5})


REFUSED = {
    "two columns of counts": (
        lambda: l0path.fit(X, np.ones((N, 2)), loss="ordinal"),
        "this loss takes one response",
    ),
    "two columns of a table": (
        lambda: l0path.fit(X, X[["a", "b"]], loss="quantile"),
        "this loss takes one response",
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
        with pytest.raises(ValueError, match=r"'risk'.*model\.survival\(X"):
            path.predict(X, k=1, type=kind)
