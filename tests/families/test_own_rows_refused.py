"""Losses of the user's own with methods of all rows: wrong methods, and what is refused."""

import math
import re

import numpy as np
import pytest
from own_rows import EQUAL, Breslow, N, Ranking, RowByRow, Sum, decorated, kind_of, survival

import l0path
from l0path.problem.coupled.own import check_rows
from l0path.problem.families.own import take_undecorated


def test_right_methods_pass_and_wrong_ones_are_named():
    X, y = survival(0)
    ranking = decorated(Ranking, "rank_checked", intercept=False)
    check_rows(ranking(), y, EQUAL, False)
    cox = decorated(Breslow, "cox_checked", intercept=False)
    check_rows(cox(), y, EQUAL, False)
    check_rows(decorated(Sum, "sum_checked", link="identity")(0.5), 1e3 + y, EQUAL, True)

    def wrong(method, change):
        """The loss with what a method fills changed."""
        right = getattr(Ranking, method)

        def filled(self, *arrays):
            right(self, *arrays)
            change(arrays)

        return {method: filled}

    def negative(arrays):
        arrays[-1][:] *= -1.0

    def unfilled(arrays):
        arrays[-1][3] = np.nan

    def writes(arrays):
        arrays[1][0] = 0.0

    for method, change, words in (
        ("slope", negative, r"slope of loss 'wrong0' times a direction is .*changes by"),
        ("curvature", negative, r"curvature of loss 'wrong1' times a direction z .* in row"),
        ("slope", unfilled, r"slope of loss 'wrong2' leaves nan in row 3 of out"),
        ("curvature", unfilled, r"curvature of loss 'wrong3' leaves nan in row 3"),
        ("slope", writes, r"slope of loss 'wrong4' changes its argument eta"),
    ):
        number = re.search(r"wrong\d", words)[0]
        kind = decorated(Ranking, number, wrong(method, change), intercept=False)
        with pytest.raises(ValueError, match=words):
            l0path.fit(X, y, loss=kind())
    concave = {
        "value": lambda self, y, eta, weights: -Ranking.value(self, y, eta, weights),
        **wrong("slope", negative),
        **wrong("curvature", negative),
    }
    with pytest.raises(ValueError, match="along a direction: the loss must be convex"):
        l0path.fit(X, y, loss=decorated(Ranking, "concave_rows", concave, intercept=False)())
    infinite = {"value": lambda self, y, eta, weights: math.inf}
    with pytest.raises(ValueError, match="value of loss 'infinite' is inf"):
        l0path.fit(X, y, loss=decorated(Ranking, "infinite", infinite)())


def test_the_intercept_goes_with_what_the_loss_sees():
    X, y = survival(0)
    blind = decorated(Ranking, "blind_rows")
    with pytest.raises(ValueError, match=r"does not change loss 'blind_rows'.*intercept=False"):
        l0path.fit(X, y, loss=blind())
    check_rows(blind(), y, EQUAL, False)  # fit_intercept=False
    with pytest.raises(ValueError, match="'sees_all' has intercept=False, but a constant"):
        l0path.fit(X, y, loss=decorated(Sum, "sees_all", intercept=False)(0.5))
    loss = decorated(Ranking, "none_rows", intercept=False)()
    with pytest.raises(ValueError, match="fit_intercept=True: loss='none_rows'"):
        l0path.fit(X, y, loss=loss, fit_intercept=True)


def test_methods_of_other_arguments_are_refused():
    with pytest.raises(TypeError, match=r"its slope must take \(self, y, eta, weights, out\)"):
        decorated(Ranking, "returns", {"slope": lambda self, y, eta, weights: eta})
    with pytest.raises(ValueError, match=r"largest_curvature=1\.0 is for methods of one row"):
        decorated(Ranking, "bounded_rows", largest_curvature=1.0)
    with pytest.raises(ValueError, match="intercept=False is for methods of all rows"):
        l0path.own_loss("one_row_only", intercept=False)(RowByRow)


def test_what_is_not_served_is_refused_before_x_is_read():
    X, y = survival(0)
    loss = kind_of(Sum, "Refused")(0.5)
    with pytest.warns(UserWarning, match="Python runs"):
        take_undecorated(loss)
    for arguments, words in (
        ({"certify": True}, "conjugate of the loss"),
        ({"algorithm": "exact"}, "conjugate of the loss.*use 'swap'"),
        ({"algorithm": "dual_iht"}, "conjugate of the loss"),
        ({"algorithm": "cd"}, "'Refused' needs algorithm='swap' with refit=True: "),
        ({"algorithm": "CDPSI"}, "needs algorithm='swap'"),
        ({"algorithm": "pg"}, "needs algorithm='swap'"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"strata": np.zeros(N)}, "strata= is for loss='cox'"),
    ):
        with pytest.raises(ValueError, match=words):
            l0path.fit(X, y, loss=loss, **arguments)
    with pytest.raises(ValueError, match="does not have; use a loss of the package"):
        l0path.split_inference(X, y, loss=loss, k=1)


def test_what_numba_cannot_compile_is_named():
    def value(self, y, eta, weights):
        return {}["none"] if eta[0] == math.pi else Ranking.value(self, y, eta, weights)

    kind = decorated(Ranking, "not_compiled", {"value": value}, intercept=False)
    with pytest.raises(TypeError, match=r"numba cannot compile value of Not_Compiled.*line \d"):
        l0path.fit(*survival(0), loss=kind())
