"""Summaries and alternatives of groups against all exchanges, by enumeration."""

import numpy as np
import oracles
import pandas as pd
import pytest
from asked import loss_with
from group_problems import by_label, problem

import l0path


def exchanged(X, y, groups, chosen, forced=(), **same):
    """{(out, in): objective} of every exchange of an unforced chosen group, {group: objective
    without it}; by refits that do not use the package.
    """

    def value(labels):
        return oracles.restricted(
            X,
            y,
            np.unique(np.concatenate([np.empty(0, int), *(groups[g] for g in labels)])).astype(int),
            **same,
        )[0]

    swaps = {
        (out, new): value([*(g for g in chosen if g != out), new])
        for out in chosen
        if out not in forced
        for new in groups
        if new not in chosen
    }
    return swaps, {out: value([g for g in chosen if g != out]) for out in chosen}


@pytest.mark.parametrize(
    ("loss", "case"),
    [
        ("squared", dict()),
        ("squared", dict(lambda1=0.02, lambda2=0.01)),
        *((loss, dict(lambda2=0.02)) for loss in ("logistic", "poisson", "huber")),
    ],
)
def test_summaries_and_alternatives_are_those_of_all_exchanges_of_groups(loss, case, tmp_path):
    X, y, labels = problem(loss)
    groups = by_label(labels)
    record = loss_with(loss, delta=1.345)
    path = l0path.fit(X, y, loss=record, groups=labels, max_k=3, always_include="d", **case)
    chosen, now = path.model(k=2).groups, path.details.objective[2]
    swaps, dropped = exchanged(X, y, groups, chosen, forced=("d",), loss=loss, **case)
    summary = path.model(k=2).summary()
    table = summary.table
    assert list(table.index) == chosen and list(table.columns) == [
        "columns",
        "norm",
        "increase_if_dropped",
        "best_exchange",
        "exchange_change",
    ]
    np.testing.assert_allclose(
        table.increase_if_dropped, [dropped[g] - now for g in chosen], rtol=1e-5, atol=1e-8
    )
    for g in chosen:
        best = min(
            ((v, new) for (out, new), v in swaps.items() if out == g), default=(np.nan, None)
        )
        assert table.best_exchange[g] == best[1] or (best[1] is None and g == "d")
        assert np.isnan(best[0]) or table.exchange_change[g] == pytest.approx(
            best[0] - now, rel=1e-5, abs=1e-8
        )
    other = path.model(k=2).alternatives(n=4)
    expected = sorted((v, *pair) for pair, v in swaps.items())[:4]
    np.testing.assert_allclose(other.objective, [v for v, *_ in expected], rtol=1e-7)
    assert (
        list(zip(other.dropped, other.added, strict=True)) == [tuple(pair) for _, *pair in expected]
        and other.proven.all()
    )
    share = (other.objective - now) / (now - path._meta.floor)
    np.testing.assert_allclose(other.relative, share, atol=1e-9)
    path.save(tmp_path / "path.npz")
    pd.testing.assert_frame_equal(
        l0path.load(tmp_path / "path.npz").model(k=2).summary(X=X, y=y).table, table, rtol=1e-6
    )


def test_a_summary_shows_coefficients_by_group_and_counts_shared_columns_once():
    X, y, _ = problem()
    groups = {"first": [0, 1, 2, 3], "second": [3, 4, 5], 3: [6, 7], "rest": list(range(8, 13))}
    path = l0path.fit(X, y, groups=groups, max_k=4, lambda2=0.01)
    k = next(m.k for m in path if {"first", "second"} <= set(m.groups or ()))
    summary, coef = path.model(k=k).summary(), path.coef(k=k)
    assert (
        coef.index.is_unique and summary.coef.index.tolist() == coef.index[1:].tolist()
    )  # column 3 belongs to two groups: the sum of its parts, once
    np.testing.assert_array_equal(summary.coef.coef, coef.iloc[1:])
    assert summary.coef.group["x3"] == "first, second" and summary.table.loc[
        ["first", "second"], "columns"
    ].tolist() == [4, 3]
    assert summary.table.norm["second"] == pytest.approx(
        np.linalg.norm(path.coef(k=k, standardized=True)[["x3", "x4", "x5"]])
    )
    np.testing.assert_allclose(
        path.predict(X, k=k), coef.iloc[0] + X[:, path.support(k=k)] @ coef.iloc[1:].to_numpy()
    )
    assert (
        f"k = {k} of 4 groups" in repr(summary)
        and "first, second" in repr(summary)
        and "first, second" in summary._repr_html_()
    )
    assert "intercept only" in repr(path.model(k=0).summary())
    value = {
        g: oracles.restricted(
            X,
            y,
            np.unique(np.concatenate([groups[h] for h in path.model(k=k).groups if h != g])),
            lambda2=0.01,
        )[0]
        for g in path.model(k=k).groups
    }
    np.testing.assert_allclose(
        summary.table.increase_if_dropped,
        [value[g] - path.details.objective[k] for g in summary.table.index],
        atol=1e-9,
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_exchanges_of_many_groups_are_ranked_by_score(loss, monkeypatch):
    X, y, labels = problem(loss, n=150, sizes=(3,) * 20)
    path = l0path.fit(X, y, loss=loss, groups=labels, max_k=3, lambda2=0.01, lambda0="grid")
    row = path.select(k=2)
    every, table = path.model(index=row).alternatives(n=5), path.model(index=row).summary().table
    monkeypatch.setattr(l0path.inspection.summaries, "EVERY", 10)
    ranked, again = path.model(index=row).alternatives(n=5), path.model(index=row).summary().table
    pd.testing.assert_frame_equal(ranked.drop(columns="proven"), every.drop(columns="proven"))
    pd.testing.assert_frame_equal(again, table)
    assert every.proven.all() and not ranked.proven.any()
