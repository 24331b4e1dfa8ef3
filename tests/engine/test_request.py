"""Arguments become one `Request`, from which further fits start."""

import inspect
import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import l0path
from l0path.core.control import Clock
from l0path.engine.posing import resolved
from l0path.engine.request import Arguments, request
from l0path.engine.run import run


def sample(n=60, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - X[:, 3] + rng.standard_normal(n)


def test_the_arguments_of_a_request_are_those_of_fit():
    signature = inspect.signature(l0path.fit).parameters
    stated = {name: p.default for name, p in signature.items() if name not in ("X", "y", "data")}
    inside = {field.name: field.default for field in fields(Arguments)}
    # values for formulas are used up before, and the numbers of a loss come from its record
    del stated["env"], inside["parameters"]
    assert stated == inside
    assert all(signature[name].kind is inspect.Parameter.KEYWORD_ONLY for name in stated)


@pytest.mark.parametrize(
    "function",
    [
        l0path.fit,
        l0path.cv_fit,
        l0path.nested_cv,
        l0path.stability_selection,
        l0path.split_inference,
        l0path.knockoff_filter,
        l0path.fit_cost,
    ],
)
def test_an_argument_that_a_function_does_not_have_is_refused_in_its_name(function):
    refused = rf"^{function.__name__}\(\) got an unexpected keyword argument"
    with pytest.raises(TypeError, match=rf"{refused} 'maxk'; did you mean max_k="):
        function(*sample(), maxk=3)
    with pytest.raises(TypeError, match=rf"{refused} 'nfolds'; folds are the argument cv= of"):
        function(*sample(), nfolds=3)
    if function is not l0path.split_inference:  # its own name
        with pytest.raises(TypeError, match=rf"{refused} 'n_splits'; folds are the argument cv="):
            function(*sample(), n_splits=3)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("exposure", r"write offset=numpy\.log\(exposure\)"),
        ("var_weights", "write sample_weight="),
        ("groups_cv", "an argument of l0path.cv_fit"),
        ("lower_limits", "write lower="),
        ("na_action", "a formula drops rows"),
        ("status", "times and events are y"),
    ],
)
def test_arguments_of_other_packages_are_told_what_says_the_same(name, hint):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'; .*{hint}"):
        l0path.fit(*sample(), **{name: 1})


def test_the_cost_of_subsamples_is_told_by_that_of_a_fit():
    with pytest.raises(TypeError, match=r"n_subsamples'; l0path\.stability_selection takes it"):
        l0path.fit_cost(*sample(), n_subsamples=50)
    assert l0path.fit_cost(*sample(), max_k=2, cv=3, relax=0.5, scoring="mae").folds == 3


def test_a_formula_takes_its_data_by_position_or_name():
    X, y = sample()
    table = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    one, two = l0path.fit("y ~ a + b + d", table), l0path.fit("y ~ a + b + d", data=table)
    pd.testing.assert_frame_equal(one.details, two.details)
    with pytest.raises(TypeError, match="unexpected keyword argument 'data'"):
        l0path.fit(X, y, data=table)


def test_a_part_of_a_request_fits_rows_as_a_copy_of_them_does():
    X, y = sample()
    X[:, 5] = X[:, 0]  # a copy, which is left out in all rows and in parts
    whole = run(request(X, y, max_k=3, lambda2=0.01))
    counts = np.ones(60)
    counts[:15] = 0.0
    part = run(whole.request.part(row_counts=counts)).path
    own = l0path.fit(X[15:], y[15:], max_k=3, lambda2=0.01)
    assert [s.support.tolist() for s in part._solutions] == [
        s.support.tolist() for s in own._solutions
    ]
    np.testing.assert_allclose(part.details.objective, own.details.objective, rtol=1e-10)
    assert part.notes == []


def test_what_x_decides_is_decided_once():
    X, y = sample()
    X[:, 5] = X[:, 0]
    asked = request(X, y, loss="huber", max_k=2)
    assert asked.pilot and not asked.resolved
    found, problem = resolved(asked, Clock())
    assert found.resolved and found.data.copies.tolist() == [[5, 0]]
    assert found.data.loss == problem.loss and not problem.usable[5]
    again, same = resolved(found, Clock())
    assert again is found and same.loss == problem.loss
    assert np.array_equal(same.usable, problem.usable)
    assert l0path.fit(X, y, loss="huber", max_k=2).loss.delta == found.data.loss.delta


def test_a_request_travels_to_other_processes():
    X, y = sample()
    part = run(request(X, y, max_k=2)).request.part()
    there = pickle.loads(pickle.dumps(part))
    pd.testing.assert_frame_equal(run(there).path.details, run(part).path.details)
    assert replace(there, progress=False).resolved


def test_columns_are_taken_by_name_where_no_name_was_repeated():
    X, y = sample()
    table = pd.DataFrame(X, columns=list("abcdef"))
    assert request(table, y).by_name and not request(X, y).by_name
    repeated = table.set_axis(list("abcdea"), axis=1)
    assert not request(repeated, y).by_name
    assert not request(X, y, feature_names=list("abcdef")).by_name
