"""Junk in any argument is refused politely, or answered rightly."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recomputed import objective_of
from small_data import N, P, X, Y, Z

import l0path
from l0path.errors import ConvergenceWarning, SeparationWarning

JUNK = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2,
        3,
        0.0,
        0.5,
        -0.5,
        1e-9,
        1e9,
        np.nan,
        np.inf,
        -np.inf,
        "",
        "a",
        "x1",
        "balanced",
        [],
        [0],
        [1, 2],
        [0.1, 0.2],
        ["x0"],
        {},
        {"x1": 0.5},
        {1: 2.0},
        (),
        b"x",
        Decimal(1),
        1j,
        object,
        np.ones(N),
        np.zeros(N),
        np.arange(N),
        -np.ones(N),
        np.full(N, 1e9),
        np.ones(P),
        np.zeros(P),
        np.ones((2, 2)),
        [None],
        range(3),
        pd.Series(np.ones(N)),
        np.array("a"),
    ]
)


FUZZED = [
    "loss",
    "algorithm",
    "k",
    "max_k",
    "lambda0",
    "lambda1",
    "lambda2",
    "fit_intercept",
    "standardize",
    "sample_weight",
    "class_weight",
    "offset",
    "lower",
    "upper",
    "always_include",
    "exclude",
    "penalty_factor",
    "groups",
    "feature_names",
    "random_state",
]


PLAUSIBLE = {
    "loss": ["squared", "huber", "logistic", "poisson", l0path.losses.SmoothedHinge()],
    "algorithm": ["swap", "cd", "CDPSI"],
    "lambda0": [0.1, 0.0, "grid"],
    "lambda1": ["grid"],
    "lambda2": ["grid"],
    "max_k": [2],
}


@st.composite
def arguments(draw):
    names = draw(st.lists(st.sampled_from(FUZZED), max_size=4, unique=True))
    return {
        name: draw(st.one_of(JUNK, st.sampled_from(PLAUSIBLE[name])) if name in PLAUSIBLE else JUNK)
        for name in names
    }


RESPONSES = {
    "real": Y,
    "classes": Z,
    "counts": np.arange(N) % 4,
    "constant": np.ones(N),
    "strings": np.array(["a", "b"] * 20),
    "wild": 1e8 * Y,
    "short": Y[:3],
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(arguments(), st.sampled_from(sorted(RESPONSES)))
def test_junk_is_refused_politely_or_answered_rightly(given_arguments, response):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            path = l0path.fit(X, RESPONSES[response], **{"max_k": 3} | given_arguments)
        except (ValueError, TypeError, LookupError) as caught:
            error = caught
        else:
            error = None
        if error is not None:
            assert type(error) in (ValueError, TypeError, LookupError), repr(
                error
            )  # not IndexError, KeyError, LinAlgError, UnicodeError ...
            assert any(word in str(error) for word in (*FUZZED, "y ", "X ", "y=")), (
                f"names no argument: {error}"
            )
            return
        for i in range(len(path)):
            assert objective_of(path, index=i) == pytest.approx(
                path._solutions[i].objective,
                rel=1e-9,
                abs=1e-12 * max(abs(path._meta.null_loss), 1e-300),
            )
